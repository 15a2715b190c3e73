//! Where a result of a call belongs, and how it gets there.

use std::collections::HashSet;

use super::changes::{Changes, NewBlock, NewMessage, Position, Site, as_item};
use super::foreign_calls::is_call;
use super::work::Work;
use crate::pairs::{BlockRef, Pair, PairTable};
use crate::rules::ResultPlace;
use crate::transcript::{Place, Role};

/// A result on its way to its call.
pub(super) enum ResultSource {
    /// It stands elsewhere.
    Moved(BlockRef),
    /// A format wrote it: a message, or a block where results stand in the next message.
    Made(Vec<u8>),
}

/// The places of one pass. O(messages) to make.
pub(super) struct Places {
    place: ResultPlace,
    /// For each message, the last one of the run that a result comes behind.
    ends: Vec<usize>,
    /// The messages with awaited calls.
    held: HashSet<usize>,
    /// The messages with calls that stay: awaited or answered.
    calls: HashSet<usize>,
}

impl Places {
    pub(super) fn new(work: &mut Work<'_>) -> Self {
        let held: HashSet<usize> = work.pending().iter().map(|call| call.message).collect();
        let table = work.pairs();
        let answered = table.pairs.iter().map(|pair| pair.call);
        let own = answered.filter(|&call| work.block(call).is_some_and(|call| is_call(&call)));
        let calls = own.map(|call| call.message).chain(held.iter().copied()).collect();
        let place = work.rules().result_place;
        let roles: Vec<Role> = work.transcript.messages().map(|message| message.role()).collect();
        let goes_on = match place {
            ResultPlace::SameRun => Role::Tool,
            ResultPlace::NextMessage => Role::Assistant,
            ResultPlace::Later => Role::Other,
        };
        let mut ends: Vec<usize> = (0..roles.len()).collect();
        for index in (0..roles.len().saturating_sub(1)).rev() {
            if place != ResultPlace::Later && roles.get(index + 1) == Some(&goes_on) {
                let end = ends.get(index + 1).copied().unwrap_or(index + 1);
                if let Some(own) = ends.get_mut(index) {
                    *own = end;
                }
            }
        }
        Self {
            place,
            ends,
            held,
            calls,
        }
    }

    /// Whether a result of the call has a place at all: only the model calls.
    pub(super) fn has_place(&self, work: &Work<'_>, call: BlockRef) -> bool {
        let by_model = || {
            let message = work.transcript.message(call.message);
            message.is_some_and(|message| message.role() == Role::Assistant)
        };
        self.place == ResultPlace::Later || by_model()
    }

    /// Whether a result can be taken from where it stands. One that is its message takes along what else that holds, and
    /// so stays where that is an awaited call.
    pub(super) fn can_move(&self, work: &Work<'_>, result: BlockRef) -> bool {
        let Some(block) = work.block(result) else { return false };
        match self.place {
            ResultPlace::NextMessage => block.row.place != Place::Message || work.transcript.format().bare_block(),
            ResultPlace::SameRun | ResultPlace::Later => {
                block.row.place == Place::Message && !self.held.contains(&result.message)
            }
        }
    }

    /// Whether a result stands in the message after those with the calls of its batch, and others can come to it.
    pub(super) fn is_first(&self, work: &Work<'_>, call: BlockRef, result: BlockRef) -> bool {
        let end = self.ends.get(call.message).copied();
        end.is_some_and(|end| end + 1 == result.message && self.takes(work, end + 1))
    }

    /// Whether a result stands before what [`Places::put`] puts where results of its call belong.
    pub(super) fn is_before(&self, pair: &Pair) -> bool {
        let end = self.ends.get(pair.call.message);
        end.is_some_and(|&end| pair.result.message <= end + 1)
    }

    /// The messages with calls of batches of which a result in its place stands in a further message.
    pub(super) fn split(&self, table: &PairTable) -> HashSet<usize> {
        let end = |call: BlockRef| self.ends.get(call.message).copied();
        let further = table.pairs.iter().filter(|pair| !pair.misplaced);
        let further = further.filter(|pair| end(pair.call).is_some_and(|end| end + 1 < pair.result.message));
        let ends: HashSet<usize> = further.filter_map(|pair| end(pair.call)).collect();
        let calls = self.ends.iter().enumerate();
        calls
            .filter(|(_, end)| ends.contains(end))
            .map(|(call, _)| call)
            .collect()
    }

    /// Whether a message takes results of the calls before it: not where it holds calls, although it should not.
    fn takes(&self, work: &Work<'_>, message: usize) -> bool {
        let message = work.transcript.message(message);
        message.is_some_and(|message| {
            message.role() == Role::User
                && Site::of(work.transcript.format(), &message).is_some()
                && !self.calls.contains(&message.index)
        })
    }

    /// Puts a result where results of the call belong; gives the name of the message that has it then. Results of one
    /// batch stand in the order in which they are put. O(blocks of the message it goes into, once a message).
    pub(super) fn put(
        &self,
        work: &mut Work<'_>,
        changes: &mut Changes,
        call: BlockRef,
        result: ResultSource,
    ) -> Option<usize> {
        let end = self.ends.get(call.message).copied()?;
        if self.place != ResultPlace::NextMessage {
            return match result {
                ResultSource::Moved(at) => {
                    changes.of(at.message).gone = true;
                    changes.of(end).behind.push(NewMessage::Moved(at.message));
                    Some(work.name(at.message))
                }
                ResultSource::Made(bytes) => {
                    let name = work.new_name();
                    changes.of(end).behind.push(NewMessage::Made(name, bytes));
                    Some(name)
                }
            };
        }
        let block = match result {
            ResultSource::Moved(at) => {
                let block = as_item(work.transcript.format(), &work.block(at)?);
                changes.remove(at);
                block
            }
            ResultSource::Made(bytes) => NewBlock { bytes, from: None },
        };
        let next = end + 1;
        let known = !changes.of(next).inserts.is_empty();
        let takes = known || self.takes(work, next);
        if takes {
            changes.of(next).inserts.push((Position::AfterResults, block));
            return Some(work.name(next));
        }
        let behind = &mut changes.of(end).results_behind;
        let (name, blocks) = behind.get_or_insert_with(|| (work.new_name(), Vec::new()));
        blocks.push(block);
        Some(*name)
    }
}
