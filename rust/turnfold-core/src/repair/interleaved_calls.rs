//! Takes results out of messages with calls, to where results of their own calls belong.
//!
//! A result that more will follow may stand anywhere but there; where its call is not the model's, that gets the call
//! first. Whether calls of two answers were parallel ones only the caller knows.

use std::collections::{BTreeSet, HashSet};

use super::Action;
use super::changes::Changes;
use super::foreign_calls;
use super::place::{Places, ResultSource};
use super::work::Work;
use crate::groups;
use crate::pairs::Pair;
use crate::splice::SpliceError;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "interleaved_calls";
    if !work.minds(CODE, work.rules().calls_together) {
        return Ok(());
    }
    let table = work.pairs();
    let places = Places::new(work);
    let with_calls: HashSet<usize> = work
        .transcript
        .messages()
        .filter(groups::calls_tools)
        .map(|message| message.index)
        .collect();
    let mixed = |pair: &&Pair| {
        with_calls.contains(&pair.result.message)
            && work.block(pair.result).is_some_and(|result| !result.row.server_side)
            // Where its place is the very message, a call has come into that which is not the model's, and goes or must stay.
            && !places.is_first(work, pair.call, pair.result)
            && places.can_move(work, pair.result)
    };
    let found: Vec<Pair> = table
        .pairs
        .iter()
        .filter(|pair| !pair.misplaced)
        .filter(mixed)
        .copied()
        .collect();
    let homeless = found.iter().filter(|pair| !places.has_place(work, pair.call));
    let homeless: BTreeSet<usize> = homeless.map(|pair| pair.call.message).collect();
    if foreign_calls::give(work, CODE, &homeless)? {
        return Ok(());
    }
    let mut changes = Changes::default();
    for pair in found {
        if !places.has_place(work, pair.call) {
            continue;
        }
        let name = places.put(work, &mut changes, pair.call, ResultSource::Moved(pair.result));
        let text = "The result stood in one message with calls and was moved to where results of its call belong.";
        work.note_block(CODE, Action::Move, pair.result, name, text.to_owned());
    }
    work.apply(changes)
}
