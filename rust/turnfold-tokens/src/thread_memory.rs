//! What each thread keeps between calls: scratch memory and a bounded table of pieces counted before.

use std::cell::Cell;

use crate::Encoding;
use crate::merge::Scratch;
use crate::tables::{Key, hash_bytes};

/// Slots of the tables of one vocabulary: of all short pieces, of merged short pieces (16 bytes a slot), and of long
/// pieces. A thread keeps at most 3 MB for each of the two vocabularies it counts with.
const RECENT_BITS: u32 = 15;
const MERGED_BITS: u32 = 16;
const LONG_BITS: u32 = 13;
/// The longest piece that is remembered, in bytes.
const LONG_BYTES: usize = 128;

/// See the module.
#[derive(Default)]
pub(crate) struct ThreadMemory {
    o200k: Seen,
    cl100k: Seen,
    pub(crate) scratch: Scratch,
}

impl ThreadMemory {
    /// What was seen with the vocabulary of an encoding, and the scratch memory.
    #[inline]
    pub(crate) fn seen(&mut self, encoding: Encoding) -> (&mut Seen, &mut Scratch) {
        let seen = match encoding {
            Encoding::O200kBase | Encoding::O200kHarmony => &mut self.o200k,
            Encoding::Cl100kBase => &mut self.cl100k,
        };
        (seen, &mut self.scratch)
    }
}

/// The pieces a thread has counted with one vocabulary: in each table one slot for each hash, last come stays. It
/// holds facts only, so it changes what counting costs, never what it says.
#[derive(Default)]
pub(crate) struct Seen {
    /// All short pieces: what is common stays dense in the cache of the processor.
    recent: Vec<Key>,
    /// The short pieces that had to be merged.
    merged: Vec<Key>,
    /// The bytes of longer pieces with their counts.
    long: Vec<(Vec<u8>, usize)>,
}

impl Seen {
    /// The remembered count of a short piece, 0 if there is none.
    #[inline]
    pub(crate) fn recent(&self, key: Key, hash: u64) -> usize {
        let slot = self
            .recent
            .get((hash >> (64 - RECENT_BITS)) as usize)
            .copied()
            .unwrap_or(0);
        if (slot ^ key) << 4 == 0 {
            (slot >> 124) as usize
        } else {
            0
        }
    }

    /// The remembered count of a short piece that is no token, or that of `merge`, remembered.
    #[inline]
    pub(crate) fn merged(&mut self, key: Key, hash: u64, merge: impl FnOnce() -> usize) -> usize {
        if self.merged.is_empty() {
            self.merged.resize(1 << MERGED_BITS, 0);
        }
        let Some(slot) = self.merged.get_mut((hash >> (64 - MERGED_BITS)) as usize) else {
            return merge();
        };
        if (*slot ^ key) << 4 == 0 {
            return (*slot >> 124) as usize;
        }
        let count = merge();
        *slot = with_count(key, count);
        count
    }

    /// Remembers the count of a short piece.
    #[inline]
    pub(crate) fn remember(&mut self, key: Key, hash: u64, count: usize) {
        if self.recent.is_empty() {
            self.recent.resize(1 << RECENT_BITS, 0);
        }
        if let Some(slot) = self.recent.get_mut((hash >> (64 - RECENT_BITS)) as usize) {
            *slot = with_count(key, count);
        }
    }

    /// The remembered count of a long piece, or that of `count`, remembered if the piece is not too long.
    #[inline]
    pub(crate) fn long(&mut self, piece: &[u8], count: impl FnOnce() -> usize) -> usize {
        if piece.len() > LONG_BYTES {
            return count();
        }
        if self.long.is_empty() {
            self.long.resize(1 << LONG_BITS, (Vec::new(), 0));
        }
        let Some(slot) = self.long.get_mut((hash_bytes(piece) >> (64 - LONG_BITS)) as usize) else {
            return count();
        };
        if slot.0 != piece {
            slot.1 = count();
            slot.0.clear();
            slot.0.extend_from_slice(piece);
        }
        slot.1
    }
}

/// A piece of at most 15 bytes is at most 15 tokens, which four bits hold.
#[inline]
fn with_count(key: Key, count: usize) -> Key {
    key | (count as u128) << 124
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
