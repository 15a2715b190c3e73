//! Puts a message with calls that follows another one of the model into that one, where calls must follow the user, and
//! a message that follows calls before their results, where results must follow the calls.

use std::collections::HashSet;

use super::Action;
use super::changes::{Changes, Position, Site, as_item};
use super::work::Work;
use crate::findings::result_not_next::parted;
use crate::groups;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::{MessageView, Role};

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const TURN: &str = "call_out_of_turn";
    const NEXT: &str = "result_not_next";
    let rules = work.rules();
    let (joins, closes) = (
        work.minds(TURN, rules.call_after_user),
        work.minds(NEXT, rules.result_next),
    );
    if !(joins || closes) {
        return Ok(());
    }
    let table = work.pairs();
    let parted = parted(&work.transcript, &table);
    let parted: HashSet<usize> = parted.iter().map(|result| result.message).collect();
    let held: HashSet<usize> = work.pending().iter().map(|call| call.message).collect();
    let format = work.transcript.format();
    let mut changes = Changes::default();
    let mut joined = Vec::new();
    // The first message of a run of the model's, or the last that must stay; whether it calls tools; and those behind it
    // that go into it with calls or results behind them.
    let (mut target, mut called) = (None, false);
    let mut run: Vec<MessageView<'_>> = Vec::new();
    let mut join = |run: &mut Vec<MessageView<'_>>, into: usize, code: &'static str| {
        for message in run.drain(..) {
            let inserts = &mut changes.of(into).inserts;
            inserts.extend(message.blocks().map(|block| (Position::End, as_item(format, &block))));
            changes.of(message.index).gone = true;
            joined.extend(message.blocks().map(|block| (BlockRef::of(&block), into, code)));
        }
    };
    for message in work.transcript.messages() {
        if message.role() != Role::Assistant {
            if let Some(into) = target.filter(|_| closes && called && parted.contains(&message.index)) {
                join(&mut run, into, NEXT);
            }
            (target, called) = (None, false);
            run.clear();
            continue;
        }
        let takes = Site::of(format, &message).is_some();
        let calls = groups::calls_tools(&message);
        // What only the provider runs and is awaited goes along where it parts calls from results that are here.
        let awaited = held.contains(&message.index) && (calls || !called || !closes);
        let stays = awaited || (calls && !joins);
        let Some(into) = target.filter(|_| takes && !stays) else {
            (target, called) = (takes.then_some(message.index), calls);
            run.clear();
            continue;
        };
        run.push(message);
        if calls {
            join(&mut run, into, TURN);
            called = true;
        }
    }
    for (at, into, code) in joined {
        let text = if code == TURN {
            "The message with calls followed another of the model's, and what it held went into that."
        } else {
            "The message stood between calls and their results, and what it held went into that with the calls."
        };
        work.note_block(code, Action::Move, at, Some(work.name(into)), text.to_owned());
    }
    work.apply(changes)
}
