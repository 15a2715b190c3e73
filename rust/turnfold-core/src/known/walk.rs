//! Where the messages of a list stand in the batches of the table.

use std::sync::Arc;

use turnfold_tokens::prefetch;

use super::{Batch, Sign, TABLE, Table};
use crate::formats::WireFormat;
use crate::keyed;

/// How many times a body's bytes a walk may digest in vain: messages that start alike, or others than stood there before.
/// This holds it to linear time, whatever somebody has put into the table.
const VAIN: usize = 4;

/// How far ahead a body is fetched: of a message, the last byte is read first, and where it ends is known only then.
const AHEAD: usize = 4 << 10;
const LINE: usize = 64;
/// How many messages ahead what tells one from others is fetched.
const SOON: usize = 4;

/// A walk along a list of messages, each found in a batch.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) batches: Vec<Arc<Batch>>,
    /// Where in the last batch the message behind the last one found stands.
    next: usize,
    /// How many bytes of the body stand behind those that were fetched ahead.
    unfetched: usize,
    /// How many bytes may be digested in vain yet.
    pub(super) spare: usize,
}

impl Walk {
    /// A walk along a list in a body of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            batches: Vec::new(),
            next: 0,
            unfetched: bytes,
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
        self.fetch_ahead(rest);
        let found = self.behind(rest).or_else(|| table.find_first(format, rest, self))?;
        self.next = found.0 as usize + 1;
        if let Some(known) = self
            .batches
            .last()
            .and_then(|batch| batch.messages.get(found.0 as usize))
        {
            known.fetch();
        }
        Some(found)
    }

    fn fetch_ahead(&mut self, rest: &[u8]) {
        let from = rest.len().saturating_sub(self.unfetched);
        let lines = rest.get(from..AHEAD.min(rest.len())).unwrap_or_default().chunks(LINE);
        for line in lines {
            line.first().into_iter().for_each(prefetch);
        }
        self.unfetched = self.unfetched.min(rest.len().saturating_sub(AHEAD));
    }

    fn behind(&mut self, rest: &[u8]) -> Option<(u32, u32)> {
        let signs = &self.batches.last()?.signs;
        let &sign = signs.get(self.next)?;
        signs.get(self.next + SOON).into_iter().for_each(prefetch);
        self.starts(rest, sign).then_some((self.next as u32, sign.len))
    }

    /// Whether `rest` starts with the message of this sign.
    pub(super) fn starts(&mut self, rest: &[u8], sign: Sign) -> bool {
        let len = sign.len as usize;
        let Some((own, behind)) = rest.split_at_checked(len) else {
            return false;
        };
        // Two bytes rule most others out.
        let ends = own.last() == Some(&b'}') && behind.first().is_none_or(|byte| b",] \n\r\t".contains(byte));
        if !ends || self.spare < len {
            return false;
        }
        let found = keyed::digest(own) == sign.digest;
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
