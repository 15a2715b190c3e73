//! New ids for calls, carried to their results and to all that belongs to them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::Action;
use super::changes::Changes;
use super::work::Work;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, Transcript};

/// The calls that keep their ids: awaited ones, and those that awaited ones belong to and so name. O(blocks).
pub(super) fn kept(work: &mut Work<'_>) -> HashSet<BlockRef> {
    let mut kept = work.pending();
    kept.extend(owners(&work.transcript, &kept));
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
    let mut changes = Changes::default();
    for (&call, id) in new {
        let Some(old) = table.call_id(&work.transcript, call) else {
            continue;
        };
        let answers = results.get(&call).into_iter().flatten();
        for (at, what) in std::iter::once((call, "call")).chain(answers.map(|&result| (result, "result"))) {
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
    for (at, old, id) in followers(&work.transcript, new) {
        let text = format!("The call {old:?} that this belongs to has the id {id:?} now.");
        work.note_block(code, Action::Rename, at, Some(work.name(at.message)), text);
        changes.of(at.message).owners.push((at.block, id));
    }
    work.apply(changes)
}

/// The calls that blocks belong to which are among `members`.
fn owners(transcript: &Transcript, members: &HashSet<BlockRef>) -> Vec<BlockRef> {
    let mut calls: HashMap<Cow<'_, str>, BlockRef> = HashMap::new();
    let mut found = Vec::new();
    for block in transcript.messages().flat_map(|message| message.blocks()) {
        let at = BlockRef::of(&block);
        if members.contains(&at) {
            found.extend(block.part_of().and_then(|id| calls.get(&id).copied()));
        }
        if let (BlockKind::ToolCall, Some(id)) = (block.kind(), block.call_id()) {
            calls.insert(id, at);
        }
    }
    found
}

/// The blocks that belong to a renamed call, with its old id and its new one.
fn followers(transcript: &Transcript, renamed: &BTreeMap<BlockRef, String>) -> Vec<(BlockRef, String, String)> {
    let mut calls: HashMap<Cow<'_, str>, BlockRef> = HashMap::new();
    let mut found = Vec::new();
    for block in transcript.messages().flat_map(|message| message.blocks()) {
        if let Some(old) = block.part_of()
            && let Some(id) = calls.get(&old).and_then(|call| renamed.get(call))
        {
            found.push((BlockRef::of(&block), old.into_owned(), id.clone()));
        }
        if let (BlockKind::ToolCall, Some(id)) = (block.kind(), block.call_id()) {
            calls.insert(id, BlockRef::of(&block));
        }
    }
    found
}
