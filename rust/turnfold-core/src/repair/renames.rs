//! New ids for calls, carried to their results and to all that belongs to them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::Action;
use super::changes::Changes;
use super::work::Work;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, BlockView, Transcript};

/// The calls that keep their ids: awaited ones, and those that awaited ones belong to and so name. O(blocks).
pub(super) fn kept(work: &mut Work<'_>) -> HashSet<BlockRef> {
    let mut kept = work.pending();
    let owners: Vec<BlockRef> = belongings(&work.transcript)
        .into_iter()
        .filter(|(block, _)| kept.contains(&BlockRef::of(block)))
        .map(|(_, call)| call)
        .collect();
    kept.extend(owners);
    kept
}

/// Gives the calls their new ids. `text` says what was done to a call or a result, by the old id, the word for it and
/// the new id. O(blocks).
pub(super) fn rename(
    work: &mut Work<'_>,
    code: &'static str,
    new: &BTreeMap<BlockRef, String>,
    text: impl Fn(&str, &str, &str) -> String,
) -> Result<(), SpliceError> {
    let table = work.pairs();
    let mut results: HashMap<BlockRef, Vec<BlockRef>> = HashMap::new();
    for pair in &table.pairs {
        results.entry(pair.call).or_default().push(pair.result);
    }
    rename_with(work, code, new, |call| results.remove(&call).unwrap_or_default(), text)
}

/// The same, with results that `results` gives for each call. O(blocks).
pub(super) fn rename_with(
    work: &mut Work<'_>,
    code: &'static str,
    new: &BTreeMap<BlockRef, String>,
    mut results: impl FnMut(BlockRef) -> Vec<BlockRef>,
    text: impl Fn(&str, &str, &str) -> String,
) -> Result<(), SpliceError> {
    let table = work.pairs();
    let mut changes = Changes::default();
    for (&call, id) in new {
        let Some(old) = table.call_id(&work.transcript, call) else {
            continue;
        };
        let answers = results(call).into_iter();
        for (at, what) in std::iter::once((call, "call")).chain(answers.map(|result| (result, "result"))) {
            work.note_block(
                code,
                Action::Rename,
                at,
                Some(work.name(at.message)),
                text(&old, what, id),
            );
            changes.of(at.message).ids.push((at.block, id.clone()));
        }
    }
    let followers: Vec<_> = belongings(&work.transcript)
        .into_iter()
        .filter_map(|(block, call)| Some((BlockRef::of(&block), block.part_of()?.into_owned(), new.get(&call)?)))
        .collect();
    for (at, old, id) in followers {
        let text = format!("The call {old:?} that this belongs to has the id {id:?} now.");
        work.note_block(code, Action::Rename, at, Some(work.name(at.message)), text);
        changes.of(at.message).owners.push((at.block, id.clone()));
    }
    work.apply(changes)
}

/// Every block that belongs to a call, and that call: the last one before it that has the id. O(blocks).
fn belongings(transcript: &Transcript) -> Vec<(BlockView<'_>, BlockRef)> {
    let mut calls: HashMap<Cow<'_, str>, BlockRef> = HashMap::new();
    let mut found = Vec::new();
    for block in transcript.messages().flat_map(|message| message.blocks()) {
        let owner = block.part_of().and_then(|id| calls.get(&id).copied());
        found.extend(owner.map(|call| (block, call)));
        if let (BlockKind::ToolCall, Some(id)) = (block.kind(), block.call_id()) {
            calls.insert(id, BlockRef::of(&block));
        }
    }
    found
}
