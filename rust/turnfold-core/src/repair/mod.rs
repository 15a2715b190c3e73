//! Mends what a scan finds: explicitly, and with a list of what was done. One kind of repair a file.
//!
//! Each kind looks at the transcript as the kinds before it left it; rounds of all kinds follow each other until one
//! changes nothing. What a scan with the same options does not report, no kind touches: a clean transcript leaves as
//! the same bytes. Calls that are awaited stay as they are, whatever is wrong with them.

use crate::pairs::ScanOptions;
use crate::splice::SpliceError;
use crate::transcript::Transcript;

mod changes;
mod foreign_calls;
mod names;
mod place;
mod renames;
mod work;

pub mod arguments_not_text;
pub mod call_id_form;
pub mod call_out_of_turn;
pub mod duplicate_call_id;
pub mod early_prefill;
pub mod empty_content;
pub mod interleaved_calls;
pub mod item_id_as_call_id;
pub mod loose_reasoning;
pub mod lost_reasoning;
pub mod misplaced_result;
pub mod missing_id;
pub mod missing_name;
pub mod omitted_call_id;
pub mod orphan_result;
pub mod reasoning_without_summary;
pub mod result_count;
pub mod result_not_first;
pub mod split_results;
pub mod text_after_call;
pub mod trailing_space;
pub mod unanswered_call;

use work::Work;

/// The text of a result that repair made up; how a later repair knows one.
pub const NO_RESULT: &str = "[turnfold: no result was recorded for this call]";

/// The text of a message that lost all it held but must stay.
pub const NOTHING_LEFT: &str = "[turnfold: nothing is left of this message]";

/// Rounds after which repair ends whatever was found. Two suffice for what clients are known to write.
const MOST_ROUNDS: usize = 12;

/// What becomes of a call that nobody answered and nobody waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unanswered {
    /// It goes. Where that would take a seal or needed reasoning from calls that stay, it gets a result instead.
    Drop,
    /// It gets a result with the text [`NO_RESULT`].
    #[default]
    Synthesize,
}

impl Unanswered {
    /// `drop` or `synthesize`.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "drop" => Some(Self::Drop),
            "synthesize" => Some(Self::Synthesize),
            _ => None,
        }
    }
}

/// How to repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// As for the scan whose findings are to be mended: awaited calls, severities.
    pub scan: ScanOptions,
    /// What becomes of a call without a result.
    pub unanswered: Unanswered,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A block or message went.
    Drop,
    /// A block or message stands elsewhere.
    Move,
    /// A result was made up.
    Synthesize,
    /// An id was given or replaced.
    Rename,
    /// What must be there has come: a text for a message that must not go, a list, a string around a value.
    Fill,
}

impl Action {
    /// `drop`, `move`, `synthesize`, `rename` or `fill`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Move => "move",
            Self::Synthesize => "synthesize",
            Self::Rename => "rename",
            Self::Fill => "fill",
        }
    }
}

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The code of the finding that it mends.
    pub code: &'static str,
    /// What was done.
    pub action: Action,
    /// Index of the message in the input; for a result that was made up, that of its call.
    pub message: usize,
    /// Index, in the output, of the message that holds what was moved, made or changed; `None` where it went.
    pub message_after: Option<usize>,
    /// Index of the block in its message of the input, where one block is meant.
    pub block: Option<usize>,
    /// The id of the call in the input, where a call or result is meant that had one.
    pub call_id: Option<String>,
    /// What was done, in one sentence.
    pub text: String,
}

/// A repaired transcript.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The transcript: the input itself where nothing was to be done.
    pub transcript: Transcript,
    /// What was done, by the place in the input.
    pub repairs: Vec<Repair>,
    /// For each message of the output, the message of the input that it is, byte for byte; `None` for changed and new
    /// ones.
    pub kept: Vec<Option<usize>>,
}

/// Mends what a scan of `transcript` with the same options reports of calls, results, their ids and names, reasoning,
/// order within messages and empty content. What only the caller can know is left alone: roles that do not take turns,
/// instructions in the wrong place, reasoning or signatures that a provider misses, what a tool is called, and everything
/// about calls that are awaited.
///
/// O(bytes of changed messages + blocks), times the rounds.
///
/// # Errors
/// `Read` if a format writes a result or message that it cannot read.
pub fn repair(transcript: &Transcript, options: &RepairOptions) -> Result<Repaired, SpliceError> {
    let mut work = Work::new(transcript, options);
    for _ in 0..MOST_ROUNDS {
        let before = work.version();
        for kind in KINDS {
            kind(&mut work)?;
        }
        if work.version() == before {
            break;
        }
    }
    Ok(work.finish())
}

type Kind = fn(&mut Work<'_>) -> Result<(), SpliceError>;

/// Ids come first, as all pairing hangs on them, and are there and distinct before results move among their like; results
/// of one batch are together before others come to them, as their order may say which call they answer; orphans go before
/// calls are found unanswered, because a batch that only its own results follow is awaited; content is looked at when
/// nothing more is taken away.
const KINDS: [Kind; 24] = [
    item_id_as_call_id::run,
    missing_id::run,
    missing_name::run,
    result_count::run,
    misplaced_result::calls,
    misplaced_result::early,
    orphan_result::run,
    duplicate_call_id::run,
    call_id_form::run,
    omitted_call_id::run,
    split_results::run,
    result_not_first::run,
    misplaced_result::run,
    interleaved_calls::run,
    unanswered_call::run,
    lost_reasoning::run,
    loose_reasoning::run,
    empty_content::run,
    text_after_call::run,
    call_out_of_turn::run,
    reasoning_without_summary::run,
    arguments_not_text::run,
    early_prefill::run,
    trailing_space::run,
];
