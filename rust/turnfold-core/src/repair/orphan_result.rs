//! Takes out results that answer no open call, and results beyond the first of a call.
//!
//! The first result of a call stays, as the model has answered to that one. A result that an earlier repair made up
//! gives way to a real one. Further results of a call that is awaited stay: they say how far it is.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use super::changes::Changes;
use super::item_id_as_call_id;
use super::work::Work;
use super::{Action, NO_RESULT};
use crate::pairs::{self, BlockRef};
use crate::splice::SpliceError;
use crate::transcript::{BlockView, Place};

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    let table = work.pairs();
    if table.orphan_results.is_empty() {
        return Ok(());
    }
    let pending = work.pending();
    let of_shared = item_id_as_call_id::of_shared(work);
    let held: HashSet<usize> = pending.iter().map(|call| call.message).collect();
    let rules = work.rules();
    let minds_duplicate = work.minds("duplicate_result", Some(rules.one_result_per_call));
    let minds_orphan = work.minds("orphan_result", Some(rules.result_needs_call));
    let minds_nameless = work.minds("result_without_id", Some(rules.result_needs_id));
    let mut firsts: HashMap<BlockRef, BlockRef> = HashMap::new();
    for pair in &table.pairs {
        firsts.entry(pair.call).or_insert(pair.result);
    }
    let mut replaced: HashSet<BlockRef> = HashSet::new();
    let mut repeated = table.repeated_results.iter().peekable();
    let mut changes = Changes::default();
    for &at in &table.orphan_results {
        let again = repeated.next_if(|pair| pair.result == at);
        let Some(block) = work.block(at) else { continue };
        let nameless = pairs::lacks_id(&block);
        // A result that is its message takes along whatever else that holds.
        if of_shared.contains(&at) || (block.row.place == Place::Message && held.contains(&at.message)) {
            continue;
        }
        let real = !is_made_up(&block);
        if let Some(pair) = again {
            if pending.contains(&pair.call) {
                continue;
            }
            let first = firsts.get(&pair.call).copied();
            let made_up = first.filter(|&first| work.block(first).is_some_and(|block| is_made_up(&block)));
            if let Some(first) = made_up.filter(|first| real && minds_duplicate && !replaced.contains(first)) {
                replaced.insert(first);
                changes.remove(first);
                let text = "The result that repair made up went, as the call has a real one.".to_owned();
                work.note_block("duplicate_result", Action::Drop, first, None, text);
                continue;
            }
        }
        let (code, minds, text) = match again {
            _ if nameless => (
                "result_without_id",
                minds_nameless,
                "The result names no call, nothing else says which it answers, and it went.",
            ),
            Some(pair) if !pair.misplaced => (
                "duplicate_result",
                minds_duplicate,
                "The call has its result already; this further one went.",
            ),
            _ => (
                "orphan_result",
                minds_orphan,
                "The result answers no open call before it and went.",
            ),
        };
        if minds {
            changes.remove(at);
            work.note_block(code, Action::Drop, at, None, text.to_owned());
        }
    }
    work.apply(changes)
}

/// Whether a repair made the result up: its text is [`NO_RESULT`], bare or in a field of its own.
pub(super) fn is_made_up(block: &BlockView<'_>) -> bool {
    const AROUND: usize = 64;
    block.texts().any(|text| {
        text.len() <= NO_RESULT.len() + AROUND && memmem::find(text.as_bytes(), NO_RESULT.as_bytes()).is_some()
    })
}
