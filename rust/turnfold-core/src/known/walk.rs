//! Where the messages of a list stand in the batches of the table.

use std::sync::Arc;

use turnfold_tokens::prefetch;

use super::runs::RUN;
use super::{Batch, Known, Run, Sign, TABLE, Table};
use crate::formats::WireFormat;
use crate::keyed;

/// How many times a body's bytes a walk may digest in vain: messages that start alike, or others than stood there before.
/// This holds it to linear time, whatever somebody has put into the table.
const VAIN: usize = 4;

/// How many messages ahead what tells one from others is fetched.
const SOON: usize = 4;

/// A walk along a list of messages, each found in a batch.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) batches: Vec<Arc<Batch>>,
    /// Where in the last batch the message behind the last one found stands.
    next: usize,
    /// How many bytes may be digested in vain yet.
    pub(super) spare: usize,
}

/// What stands at one place of a list, up to the end of the body.
pub(super) struct Here<'a> {
    pub(super) rest: &'a [u8],
    /// How many bytes of it were digested last, and what that gave: several messages may start alike and be of one length.
    digested: Option<(u32, [u64; 2])>,
}

impl<'a> Here<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest, digested: None }
    }

    /// Whether the message of this sign stands there, with so many bytes to digest in vain.
    fn starts(&mut self, sign: Sign, spare: &mut usize) -> bool {
        let len = sign.len as usize;
        let Some((own, behind)) = self.rest.split_at_checked(len) else {
            return false;
        };
        // Two bytes rule most others out.
        let ends = own.last() == Some(&b'}') && behind.first().is_none_or(|byte| b",] \n\r\t".contains(byte));
        if !ends {
            return false;
        }
        if let Some((_, digest)) = self.digested.filter(|&(digested, _)| digested == sign.len) {
            return digest == sign.digest;
        }
        if *spare < len {
            return false;
        }
        // Of a message, the last byte is read first, and where it ends is known only then: so what comes is fetched.
        let ahead = self.rest.get(keyed::AHEAD_BYTES..).unwrap_or_default();
        let digest = keyed::digest_and_fetch(own, ahead);
        self.digested = Some((sign.len, digest));
        let found = digest == sign.digest;
        if !found {
            *spare -= len;
        }
        found
    }
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

    /// The run of messages that `rest` starts with, if the messages behind the last one found start one: the place of its
    /// first message in the last of the batches, and the run.
    pub(crate) fn next_run(&mut self, rest: &[u8]) -> Option<(u32, Run)> {
        if !self.next.is_multiple_of(RUN) {
            return None;
        }
        let run = (*self.batches.last()?.runs.get(self.next / RUN)?)?;
        if !self.starts(&mut Here::new(rest), run.sign) {
            return None;
        }
        let first = self.next;
        self.next += RUN;
        let batch = self.batches.last()?;
        batch.runs.get(self.next / RUN).into_iter().for_each(prefetch);
        batch.messages.get(first..self.next)?.iter().for_each(Known::fetch);
        Some((first as u32, run))
    }

    /// The message that `rest` starts with, as `format` reads it, or as any does: its place in the last of the batches,
    /// and its length. Mostly it is the one that stood behind the last one, or another of its batch, which needs no look into
    /// the table.
    pub(crate) fn next(&mut self, format: Option<&dyn WireFormat>, rest: &[u8]) -> Option<(u32, u32)> {
        self.next_in(&TABLE, format, rest)
    }

    pub(super) fn next_in(
        &mut self,
        table: &Table,
        format: Option<&dyn WireFormat>,
        rest: &[u8],
    ) -> Option<(u32, u32)> {
        let mut here = Here::new(rest);
        let found = self.behind(&mut here);
        let found = found.or_else(|| table.find_first(format, &mut here, self))?;
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

    fn behind(&mut self, here: &mut Here<'_>) -> Option<(u32, u32)> {
        let signs = &self.batches.last()?.signs;
        let &sign = signs.get(self.next)?;
        signs.get(self.next + SOON).into_iter().for_each(prefetch);
        self.starts(here, sign).then_some((self.next as u32, sign.len))
    }

    /// The message elsewhere in the last batch, where most of those stand that do not follow on each other: the whole table
    /// has its places all over the memory.
    pub(super) fn elsewhere(
        &mut self,
        hash: u64,
        format: Option<&dyn WireFormat>,
        here: &mut Here<'_>,
    ) -> Option<(u32, u32)> {
        let batch = self.batches.last()?;
        let read_alike = format.is_none_or(|format| batch.format.name() == format.name());
        let (index, sign) = batch
            .at(hash)
            .filter(|_| read_alike)
            .find(|&(_, sign)| here.starts(sign, &mut self.spare))?;
        Some((index, sign.len))
    }

    /// Whether the message of this sign stands there.
    pub(super) fn starts(&mut self, here: &mut Here<'_>, sign: Sign) -> bool {
        here.starts(sign, &mut self.spare)
    }

    /// Takes up a batch that a message was found in, or read into.
    pub(crate) fn take(&mut self, batch: &Arc<Batch>) {
        if !self.batches.last().is_some_and(|last| Arc::ptr_eq(last, batch)) {
            self.batches.push(Arc::clone(batch));
        }
    }
}
