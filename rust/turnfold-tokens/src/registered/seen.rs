//! What each thread remembers of pieces counted with registered vocabularies: one bounded table for all of them.

use std::cell::Cell;

use super::bpe::Scratch;
use crate::tables::{KEY_BYTES, Key, hash, key_at};

/// Slots of the table: 17 bytes each, half a megabyte a thread.
const BITS: u32 = 15;

/// See the module. It holds facts only: it changes what counting costs, never what it says.
#[derive(Default)]
pub(crate) struct Seen {
    keys: Vec<Key>,
    owners: Vec<u8>,
    pub(crate) scratch: Scratch,
}

impl Seen {
    /// The remembered count of a piece by the vocabulary `owner`, or that of `count`, remembered if it is short.
    pub(crate) fn count(&mut self, owner: u8, piece: &[u8], count: impl FnOnce(&mut Scratch) -> usize) -> usize {
        if piece.is_empty() || piece.len() > KEY_BYTES {
            return count(&mut self.scratch);
        }
        if self.keys.is_empty() {
            self.keys.resize(1 << BITS, 0);
            self.owners.resize(1 << BITS, 0);
        }
        let key = key_at(piece, 0, piece.len());
        let mixed = hash(key) ^ u64::from(owner).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let at = (mixed >> (64 - BITS)) as usize;
        let Seen { keys, owners, scratch } = self;
        let (Some(slot), Some(known)) = (keys.get_mut(at), owners.get_mut(at)) else {
            return count(scratch);
        };
        if (*slot ^ key) << 4 == 0 && *known == owner {
            return (*slot >> 124) as usize;
        }
        // A piece of at most 15 bytes is at most 15 tokens, which four bits hold.
        let tokens = count(scratch);
        (*slot, *known) = (key | (tokens as u128) << 124, owner);
        tokens
    }
}

thread_local! {
    static SEEN: Cell<Option<Box<Seen>>> = const { Cell::new(None) };
}

/// Calls `use_seen` with this thread's table. (A call inside the call, or while the thread ends, gets a fresh one.)
pub(crate) fn with<R>(use_seen: impl FnOnce(&mut Seen) -> R) -> R {
    let mut seen = SEEN.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let result = use_seen(&mut seen);
    // Failing here means the thread ends, and the table with it.
    let _ = SEEN.try_with(|kept| kept.set(Some(seen)));
    result
}
