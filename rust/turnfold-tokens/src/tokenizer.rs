//! Counting, encoding and decoding with one encoding.

use std::fmt;

use crate::Encoding;
use crate::bounds::{self, Bounds, Marked};
use crate::merge::Scratch;
use crate::piece_digest;
use crate::scan::{Pattern, Pieces};
use crate::simd::{Baseline, Isa, Level, Work, dispatch};
use crate::special;
use crate::tables::{KEY_BYTES, Tables, hash, key_at, length_of};
use crate::thread_memory::{self, Batch, Long, Seen, ThreadMemory, UNSEEN, Unseen};
use crate::vocabulary::LONGEST_TOKEN;

/// An id that [`crate::Tokenizer::decode`] does not know.
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

/// One published encoding, ready to use. What its methods promise stands at [`crate::Tokenizer`].
pub(crate) struct PublishedTokenizer {
    encoding: Encoding,
    pattern: Pattern,
    tables: &'static Tables,
}

impl PublishedTokenizer {
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
    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// How many tokens the text is. Cost: linear; some 4 to 15 ns a byte for text not seen before, 1 to 2 for text seen.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.count_pieces(text.as_bytes(), usize::MAX).unwrap_or(usize::MAX)
    }

    /// How many tokens the text is, or `None` if it is more than `limit`.
    ///
    /// Cost: as [`PublishedTokenizer::count`] for the part of the text that exceeds the limit, not for what follows. (One
    /// pre-token, such as a megabyte of one letter, is counted whole.)
    pub(crate) fn count_up_to(&self, text: &str, limit: usize) -> Option<usize> {
        // A token is at most this long, so the length alone may tell.
        if text.len().div_ceil(LONGEST_TOKEN) > limit {
            return None;
        }
        self.count_pieces(text.as_bytes(), limit)
    }

    /// An interval that holds the count; see `bounds`.
    pub(crate) fn bounds(&self, text: &str) -> Bounds {
        self.marked_bounds(text).whole
    }

    fn marked_bounds(&self, text: &str) -> Marked {
        bounds::bounds(self.pattern, self.tables.facts(), text.as_bytes())
    }

    /// Whether the text is at most `limit` tokens.
    ///
    /// Cost: by the length alone, or by bounds, if these tell; else what is counted before the bounds of the rest tell.
    pub(crate) fn fits(&self, text: &str, limit: usize) -> bool {
        if text.len() <= limit {
            return true;
        }
        if text.len().div_ceil(LONGEST_TOKEN) > limit {
            return false;
        }
        let marked = self.marked_bounds(text);
        if marked.whole.hi <= limit || marked.whole.lo > limit {
            return marked.whole.hi <= limit;
        }
        let mut watch = WithBounds {
            limit,
            marked: &marked,
            fits: None,
        };
        let count = self.count_watched(Level::detect(), text.as_bytes(), &mut watch);
        watch.fits.unwrap_or(count <= limit)
    }

    /// The ids of the tokens. Cost: as [`PublishedTokenizer::count`] and four bytes a token.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
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
    pub(crate) fn decode(&self, ids: &[u32]) -> Result<Vec<u8>, UnknownToken> {
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
        self.count_pieces_at(Level::detect(), text, limit)
    }

    fn count_pieces_at(&self, level: Level, text: &[u8], limit: usize) -> Option<usize> {
        let count = self.count_watched(level, text, &mut UpTo(limit));
        (count <= limit).then_some(count)
    }

    fn count_watched<W: Watch>(&self, level: Level, text: &[u8], watch: &mut W) -> usize {
        thread_memory::with(|memory| {
            let work = CountPieces {
                tokenizer: self,
                text,
                watch,
                memory,
            };
            dispatch(level, work)
        })
    }

    /// How many tokens the pieces are together. Leaves nothing of use in `unseen`.
    #[inline(always)]
    fn count_unseen<I: Isa>(
        &self,
        unseen: &mut [Unseen],
        text: &[u8],
        seen: &mut Seen,
        scratch: &mut Scratch,
    ) -> usize {
        // Looked up all at once, the places are fetched side by side.
        for piece in &*unseen {
            self.tables.short.prefetch(piece.hash);
        }
        let mut count = 0;
        let mut others = 0;
        for i in 0..unseen.len() {
            let piece = unseen[i];
            if self.tables.short.contains::<I>(piece.key, piece.hash) {
                seen.remember(piece.key, piece.hash, 1);
                count += 1;
            } else {
                unseen[others] = piece;
                others += 1;
            }
        }
        for piece in unseen.get(..others).unwrap_or_default() {
            count += self.count_other::<I>(piece, text, seen, scratch);
        }
        count
    }

    /// How many tokens a short piece is that is none itself.
    #[inline(always)]
    fn count_other<I: Isa>(&self, piece: &Unseen, text: &[u8], seen: &mut Seen, scratch: &mut Scratch) -> usize {
        let Unseen { key, hash, end } = *piece;
        let bytes = text.get(end - length_of(key)..end).unwrap_or_default();
        let mut count = seen.merged(key, hash);
        if count == 0 {
            count = self.tables.count_merged(bytes, scratch);
            seen.remember_merged(key, hash, count);
        }
        seen.remember(key, hash, count);
        count
    }

    /// How many tokens the pieces are together that are too long for a key.
    #[inline(always)]
    fn count_long_ones<I: Isa>(
        &self,
        pieces: &mut [Long],
        text: &[u8],
        seen: &mut Seen,
        scratch: &mut Scratch,
    ) -> usize {
        for piece in &mut *pieces {
            piece.digest = piece_digest::of(text.get(piece.start..piece.end).unwrap_or_default());
            seen.prefetch_long(piece.digest);
        }
        let mut count = 0;
        for &Long { digest, start, end } in &*pieces {
            let mut known = seen.long::<I>(digest);
            if known == 0 {
                known = self.count_long_unseen(text.get(start..end).unwrap_or_default(), scratch);
                seen.remember_long(digest, known);
            }
            count += known;
        }
        count
    }

    #[inline(never)]
    fn count_long_unseen(&self, piece: &[u8], scratch: &mut Scratch) -> usize {
        if self.tables.is_token(piece) {
            return 1;
        }
        let tables = self.tables;
        dispatch(Level::detect(), CountMerged { tables, piece, scratch })
    }

    /// How many tokens the pre-token `text[start..end]` is.
    #[inline]
    pub(crate) fn count_piece(&self, text: &[u8], start: usize, end: usize, memory: &mut ThreadMemory) -> usize {
        let (seen, scratch, _) = memory.seen(self.encoding);
        if end - start > KEY_BYTES {
            let piece = Long { start, end, digest: 0 };
            return self.count_long_ones::<Baseline>(&mut [piece], text, seen, scratch);
        }
        let key = key_at(text, start, end);
        let hash = hash(key);
        match seen.recent().count::<Baseline>(key, hash) {
            0 => self.count_unseen::<Baseline>(&mut [Unseen { key, hash, end }], text, seen, scratch),
            count => count,
        }
    }
}

/// Counting a piece that is no token.
struct CountMerged<'a> {
    tables: &'a Tables,
    piece: &'a [u8],
    scratch: &'a mut Scratch,
}

impl Work for CountMerged<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<I: Isa>(self) -> usize {
        self.tables.count_merged(self.piece, self.scratch)
    }
}

/// How many pieces are looked up side by side.
const AT_ONCE: usize = 16;

/// Who says while a text is counted whether that is enough.
trait Watch {
    /// Whether it is, with `count` tokens up to the edge `at`.
    fn is_enough(&mut self, count: usize, at: usize) -> bool;
}

/// Enough is more than this.
struct UpTo(usize);

impl Watch for UpTo {
    #[inline(always)]
    fn is_enough(&mut self, count: usize, _at: usize) -> bool {
        count > self.0
    }
}

/// Enough is what tells, with the bounds of the rest, on which side of a limit the count is.
struct WithBounds<'a> {
    limit: usize,
    marked: &'a Marked,
    fits: Option<bool>,
}

impl Watch for WithBounds<'_> {
    #[inline(always)]
    fn is_enough(&mut self, count: usize, at: usize) -> bool {
        let rest = self.marked.behind(at);
        if count + rest.lo > self.limit {
            self.fits = Some(false);
        } else if count + rest.hi <= self.limit {
            self.fits = Some(true);
        }
        self.fits.is_some()
    }
}

/// Counting a text, all of it or enough.
struct CountPieces<'a, W> {
    tokenizer: &'a PublishedTokenizer,
    text: &'a [u8],
    watch: &'a mut W,
    memory: &'a mut ThreadMemory,
}

impl<W: Watch> Work for CountPieces<'_, W> {
    type Output = usize;

    #[inline(always)]
    fn run<I: Isa>(self) -> usize {
        let Self {
            tokenizer,
            text,
            watch,
            memory,
        } = self;
        let (seen, scratch, Batch { spans, long, unseen }) = memory.seen(tokenizer.encoding);
        let mut count = 0;
        spans.restart(0);
        while spans.at() < text.len() {
            spans.fill::<I, true>(tokenizer.pattern, text);
            count += spans.plain();
            let (starts, ends) = spans.pieces();
            let mut waiting = 0;
            let mut count_long = 0;
            for (starts, ends) in starts.chunks(AT_ONCE).zip(ends.chunks(AT_ONCE)) {
                // What is looked up is fetched side by side, while the keys of the others are made.
                let mut short = [Unseen::default(); AT_ONCE];
                let mut count_short = 0;
                for (&start, &end) in starts.iter().zip(ends) {
                    if end - start > KEY_BYTES {
                        long[count_long % UNSEEN] = Long { start, end, digest: 0 };
                        count_long += 1;
                    } else {
                        let key = key_at(text, start, end);
                        let hash = hash(key);
                        seen.prefetch(hash);
                        short[count_short % AT_ONCE] = Unseen { key, hash, end };
                        count_short += 1;
                    }
                }
                let recent = seen.recent();
                for piece in short.get(..count_short).unwrap_or_default() {
                    let known = recent.count::<I>(piece.key, piece.hash);
                    count += known;
                    // Written always, kept only if unseen: whether a piece was seen is no branch to guess at.
                    unseen[waiting % UNSEEN] = *piece;
                    waiting += usize::from(known == 0);
                }
            }
            let long = long.get_mut(..count_long).unwrap_or_default();
            count += tokenizer.count_long_ones::<I>(long, text, seen, scratch);
            let unseen = unseen.get_mut(..waiting).unwrap_or_default();
            count += tokenizer.count_unseen::<I>(unseen, text, seen, scratch);
            if watch.is_enough(count, spans.at()) {
                break;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_level_counts_alike(
            parts in proptest::collection::vec(prop_oneof![
                "[a-zA-Z ]{1,40}", "[0-9a-f.,;/'\"\n\t ]{1,20}", "\\PC{1,12}", "[А-я ]{1,30}", "[一-龥。]{1,50}", "[ก-๎]{1,9}",
                "[a-z]{1,9}'(s|t|re|VE|ſ)", "(ab|的|😀){1,80}", "[一-丏]{70,99}",
            ], 0..24),
            limit in 0..400_usize,
        ) {
            let text = parts.concat();
            for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
                let tokenizer = encoding.tokenizer().as_published().unwrap();
                let tokens = tokenizer.encode(&text).len();
                for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                    // A thread of its own has seen nothing; the second count finds what the first left.
                    let counts = std::thread::scope(|scope| {
                        let count = || [usize::MAX, limit].map(|limit| tokenizer.count_pieces_at(level, text.as_bytes(), limit));
                        scope.spawn(move || [count(), count()]).join().unwrap()
                    });
                    prop_assert_eq!(counts, [[Some(tokens), (tokens <= limit).then_some(tokens)]; 2], "{:?}", level);
                }
            }
        }
    }
}
