//! Byte-pair merging by a list of pairs, each with a priority of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::definition::{Definition, VocabularyError};
use crate::tables::hash_bytes;

const NONE: u32 = u32::MAX;
const MOST_TOKENS: usize = 1 << 22;
const MOST_BYTES: usize = 1 << 26;
const LONGEST: usize = 1 << 16;
/// From how many parts on a piece is merged with a heap.
const HEAP: usize = 48;

/// The tokens of a vocabulary and the pairs that merge. Tokens are numbered in the order given (`place`).
pub(crate) struct Bpe {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    ids: Vec<u32>,
    /// Places by id, sorted.
    by_id: Vec<(u32, u32)>,
    /// Places plus one by the hash of the token's bytes.
    by_bytes: Vec<u32>,
    byte_places: [u32; 256],
    pairs: Pairs,
    whole_pieces: bool,
    longest: usize,
}

/// What merging uses again from call to call.
#[derive(Default)]
pub(crate) struct Scratch {
    parts: Vec<Part>,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
}

#[derive(Clone, Copy)]
struct Part {
    token: u32,
    /// The priority of the pair with the next part, and the token it makes.
    priority: u32,
    merged: u32,
    /// The neighbours, when merged with a heap.
    before: u32,
    after: u32,
}

impl Bpe {
    /// The bytes of the longest token.
    pub(crate) fn longest(&self) -> usize {
        self.longest.max(1)
    }

    pub(crate) fn new(definition: &Definition) -> Result<Self, VocabularyError> {
        let tokens = &definition.tokens;
        let total: usize = tokens.iter().map(|(token, _)| token.len()).sum();
        let longest = tokens.iter().map(|(token, _)| token.len()).max().unwrap_or(0);
        let merges = definition.merges.as_ref().map_or(0, Vec::len);
        if tokens.len().max(merges) > MOST_TOKENS || total > MOST_BYTES || longest > LONGEST {
            return Err(VocabularyError::TooLarge);
        }
        let mut bpe = Self {
            bytes: Vec::with_capacity(total),
            ends: Vec::with_capacity(tokens.len()),
            ids: Vec::with_capacity(tokens.len()),
            by_id: Vec::with_capacity(tokens.len()),
            by_bytes: vec![0; (tokens.len() * 2).next_power_of_two().max(2)],
            byte_places: [NONE; 256],
            pairs: Pairs::default(),
            whole_pieces: definition.whole_pieces,
            longest,
        };
        for ((token, id), place) in tokens.iter().zip(0_u32..) {
            if token.is_empty() {
                return Err(VocabularyError::EmptyToken(*id));
            }
            if let [byte] = token[..] {
                bpe.byte_places[usize::from(byte)] = place;
            }
            bpe.bytes.extend_from_slice(token);
            bpe.ends.push(bpe.bytes.len() as u32);
            bpe.ids.push(*id);
            bpe.by_id.push((*id, place));
            bpe.insert(place)?;
        }
        bpe.by_id.sort_unstable();
        if let Some(pair) = bpe.by_id.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(VocabularyError::Twice(format!("the id {}", pair[0].0)));
        }
        let special = definition.special_tokens.iter().map(|(_, id)| *id);
        if let Some(id) = special.into_iter().find(|id| bpe.place_of_id(*id).is_some()) {
            return Err(VocabularyError::Twice(format!("the id {id}")));
        }
        if let Some(byte) = (0..=255_u8).find(|byte| bpe.byte_places[usize::from(*byte)] == NONE) {
            return Err(VocabularyError::MissingByte(byte));
        }
        bpe.pairs = match &definition.merges {
            Some(merges) => bpe.listed_pairs(merges)?,
            None => bpe.every_pair(),
        };
        Ok(bpe)
    }

    fn insert(&mut self, place: u32) -> Result<(), VocabularyError> {
        let token = self.token(place);
        let mask = self.by_bytes.len() - 1;
        let mut at = hash_bytes(token) as usize & mask;
        while let Some(known) = self.by_bytes.get(at).and_then(|slot| slot.checked_sub(1)) {
            if self.token(known) == token {
                return Err(VocabularyError::Twice(format!(
                    "the token {:?}",
                    String::from_utf8_lossy(token)
                )));
            }
            at = (at + 1) & mask;
        }
        if let Some(slot) = self.by_bytes.get_mut(at) {
            *slot = place + 1;
        }
        Ok(())
    }

    /// The pairs of a list of merges. A pair that is listed again has the place of the last: the lists are read into
    /// a map there.
    fn listed_pairs(&self, merges: &[(u32, u32)]) -> Result<Pairs, VocabularyError> {
        let mut pairs = Pairs::with_room_for(merges.len());
        let mut joined = Vec::new();
        for (index, (left, right)) in merges.iter().enumerate() {
            let place = |id: u32| self.place_of_id(id).ok_or(VocabularyError::Merge(index));
            let (left, right) = (place(*left)?, place(*right)?);
            joined.clear();
            joined.extend_from_slice(self.token(left));
            joined.extend_from_slice(self.token(right));
            let made = self.place_of(&joined).ok_or(VocabularyError::Merge(index))?;
            pairs.insert(left, right, index as u32, made);
        }
        Ok(pairs)
    }

    /// Every pair of tokens whose join is a token, with its id for a priority.
    fn every_pair(&self) -> Pairs {
        let mut pairs = Pairs::with_room_for(self.ids.len() * 3);
        for place in 0..self.ids.len() as u32 {
            let token = self.token(place);
            for cut in 1..token.len() {
                let (left, right) = token.split_at(cut);
                if let (Some(left), Some(right)) = (self.place_of(left), self.place_of(right)) {
                    pairs.insert(left, right, self.id(place), place);
                }
            }
        }
        pairs
    }

    fn token(&self, place: u32) -> &[u8] {
        let place = place as usize;
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = start.map_or(0, |end| *end as usize);
        let end = self.ends.get(place).map_or(start, |end| *end as usize);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The id of a token.
    pub(crate) fn id(&self, place: u32) -> u32 {
        self.ids.get(place as usize).copied().unwrap_or(NONE)
    }

    fn place_of_id(&self, id: u32) -> Option<u32> {
        let at = self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.by_id.get(at).map(|(_, place)| *place)
    }

    /// The bytes of the token of an id.
    pub(crate) fn bytes_of_id(&self, id: u32) -> Option<&[u8]> {
        self.place_of_id(id).map(|place| self.token(place))
    }

    fn place_of(&self, token: &[u8]) -> Option<u32> {
        if token.len() > self.longest {
            return None;
        }
        let mask = self.by_bytes.len() - 1;
        let mut at = hash_bytes(token) as usize & mask;
        loop {
            let known = self.by_bytes.get(at)?.checked_sub(1)?;
            if self.token(known) == token {
                return Some(known);
            }
            at = (at + 1) & mask;
        }
    }

    /// Calls `each` with the tokens of a piece, as places.
    pub(crate) fn encode(&self, piece: &[u8], scratch: &mut Scratch, each: &mut dyn FnMut(u32)) {
        if self.whole_pieces
            && let Some(place) = self.place_of(piece)
        {
            return each(place);
        }
        let Scratch { parts, heap } = scratch;
        parts.clear();
        parts.extend(piece.iter().zip(0_u32..).map(|(byte, at)| Part {
            token: self.byte_places[usize::from(*byte)],
            priority: NONE,
            merged: NONE,
            before: at.wrapping_sub(1),
            after: at + 1,
        }));
        for left in 1..parts.len() {
            self.pair(parts, left - 1, left);
        }
        if parts.len() < HEAP {
            self.merge_few(parts);
        } else {
            self.merge_with_heap(parts, heap);
        }
        for part in parts.iter().filter(|part| part.token != NONE) {
            each(part.token);
        }
    }

    /// Looks up the pair of two parts.
    fn pair(&self, parts: &mut [Part], left: usize, right: usize) {
        let next = parts.get(right).map(|part| part.token);
        if let Some(part) = parts.get_mut(left) {
            (part.priority, part.merged) = next.map_or((NONE, NONE), |next| self.pairs.find(part.token, next));
        }
    }

    /// Merges the first pair of lowest priority until none merges. Cost: the square of the parts.
    fn merge_few(&self, parts: &mut Vec<Part>) {
        loop {
            let least = parts.iter().zip(0_usize..).map(|(part, at)| (part.priority, at)).min();
            let Some((_, at)) = least.filter(|(priority, _)| *priority != NONE) else {
                return;
            };
            parts.remove(at + 1);
            if let Some(part) = parts.get_mut(at) {
                part.token = part.merged;
            }
            self.pair(parts, at, at + 1);
            if let Some(before) = at.checked_sub(1) {
                self.pair(parts, before, at);
            }
        }
    }

    /// The same in n log n. A part merged away has no token.
    fn merge_with_heap(&self, parts: &mut [Part], heap: &mut BinaryHeap<Reverse<(u32, u32)>>) {
        heap.clear();
        let pairs = parts.iter().zip(0_u32..).filter(|(part, _)| part.priority != NONE);
        heap.extend(pairs.map(|(part, at)| Reverse((part.priority, at))));
        while let Some(Reverse((priority, at))) = heap.pop() {
            let left = at as usize;
            let Some(part) = parts.get(left).copied().filter(|part| part.priority == priority) else {
                continue;
            };
            let right = part.after as usize;
            let after = parts.get(right).map_or(NONE, |part| part.after);
            if let Some(gone) = parts.get_mut(right) {
                (gone.token, gone.priority) = (NONE, NONE);
            }
            if let Some(part) = parts.get_mut(left) {
                (part.token, part.after) = (part.merged, after);
            }
            if let Some(next) = parts.get_mut(after as usize) {
                next.before = at;
            }
            let before = part.before;
            self.pair(parts, left, after as usize);
            self.pair(parts, before as usize, left);
            for place in [at, before] {
                if let Some(part) = parts.get(place as usize)
                    && part.priority != NONE
                {
                    heap.push(Reverse((part.priority, place)));
                }
            }
        }
    }
}

/// Which two neighbouring tokens merge, how soon, and into which.
#[derive(Default)]
struct Pairs {
    /// `left << 32 | right` plus one, priority, merged; 0 is empty. At most half full.
    slots: Vec<(u64, u32, u32)>,
    taken: usize,
}

impl Pairs {
    fn with_room_for(pairs: usize) -> Self {
        Self {
            slots: vec![(0, NONE, NONE); (pairs * 2).next_power_of_two().max(2)],
            taken: 0,
        }
    }

    fn key(left: u32, right: u32) -> u64 {
        (u64::from(left) << 32 | u64::from(right)) + 1
    }

    fn start(&self, key: u64) -> usize {
        let hash = (key ^ key >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 20) as usize & (self.slots.len() - 1)
    }

    fn insert(&mut self, left: u32, right: u32, priority: u32, merged: u32) {
        if self.taken * 2 >= self.slots.len() {
            let mut larger = Self::with_room_for(self.slots.len());
            for (key, priority, merged) in self.slots.iter().filter(|(key, ..)| *key != 0) {
                larger.put(*key, *priority, *merged);
            }
            *self = larger;
        }
        self.put(Self::key(left, right), priority, merged);
    }

    fn put(&mut self, key: u64, priority: u32, merged: u32) {
        let mask = self.slots.len() - 1;
        let mut at = self.start(key);
        while let Some((known, ..)) = self.slots.get(at)
            && *known != 0
            && *known != key
        {
            at = (at + 1) & mask;
        }
        if let Some(slot) = self.slots.get_mut(at) {
            self.taken += usize::from(slot.0 == 0);
            *slot = (key, priority, merged);
        }
    }

    /// The priority and the token of a pair; [`NONE`] for both if it does not merge.
    fn find(&self, left: u32, right: u32) -> (u32, u32) {
        let key = Self::key(left, right);
        let mask = self.slots.len() - 1;
        let mut at = self.start(key);
        while let Some((known, priority, merged)) = self.slots.get(at) {
            if *known == key {
                return (*priority, *merged);
            }
            if *known == 0 {
                break;
            }
            at = (at + 1) & mask;
        }
        (NONE, NONE)
    }
}
