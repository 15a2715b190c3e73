//! Messages that were counted before, in whatever transcript: all that they yield, found by their bytes.
//!
//! One table for the whole process, which all tenants of a gateway share. It holds no text: a message is the same if its
//! length and a 128-bit digest are, which, as the hash that leads to it, has a random key of the process, so that nobody
//! can aim at a slot or at another's message. A message that is found is not parsed: its counts, call ids, rows and what
//! it says of its format are known.
//!
//! Messages that follow on each other as they did when they were counted are found several at once, by one digest
//! (`runs.rs`). What was counted together stands together in memory, and what tells its messages from others once more by
//! itself: it is mostly asked for together, and to fetch it is most of the cost. The table is in parts with a lock each,
//! holds at most [`LIMIT_BYTES`] and lets go of batches of which nothing was asked for since their turn came last. Where
//! hardly a message comes again, few are kept (`worth.rs`). What it holds changes what a call costs, never what it says.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::caches;
use crate::formats::WireFormat;
use crate::keyed::{self, Keyed};
use crate::transcript::{Message, Segment};

mod message;
mod runs;
mod walk;
mod worth;

pub(crate) use message::Known;
pub(crate) use runs::Run;
use runs::{Place, Runs};
use walk::Here;
pub(crate) use walk::Walk;
use worth::Worth;

/// How much the table holds, in bytes of what messages yield.
const LIMIT_BYTES: usize = 64 << 20;
const SHARDS: usize = 64;
/// Messages that start alike are told apart by this many bytes; of shorter ones, all count.
const START_BYTES: usize = 128;
/// How many messages with one start are kept.
const ALIKE: usize = 8;
/// The share of the table that one message may take at most, and a batch about.
const LARGEST_SHARE: usize = 256;
/// How many messages a batch has at most: those of one body that are the same stand in one only once.
const BATCH: usize = 256;
/// How many slots from that of its hash on a message of a batch may stand.
const NEAR: usize = 8;
/// As many messages that are known from elsewhere, in a row, a batch takes in again: who walks along it need not ask the
/// table for them, and for the one behind them.
const BETWEEN: usize = 2;

/// Messages that were counted together.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) format: &'static dyn WireFormat,
    pub(crate) messages: Box<[Known]>,
    /// By which each is told from others.
    signs: Box<[Sign]>,
    runs: Box<[Option<Run>]>,
    /// Where the table has them.
    hashes: Box<[u64]>,
    /// By hash, the message behind [`NEAR`] slots at most, from 1 on; 0 for none.
    slots: Box<[u16]>,
    bytes: usize,
    /// Whether one was asked for since its turn to go came last.
    used: AtomicBool,
}

/// What stands for the bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sign {
    digest: [u64; 2],
    len: u32,
}

/// The messages of a batch by their hashes, for as many as find a place.
fn slots_of(hashes: &[u64]) -> Box<[u16]> {
    let mut slots = vec![0; (2 * hashes.len()).next_power_of_two()];
    for (number, &hash) in (1..=u16::MAX).zip(hashes) {
        let places = near(hash, slots.len());
        let free = places.into_iter().find(|&at| slots.get(at) == Some(&0));
        if let Some(slot) = free.and_then(|at| slots.get_mut(at)) {
            *slot = number;
        }
    }
    slots.into()
}

/// Where among so many slots, a power of two, a message may stand.
fn near(hash: u64, slots: usize) -> impl Iterator<Item = usize> {
    (0..NEAR).map(move |step| (hash as usize).wrapping_add(step) & slots.wrapping_sub(1))
}

/// A message of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) batch: Arc<Batch>,
    pub(crate) index: u32,
}

impl Found {
    /// All that the message yields.
    pub(crate) fn known(&self) -> Option<&Known> {
        self.batch.messages.get(self.index as usize)
    }
}

impl Batch {
    /// A batch of one message, which no table has.
    pub(crate) fn alone(format: &'static dyn WireFormat, known: Known) -> Self {
        Self::new(format, vec![known], Vec::new(), Runs::default())
    }

    fn new(format: &'static dyn WireFormat, messages: Vec<Known>, hashes: Vec<u64>, runs: Runs) -> Self {
        let runs = runs.finish();
        let beside = size_of::<(u64, Alike)>() + size_of::<Sign>() + size_of::<[u16; 4]>();
        Self {
            format,
            slots: slots_of(&hashes),
            signs: messages.iter().map(Known::sign).collect(),
            bytes: size_of_val(&*runs) + messages.iter().map(|known| known.size() + beside).sum::<usize>(),
            messages: messages.into(),
            runs,
            hashes: hashes.into(),
            used: AtomicBool::new(false),
        }
    }

    /// The messages at a hash.
    fn at(&self, hash: u64) -> impl Iterator<Item = (u32, Sign)> {
        near(hash, self.slots.len())
            .map_while(|at| self.slots.get(at)?.checked_sub(1))
            .filter(move |&index| self.hashes.get(usize::from(index)) == Some(&hash))
            .filter_map(|index| Some((u32::from(index), *self.signs.get(usize::from(index))?)))
    }
}

/// See the module.
struct Table {
    shards: Vec<Mutex<Keyed<Alike>>>,
    turns: Mutex<Turns>,
    worth: Worth,
    limit_bytes: usize,
}

/// The batches in the order in which their turn to go comes.
#[derive(Default)]
struct Turns {
    batches: VecDeque<Arc<Batch>>,
    bytes: usize,
}

/// Messages that start alike. The newest stands in the table itself, as there is seldom another.
struct Alike {
    newest: Kept,
    /// The oldest first.
    older: Vec<Kept>,
}

/// A message in the table.
struct Kept {
    sign: Sign,
    batch: Arc<Batch>,
    index: u32,
}

fn hash(bytes: &[u8]) -> u64 {
    keyed::hash(bytes.get(..START_BYTES).unwrap_or(bytes), 0)
}

impl Alike {
    fn all(&self) -> impl Iterator<Item = &Kept> {
        std::iter::once(&self.newest).chain(&self.older)
    }

    /// Adds a message, for which the oldest may have to go; or says where it stands now.
    fn put(&mut self, kept: Kept) {
        let same = |other: &&mut Kept| other.sign == kept.sign && other.batch.format.name() == kept.batch.format.name();
        if let Some(before) = std::iter::once(&mut self.newest).chain(&mut self.older).find(same) {
            *before = kept;
            return;
        }
        self.older.push(std::mem::replace(&mut self.newest, kept));
        if self.older.len() >= ALIKE {
            self.older.remove(0);
        }
    }

    /// Lets go of the messages of a batch; whether none is left.
    fn remove(&mut self, batch: &Arc<Batch>) -> bool {
        self.older.retain(|other| !Arc::ptr_eq(&other.batch, batch));
        if Arc::ptr_eq(&self.newest.batch, batch) {
            let Some(before) = self.older.pop() else { return true };
            self.newest = before;
        }
        false
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(caches::part_of(LIMIT_BYTES)));

/// The message with exactly these bytes, as `format` reads it.
pub(crate) fn find(format: &dyn WireFormat, bytes: &[u8]) -> Option<Found> {
    TABLE.find(format, bytes)
}

/// Takes note of a body that was read from what is known, of so many bytes.
pub(crate) fn note_recalled(bytes: usize) {
    TABLE.worth.note(0, bytes);
}

/// Messages of a segment on their way into the table.
pub(crate) struct Adding {
    format: &'static dyn WireFormat,
    /// Whether they are to be kept.
    keeps: bool,
    missed_bytes: usize,
    found_bytes: usize,
    messages: Vec<Known>,
    hashes: Vec<u64>,
    runs: Runs,
    bytes: usize,
    /// Those that were found since the last one that is new, with where the table and the segment have them.
    between: Vec<(Found, u64, Place)>,
}

impl Adding {
    pub(crate) fn new(format: &'static dyn WireFormat) -> Self {
        Self::to(&TABLE, format)
    }

    fn to(table: &Table, format: &'static dyn WireFormat) -> Self {
        Self {
            format,
            keeps: table.worth.keeps_next(),
            missed_bytes: 0,
            found_bytes: 0,
            messages: Vec::new(),
            hashes: Vec::new(),
            runs: Runs::default(),
            bytes: 0,
            between: Vec::new(),
        }
    }

    /// Takes note of a message of a segment that is known.
    pub(crate) fn pass(&mut self, found: Found, segment: &Segment, row: &Message) {
        self.found_bytes += row.span.len();
        if self.between.len() <= BETWEEN && !self.messages.is_empty() {
            let bytes = row.span.of(segment.source.bytes());
            self.between.push((found, hash(bytes), Place::of(segment, row)));
        }
    }

    /// Adds a message of a segment, for `learn` to tell its counts. What is too large is not kept.
    pub(crate) fn add(&mut self, segment: &Segment, row: &Message, learn: impl FnOnce(&Known)) {
        self.add_to(&TABLE, segment, row, learn);
    }

    fn add_to(&mut self, table: &Table, segment: &Segment, row: &Message, learn: impl FnOnce(&Known)) {
        self.missed_bytes += row.span.len();
        if !self.keeps {
            return;
        }
        let known = Known::of(segment, row);
        let (size, most) = (known.size(), table.limit_bytes / LARGEST_SHARE);
        if size > most {
            return;
        }
        learn(&known);
        let source = segment.source.bytes();
        let mut between = std::mem::take(&mut self.between);
        if between.len() <= BETWEEN {
            for (found, hash, place) in &between {
                if let Some(known) = found.known() {
                    self.push(known.clone(), *hash, *place, source);
                }
            }
        }
        between.clear();
        self.between = between;
        self.push(known, hash(row.span.of(source)), Place::of(segment, row), source);
        if self.messages.len() >= BATCH || self.bytes >= most {
            self.hand_over(table);
        }
    }

    fn push(&mut self, known: Known, hash: u64, place: Place, source: &[u8]) {
        self.bytes += known.size();
        self.messages.push(known);
        self.hashes.push(hash);
        self.runs.push(place, source);
    }

    /// Puts what was added into the table.
    pub(crate) fn finish(self) {
        self.finish_in(&TABLE);
    }

    fn finish_in(mut self, table: &Table) {
        table.worth.note(self.missed_bytes, self.found_bytes);
        if !self.messages.is_empty() {
            self.hand_over(table);
        }
    }

    fn hand_over(&mut self, table: &Table) {
        self.bytes = 0;
        self.between.clear();
        table.add(Batch::new(
            self.format,
            std::mem::take(&mut self.messages),
            std::mem::take(&mut self.hashes),
            std::mem::take(&mut self.runs),
        ));
    }
}

impl Table {
    fn new(limit_bytes: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            turns: Mutex::default(),
            worth: Worth::new(limit_bytes),
            limit_bytes,
        }
    }

    fn find(&self, format: &dyn WireFormat, bytes: &[u8]) -> Option<Found> {
        let hash = hash(bytes);
        let shard = self.shard(hash)?;
        let fits = |kept: &&Kept| kept.sign.len as usize == bytes.len() && kept.sign.digest == keyed::digest(bytes);
        let kept = look(&shard, hash, Some(format), fits)?;
        Some(Found {
            batch: Arc::clone(&kept.batch),
            index: kept.index,
        })
    }

    fn find_first(&self, format: Option<&dyn WireFormat>, here: &mut Here<'_>, walk: &mut Walk) -> Option<(u32, u32)> {
        let rest = here.rest;
        let mut start = rest.get(..START_BYTES).unwrap_or(rest);
        if let Some(end) = object_end(start) {
            start = start.get(..end)?;
        } else if start.len() < START_BYTES {
            return None;
        }
        let hash = hash(start);
        if let Some(found) = walk.elsewhere(hash, format, here) {
            return Some(found);
        }
        let shard = self.shard(hash)?;
        let kept = look(&shard, hash, format, |kept| walk.starts(here, kept.sign))?;
        walk.take(&kept.batch);
        Some((kept.index, kept.sign.len))
    }

    fn shard(&self, hash: u64) -> Option<MutexGuard<'_, Keyed<Alike>>> {
        let shard = self.shards.get((hash >> 32) as usize % SHARDS)?;
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the messages of a batch.
    fn add(&self, batch: Batch) {
        let batch = Arc::new(batch);
        for ((index, &sign), &hash) in (0_u32..).zip(&batch.signs).zip(&batch.hashes) {
            let Some(mut shard) = self.shard(hash) else { continue };
            let kept = Kept {
                sign,
                batch: Arc::clone(&batch),
                index,
            };
            match shard.entry(hash) {
                Entry::Occupied(mut alike) => alike.get_mut().put(kept),
                Entry::Vacant(place) => {
                    place.insert(Alike {
                        newest: kept,
                        older: Vec::new(),
                    });
                }
            }
        }
        self.make_room(batch);
    }

    /// Takes note of a batch, and lets go of others until all fit. One that was asked for since gets another turn.
    fn make_room(&self, batch: Arc<Batch>) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.bytes += batch.bytes;
        turns.batches.push_back(batch);
        while turns.bytes > self.limit_bytes {
            let Some(batch) = turns.batches.pop_front() else { return };
            if batch.used.swap(false, Ordering::Relaxed) {
                turns.batches.push_back(batch);
                continue;
            }
            turns.bytes -= batch.bytes;
            for &hash in &batch.hashes {
                let Some(mut shard) = self.shard(hash) else { continue };
                if shard.get_mut(&hash).is_some_and(|alike| alike.remove(&batch)) {
                    shard.remove(&hash);
                }
            }
        }
    }
}

/// The message at a hash that fits, as `format` reads it, or as any does.
fn look<'s>(
    shard: &'s Keyed<Alike>,
    hash: u64,
    format: Option<&dyn WireFormat>,
    fits: impl FnMut(&&'s Kept) -> bool,
) -> Option<&'s Kept> {
    let read_alike = |kept: &&Kept| format.is_none_or(|format| kept.batch.format.name() == format.name());
    let found = shard.get(&hash)?.all().filter(fits).find(read_alike)?;
    if !found.batch.used.load(Ordering::Relaxed) {
        found.batch.used.store(true, Ordering::Relaxed);
    }
    Some(found)
}

/// One past the bracket that closes the object at the start, if it is JSON, and stands in `bytes`.
fn object_end(bytes: &[u8]) -> Option<usize> {
    memchr::memrchr(b'}', bytes)?;
    let (mut depth, mut in_string, mut at) = (0_u32, false, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => at += 1,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests;
