//! Request bodies that were counted before: what a body goes on from, where the caller does not say.
//!
//! One table for the whole process. A body leads to it by its landmarks: a keyed hash at 1 KiB, 2 KiB, 4 KiB ..., each of
//! the bytes before it and of the landmark before, so that a lookup reads a few kilobytes of a megabyte. What is found is
//! only a candidate: whoever goes on from it compares all bytes. The last body with a landmark has it; one that has none
//! left is let go, so of a session that grows there is one. Bounded by [`LIMIT_BYTES`]; what it holds changes what a call
//! costs, never what it says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock, Weak};

use crate::caches;
use crate::keyed::{self, Keyed};
use crate::transcript::Transcript;

/// How much the table holds, in bytes of bodies and their rows.
const LIMIT_BYTES: usize = 32 << 20;
/// Where the first landmark stands. Shorter bodies are read as fast as they are found.
const FIRST_BYTES: usize = 1 << 10;
/// How many bytes before a landmark it tells.
const WINDOW_BYTES: usize = 256;

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(caches::part_of(LIMIT_BYTES)));

/// The landmarks of a body, from its start on. O(log bytes).
pub(crate) fn landmarks(body: &[u8]) -> Arc<[u64]> {
    let Some(first) = body.get(..FIRST_BYTES) else {
        return Arc::default();
    };
    let mut last = keyed::hash(first, 0);
    // Room for all at once: what grows from a few bytes that another thread once had grows under that one's lock.
    let mut found = Vec::with_capacity((body.len() / FIRST_BYTES).ilog2() as usize + 1);
    found.push(last);
    let mut at = FIRST_BYTES * 2;
    while let Some(window) = body.get(at - WINDOW_BYTES..at) {
        last = keyed::hash(window, last);
        found.push(last);
        at *= 2;
    }
    found.into()
}

/// The body that shares most landmarks, as it was read.
pub(crate) fn find(landmarks: &[u64]) -> Option<Arc<Entry>> {
    TABLE.find(landmarks)
}

/// Keeps a transcript that was read from a body, unless it is too large.
pub(crate) fn add(transcript: &Transcript) {
    TABLE.add(transcript);
}

/// A transcript in the table.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) transcript: Transcript,
    size: usize,
    /// How many landmarks lead to it.
    leads: AtomicUsize,
    /// Whether it was asked for since its turn to go came last.
    used: AtomicBool,
}

/// See the module.
struct Table {
    limit_bytes: usize,
    inner: RwLock<Inner>,
}

#[derive(Default)]
struct Inner {
    by_landmark: Keyed<Arc<Entry>>,
    /// In the order in which their turn to go comes; some are gone already.
    turns: VecDeque<Weak<Entry>>,
    bytes: usize,
}

impl Table {
    fn new(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            inner: RwLock::default(),
        }
    }

    fn find(&self, landmarks: &[u64]) -> Option<Arc<Entry>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let found = landmarks.iter().rev().find_map(|hash| inner.by_landmark.get(hash))?;
        if !found.used.load(Ordering::Relaxed) {
            found.used.store(true, Ordering::Relaxed);
        }
        Some(Arc::clone(found))
    }

    fn add(&self, transcript: &Transcript) {
        if transcript.landmarks.is_empty() {
            return;
        }
        let size = transcript.held_bytes();
        if size > self.limit_bytes / 4 {
            return;
        }
        // What is replaced is let go of by another thread than the one that made it, which both pay for.
        if self
            .find(&transcript.landmarks)
            .is_some_and(|entry| entry.transcript.is_twin(transcript))
        {
            return;
        }
        let entry = Arc::new(Entry {
            transcript: transcript.clone(),
            size,
            leads: AtomicUsize::new(0),
            used: AtomicBool::new(false),
        });
        // Dropped after the lock: a body may belong to someone who has locks of their own.
        let mut gone = Vec::new();
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.bytes += size;
        inner.turns.push_back(Arc::downgrade(&entry));
        for &hash in transcript.landmarks.iter() {
            entry.leads.fetch_add(1, Ordering::Relaxed);
            if let Some(before) = inner.by_landmark.insert(hash, Arc::clone(&entry)) {
                inner.unlead(before, &mut gone);
            }
        }
        inner.make_room(self.limit_bytes, &mut gone);
        drop(inner);
    }
}

impl Inner {
    /// Takes note that a landmark leads elsewhere now.
    fn unlead(&mut self, entry: Arc<Entry>, gone: &mut Vec<Arc<Entry>>) {
        if entry.leads.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.bytes -= entry.size;
        }
        gone.push(entry);
    }

    /// Lets go of bodies until the others fit. One that was asked for since gets another turn.
    fn make_room(&mut self, limit_bytes: usize, gone: &mut Vec<Arc<Entry>>) {
        let leads = |entry: &Entry| entry.leads.load(Ordering::Relaxed) > 0;
        if self.turns.len() > 64 + 2 * self.by_landmark.len() {
            self.turns
                .retain(|turn| turn.upgrade().is_some_and(|entry| leads(&entry)));
        }
        while self.bytes > limit_bytes {
            let Some(turn) = self.turns.pop_front() else { return };
            let Some(entry) = turn.upgrade().filter(|entry| leads(entry)) else {
                continue;
            };
            if entry.used.swap(false, Ordering::Relaxed) {
                self.turns.push_back(turn);
                continue;
            }
            for hash in entry.transcript.landmarks.iter() {
                if self
                    .by_landmark
                    .get(hash)
                    .is_some_and(|found| Arc::ptr_eq(found, &entry))
                    && let Some(found) = self.by_landmark.remove(hash)
                {
                    self.unlead(found, gone);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
