//! Counting, encoding and decoding with one encoding.

use std::fmt;

use crate::Encoding;
use crate::merge::Scratch;
use crate::scan::{Pattern, Pieces};
use crate::special;
use crate::tables::{KEY_BYTES, Key, Tables, hash, key_at, length_of};
use crate::thread_memory::{self, Seen, ThreadMemory};
use crate::vocabulary::LONGEST_TOKEN;

/// An id that [`Tokenizer::decode`] does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownToken {
    /// The encoding asked.
    pub encoding: Encoding,
    /// The place of the id in the slice.
    pub index: usize,
    /// The id.
    pub id: u32,
}

impl fmt::Display for UnknownToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "id {} at index {} is no token of {}",
            self.id,
            self.index,
            self.encoding.name()
        )
    }
}

impl std::error::Error for UnknownToken {}

/// One encoding, ready to use; get it from [`Encoding::tokenizer`].
///
/// All methods take any text, never fail and never panic on it. A text that looks like a special token
/// (`<|endoftext|>`) is ordinary text. Results depend on the text alone. A tokenizer is shared by threads without
/// locks: what it learns while counting (a bounded table of pieces seen) is kept per thread.
pub struct Tokenizer {
    encoding: Encoding,
    pattern: Pattern,
    tables: &'static Tables,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tokenizer").field(&self.encoding.name()).finish()
    }
}

impl Tokenizer {
    pub(crate) fn new(encoding: Encoding, pattern: Pattern, tables: &'static Tables) -> Self {
        Self {
            encoding,
            pattern,
            tables,
        }
    }

    pub(crate) fn tables(&self) -> &'static Tables {
        self.tables
    }

    /// The encoding this is.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// How many tokens the text is. Cost: linear; some 5 to 15 ns a byte for text not seen before, 2 to 5 for text seen.
    pub fn count(&self, text: &str) -> usize {
        self.count_pieces(text.as_bytes(), usize::MAX).unwrap_or(usize::MAX)
    }

    /// How many tokens the text is, or `None` if it is more than `limit`.
    ///
    /// Cost: as [`Tokenizer::count`] for the part of the text that exceeds the limit, not for what follows. (One
    /// pre-token, such as a megabyte of one letter, is counted whole.)
    pub fn count_up_to(&self, text: &str, limit: usize) -> Option<usize> {
        // A token is at most this long, so the length alone may tell.
        if text.len().div_ceil(LONGEST_TOKEN) > limit {
            return None;
        }
        self.count_pieces(text.as_bytes(), limit)
    }

    /// The ids of the tokens. Cost: as [`Tokenizer::count`] and four bytes a token.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let text = text.as_bytes();
        let mut ids = Vec::with_capacity(text.len() / 4);
        thread_memory::with(|memory| {
            let mut start = 0;
            for end in self.piece_ends(text, start) {
                let piece = text.get(start..end).unwrap_or_default();
                match self.tables.rank(piece) {
                    Some(rank) => ids.push(rank),
                    None => self.tables.encode_merged(piece, &mut memory.scratch, &mut ids),
                }
                start = end;
            }
        });
        ids
    }

    /// The bytes that the tokens stand for. They need not be UTF-8: a token may hold a part of a character.
    ///
    /// # Errors
    ///
    /// The first id that is neither a token nor a special token of this encoding.
    pub fn decode(&self, ids: &[u32]) -> Result<Vec<u8>, UnknownToken> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for (index, id) in ids.iter().enumerate() {
            if let Some(token) = self.tables.vocabulary.token(*id) {
                bytes.extend_from_slice(token);
            } else if let Some(text) = special::text(self.encoding, *id) {
                bytes.extend_from_slice(text.as_bytes());
            } else {
                return Err(UnknownToken {
                    encoding: self.encoding,
                    index,
                    id: *id,
                });
            }
        }
        Ok(bytes)
    }

    /// The pre-tokens of a text from byte `start`, a pre-token edge, as their ends.
    #[inline]
    pub(crate) fn piece_ends<'t>(&self, text: &'t [u8], start: usize) -> Pieces<'t> {
        Pieces::new(self.pattern, text, start)
    }

    fn count_pieces(&self, text: &[u8], limit: usize) -> Option<usize> {
        thread_memory::with(|memory| {
            let mut count = 0;
            let mut start = 0;
            let mut unseen = [Unseen::default(); BATCH];
            let mut waiting = 0;
            for end in self.piece_ends(text, start) {
                let (seen, scratch) = memory.seen(self.encoding);
                if end - start > KEY_BYTES {
                    count += self.count_long(text.get(start..end).unwrap_or_default(), seen, scratch);
                } else {
                    let key = key_at(text, start, end);
                    let hash = hash(key);
                    let known = seen.recent(key, hash);
                    count += known;
                    // Written always, kept only if unseen: whether a piece was seen is no branch to guess at.
                    unseen[waiting % BATCH] = Unseen { key, hash, end };
                    waiting += usize::from(known == 0);
                    if waiting == BATCH {
                        count += self.count_unseen(&unseen, text, seen, scratch);
                        waiting = 0;
                    }
                }
                if count > limit {
                    return None;
                }
                start = end;
            }
            let (seen, scratch) = memory.seen(self.encoding);
            count += self.count_unseen(unseen.get(..waiting).unwrap_or_default(), text, seen, scratch);
            (count <= limit).then_some(count)
        })
    }

    /// How many tokens the pieces are together.
    #[inline(never)]
    fn count_unseen(&self, unseen: &[Unseen], text: &[u8], seen: &mut Seen, scratch: &mut Scratch) -> usize {
        let touched = unseen
            .iter()
            .fold(0, |touched, piece| touched ^ self.tables.short.touch(piece.hash));
        std::hint::black_box(touched);
        unseen
            .iter()
            .map(|piece| self.count_short(piece, text, seen, scratch))
            .sum()
    }

    fn count_short(&self, piece: &Unseen, text: &[u8], seen: &mut Seen, scratch: &mut Scratch) -> usize {
        let Unseen { key, hash, end } = *piece;
        let count = if self.tables.short.contains(key, hash) {
            1
        } else {
            let bytes = text.get(end - length_of(key)..end).unwrap_or_default();
            seen.merged(key, hash, || self.tables.count_merged(bytes, scratch))
        };
        seen.remember(key, hash, count);
        count
    }

    fn count_long(&self, piece: &[u8], seen: &mut Seen, scratch: &mut Scratch) -> usize {
        seen.long(piece, || match self.tables.rank(piece) {
            Some(_) => 1,
            None => self.tables.count_merged(piece, scratch),
        })
    }

    /// How many tokens the pre-token `text[start..end]` is.
    #[inline]
    pub(crate) fn count_piece(&self, text: &[u8], start: usize, end: usize, memory: &mut ThreadMemory) -> usize {
        let (seen, scratch) = memory.seen(self.encoding);
        if end - start > KEY_BYTES {
            return self.count_long(text.get(start..end).unwrap_or_default(), seen, scratch);
        }
        let key = key_at(text, start, end);
        let hash = hash(key);
        match seen.recent(key, hash) {
            0 => self.count_short(&Unseen { key, hash, end }, text, seen, scratch),
            count => count,
        }
    }
}

/// How many unseen pieces are looked up together.
const BATCH: usize = 32;

/// A short piece that waits to be looked up: its key, the hash of that and its end in the text.
#[derive(Clone, Copy, Default)]
struct Unseen {
    key: Key,
    hash: u64,
    end: usize,
}
