//! Gives results the id that their call is answered by, where they name the id of the call's item.
//!
//! A result that names no call, but whose own item has an id of an open call, is meant as well. Of several calls the
//! nearest before the result is meant, else the next one behind it. A result goes to a call that has none, or has only
//! one that an earlier repair made up.

use std::collections::{HashMap, HashSet};

use super::Action;
use super::changes::{Changes, takes_id};
use super::orphan_result::is_made_up;
use super::work::Work;
use crate::pairs::{self, BlockRef};
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, BlockView};

/// A family of calls, and an id: that of the item, or the call's own.
type Key = (u8, bool, String);

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "item_id_as_call_id";
    let rules = work.rules();
    if rules.call_id_pairs.is_none() {
        return Ok(());
    }
    let (wrong, none) = (
        work.minds(CODE, rules.call_id_pairs),
        work.minds("result_without_id", Some(rules.result_needs_id)),
    );
    let table = work.pairs();
    if table.orphan_results.is_empty() || !(wrong || none) {
        return Ok(());
    }
    let orphans: HashSet<BlockRef> = table.orphan_results.iter().copied().collect();
    let real = |at: BlockRef| work.block(at).is_some_and(|result| !is_made_up(&result));
    let mut answered: HashSet<BlockRef> = table
        .pairs
        .iter()
        .filter(|pair| real(pair.result))
        .map(|pair| pair.call)
        .collect();
    // Of several awaited calls with one id, an interim result would leave the others awaited alone.
    let reused: HashSet<&str> = table.duplicate_call_ids.iter().map(String::as_str).collect();
    let shares = |at: &BlockRef| {
        let id = work.block(*at).and_then(|call| call.call_id());
        id.is_some_and(|id| reused.contains(&*id))
    };
    answered.extend(table.pending.iter().filter(|at| shares(at)));
    let mut open: HashMap<Key, Vec<BlockRef>> = HashMap::new();
    let mut waiting: HashMap<Key, Vec<BlockRef>> = HashMap::new();
    let mut found: Vec<(BlockRef, BlockRef)> = Vec::new();
    let format = work.transcript.format();
    for block in work.transcript.messages().flat_map(|message| message.blocks()) {
        let at = BlockRef::of(&block);
        match block.kind() {
            BlockKind::ToolCall if !answered.contains(&at) => {
                let names = names(&block);
                let result = names.iter().find_map(|name| waiting.get_mut(name).and_then(Vec::pop));
                if let Some(result) = result {
                    answered.insert(at);
                    found.push((at, result));
                    continue;
                }
                for name in names {
                    open.entry(name).or_default().push(at);
                }
            }
            BlockKind::ToolResult if orphans.contains(&at) => {
                let wanted = wanted(&block, wrong, none && takes_id(format, &block));
                let call = wanted.iter().find_map(|name| last_open(open.get_mut(name)?, &answered));
                if let Some(call) = call {
                    answered.insert(call);
                    found.push((call, at));
                } else if let Some(name) = wanted.into_iter().next() {
                    waiting.entry(name).or_default().push(at);
                }
            }
            _ => {}
        }
    }
    let mut changes = Changes::default();
    for (call, at) in found {
        let id = work.block(call).and_then(|call| call.call_id().map(String::from));
        let (Some(id), Some(result)) = (id, work.block(at)) else {
            continue;
        };
        let (code, text) = match result.call_id() {
            Some(old) => (
                CODE,
                format!("The result named {old:?}, the id of the call's item, and names the call's id {id:?} now."),
            ),
            None => (
                "result_without_id",
                format!("The result had only the id of the call's item, and names the call's id {id:?} now."),
            ),
        };
        work.note_block(code, Action::Rename, at, Some(work.name(at.message)), text);
        changes.of(at.message).ids.push((at.block, id));
    }
    work.apply(changes)
}

/// What a result may name a call by although it should not.
fn names(call: &BlockView<'_>) -> Vec<Key> {
    let (Some(id), Some(item), false) = (call.call_id(), call.item_id(), call.row.whole) else {
        return Vec::new();
    };
    if id == item {
        return Vec::new();
    }
    let family = call.row.family;
    vec![(family, true, item.into_owned()), (family, false, id.into_owned())]
}

/// What the call of a result may be known by, most likely first.
fn wanted(result: &BlockView<'_>, wrong: bool, none: bool) -> Vec<Key> {
    let family = result.row.family;
    match (result.call_id(), result.item_id()) {
        (Some(id), _) if wrong => vec![(family, true, id.into_owned())],
        (None, Some(item)) if none && pairs::lacks_id(result) => {
            vec![(family, true, item.to_string()), (family, false, item.into_owned())]
        }
        _ => Vec::new(),
    }
}

/// The last call that has no result yet; takes those behind it out.
fn last_open(calls: &mut Vec<BlockRef>, answered: &HashSet<BlockRef>) -> Option<BlockRef> {
    while let Some(call) = calls.pop() {
        if !answered.contains(&call) {
            return Some(call);
        }
    }
    None
}
