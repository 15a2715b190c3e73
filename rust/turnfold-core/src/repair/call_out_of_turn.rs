//! Puts a message with calls that follows another one of the model into that one, where calls must follow the user.

use std::collections::HashSet;

use super::Action;
use super::changes::{Changes, Position, Site, as_item};
use super::work::Work;
use crate::groups;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::Role;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "call_out_of_turn";
    if !work.minds(CODE, work.rules().call_after_user) {
        return Ok(());
    }
    let held: HashSet<usize> = work.pending().iter().map(|call| call.message).collect();
    let format = work.transcript.format();
    let mut changes = Changes::default();
    let mut joined = Vec::new();
    // The first message of a run of the model's, or the last that must stay, and those that go into it with the calls
    // behind them.
    let mut target = None;
    let mut run = Vec::new();
    for message in work.transcript.messages() {
        if message.role() != Role::Assistant {
            target = None;
            run.clear();
            continue;
        }
        let takes = Site::of(format, &message).is_some();
        let Some(into) = target.filter(|_| takes && !held.contains(&message.index)) else {
            target = takes.then_some(message.index);
            run.clear();
            continue;
        };
        let calls = groups::calls_tools(&message);
        run.push(message);
        if calls {
            for message in run.drain(..) {
                let inserts = &mut changes.of(into).inserts;
                inserts.extend(message.blocks().map(|block| (Position::End, as_item(format, &block))));
                changes.of(message.index).gone = true;
                joined.extend(message.blocks().map(|block| (BlockRef::of(&block), into)));
            }
        }
    }
    for (at, into) in joined {
        let text =
            "The message with calls followed another of the model's, and what it held went into that.".to_owned();
        work.note_block(CODE, Action::Move, at, Some(work.name(into)), text);
    }
    work.apply(changes)
}
