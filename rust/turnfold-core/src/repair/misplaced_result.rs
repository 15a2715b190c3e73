//! Moves results to where the provider looks for them: behind their call, or into the message after it.
//!
//! A result that stands before its call is moved, too, if that call has no other: better the real result than a made-up
//! one. What was said in between stays behind. A call in a message that is not the model's has no place for its result;
//! both go.

use std::collections::{HashMap, HashSet};

use super::Action;
use super::changes::Changes;
use super::place::{Places, ResultSource};
use super::work::Work;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::Place;

/// Moves results that stand before their call.
pub(super) fn early(work: &mut Work<'_>) -> Result<(), SpliceError> {
    let table = work.pairs();
    let rules = work.rules();
    let minds = work.minds("orphan_result", Some(rules.result_needs_call))
        && work.minds("unanswered_call", Some(rules.call_needs_result));
    if !minds || table.orphan_results.is_empty() || table.abandoned.is_empty() {
        return Ok(());
    }
    let places = Places::new(work);
    let held: HashSet<usize> = work.pending().iter().map(|call| call.message).collect();
    // In place duplicates belong to the call that has its result.
    let mut repeated = table.repeated_results.iter().filter(|pair| !pair.misplaced).peekable();
    let mut waiting: HashMap<Key, Vec<BlockRef>> = HashMap::new();
    let mut orphans = table.orphan_results.iter().copied().peekable();
    let mut changes = Changes::default();
    for &call in &table.abandoned {
        while let Some(result) = orphans.next_if(|&result| result < call) {
            if repeated.next_if(|pair| pair.result == result).is_some() {
                continue;
            }
            let own = work.block(result).is_some_and(|block| !block.row.server_side);
            if own
                && places.can_move(work, result)
                && !held.contains(&result.message)
                && let Some(key) = key(work, result)
            {
                waiting.entry(key).or_default().push(result);
            }
        }
        let own = work.block(call).is_some_and(|block| !block.row.server_side);
        if !own || !places.has_place(work, call) {
            continue;
        }
        let Some(key) = key(work, call) else { continue };
        let nearest = waiting.get_mut(&key).and_then(Vec::pop);
        if let Some(result) = nearest {
            let name = places.put(work, &mut changes, call, ResultSource::Moved(result));
            let text = "The result stood before its call and was moved behind it.".to_owned();
            work.note_block("orphan_result", Action::Move, result, name, text);
        }
    }
    work.apply(changes)
}

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "misplaced_result";
    let table = work.pairs();
    let mut misplaced: Vec<_> = table.pairs.iter().filter(|pair| pair.misplaced).collect();
    if misplaced.is_empty() || !work.minds(CODE, Some(work.rules().result_in_place)) {
        return Ok(());
    }
    misplaced.sort_by_key(|pair| (pair.call, pair.result));
    let places = Places::new(work);
    let pending = work.pending();
    let held: HashSet<usize> = pending.iter().map(|call| call.message).collect();
    let counted = work.counted();
    let mut changes = Changes::default();
    for pair in misplaced {
        if pending.contains(&pair.call) || held.contains(&pair.result.message) {
            continue;
        }
        if !places.can_move(work, pair.result) {
            let listed = work.block(pair.result).map(|block| block.row.place);
            if matches!(listed, Some(Place::Item(..))) {
                changes.remove(pair.result);
                let text =
                    "One text answers several calls, and this is not where results of this one belong: its id went.";
                work.note_block(CODE, Action::Drop, pair.result, None, text.to_owned());
            }
            continue;
        }
        if places.has_place(work, pair.call) {
            let name = places.put(work, &mut changes, pair.call, ResultSource::Moved(pair.result));
            let text = "The result did not stand where results of its call belong and was moved there.".to_owned();
            work.note_block(CODE, Action::Move, pair.result, name, text);
        } else if !counted.contains(&pair.call) {
            for at in [pair.call, pair.result] {
                changes.remove(at);
                let text =
                    "The call stands in a message that is not the model's, so that its result has no place: both went.";
                work.note_block(CODE, Action::Drop, at, None, text.to_owned());
            }
        }
    }
    work.apply(changes)
}

/// What a call and its result have in common: the family, whether the form has no ids, and the id, or the tool's name.
type Key = (u8, bool, String);

fn key(work: &Work<'_>, at: BlockRef) -> Option<Key> {
    let block = work.block(at)?;
    let by_name = block.row.by_name;
    let key = if by_name { block.name() } else { block.call_id() };
    key.map(|key| (block.row.family, by_name, key.into_owned()))
}
