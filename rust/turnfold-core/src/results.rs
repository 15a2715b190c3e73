//! Tool results that may get another text.

use std::ops::Range;

use turnfold_tokens::Encoding;

use crate::pairs::{self, BlockRef, ScanOptions};
use crate::transcript::{BlockKind, Transcript};

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
    /// Its text, where that was asked for.
    pub text: Option<String>,
}

/// Those of `messages`, in order. The text of one comes along where it takes at most `short_bytes` in the body and begins
/// with `beginning`. O(messages) and those texts, after the first count.
pub fn open_results(
    transcript: &Transcript,
    options: &ScanOptions,
    encoding: Encoding,
    messages: Range<usize>,
    short_bytes: usize,
    beginning: &str,
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
            let counts = counts.get_or_insert_with(|| message.segment.counts(transcript.format(), encoding));
            let row = message.row.blocks.start as usize + block.index;
            let named = call_of(BlockRef::of(&block)).map_or(Some(block), |call| pairs::block_at(transcript, call));
            let is_short = block.text_bytes() <= short_bytes;
            let text = is_short.then(|| block.text_beginning_with(beginning)).flatten();
            found.push(OpenResult {
                message: message.index,
                block: block.index,
                tokens: counts.blocks.get(row).copied().unwrap_or_default(),
                name: named.and_then(|block| block.name()).map(Into::into),
                text: text.map(Into::into),
            });
        }
    }
    found
}
