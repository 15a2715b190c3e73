//! Makes call ids distinct: a call whose id is taken gets one made of the old id and its number among the calls that
//! have it, and its result and all that belongs to it follow.
//!
//! The first call keeps the id, or the one that is awaited. Which result answers which call is what the scan says.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::names::Ids;
use super::renames;
use super::work::Work;
use crate::pairs::BlockRef;
use crate::rules::IdScope;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, Transcript};

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "duplicate_call_id";
    let table = work.pairs();
    let rules = work.rules();
    let reuses: Vec<_> = table
        .reuses
        .iter()
        .filter(|reuse| rules.id_scope == IdScope::Request || reuse.while_open)
        .collect();
    if reuses.is_empty() || !work.minds(CODE, Some(rules.distinct_call_ids)) {
        return Ok(());
    }
    let pending = renames::kept(work);
    let mut chosen: BTreeSet<BlockRef> = BTreeSet::new();
    // Ids whose awaited call came later: all others that have the id give it up.
    let mut given_up: HashSet<(u8, String)> = HashSet::new();
    for reuse in reuses {
        if pending.contains(&reuse.again) {
            let family = work.block(reuse.again).map_or(0, |block| block.row.family);
            given_up.extend(table.call_id(&work.transcript, reuse.again).map(|id| (family, id)));
        } else {
            chosen.insert(reuse.again);
        }
    }
    let numbers = numbers(&work.transcript, &mut chosen, &given_up, &pending);
    let form = work.transcript.format().call_id_form();
    let mut ids = Ids::new(&work.transcript);
    let mut new: BTreeMap<BlockRef, String> = BTreeMap::new();
    for call in chosen {
        let Some(old) = table.call_id(&work.transcript, call) else {
            continue;
        };
        let id = ids.free(&old, numbers.get(&call).copied().unwrap_or(2), &form);
        new.insert(call, id);
    }
    renames::rename(work, CODE, &new, |old, what, id| {
        format!("The id {old:?} belongs to another call; this {what} has {id:?} instead.")
    })
}

/// The number of each call among those that have its id, from 1. Adds to `chosen` the calls whose id is given up.
fn numbers(
    transcript: &Transcript,
    chosen: &mut BTreeSet<BlockRef>,
    given_up: &HashSet<(u8, String)>,
    pending: &HashSet<BlockRef>,
) -> HashMap<BlockRef, usize> {
    let mut counts: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut numbers = HashMap::new();
    for block in transcript.messages().flat_map(|message| message.blocks()) {
        if block.kind() != BlockKind::ToolCall || block.row.whole || block.row.by_name {
            continue;
        }
        let Some(id) = block.call_id() else { continue };
        let at = BlockRef::of(&block);
        let given_up = !given_up.is_empty() && given_up.contains(&(block.row.family, id.to_string()));
        if given_up && !pending.contains(&at) {
            chosen.insert(at);
        }
        let count = counts.entry(id).or_default();
        *count += 1;
        numbers.insert(at, *count);
    }
    numbers
}
