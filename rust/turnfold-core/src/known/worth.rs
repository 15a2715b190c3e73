//! Whether it is worth the while to keep messages.
//!
//! Where each comes once, as in a folder of unrelated transcripts, keeping them takes a fifth of what reading and counting
//! do, for nothing. Then few are kept: enough to see when some come again.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A message that is found spares what it takes to keep so many.
const MAKES_UP: u64 = 16;
/// Where few are kept, they are those of one segment in so many.
pub(super) const SELDOM: usize = 8;

/// How much was kept in vain lately. Threads that note something at once may lose one's: it is a guess in any case.
#[derive(Debug)]
pub(super) struct Worth {
    /// Bytes of messages that were not found, less those that found ones make up for; at most `bound`.
    vain: AtomicU64,
    /// From here on few are kept.
    bound: u64,
    passed_over: AtomicUsize,
}

impl Worth {
    /// As much as that may be kept in vain.
    pub(super) fn new(bound: usize) -> Self {
        Self {
            vain: AtomicU64::new(0),
            bound: bound as u64,
            passed_over: AtomicUsize::new(0),
        }
    }

    /// Takes note of so many bytes of messages that were looked for.
    pub(super) fn note(&self, missed: usize, found: usize) {
        let before = self.vain.load(Ordering::Relaxed);
        let spared = (found as u64).saturating_mul(MAKES_UP);
        let vain = before
            .saturating_add(missed as u64)
            .saturating_sub(spared)
            .min(self.bound);
        // What stays is not written, as other threads read it.
        if vain != before {
            self.vain.store(vain, Ordering::Relaxed);
        }
    }

    /// Whether the messages of the segment that comes next are to be kept.
    pub(super) fn keeps_next(&self) -> bool {
        self.vain.load(Ordering::Relaxed) < self.bound
            || self.passed_over.fetch_add(1, Ordering::Relaxed).is_multiple_of(SELDOM)
    }
}
