//! What each thread keeps between calls: scratch memory and a bounded table of pieces counted before.

use std::cell::Cell;

use crate::Encoding;
use crate::merge::Scratch;
use crate::pages::{Numbers, Room, Table};
use crate::piece_digest::COUNT_BITS;
use crate::scan::{ROOM, Spans};
use crate::simd::{Isa, Line, prefetch};
use crate::tables::{Key, VALUE_BITS, with_value};

/// The most slots of the tables of one vocabulary, as powers of two: of all short pieces (64 bytes a slot), of merged
/// short pieces (16 bytes), and of long pieces (64 bytes). A thread keeps at most 3 MB for each of the two vocabularies
/// it counts with, side by side in a large page and a half.
const RECENT_BITS: u32 = 14;
const MERGED_BITS: u32 = 16;
const LONG_BITS: u32 = 14;
/// Tables start with so many powers of two less, and grow: the first touch of a megabyte can cost as much as counting
/// a hundred kilobytes of text.
const GROWTH_BITS: u32 = 6;
/// A line has room for four pieces. Half full it grows: one in twenty then has more to hold than it can, and a quarter of
/// the lines is still in a cache that all of them are not.
const FILLS_A_LINE: u32 = 2;

/// See the module.
#[derive(Default)]
pub(crate) struct ThreadMemory {
    o200k: Seen,
    cl100k: Seen,
    pub(crate) scratch: Scratch,
    pub(crate) batch: Batch,
}

impl ThreadMemory {
    /// What was seen with the vocabulary of an encoding, the scratch memory and that of a batch.
    #[inline]
    pub(crate) fn seen(&mut self, encoding: Encoding) -> (&mut Seen, &mut Scratch, &mut Batch) {
        let seen = match encoding {
            Encoding::Cl100kBase => &mut self.cl100k,
            // Registered encodings have a memory of their own and never come here.
            _ => &mut self.o200k,
        };
        (seen, &mut self.scratch, &mut self.batch)
    }
}

/// Room for all pieces of a batch: a power of two, so that no place in it needs a division.
pub(crate) const UNSEEN: usize = ROOM.next_power_of_two();

/// A longer piece that waits to be looked up: where it is in the text, and its digest once that is made.
#[derive(Clone, Copy, Default)]
pub(crate) struct Long {
    pub(crate) digest: u128,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The pieces that are counted at a time.
pub(crate) struct Batch {
    pub(crate) spans: Spans,
    /// Those that are too long for a key, at the front.
    pub(crate) long: [Long; UNSEEN],
    /// Those that the thread does not remember, at the front.
    pub(crate) unseen: [Unseen; UNSEEN],
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            spans: Spans::default(),
            long: [Long::default(); UNSEEN],
            unseen: [Unseen::default(); UNSEEN],
        }
    }
}

/// A short piece that waits to be looked up: its key, the hash of that and its end in the text.
#[derive(Clone, Copy, Default)]
pub(crate) struct Unseen {
    pub(crate) key: Key,
    pub(crate) hash: u64,
    pub(crate) end: usize,
}

/// The pieces a thread has counted with one vocabulary: in each table one slot for each hash, last come stays. It
/// holds facts only, so it changes what counting costs, never what it says.
#[derive(Default)]
pub(crate) struct Seen {
    /// All short pieces: what is common stays dense in the cache of the processor.
    recent: Slots<Line>,
    /// The short pieces that had to be merged.
    merged: Slots<Key>,
    /// The longer pieces, by their digests.
    long: Slots<Line>,
    /// Where tables go that grow no more.
    room: Option<Room>,
}

/// How many bytes the tables of one vocabulary are at most.
const ROOM_BYTES: usize =
    (size_of::<Line>() << RECENT_BITS) + (size_of::<Key>() << MERGED_BITS) + (size_of::<Line>() << LONG_BITS);

impl Seen {
    /// Has the processor fetch what [`Seen::recent`] will read.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(line) = self.recent.get(hash) {
            prefetch(line);
        }
    }

    /// The short pieces, to be looked up many at a time.
    #[inline(always)]
    pub(crate) fn recent(&self) -> Recent<'_> {
        Recent {
            lines: &self.recent.table,
            shift: self.recent.shift,
        }
    }

    /// The remembered count of a short piece that is no token, 0 if there is none.
    #[inline(always)]
    pub(crate) fn merged(&self, key: Key, hash: u64) -> usize {
        let slot = self.merged.get(hash).copied().unwrap_or(0);
        usize::from((slot ^ key) << VALUE_BITS == 0).wrapping_neg() & (slot >> (128 - VALUE_BITS)) as usize
    }

    /// Remembers the count of a short piece that is no token.
    #[inline(always)]
    pub(crate) fn remember_merged(&mut self, key: Key, hash: u64, count: usize) {
        if let Some(slot) = self.merged.filled(hash, MERGED_BITS, 1, &mut self.room) {
            *slot = with_value(key, count);
        }
    }

    /// Remembers the count of a short piece.
    #[inline(always)]
    pub(crate) fn remember(&mut self, key: Key, hash: u64, count: usize) {
        let is_key = |slot: &Key| (slot ^ key) << VALUE_BITS == 0;
        // A piece that waits twice in one batch comes twice.
        if self.recent.get(hash).is_some_and(|Line(line)| line.iter().any(is_key)) {
            return;
        }
        if let Some(Line(line)) = self.recent.filled(hash, RECENT_BITS, FILLS_A_LINE, &mut self.room) {
            // The oldest of the line goes.
            *line = [with_value(key, count), line[0], line[1], line[2]];
        }
    }

    /// Has the processor fetch what [`Seen::long`] will read.
    #[inline(always)]
    pub(crate) fn prefetch_long(&self, digest: u128) {
        if let Some(line) = self.long.get(digest as u64) {
            prefetch(line);
        }
    }

    /// The remembered count of the longer piece of a digest, 0 if there is none.
    #[inline(always)]
    pub(crate) fn long<I: Isa>(&self, digest: u128) -> usize {
        let line = self.long.get(digest as u64);
        line.map_or(0, |line| I::find::<COUNT_BITS>(line, digest))
    }

    /// Remembers the count of a longer piece, by its digest, if it has one.
    #[inline(always)]
    pub(crate) fn remember_long(&mut self, digest: u128, count: usize) {
        if digest == 0 {
            return;
        }
        if let Some(Line(line)) = self.long.filled(digest as u64, LONG_BITS, FILLS_A_LINE, &mut self.room) {
            // The oldest of the line goes.
            *line = [
                digest | (count as u128) << (128 - COUNT_BITS),
                line[0],
                line[1],
                line[2],
            ];
        }
    }
}

/// See [`Seen::recent`].
#[derive(Clone, Copy)]
pub(crate) struct Recent<'a> {
    lines: &'a [Line],
    shift: u32,
}

impl Recent<'_> {
    /// The remembered count of a short piece, 0 if there is none.
    #[inline(always)]
    pub(crate) fn count<I: Isa>(self, key: Key, hash: u64) -> usize {
        let line = self.lines.get((hash >> self.shift) as usize);
        line.map_or(0, |line| I::find::<VALUE_BITS>(line, key))
    }
}

/// One slot for the first bits of each hash, in a table that begins small and grows as it is filled.
#[derive(Default)]
struct Slots<T> {
    table: Table<T>,
    shift: u32,
    /// How often a slot may yet be filled before the table grows.
    room: u32,
}

impl<T: Numbers> Slots<T> {
    #[inline(always)]
    fn get(&self, hash: u64) -> Option<&T> {
        self.table.get((hash >> self.shift) as usize)
    }

    /// The slot of a hash, to be filled, in a table of at most `most` bits that grows after `fills` of each slot.
    #[inline(always)]
    fn filled(&mut self, hash: u64, most: u32, fills: u32, room: &mut Option<Room>) -> Option<&mut T> {
        if self.room == 0 {
            self.grow(most, fills, room);
        }
        self.room -= 1;
        self.table.get_mut((hash >> self.shift) as usize)
    }

    /// Four times the slots, each a copy of the one that its hashes had before.
    #[cold]
    fn grow(&mut self, most: u32, fills: u32, room: &mut Option<Room>) {
        let bits = match self.table.len() {
            0 => most - GROWTH_BITS,
            slots => slots.trailing_zeros() + 2,
        };
        if bits > most {
            self.room = u32::MAX;
            return;
        }
        let mut table = if bits == most {
            room.get_or_insert_with(|| Room::new(ROOM_BYTES)).table(1 << bits)
        } else {
            Room::new(size_of::<T>() << bits).table(1 << bits)
        };
        for (slots, slot) in table.chunks_exact_mut(4).zip(&*self.table) {
            slots.fill(*slot);
        }
        self.table = table;
        self.shift = 64 - bits;
        self.room = fills << bits;
    }
}

thread_local! {
    static MEMORY: Cell<Option<Box<ThreadMemory>>> = const { Cell::new(None) };
}

/// Calls `use_memory` with this thread's memory. (A call inside the call, or while the thread ends, gets fresh memory.)
pub(crate) fn with<R>(use_memory: impl FnOnce(&mut ThreadMemory) -> R) -> R {
    let mut memory = MEMORY.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let result = use_memory(&mut memory);
    // Failing here means the thread ends, and the memory with it.
    let _ = MEMORY.try_with(|kept| kept.set(Some(memory)));
    result
}
