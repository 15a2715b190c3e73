//! Moves results to where the provider looks for them: behind their call, or into the message after it.
//!
//! A result that stands before its call is moved, too, if that call has no other: better the real result than a made-up
//! one. For a call that is awaited it is taken only where its id says so, and no other call has that id: under a tool's name
//! the result of an earlier call, which a cut took away, looks the same. Nor is it taken where its message holds anything
//! else, which would end what is awaited. What was said in between stays behind.
//!
//! A call in a message that is not the model's has no place for its result, so the model gets that first.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Action;
use super::changes::Changes;
use super::duplicate_call_id;
use super::foreign_calls::{self, is_call};
use super::place::{Places, ResultSource};
use super::work::Work;
use crate::pairs::{BlockRef, Pair, PairTable};
use crate::rules::ResultPlace;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, BlockView, MessageView, Place, Role};

/// Moves results that stand before their call.
pub(super) fn early(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "orphan_result";
    let table = work.pairs();
    let rules = work.rules();
    let minds =
        work.minds(CODE, Some(rules.result_needs_call)) && work.minds("unanswered_call", Some(rules.call_needs_result));
    if !minds || table.orphan_results.is_empty() {
        return Ok(());
    }
    let places = Places::new(work);
    let apart = rules.result_place != ResultPlace::NextMessage;
    let answers = table.pairs.iter().filter(|_| apart).map(|pair| pair.result.message);
    let answering: HashSet<usize> = answers.collect();
    // In place duplicates belong to the call that has its result.
    let mut repeated = table.repeated_results.iter().filter(|pair| !pair.misplaced).peekable();
    let mut waiting: HashMap<Key, Vec<BlockRef>> = HashMap::new();
    let mut orphans = table.orphan_results.iter().copied().peekable();
    let mut found: Vec<(BlockRef, BlockRef)> = Vec::new();
    let pending = work.pending();
    // What else a message holds would come between awaited calls and what is yet to come, and nobody awaited them any more.
    let ends = |call: BlockRef, result: &BlockRef| apart && pending.contains(&call) && holds_more(work, result.message);
    for call in unanswered(work, &table) {
        while let Some(result) = orphans.next_if(|&result| result < call) {
            if repeated.next_if(|pair| pair.result == result).is_some() {
                continue;
            }
            let own = work.block(result).is_some_and(|block| !block.row.server_side);
            // One text may answer several calls, some of which it stands behind.
            if own
                && !answering.contains(&result.message)
                && places.can_move(work, result)
                && let Some(key) = key(work, result)
            {
                waiting.entry(key).or_default().push(result);
            }
        }
        let own = work.block(call).is_some_and(|block| is_call(&block));
        let Some(key) = key(work, call).filter(|_| own) else {
            continue;
        };
        let Some(results) = waiting.get_mut(&key) else { continue };
        let nearest = results.iter().rposition(|result| !ends(call, result));
        found.extend(nearest.map(|nearest| (call, results.remove(nearest))));
    }
    let homeless = found.iter().filter(|(call, _)| !places.has_place(work, *call));
    let homeless = homeless.map(|(call, _)| call.message);
    // A result that is its message would take calls along that stand in it.
    let laden = found.iter().map(|(_, result)| result.message).filter(|_| apart);
    let laden = laden.filter(|&message| {
        let message = work.transcript.message(message);
        message.is_some_and(|message| message.blocks().any(|block| is_call(&block)))
    });
    let homeless: BTreeSet<usize> = homeless.chain(laden).collect();
    if foreign_calls::give(work, CODE, &homeless)? {
        return Ok(());
    }
    let (later, runs) = (rules.result_place == ResultPlace::Later, runs(work));
    let mut changes = Changes::default();
    for (call, result) in found {
        if places.has_place(work, call) {
            // Between awaited calls it would end what is awaited before it.
            let behind = runs.get(call.message).filter(|_| later && pending.contains(&call));
            let behind = behind.map_or(call, |&message| BlockRef { message, ..call });
            let name = places.put(work, &mut changes, behind, ResultSource::Moved(result));
            let text = "The result stood before its call and was moved behind it.".to_owned();
            work.note_block(CODE, Action::Move, result, name, text);
        }
    }
    work.apply(changes)
}

/// Whether a message holds anything beside results.
fn holds_more(work: &Work<'_>, message: usize) -> bool {
    let message = work.transcript.message(message);
    message.is_some_and(|message| message.blocks().any(|block| block.kind() != BlockKind::ToolResult))
}

/// For each message with calls, the last of one answer with it; where that goes over into the next, the last with calls.
/// O(blocks)
fn runs(work: &Work<'_>) -> Vec<usize> {
    let messages: Vec<MessageView<'_>> = work.transcript.messages().collect();
    let mut ends: Vec<usize> = Vec::with_capacity(messages.len());
    let (mut end, mut goes_over) = (None, false);
    for (index, message) in messages.iter().enumerate().rev() {
        let holds = |kind: BlockKind| message.blocks().any(|block| block.kind() == kind);
        if message.role() != Role::Assistant {
            (end, goes_over) = (None, false);
        } else if end.is_none() && (!goes_over || holds(BlockKind::ToolCall)) {
            end = Some(index);
        }
        ends.push(end.unwrap_or(index));
        // Text after a call is the next answer.
        if holds(BlockKind::Text) {
            (end, goes_over) = (None, true);
        }
    }
    ends.reverse();
    ends
}

/// The calls that a result before them may answer, in order.
fn unanswered(work: &Work<'_>, table: &PairTable) -> Vec<BlockRef> {
    let answered: HashSet<BlockRef> = table.pairs.iter().map(|pair| pair.call).collect();
    let reused: HashSet<&str> = table.duplicate_call_ids.iter().map(String::as_str).collect();
    let certain = |call: &BlockRef| {
        let block = work.block(*call).filter(|block| !block.row.by_name);
        let id = block.as_ref().and_then(BlockView::call_id);
        !answered.contains(call) && id.is_some_and(|id| !reused.contains(&*id))
    };
    let mut calls = table.abandoned.clone();
    calls.extend(table.pending.iter().copied().filter(certain));
    calls.sort_unstable();
    calls
}

/// Gives the model the calls of results that have no place because another's message holds the call.
pub(super) fn calls(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "misplaced_result";
    if !work.minds(CODE, Some(work.rules().result_in_place)) {
        return Ok(());
    }
    let mut calls = homeless(work);
    if calls.is_empty() {
        return Ok(());
    }
    let table = work.pairs();
    let id = |call: &BlockRef| table.call_id(&work.transcript, *call);
    let ids: HashSet<Option<String>> = calls.iter().map(id).collect();
    if table.pending.iter().any(|call| ids.contains(&id(call))) {
        // Beside the awaited call of its id, whose turn it is, a call would lose its result to that one.
        duplicate_call_id::run(work)?;
        calls = homeless(work);
    }
    let messages: BTreeSet<usize> = calls.iter().map(|call| call.message).collect();
    foreign_calls::give(work, CODE, &messages)?;
    Ok(())
}

/// The calls of misplaced results that have no place. O(blocks)
fn homeless(work: &mut Work<'_>) -> Vec<BlockRef> {
    let table = work.pairs();
    let mut misplaced = table.pairs.iter().filter(|pair| pair.misplaced).peekable();
    if misplaced.peek().is_none() {
        return Vec::new();
    }
    let places = Places::new(work);
    let calls = misplaced.map(|pair| pair.call);
    calls.filter(|&call| !places.has_place(work, call)).collect()
}

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "misplaced_result";
    let table = work.pairs();
    let pending = work.pending();
    // Of an awaited call, further results come along.
    let further = table
        .repeated_results
        .iter()
        .filter(|pair| pending.contains(&pair.call));
    let found = table.pairs.iter().map(|pair| (pair, CODE));
    let found = found.chain(further.map(|pair| (pair, "orphan_result")));
    let mut misplaced: Vec<(Pair, &'static str)> = found.map(|(pair, code)| (*pair, code)).collect();
    misplaced.retain(|(pair, _)| pair.misplaced);
    if misplaced.is_empty() || !work.minds(CODE, Some(work.rules().result_in_place)) {
        return Ok(());
    }
    let places = Places::new(work);
    // One that may stand anywhere would be left before the one that it follows.
    let movable = misplaced.iter().filter(|(pair, _)| places.can_move(work, pair.result));
    let moving: HashMap<BlockRef, BlockRef> = movable.map(|(pair, _)| (pair.call, pair.result)).collect();
    let left_behind = |pair: &&Pair| {
        let follows = moving.get(&pair.call).is_some_and(|&result| result < pair.result);
        !pair.misplaced && follows && places.is_before(pair)
    };
    misplaced.extend(table.pairs.iter().filter(left_behind).map(|pair| (*pair, CODE)));
    misplaced.sort_by_key(|(pair, _)| (pair.call, pair.result));
    let counted = work.counted();
    let mut changes = Changes::default();
    for (pair, code) in misplaced {
        if !places.can_move(work, pair.result) {
            let listed = work.block(pair.result).map(|block| block.row.place);
            if matches!(listed, Some(Place::Item(..))) && !pending.contains(&pair.call) {
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
            work.note_block(code, Action::Move, pair.result, name, text);
        } else if !counted.contains(&pair.call) && !pending.contains(&pair.call) {
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
