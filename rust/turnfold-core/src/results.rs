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
    each(transcript, options, encoding, messages).collect()
}

/// The same, looked for as they are asked for.
pub(crate) fn each(
    transcript: &Transcript,
    options: &ScanOptions,
    encoding: Encoding,
    messages: Range<usize>,
) -> impl Iterator<Item = OpenResult> {
    let table = pairs::remembered(transcript, options);
    let messages = transcript.messages_from(messages.start).take(messages.len());
    let results = messages.flat_map(|message| message.blocks().map(move |block| (message, block)));
    results
        .filter(|(_, block)| block.kind() == BlockKind::ToolResult && block.row.body.is_some() && !is_masked(block))
        .map(move |(message, block)| open(transcript, &table.pairs, encoding, &message, &block))
}

/// One of them; `pairs` are all of the transcript.
fn open(
    transcript: &Transcript,
    pairs: &[Pair],
    encoding: Encoding,
    message: &MessageView<'_>,
    block: &BlockView<'_>,
) -> OpenResult {
    // In the order of their results.
    let answers = pairs.binary_search_by_key(&BlockRef::of(block), |pair| pair.result);
    let call = answers.ok().and_then(|k| pairs.get(k)).map(|pair| pair.call);
    let named = call.map_or(Some(*block), |call| pairs::block_at(transcript, call));
    let counts = message.segment.counts(transcript.format(), encoding);
    let row = message.row.blocks.start as usize + block.index;
    OpenResult {
        message: message.index,
        block: block.index,
        tokens: counts.blocks.get(row).copied().unwrap_or_default(),
        name: named.and_then(|block| block.name()).map(Into::into),
    }
}

fn is_masked(block: &BlockView<'_>) -> bool {
    block.text_bytes() <= masks::MOST_BYTES && block.text_beginning_with("[").is_some_and(|text| masks::is_line(&text))
}
