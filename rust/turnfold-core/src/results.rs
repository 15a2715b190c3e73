//! Tool results that may get another text.

use std::ops::Range;

use turnfold_tokens::Encoding;

use crate::masks;
use crate::pairs::{self, BlockRef, ScanOptions};
use crate::transcript::{BlockKind, BlockView, Transcript};

/// A tool result whose text a string can take the place of without loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenResult {
    /// Index of its message.
    pub message: usize,
    /// Index of the block in its message.
    pub block: usize,
    /// What its text counts.
    pub tokens: u64,
    /// The tool: of the call that it answers, or as it says itself where it answers none.
    pub name: Option<String>,
}

/// Those of `messages`, in order, but for those that a line of [`crate::masks`] stands for already. O(messages) and the
/// bytes of such lines, after the first count.
pub fn open_results(
    transcript: &Transcript,
    options: &ScanOptions,
    encoding: Encoding,
    messages: Range<usize>,
) -> Vec<OpenResult> {
    let table = pairs::remembered(transcript, options);
    // In the order of their results.
    let call_of = |result| {
        let k = table.pairs.binary_search_by_key(&result, |pair| pair.result).ok()?;
        table.pairs.get(k).map(|pair| pair.call)
    };
    let mut found = Vec::new();
    for message in transcript.messages_from(messages.start).take(messages.len()) {
        let mut counts = None;
        for block in message.blocks() {
            if block.kind() != BlockKind::ToolResult || block.row.body.is_none() {
                continue;
            }
            if is_masked(&block) {
                continue;
            }
            let counts = counts.get_or_insert_with(|| message.segment.counts(transcript.format(), encoding));
            let row = message.row.blocks.start as usize + block.index;
            let named = call_of(BlockRef::of(&block)).map_or(Some(block), |call| pairs::block_at(transcript, call));
            found.push(OpenResult {
                message: message.index,
                block: block.index,
                tokens: counts.blocks.get(row).copied().unwrap_or_default(),
                name: named.and_then(|block| block.name()).map(Into::into),
            });
        }
    }
    found
}

fn is_masked(block: &BlockView<'_>) -> bool {
    block.text_bytes() <= masks::MOST_BYTES && block.text_beginning_with("[").is_some_and(|text| masks::is_line(&text))
}
