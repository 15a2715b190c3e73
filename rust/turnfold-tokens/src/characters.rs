//! Starting a merge from whole characters instead of bytes, where that changes nothing.
//!
//! Most characters beyond ASCII are tokens, and merging their bytes is most of the work on text in other scripts. The
//! work can be skipped for a character that no token can take apart: if no token that holds only a part of some
//! character reaches over either edge of this one, all its merges are its own, and as a token outranks its parts
//! they come before every merge that uses it. Few tokens hold parts of characters beside other characters (794 of
//! `o200k_base`, such as a space with the first byte of a Cyrillic letter), so few edges are in doubt.

use crate::pages::{Room, Table};
use crate::tables::NO_RANK;
use crate::vocabulary::{Parts, Vocabulary};

/// How many bytes before an edge are told apart.
const CONTEXT: usize = 3;

/// Which characters are tokens, and between which bytes a token may reach over an edge with a part of a character.
pub(crate) struct Characters {
    /// The rank of each character of two or three bytes, by code point.
    ranks: Table<u32>,
    /// One bit for each byte before an edge and byte behind it.
    doubtful: Vec<u64>,
    /// Up to three bytes before each edge in doubt and the byte behind, sorted.
    edges: Vec<[u8; CONTEXT + 2]>,
}

impl Characters {
    pub(crate) fn new(vocabulary: &Vocabulary, parts: Parts<'_>, room: &mut Room) -> Self {
        let mut characters = Self {
            ranks: room.table(1 << 16),
            doubtful: vec![0; 1 << 10],
            edges: Vec::new(),
        };
        characters.ranks.fill(NO_RANK);
        // Whether each token is whole characters, as what is joined of such is, and then is no single one: few need to be
        // looked at.
        let mut whole: Vec<bool> = Vec::with_capacity(vocabulary.len());
        let parts = std::iter::repeat_n(None, 256).chain(parts.iter().map(Some));
        for (rank, parts) in (0..).zip(parts) {
            if parts.is_some_and(|(left, right)| whole[left as usize] && whole[right as usize]) {
                whole.push(true);
                continue;
            }
            let token = vocabulary.token(rank).unwrap_or_default();
            let is_whole = std::str::from_utf8(token).is_ok();
            whole.push(is_whole);
            if is_whole {
                if let Some(slot) = single(token).and_then(|code_point| characters.ranks.get_mut(code_point)) {
                    *slot = rank;
                }
                continue;
            }
            for edge in (1..token.len()).filter(|edge| !continues(token[*edge])) {
                let (word, bit) = place(token[edge - 1], token[edge]);
                if let Some(word) = characters.doubtful.get_mut(word) {
                    *word |= bit;
                }
                characters.edges.push(context(token, edge, CONTEXT));
            }
        }
        characters.edges.sort_unstable();
        characters.edges.dedup();
        characters
    }

    /// Whether some token may reach over the edge at `edge` (neither end of `bytes`) with a part of a character.
    #[inline]
    fn is_doubtful(&self, bytes: &[u8], edge: usize) -> bool {
        let (Some(before), Some(after)) = (bytes.get(edge - 1), bytes.get(edge)) else {
            return false;
        };
        // Behind a whole character, such a byte belongs to none, and the edges of tokens in front of one are not kept.
        if continues(*after) {
            return true;
        }
        let (word, bit) = place(*before, *after);
        self.doubtful.get(word).is_some_and(|word| word & bit != 0)
            && (1..=CONTEXT.min(edge)).any(|known| self.edges.binary_search(&context(bytes, edge, known)).is_ok())
    }

    /// Calls `start` with the tokens from which merging `bytes` may start, as ranks.
    #[inline]
    pub(crate) fn starts(&self, byte_ranks: &[u32; 256], bytes: &[u8], mut start: impl FnMut(u32)) {
        let mut at = 0;
        let mut sure = true;
        while let Some(first) = bytes.get(at) {
            let width = match first {
                0xC2..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF4 => 4,
                _ => 1,
            };
            let character = bytes.get(at..at + width).unwrap_or(&bytes[at..]);
            let end = at + character.len();
            let sure_after = end == bytes.len() || !self.is_doubtful(bytes, end);
            let code_point = match character {
                [a, b] if width == 2 && continues(*b) => (usize::from(a & 0x1F) << 6) | usize::from(b & 0x3F),
                // What two bytes can say is no character in three.
                [a, b, c] if width == 3 && continues(*b) && continues(*c) && (*a > 0xE0 || *b >= 0xA0) => {
                    (usize::from(a & 0x0F) << 12) | (usize::from(b & 0x3F) << 6) | usize::from(c & 0x3F)
                }
                _ => 0,
            };
            let rank = self.ranks.get(code_point).copied().unwrap_or(NO_RANK);
            if rank != NO_RANK && sure && sure_after {
                start(rank);
            } else {
                for byte in character {
                    start(byte_ranks[usize::from(*byte)]);
                }
            }
            sure = sure_after;
            at = end;
        }
    }
}

/// The code point of whole characters that are one, of two or three bytes.
fn single(token: &[u8]) -> Option<usize> {
    match token {
        [a @ 0xC0..=0xFF, b] => Some(usize::from(a & 0x1F) << 6 | usize::from(b & 0x3F)),
        [a @ 0xE0..=0xFF, b, c] => {
            Some(usize::from(a & 0x0F) << 12 | usize::from(b & 0x3F) << 6 | usize::from(c & 0x3F))
        }
        _ => None,
    }
}

/// Whether a byte is inside a character.
fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

fn place(before: u8, after: u8) -> (usize, u64) {
    (usize::from(before) << 2 | usize::from(after >> 6), 1 << (after & 63))
}

/// How many bytes before an edge are known, up to `known` of them, and the byte behind it.
fn context(bytes: &[u8], edge: usize, known: usize) -> [u8; CONTEXT + 2] {
    let known = known.min(edge);
    let mut context = [0; CONTEXT + 2];
    context[0] = known as u8;
    context[1] = bytes[edge];
    context[2..2 + known].copy_from_slice(&bytes[edge - known..edge]);
    context
}
