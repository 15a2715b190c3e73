//! Answers calls that have no result and that nobody waits for, or takes them out.
//!
//! A made-up result says that it is one ([`NO_RESULT`]), and goes with its call when that is removed. The provider's
//! own calls and calls that cannot have a result always go.

use std::collections::{HashMap, HashSet};

use super::changes::Changes;
use super::place::{Places, ResultSource};
use super::work::Work;
use super::{Action, NO_RESULT, Unanswered};
use crate::groups;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::BlockKind;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "unanswered_call";
    let table = work.pairs();
    if table.abandoned.is_empty() {
        return Ok(());
    }
    let rules = work.rules();
    let own = work.minds(CODE, Some(rules.call_needs_result));
    let server_side = work.minds(CODE, rules.server_call_needs_result);
    let places = Places::new(work);
    let needed = needed_by_others(work, &table.abandoned);
    let counted = work.counted();
    let mut changes = Changes::default();
    for &call in &table.abandoned {
        let Some(block) = work.block(call) else { continue };
        if !(if block.row.server_side { server_side } else { own }) {
            continue;
        }
        let known = table.call_id(&work.transcript, call).is_some();
        let answerable = !block.row.server_side && known && places.has_place(work, call);
        let wanted =
            work.options.unanswered == Unanswered::Synthesize || needed.contains(&call) || counted.contains(&call);
        if answerable && wanted {
            let result = work.transcript.format().result_for(&block, NO_RESULT);
            let name = places.put(work, &mut changes, call, ResultSource::Made(result));
            let text = "The call has no result and got one that says so.".to_owned();
            work.note_block(CODE, Action::Synthesize, call, name, text);
        } else if !counted.contains(&call) {
            changes.remove(call);
            let text = "The call has no result and went.".to_owned();
            work.note_block(CODE, Action::Drop, call, None, text);
        }
    }
    work.apply(changes)
}

/// The calls without which others would lose something: one that carries the seal of its batch while other calls of
/// the batch stay, or one that keeps the reasoning at the start of an open loop in its message.
fn needed_by_others(work: &mut Work<'_>, abandoned: &[BlockRef]) -> HashSet<BlockRef> {
    if work.options.unanswered == Unanswered::Synthesize {
        return HashSet::new();
    }
    let mut lost: HashMap<usize, usize> = HashMap::new();
    for call in abandoned {
        *lost.entry(call.message).or_default() += 1;
    }
    let thinking = work.options.scan.thinking(&work.transcript);
    let open = groups::guarded_loop(&work.transcript, work.rules(), thinking);
    // Of each message: how many calls it has, and whether it reasons.
    let mut seen: HashMap<usize, (usize, bool)> = HashMap::new();
    let mut needed = HashSet::new();
    for &call in abandoned {
        let (Some(block), Some(message)) = (work.block(call), work.transcript.message(call.message)) else {
            continue;
        };
        let &mut (calls, reasons) = seen.entry(call.message).or_insert_with(|| {
            let calls = message.blocks().filter(|other| other.kind() == BlockKind::ToolCall);
            let reasons = message.blocks().any(|other| other.kind() == BlockKind::Reasoning);
            (calls.count(), reasons)
        });
        let others_stay = lost.get(&call.message).is_some_and(|&lost| lost < calls);
        let in_loop = open.as_ref().is_some_and(|open| open.contains(&call.message));
        if (block.row.seal.is_some() && others_stay) || (in_loop && reasons) {
            needed.insert(call);
        }
    }
    needed
}
