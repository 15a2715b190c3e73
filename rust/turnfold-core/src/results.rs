//! Tool results that may get another text.

use std::ops::Range;

use turnfold_tokens::Encoding;

use crate::masks;
use crate::pairs::{self, BlockRef, Pair, ScanOptions};
use crate::transcript::{BlockKind, BlockView, MessageView, Transcript};

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
    by_message(transcript, options, encoding, messages).flatten().collect()
}

/// The same, those of each message together, and looked for as they are asked for.
pub(crate) fn by_message(
    transcript: &Transcript,
    options: &ScanOptions,
    encoding: Encoding,
    messages: Range<usize>,
) -> impl Iterator<Item = Vec<OpenResult>> {
    let table = pairs::remembered(transcript, options);
    let messages = transcript.messages_from(messages.start).take(messages.len());
    messages.map(move |message| open_in(transcript, &table.pairs, encoding, &message))
}

/// Those of one message; `pairs` are all of the transcript.
fn open_in(transcript: &Transcript, pairs: &[Pair], encoding: Encoding, message: &MessageView<'_>) -> Vec<OpenResult> {
    // In the order of their results.
    let call_of = |result| {
        let k = pairs.binary_search_by_key(&result, |pair| pair.result).ok()?;
        pairs.get(k).map(|pair| pair.call)
    };
    let mut found = Vec::new();
    let mut counts = None;
    for block in message.blocks() {
        if block.kind() != BlockKind::ToolResult || block.row.body.is_none() || is_masked(&block) {
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
    found
}

fn is_masked(block: &BlockView<'_>) -> bool {
    block.text_bytes() <= masks::MOST_BYTES && block.text_beginning_with("[").is_some_and(|text| masks::is_line(&text))
}
