//! What each thread keeps between calls: scratch memory and a bounded table of pieces counted before.

use std::cell::Cell;

use crate::Encoding;
use crate::merge::Scratch;
use crate::tables::Key;

/// Slots of the table of one encoding; 16 bytes each. A thread that counts with one encoding keeps 1 MB.
const SLOT_BITS: u32 = 16;

/// See the module.
#[derive(Default)]
pub(crate) struct ThreadMemory {
    pub(crate) seen: Seen,
    pub(crate) scratch: Scratch,
}

/// The pieces of at most 15 bytes that were merged before, with their counts: one slot for each hash, last come
/// stays. It holds facts only, so it changes what counting costs, never what it says.
#[derive(Default)]
pub(crate) struct Seen {
    o200k: Vec<Key>,
    cl100k: Vec<Key>,
}

impl Seen {
    /// The remembered count of a piece, or that of `merge`, which is remembered.
    #[inline]
    pub(crate) fn count(&mut self, encoding: Encoding, key: Key, hash: u64, merge: impl FnOnce() -> usize) -> usize {
        let slots = match encoding {
            Encoding::O200kBase | Encoding::O200kHarmony => &mut self.o200k,
            Encoding::Cl100kBase => &mut self.cl100k,
        };
        if slots.is_empty() {
            slots.resize(1 << SLOT_BITS, 0);
        }
        let Some(slot) = slots.get_mut((hash >> (64 - SLOT_BITS)) as usize) else {
            return merge();
        };
        if (*slot ^ key) << 4 == 0 {
            return (*slot >> 124) as usize;
        }
        // A piece of at most 15 bytes is at most 15 tokens, which four bits hold.
        let count = merge();
        *slot = key | (count as u128) << 124;
        count
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
