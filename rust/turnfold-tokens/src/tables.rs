//! The look-up tables built from a vocabulary when it is first used.

use std::sync::OnceLock;

use crate::bounds::Facts;
use crate::characters::Characters;
use crate::pages::{Room, Table};
use crate::simd::{Isa, Line, prefetch};
use crate::vocabulary::{self, CorruptVocabulary, LONGEST_TOKEN, Parts, Vocabulary};

/// The longest piece of text that fits a [`Key`], in bytes.
pub(crate) const KEY_BYTES: usize = 15;

/// How many upper bits of a key are free for a value.
pub(crate) const VALUE_BITS: u32 = 4;

/// A piece of at most [`KEY_BYTES`] bytes as one integer: the bytes from the low end, the length (1..=15) in bits
/// 120..124. Bits 124..128 are free for a value. No key is 0.
pub(crate) type Key = u128;

const MASKS: [u128; 16] = {
    let mut masks = [0; 16];
    let mut length = 1;
    while length < 16 {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// The key of the first `length` (1..=15) of 16 bytes.
#[inline(always)]
pub(crate) fn key_of(bytes: [u8; 16], length: usize) -> Key {
    let length = length & 15;
    (u128::from_le_bytes(bytes) & MASKS[length]) | (length as u128) << 120
}

/// The key of `text[start..end]`, which is 1..=15 bytes long.
#[inline(always)]
pub(crate) fn key_at(text: &[u8], start: usize, end: usize) -> Key {
    if let Some(bytes) = text.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
        return key_of(*bytes, end - start);
    }
    if let Some(bytes) = text.last_chunk::<16>() {
        // Fewer than 16 bytes are left: what stands before them moves out.
        let before = (start + 16).saturating_sub(text.len()) as u32;
        let left = u128::from_le_bytes(*bytes).checked_shr(8 * before).unwrap_or(0);
        return key_of(left.to_le_bytes(), end - start);
    }
    let mut bytes = [0; 16];
    for (byte, from) in bytes.iter_mut().zip(text.get(start..end).unwrap_or_default()) {
        *byte = *from;
    }
    key_of(bytes, end - start)
}

/// A key with a value below 16 in its free bits.
#[inline(always)]
pub(crate) fn with_value(key: Key, value: usize) -> Key {
    key | (value as u128) << (128 - VALUE_BITS)
}

/// The length of the piece of a key, in bytes.
#[inline(always)]
pub(crate) fn length_of(key: Key) -> usize {
    (key >> 120) as usize & 15
}

/// A well-mixed 64-bit hash of a key.
#[inline(always)]
pub(crate) fn hash(key: Key) -> u64 {
    let low = (key as u64) ^ 0x9E37_79B9_7F4A_7C15;
    let high = ((key >> 64) as u64) ^ 0xD1B5_4A32_D192_ED03;
    let product = u128::from(low) * u128::from(high);
    (product as u64) ^ ((product >> 64) as u64)
}

/// A hash of more bytes than went into `hash`.
#[inline(always)]
pub(crate) fn mix(state: u64, bytes: u128) -> u64 {
    (state ^ hash(bytes))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(29)
}

/// A hash of bytes of any length.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let starts = (0..bytes.len()).step_by(KEY_BYTES);
    starts.fold(bytes.len() as u64, |state, start| {
        mix(state, key_at(bytes, start, bytes.len().min(start + KEY_BYTES)))
    })
}

/// How many items wait for what was fetched for them.
const WAITING: usize = 32;

/// Puts every item into a table, some time after the processor was asked to fetch where it goes.
fn fetched_ahead<T, I: Copy + Default>(
    table: &mut T,
    items: impl Iterator<Item = I>,
    mut fetch: impl FnMut(&T, &I),
    mut put: impl FnMut(&mut T, I),
) {
    let mut waiting = [I::default(); WAITING];
    let mut count = 0;
    for item in items {
        fetch(table, &item);
        let first = std::mem::replace(&mut waiting[count % WAITING], item);
        if count >= WAITING {
            put(table, first);
        }
        count += 1;
    }
    for place in count.saturating_sub(WAITING)..count {
        put(table, waiting[place % WAITING]);
    }
}

/// How many slots a [`Line`] has.
const WAYS: usize = 4;

/// Which pieces of at most 15 bytes are tokens, and of which rank. Written once, then only read.
pub(crate) struct ShortTokens {
    /// The keys, each with the value 1: as a piece, a token is one token.
    lines: Table<Line>,
    shift: u32,
}

impl ShortTokens {
    /// How many lines there are for so many tokens, as a power of two: at most half full, so that most misses end in the
    /// first line.
    fn bits(count: usize) -> u32 {
        (count * 2 / WAYS).next_power_of_two().trailing_zeros().max(1)
    }

    fn new(vocabulary: &Vocabulary, room: &mut Room) -> Self {
        let bits = Self::bits(vocabulary.len());
        let mut table = Self {
            lines: room.table(1 << bits),
            shift: 64 - bits,
        };
        let keys = short_keys(vocabulary).map(|(key, _)| (key, hash(key)));
        fetched_ahead(
            &mut table,
            keys,
            |table, (_, hash)| table.prefetch(*hash),
            |table, (key, hash)| table.insert(key, hash),
        );
        table
    }

    fn insert(&mut self, key: Key, hash: u64) {
        let mask = self.lines.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        while let Some(Line(line)) = self.lines.get_mut(at) {
            // They fill from the front, and which is the first that is free is no branch to guess at.
            let taken = line.iter().map(|slot| usize::from(*slot != 0)).sum::<usize>();
            if let Some(slot) = line.get_mut(taken) {
                *slot = with_value(key, 1);
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Has the processor fetch what [`ShortTokens::contains`] will read.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(line) = self.lines.get((hash >> self.shift) as usize) {
            prefetch(line);
        }
    }

    /// Whether the piece is a token. `hash` is the key's.
    #[inline(always)]
    pub(crate) fn contains<I: Isa>(&self, key: Key, hash: u64) -> bool {
        let mut at = (hash >> self.shift) as usize;
        while let Some(line) = self.lines.get(at) {
            if I::find::<VALUE_BITS>(line, key) != 0 {
                return true;
            }
            if line.0[WAYS - 1] == 0 {
                return false;
            }
            at = (at + 1) & (self.lines.len() - 1);
        }
        false
    }

    /// Where the token is, if the piece is one: its line and its slot in that.
    fn place(&self, key: Key) -> Option<(usize, usize)> {
        let mut at = (hash(key) >> self.shift) as usize;
        loop {
            let Line(line) = self.lines.get(at)?;
            if let Some(way) = line.iter().position(|slot| *slot == with_value(key, 1)) {
                return Some((at, way));
            }
            if line[WAYS - 1] == 0 {
                return None;
            }
            at = (at + 1) & (self.lines.len() - 1);
        }
    }
}

/// The tokens that fit a key, with their ranks.
fn short_keys(vocabulary: &Vocabulary) -> impl Iterator<Item = (Key, u32)> {
    let short = (0..)
        .zip(vocabulary.places())
        .filter(|(_, place)| place.len() <= KEY_BYTES);
    short.map(|(rank, place)| (key_at(vocabulary.text(), place.start, place.end), rank))
}

/// The ranks of the tokens of more than 15 bytes, as an open-addressed table of ranks plus one.
pub(crate) struct LongTokens {
    slots: Table<u32>,
}

impl LongTokens {
    fn new(vocabulary: &Vocabulary, room: &mut Room) -> Self {
        let long = || vocabulary.tokens().filter(|(_, token)| token.len() > KEY_BYTES);
        let mut slots = room.table::<u32>((long().count() * 4).next_power_of_two());
        let mask = slots.len() - 1;
        for (rank, token) in long() {
            let mut at = hash_bytes(token) as usize & mask;
            while slots.get(at).is_some_and(|slot| *slot != 0) {
                at = (at + 1) & mask;
            }
            if let Some(slot) = slots.get_mut(at) {
                *slot = rank + 1;
            }
        }
        Self { slots }
    }

    fn rank(&self, vocabulary: &Vocabulary, piece: &[u8]) -> Option<u32> {
        if piece.len() > LONGEST_TOKEN {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash_bytes(piece) as usize & mask;
        loop {
            let rank = self.slots.get(at)?.checked_sub(1)?;
            if vocabulary.token(rank) == Some(piece) {
                return Some(rank);
            }
            at = (at + 1) & mask;
        }
    }
}

/// No rank: the pair does not merge.
pub(crate) const NO_RANK: u32 = u32::MAX;

/// Which two neighbouring tokens merge, and into which.
///
/// Only the parts of each token's own last merge are listed. That loses nothing: when two neighbours whose join is
/// a token are about to merge, no merge has crossed the edges of their span yet, so inside it went exactly what goes
/// on when the span is encoded alone, and that comes to one pair only.
pub(crate) struct Merges {
    /// The merge of two single bytes, by `left byte << 8 | right byte`.
    bytes: Table<u32>,
    /// The merges into tokens of low rank, which most merges are: small enough for the cache of a core.
    common: Pairs,
    others: Pairs,
    /// Two bits of one word for each pair that merges, by the upper bits of its hash. Small enough to stay in the cache of
    /// a core, it answers for nine of ten pairs that do not merge: as one bit in twice the words would.
    filter: Table<u64>,
}

const FILTER_BITS: u32 = 20;
const RANK_BITS: u32 = 20;
const RANK_MASK: u64 = (1 << RANK_BITS) - 1;
/// The ranks below this are common.
const COMMON: u32 = 1 << 15;

/// An open-addressed table of `left << 40 | right << 20 | merged`, all ranks below 2^20; 0 is empty (rank 0 is a
/// byte, never merged into).
struct Pairs {
    slots: Table<u64>,
    shift: u32,
}

impl Pairs {
    /// How many slots there are for so many pairs, as a power of two.
    fn bits(count: usize) -> u32 {
        (count * 2).next_power_of_two().trailing_zeros().max(1)
    }

    fn new(count: usize, room: &mut Room) -> Self {
        let bits = Self::bits(count);
        Self {
            slots: room.table(1 << bits),
            shift: 64 - bits,
        }
    }

    fn insert(&mut self, pair: u64, hash: u64, merged: u32) {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        while self.slots.get(at).is_some_and(|slot| *slot != 0) {
            at = (at + 1) & mask;
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = pair << RANK_BITS | u64::from(merged);
        }
    }

    #[inline(always)]
    fn find(&self, pair: u64, hash: u64) -> u32 {
        let mut at = (hash >> self.shift) as usize;
        while let Some(slot) = self.slots.get(at) {
            if slot >> RANK_BITS == pair && *slot != 0 {
                return (slot & RANK_MASK) as u32;
            }
            if *slot == 0 {
                break;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        NO_RANK
    }
}

impl Merges {
    /// How many pairs are common, and how many others there are at most, of so many tokens.
    fn counts(count: usize) -> [usize; 2] {
        let common = count.min(COMMON as usize);
        [common, count - common]
    }

    fn new(vocabulary: &Vocabulary, parts: Parts<'_>, room: &mut Room) -> Self {
        let [common, others] = Self::counts(vocabulary.len()).map(|count| Pairs::new(count, room));
        let mut bytes = room.table(1 << 16);
        bytes.fill(NO_RANK);
        let mut merges = Self {
            bytes: Table::default(),
            common,
            others,
            filter: room.table(1 << (FILTER_BITS - 6)),
        };
        let singles = vocabulary.text();
        let pairs = parts.iter().zip(256..).map(|((left, right), merged)| {
            // The tokens of one byte are the first.
            if left.max(right) < 256 {
                let [left, right] = [left, right].map(|single| usize::from(singles[single as usize]));
                bytes[left << 8 | right] = merged;
            }
            let pair = u64::from(left) << RANK_BITS | u64::from(right);
            (pair, pair_hash(pair), merged)
        });
        fetched_ahead(
            &mut merges,
            pairs,
            |merges, (_, hash, merged)| {
                let pairs = if *merged < COMMON {
                    &merges.common
                } else {
                    &merges.others
                };
                pairs.slots.get((hash >> pairs.shift) as usize).map(prefetch);
            },
            |merges, (pair, hash, merged)| {
                if let Some(word) = merges.filter.get_mut(filter_word(hash)) {
                    *word |= filter_bits(hash);
                }
                let pairs = if merged < COMMON {
                    &mut merges.common
                } else {
                    &mut merges.others
                };
                pairs.insert(pair, hash, merged);
            },
        );
        merges.bytes = bytes;
        merges
    }

    /// The rank of the token that `left` and `right` merge into, or [`NO_RANK`].
    #[inline(always)]
    pub(crate) fn rank(&self, left: u32, right: u32) -> u32 {
        let pair = u64::from(left) << RANK_BITS | u64::from(right);
        let hash = pair_hash(pair);
        if self
            .filter
            .get(filter_word(hash))
            .is_some_and(|word| !word & filter_bits(hash) != 0)
        {
            return NO_RANK;
        }
        match self.common.find(pair, hash) {
            NO_RANK => self.others.find(pair, hash),
            rank => rank,
        }
    }

    /// The rank of the token that two bytes merge into, or [`NO_RANK`].
    #[inline]
    pub(crate) fn byte_rank(&self, left: u8, right: u8) -> u32 {
        self.bytes
            .get(usize::from(left) << 8 | usize::from(right))
            .copied()
            .unwrap_or(NO_RANK)
    }
}

#[inline]
fn pair_hash(pair: u64) -> u64 {
    pair.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline]
fn filter_word(hash: u64) -> usize {
    (hash >> (64 - FILTER_BITS + 6)) as usize
}

#[inline]
fn filter_bits(hash: u64) -> u64 {
    1 << (hash >> (64 - FILTER_BITS) & 63) | 1 << (hash >> (64 - FILTER_BITS - 6) & 63)
}

/// A vocabulary with everything needed to encode with it.
pub(crate) struct Tables {
    /// The tokens.
    pub(crate) vocabulary: Vocabulary,
    /// The tokens that fit a key.
    pub(crate) short: ShortTokens,
    /// The others.
    long: LongTokens,
    /// The pairs that merge.
    pub(crate) merges: Merges,
    /// The characters to start merging from.
    pub(crate) characters: Characters,
    /// The rank of each single byte.
    pub(crate) byte_ranks: [u32; 256],
    /// The ranks of the tokens of `short`, by their places there, which only ids need.
    short_ranks: OnceLock<Table<[u32; WAYS]>>,
    facts: OnceLock<Facts>,
}

impl Tables {
    /// Of what `data/pack.py` wrote.
    pub(crate) fn unpack(packed: &[u8]) -> Result<Self, CorruptVocabulary> {
        let count = vocabulary::count_of(packed).min(packed.len());
        let pairs = Merges::counts(count).map(|count| size_of::<u64>() << Pairs::bits(count));
        let tables = (size_of::<Line>() << ShortTokens::bits(count)) + pairs.iter().sum::<usize>();
        // What is left are the small ones, and one for the few long tokens.
        let room = &mut Room::new(vocabulary::room_for(count) + tables + count + (1 << 20));
        let (vocabulary, parts) = Vocabulary::unpack(packed, room)?;
        let mut byte_ranks = [0; 256];
        for (rank, token) in vocabulary.tokens().take(256) {
            if let [byte] = token {
                byte_ranks[usize::from(*byte)] = rank;
            }
        }
        Ok(Self {
            short: ShortTokens::new(&vocabulary, room),
            long: LongTokens::new(&vocabulary, room),
            merges: Merges::new(&vocabulary, parts, room),
            characters: Characters::new(&vocabulary, parts, room),
            byte_ranks,
            vocabulary,
            short_ranks: OnceLock::new(),
            facts: OnceLock::new(),
        })
    }

    /// What bounds rest on, found on first use in some milliseconds.
    pub(crate) fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::new(self))
    }

    /// The rank of a piece that is itself a token. Cost: the first call makes a table, in some milliseconds.
    pub(crate) fn rank(&self, piece: &[u8]) -> Option<u32> {
        if piece.len() > KEY_BYTES {
            return self.long.rank(&self.vocabulary, piece);
        }
        let (line, way) = self.short.place(key_at(piece, 0, piece.len()))?;
        let ranks = self.short_ranks.get_or_init(|| self.ranks_of_short());
        ranks.get(line).map(|ranks| ranks[way])
    }

    /// Whether a piece is itself a token.
    pub(crate) fn is_token(&self, piece: &[u8]) -> bool {
        if piece.len() > KEY_BYTES {
            return self.long.rank(&self.vocabulary, piece).is_some();
        }
        self.short.place(key_at(piece, 0, piece.len())).is_some()
    }

    fn ranks_of_short(&self) -> Table<[u32; WAYS]> {
        let lines = self.short.lines.len();
        let mut ranks: Table<[u32; WAYS]> = Room::new(lines * size_of::<[u32; WAYS]>()).table(lines);
        for (key, rank) in short_keys(&self.vocabulary) {
            if let Some((line, way)) = self.short.place(key)
                && let Some(ranks) = ranks.get_mut(line)
            {
                ranks[way] = rank;
            }
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{CL100K_BASE, O200K_BASE};

    #[test]
    fn every_token_and_every_merge_is_found() {
        for packed in [O200K_BASE, CL100K_BASE] {
            let tables = Tables::unpack(packed).unwrap();
            let (_, parts) = Vocabulary::unpack(packed, &mut Room::new(0)).unwrap();
            for (rank, token) in tables.vocabulary.tokens() {
                assert!(tables.is_token(token));
                assert_eq!(tables.rank(token), Some(rank));
            }
            for ((left, right), merged) in parts.iter().zip(256..) {
                assert_eq!(tables.merges.rank(left, right), merged);
            }
            for left in 0..=u8::MAX {
                for right in 0..=u8::MAX {
                    let [first, second] = [left, right].map(|byte| tables.byte_ranks[usize::from(byte)]);
                    assert_eq!(tables.merges.byte_rank(left, right), tables.merges.rank(first, second));
                }
            }
            assert_eq!(tables.rank(b""), None);
            assert_eq!(tables.rank(b"\xFF\xFE\xFD not a token"), None);
            assert_eq!(tables.rank(b"\xFF\xFE\xFDnone"), None);
            assert_eq!(tables.merges.rank(0, 0xF_FFFF), NO_RANK);
        }
    }

    #[test]
    fn a_key_tells_length_and_bytes_apart() {
        assert_ne!(key_at(b"a", 0, 1), key_at(b"a\0", 0, 2));
        assert_eq!(key_at(b"xab", 1, 3), key_at(b"ab012345678901234567", 0, 2));
        assert_eq!(key_at(b"0123456789abcdef", 0, 15), key_at(b"0123456789abcde", 0, 15));
    }
}
