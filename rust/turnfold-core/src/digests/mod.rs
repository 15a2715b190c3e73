//! What tools did, by rule: one short factual sentence for each call, no model asked.
//!
//! One extractor a file. The first that recognises a call by its tool's name and argument names describes it; the
//! last one takes anything. Names are compared by their last part, without `_` and `-`: `mcp__box__read_file` and
//! `ReadFile` are one.

mod call;
mod other;
mod outcome;
mod read;
mod search;
mod shell;
mod write;

use std::collections::HashMap;
use std::ops::Range;

use crate::formats::WireFormat;
use crate::json::Unescaping;
use crate::pairs::{BlockRef, PairTable, block_at};
use crate::transcript::{BlockKind, BlockView, Transcript};
use call::Call;
pub(crate) use outcome::error_of_line;

/// The command that a call runs, whole; `None` where it runs none.
pub(crate) fn command(format: &dyn WireFormat, call: &BlockView<'_>) -> Option<String> {
    let call = Call::read(format, call, None);
    shell::Shell::command(&call).map(|argument| argument.text.clone())
}

/// What kind of work a tool did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DigestKind {
    /// Looked at a file.
    Read,
    /// Ran a command or code.
    Shell,
    /// Searched or listed files, or searched the web.
    Search,
    /// Wrote, edited, patched or deleted a file.
    Write,
    /// Anything else.
    Other,
}

impl DigestKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Read, Self::Shell, Self::Search, Self::Write, Self::Other];

    /// The stable name: `read`, `shell`, ...
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Shell => "shell",
            Self::Search => "search",
            Self::Write => "write",
            Self::Other => "other",
        }
    }
}

/// What one call did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The call.
    pub call: BlockRef,
    /// The tool's name as the call spells it; empty where it has none.
    pub tool: String,
    /// What kind of work it was.
    pub kind: DigestKind,
    /// What it worked on: a path, a command, a pattern; `None` where the arguments name nothing.
    pub target: Option<String>,
    /// What came of it, without the target: `120 lines`, `exit 101, "error[E0502]"`, `no result`.
    pub outcome: String,
    /// The sentence: one line of at most some 400 characters.
    pub text: String,
    /// Whether the tool, its exit code or the text of its result reports a failure.
    pub is_error: bool,
}

/// What an extractor says of a call.
struct Description {
    target: Option<String>,
    outcome: String,
    text: String,
}

/// Recognises and describes calls of one kind.
trait Extractor: Sync {
    fn kind(&self) -> DigestKind;
    fn recognises(&self, call: &Call<'_>) -> bool;
    fn describe(&self, call: &Call<'_>) -> Description;
}

/// In the order in which they are asked.
const EXTRACTORS: [&dyn Extractor; 5] = [
    &read::Read,
    &write::Write,
    &shell::Shell,
    &search::Search,
    &other::Other,
];

/// A digest of each call in `messages`, in order; `pairs` are those of the whole transcript, so a result may stand
/// behind the range. Linear in the bytes of the calls and of their results.
pub fn digest(transcript: &Transcript, messages: Range<usize>, pairs: &PairTable) -> Vec<Digest> {
    let results: HashMap<BlockRef, BlockRef> = pairs.pairs.iter().map(|p| (p.call, p.result)).collect();
    let mut digests = Vec::new();
    let mut room = Unescaping::default();
    for message in messages.filter_map(|i| transcript.message(i)) {
        for block in message.blocks().filter(|b| b.kind() == BlockKind::ToolCall) {
            let at = BlockRef::of(&block);
            let result = results.get(&at).and_then(|&r| block_at(transcript, r));
            let outcome = result.map(|result| outcome::Outcome::read(&result, &mut room));
            let call = Call::read(transcript.format(), &block, outcome);
            digests.push(describe(at, &call));
        }
    }
    digests
}

fn describe(at: BlockRef, call: &Call<'_>) -> Digest {
    let extractor = EXTRACTORS
        .into_iter()
        .find(|e| e.recognises(call))
        .unwrap_or(&other::Other);
    let Description { target, outcome, text } = extractor.describe(call);
    Digest {
        call: at,
        tool: call.tool.to_string(),
        kind: extractor.kind(),
        target,
        outcome,
        text,
        is_error: call.outcome.as_ref().is_some_and(outcome::Outcome::failed),
    }
}

/// Longest target or quotation in characters.
const TARGET_CHARS: usize = 160;

/// The text on one line: white space collapsed, cut to `chars` characters with an ellipsis. O(`chars`) on texts that
/// are not mostly white space.
fn one_line(text: &str, chars: usize) -> String {
    let mut out = String::new();
    let mut left = chars;
    for word in text.split_whitespace() {
        let gap = usize::from(!out.is_empty());
        if left <= gap {
            out.push('…');
            return out;
        }
        if gap == 1 {
            out.push(' ');
            left -= 1;
        }
        let end = word.char_indices().nth(left).map_or(word.len(), |(at, _)| at);
        out.push_str(word.get(..end).unwrap_or_default());
        if end < word.len() {
            out.push('…');
            return out;
        }
        left = left.saturating_sub(word.chars().count());
    }
    out
}

/// `1 line`, `3 lines`.
fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
