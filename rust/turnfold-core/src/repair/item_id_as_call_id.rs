//! Gives results the id that their call is answered by, where they name the id of the call's item.
//!
//! A result that names no call, but whose own item has an id of an open call, is meant as well. Of several calls the
//! nearest before the result is meant, else the next one behind it. A result goes to a call that has none, or has only
//! one that an earlier repair made up.
//!
//! Where other calls with the id are open as well, the id does not say which is meant, as the item's does: the call gets an
//! id of its own then. Awaited calls keep theirs, so a result that names the item of one that shares its id stays as it is.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Action;
use super::changes::{Changes, takes_id};
use super::names::Ids;
use super::orphan_result::is_made_up;
use super::renames;
use super::work::Work;
use crate::pairs::{self, BlockRef, PairTable};
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
    for (call, _) in uncertain(work, &table, &[]) {
        answered.remove(&call);
    }
    answered.extend(shared(work));
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
    let unclear = uncertain(work, &table, &found);
    let (unclear, clear): (Vec<_>, Vec<_>) = found.into_iter().partition(|claim| unclear.contains(claim));
    let kept = renames::kept(work);
    let mut ids = Ids::new(&work.transcript);
    let form = work.transcript.format().call_id_form();
    let mut new: BTreeMap<BlockRef, String> = BTreeMap::new();
    for &(call, _) in unclear.iter().filter(|(call, _)| !kept.contains(call)) {
        let old = work.block(call).and_then(|block| block.call_id().map(String::from));
        new.extend(old.map(|old| (call, ids.free(&old, 2, &form))));
    }
    let claims: HashMap<BlockRef, BlockRef> = unclear.into_iter().collect();
    let claimed = |call| claims.get(&call).copied().into_iter().collect();
    renames::rename_with(work, CODE, &new, claimed, |old, what, id| {
        format!(
            "Several open calls have the id {old:?}, and the result names the item of one: this {what} has {id:?} now."
        )
    })?;
    let mut changes = Changes::default();
    for (call, at) in clear {
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

/// The calls with their results, found by their ids or as `claims` say, where other calls with the same id are open when
/// the result comes; or, of the claims, where the result comes before the call. O(blocks).
fn uncertain(work: &Work<'_>, table: &PairTable, claims: &[(BlockRef, BlockRef)]) -> HashSet<(BlockRef, BlockRef)> {
    let reused: HashSet<&str> = table.duplicate_call_ids.iter().map(String::as_str).collect();
    let mut found = HashSet::new();
    if reused.is_empty() {
        return found;
    }
    let claimed: HashSet<BlockRef> = claims.iter().map(|(call, _)| *call).collect();
    let own = table.pairs.iter().map(|pair| (pair.call, pair.result));
    let own = own.filter(|(call, _)| !claimed.contains(call));
    let calls: HashMap<BlockRef, BlockRef> = own.chain(claims.iter().copied()).map(|(call, at)| (at, call)).collect();
    let mut open: HashMap<(u8, String), isize> = HashMap::new();
    for block in work.transcript.messages().flat_map(|message| message.blocks()) {
        let at = BlockRef::of(&block);
        let (call, change) = match block.kind() {
            BlockKind::ToolCall if !block.row.whole => (Some(block), 1),
            BlockKind::ToolResult => (calls.get(&at).and_then(|&call| work.block(call)), -1),
            _ => continue,
        };
        let Some((call, id)) = call.and_then(|call| Some((call, call.call_id()?))) else {
            continue;
        };
        if !reused.contains(&*id) {
            continue;
        }
        let count = open.entry((call.row.family, id.into_owned())).or_default();
        let early = at < BlockRef::of(&call);
        if change < 0 && (*count > 1 || early) && (claims.is_empty() || claimed.contains(&BlockRef::of(&call))) {
            found.insert((BlockRef::of(&call), at));
        }
        *count += change;
    }
    found
}

/// The awaited calls whose id another call has.
fn shared(work: &mut Work<'_>) -> Vec<BlockRef> {
    let table = work.pairs();
    let kept = renames::kept(work);
    let reused: HashSet<&str> = table.duplicate_call_ids.iter().map(String::as_str).collect();
    let shares = |at: &BlockRef| {
        let id = work.block(*at).and_then(|call| call.call_id());
        id.is_some_and(|id| reused.contains(&*id))
    };
    kept.into_iter().filter(shares).collect()
}

/// The results without a call of their own that name the item of an awaited call which shares its id. O(blocks).
pub(super) fn of_shared(work: &mut Work<'_>) -> HashSet<BlockRef> {
    if work.rules().call_id_pairs.is_none() {
        return HashSet::new();
    }
    let table = work.pairs();
    let calls = shared(work);
    let items: HashSet<Key> = calls
        .iter()
        .filter_map(|&call| names(&work.block(call)?).into_iter().next())
        .collect();
    let orphans = table.orphan_results.iter().copied().filter(|_| !items.is_empty());
    orphans
        .filter(|&at| {
            work.block(at)
                .is_some_and(|result| wanted(&result, true, true).iter().any(|key| items.contains(key)))
        })
        .collect()
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
