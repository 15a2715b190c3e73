//! Where the messages of a list stand in the batches of the table.

use std::sync::Arc;

use super::{Batch, TABLE, Table};
use crate::formats::WireFormat;
use crate::keyed;

/// How many times a body's bytes a walk may digest in vain: messages that start alike, or others than stood there before.
/// This holds it to linear time, whatever somebody has put into the table.
const VAIN: usize = 4;

/// A walk along a list of messages, each found in a batch.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) batches: Vec<Arc<Batch>>,
    /// Where in the last batch the message behind the last one found stands.
    next: usize,
    /// How many bytes may be digested in vain yet.
    pub(super) spare: usize,
}

impl Walk {
    /// A walk along a list in a body of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            batches: Vec::new(),
            next: 0,
            spare: bytes.saturating_mul(VAIN),
        }
    }

    /// The message that `rest` starts with, as `format` reads it, or as any does: its place in the last of the batches,
    /// and its length. Mostly it is the one that stood behind the last one, which needs no look into the table.
    pub(crate) fn next(&mut self, format: Option<&dyn WireFormat>, rest: &[u8]) -> Option<(u32, u32)> {
        self.next_in(&TABLE, format, rest)
    }

    pub(super) fn next_in(
        &mut self,
        table: &Table,
        format: Option<&dyn WireFormat>,
        rest: &[u8],
    ) -> Option<(u32, u32)> {
        let found = self.behind(rest).or_else(|| table.find_first(format, rest, self))?;
        self.next = found.0 as usize + 1;
        Some(found)
    }

    fn behind(&mut self, rest: &[u8]) -> Option<(u32, u32)> {
        let known = self.batches.last()?.messages.get(self.next)?;
        let (len, digest) = (known.len, known.digest);
        self.starts(rest, len, digest).then_some((self.next as u32, len))
    }

    /// Whether `rest` starts with the message of this length and digest.
    pub(super) fn starts(&mut self, rest: &[u8], len: u32, digest: [u64; 2]) -> bool {
        let len = len as usize;
        let Some((own, behind)) = rest.split_at_checked(len) else {
            return false;
        };
        // Two bytes rule most others out.
        let ends = own.last() == Some(&b'}') && behind.first().is_none_or(|byte| b",] \n\r\t".contains(byte));
        if !ends || self.spare < len {
            return false;
        }
        let found = keyed::digest(own) == digest;
        if !found {
            self.spare -= len;
        }
        found
    }

    /// Takes up a batch that a message was found in, or read into.
    pub(crate) fn take(&mut self, batch: &Arc<Batch>) {
        if !self.batches.last().is_some_and(|last| Arc::ptr_eq(last, batch)) {
            self.batches.push(Arc::clone(batch));
        }
    }
}
