//! Where a pass over calls and results stands, so that another goes on from there as if it had seen all that was before.
//!
//! Of what was before, three things matter: the calls that are open, each in the queue that it stands in; the last call of
//! each id and name, as results that find no open call are judged by that one; and the course. So a pass that goes on
//! takes O(open calls + new blocks), whatever the messages before hold.

use std::sync::Arc;

use super::calls::{Call, IdState, NONE};
use super::pairing::IdDigest;
use super::{BlockRef, Course, Key, Pass, block_at, key_of};
use crate::keyed::{self, Keyed};
use crate::transcript::{BlockKind, BlockView, Transcript};

/// Where a pass stands behind some messages.
#[derive(Debug, Default)]
pub(super) struct Standing {
    pub(super) course: Course,
    /// The unanswered calls, in order.
    pub(super) open: Vec<Open>,
    /// The last call of each id and name, by its hash: a few tables, each with fewer than the one before it, and each with
    /// a later word than that one. Two ids of one hash only cost a pass over everything.
    pub(super) last: Vec<Arc<Keyed<Last>>>,
    /// Whether a call belongs to another.
    pub(super) has_parts: bool,
    /// Results that answer no open call before them, also those whose calls only the server can hold: later messages say
    /// whether it does.
    pub(super) orphans: Vec<BlockRef>,
}

/// An unanswered call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) at: BlockRef,
    pub(super) server_side: bool,
    /// First message of those whose calls share its queue.
    pub(super) group: u32,
}

/// The last call of an id or name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    /// Its message.
    pub(super) message: u32,
    /// Its latest result is one that others may follow.
    pub(super) goes_on: bool,
}

/// What hashes go on from, so that a name and what else is spelled alike have two.
const NAMES: u64 = 1;
const SERVER: u64 = 2;
const PLACES: u64 = 3;

impl Key<'_> {
    /// That of an id is the same in all families, as calls that belong to others name these by their ids alone.
    fn hash(&self) -> u64 {
        match self {
            Self::Id(_, id) => IdDigest::of(id.as_bytes()).hash(),
            Self::Name(name) => keyed::hash(name.as_bytes(), NAMES),
            Self::Server => keyed::hash(b"", SERVER),
            Self::Place(family) => keyed::hash(&[*family], PLACES),
        }
    }
}

/// What was before a pass that goes on.
#[derive(Clone, Copy)]
pub(super) struct Earlier<'a> {
    transcript: &'a Transcript,
    last: &'a [Arc<Keyed<Last>>],
}

impl<'a> Earlier<'a> {
    fn last(&self, hash: u64) -> Option<Last> {
        let mut tables = self.last.iter().rev();
        tables.find_map(|table| table.get(&hash)).copied()
    }

    /// The last call of a message that is `wanted`. O(blocks of the message).
    fn call(&self, message: u32, wanted: impl Fn(&BlockView<'a>) -> bool) -> Option<BlockView<'a>> {
        let message = self.transcript.message(message as usize)?;
        let calls = message.blocks().filter(|block| block.kind() == BlockKind::ToolCall);
        calls.filter(|call| !call.row.whole && wanted(call)).last()
    }
}

impl<'a> Pass<'a> {
    /// A pass over the messages from `first` on, from where another stood before them.
    pub(super) fn onward(transcript: &'a Transcript, first: usize, from: &'a Standing) -> Self {
        let mut pass = Self::new(transcript, first);
        pass.course = from.course.clone();
        pass.has_parts = from.has_parts;
        pass.table.orphan_results.clone_from(&from.orphans);
        pass.earlier = Some(Earlier {
            transcript,
            last: &from.last,
        });
        pass.carried = from.open.len();
        #[cfg(test)]
        crate::work::paired(from.open.len());
        for open in &from.open {
            pass.calls.push(open.at, open.server_side, 0, open.group);
        }
        for (call, open) in (0..).zip(&from.open) {
            if let Some(block) = block_at(transcript, open.at) {
                pass.reopen(call, open.group as usize, &block);
            }
        }
        pass
    }

    /// Puts a call that was open before into the queues that it stands in.
    fn reopen(&mut self, call: u32, group: usize, block: &BlockView<'a>) {
        let Some(key) = key_of(block) else { return };
        let by_name = block.name().filter(|_| self.names_pair && !block.row.server_side);
        if let (Key::Id(..), Some(name)) = (&key, by_name) {
            let state = self.with_ids.entry(name).or_default();
            state.push(&mut self.calls, call, group);
        }
        self.recall(&key);
        let state = self.ids.entry(key).or_default();
        let last = state.last_call;
        state.push(&mut self.calls, call, group);
        if last != NONE {
            state.last_call = last;
        }
    }

    /// Looks up the last call of a key that this pass has not met.
    pub(super) fn recall(&mut self, key: &Key<'a>) {
        let Some(earlier) = self.earlier else { return };
        if self.ids.contains_key(key) {
            return;
        }
        let Some(last) = earlier.last(key.hash()) else { return };
        let Some(block) = earlier.call(last.message, |call| key_of(call).as_ref() == Some(key)) else {
            self.lost = true;
            return;
        };
        let at = BlockRef::of(&block);
        let carried = self.calls.rows.get(..self.carried).unwrap_or_default();
        let open = carried.binary_search_by_key(&at, |call| call.at).ok();
        let last_call = match open {
            Some(call) => call as u32,
            None => self.answered(at, block.row.server_side, last.goes_on),
        };
        self.ids.insert(key.clone(), IdState::answered(last_call));
    }

    fn answered(&mut self, at: BlockRef, server_side: bool, goes_on: bool) -> u32 {
        let call = self.calls.push(at, server_side, 0, at.message as u32);
        if let Some(row) = self.calls.rows.get_mut(call as usize) {
            (row.answered, row.goes_on) = (true, goes_on);
        }
        call
    }

    /// Looks up the last calls before this pass that those of the open tail may belong to.
    pub(super) fn recall_owners(&mut self, transcript: &'a Transcript) {
        let Some(earlier) = self.earlier.filter(|_| self.has_parts && self.course.open_tail) else {
            return;
        };
        for (id, part) in self.parts(transcript) {
            let Some(last) = earlier.last(IdDigest::of(id.as_bytes()).hash()) else {
                continue;
            };
            let owner = earlier.call(last.message, |call| call.call_id().as_ref() == Some(&id));
            // The last of all need not be the last before the part.
            let Some(owner) = owner.filter(|_| (last.message as usize) < part.message) else {
                self.lost = true;
                return;
            };
            self.answered(BlockRef::of(&owner), owner.row.server_side, false);
        }
    }

    /// Where the pass stands now, having gone on from `before`.
    pub(super) fn standing(&self, before: &Standing) -> Standing {
        let mut fresh: Keyed<Last> = Keyed::default();
        for (key, state) in &self.ids {
            let Some(call) = self.calls.rows.get(state.last_call as usize) else {
                continue;
            };
            let last = Last {
                message: call.at.message as u32,
                goes_on: call.goes_on,
            };
            let known = fresh.entry(key.hash()).or_insert(last);
            if known.message < last.message {
                *known = last;
            }
        }
        let open = |call: &Call| Open {
            at: call.at,
            server_side: call.server_side,
            group: call.group,
        };
        let unanswered = self.calls.rows.iter().filter(|call| !call.answered);
        Standing {
            course: self.course.clone(),
            open: unanswered.map(open).collect(),
            last: with(&before.last, fresh),
            has_parts: self.has_parts,
            orphans: self.table.orphan_results.clone(),
        }
    }
}

/// The tables and a later one, the last ones joined so that there stay O(log ids) of them.
pub(super) fn with(tables: &[Arc<Keyed<Last>>], fresh: Keyed<Last>) -> Vec<Arc<Keyed<Last>>> {
    let (mut tables, mut latest) = (tables.to_vec(), fresh);
    if latest.is_empty() {
        return tables;
    }
    while let Some(before) = tables.pop_if(|before| before.len() <= latest.len()) {
        for (&hash, &last) in before.iter() {
            latest.entry(hash).or_insert(last);
        }
    }
    tables.push(Arc::new(latest));
    tables
}
