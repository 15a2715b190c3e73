//! Moves results to where the provider looks for them: behind their call, or into the message after it.
//!
//! A result that stands before its call is moved, too, if that call has no other: better the real result than a made-up
//! one. What was said in between stays behind. A call in a message that is not the model's has no place for its result: a
//! message of calls and words becomes the model's, as the user calls nothing; where results or media stand beside, or
//! nothing before, both go.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::Action;
use super::changes::Changes;
use super::place::{Places, ResultSource};
use super::work::Work;
use crate::json::Document;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, BlockView, Place, Role};

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
    let mut calls = Vec::new();
    for index in misplaced.iter().map(|pair| pair.call.message).collect::<BTreeSet<_>>() {
        if let Some(edit) = as_models(work, index).filter(|_| !held.contains(&index)) {
            changes.of(index).edits.push(edit);
            calls.extend(
                work.transcript
                    .message(index)
                    .into_iter()
                    .flat_map(|message| message.blocks())
                    .filter(is_call)
                    .map(|call| BlockRef::of(&call)),
            );
        }
    }
    for at in calls {
        let text = "The message with this call was the user's, who calls nothing, and is the model's now.".to_owned();
        work.note_block(CODE, Action::Fill, at, Some(work.name(at.message)), text);
    }
    if !changes.is_empty() {
        // Where results belong is another question now.
        return work.apply(changes);
    }
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

fn is_call(block: &BlockView<'_>) -> bool {
    block.kind() == BlockKind::ToolCall && !block.row.server_side
}

/// What makes the message the model's, if it is one of the user's that holds calls, and beside them only what a model
/// writes.
fn as_models(work: &Work<'_>, message: usize) -> Option<(Range<usize>, Vec<u8>)> {
    let message = work.transcript.message(message)?;
    let written =
        |block: BlockView<'_>| is_call(&block) || matches!(block.kind(), BlockKind::Text | BlockKind::Reasoning);
    // The first message stays the user's: what came before is lost, and so the calls are.
    let opens = message.index <= work.transcript.leading();
    if message.role() != Role::User || opens || !message.blocks().all(written) {
        return None;
    }
    let plain = work.transcript.format().text_message(Role::Assistant, "");
    let document = Document::parse(&plain).ok()?;
    let role = document.root().get("role")?.raw().to_vec();
    let (start, span) = (message.row.span.start, message.row.role_text?);
    Some(((span.start - start) as usize..(span.end - start) as usize, role))
}

/// What a call and its result have in common: the family, whether the form has no ids, and the id, or the tool's name.
type Key = (u8, bool, String);

fn key(work: &Work<'_>, at: BlockRef) -> Option<Key> {
    let block = work.block(at)?;
    let by_name = block.row.by_name;
    let key = if by_name { block.name() } else { block.call_id() };
    key.map(|key| (block.row.family, by_name, key.into_owned()))
}
