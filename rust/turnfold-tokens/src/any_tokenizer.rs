//! One tokenizer, whichever vocabulary it has.

use std::fmt;

use crate::Encoding;
use crate::bounds::Bounds;
use crate::prefix_sums::PrefixSum;
use crate::registered::RegisteredTokenizer;
use crate::tokenizer::{PublishedTokenizer, UnknownToken};
use crate::truncate::{Keep, Truncation, joined_ends};

/// One encoding, ready to use; get it from [`Encoding::tokenizer`].
///
/// All methods take any text, never fail and never panic on it. A text that looks like a special token
/// (`<|endoftext|>`) is ordinary text. Results depend on the text alone. A tokenizer is shared by threads without
/// locks: what it learns while counting (a bounded table of pieces seen) is kept per thread.
pub struct Tokenizer(Kind);

enum Kind {
    Published(PublishedTokenizer),
    Registered(Box<RegisteredTokenizer>),
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tokenizer").field(&self.encoding().name()).finish()
    }
}

impl Tokenizer {
    pub(crate) fn published(tokenizer: PublishedTokenizer) -> Self {
        Self(Kind::Published(tokenizer))
    }

    pub(crate) fn registered(tokenizer: RegisteredTokenizer) -> Self {
        Self(Kind::Registered(Box::new(tokenizer)))
    }

    #[cfg(any(test, feature = "naive"))]
    pub(crate) fn as_published(&self) -> Option<&PublishedTokenizer> {
        match &self.0 {
            Kind::Published(tokenizer) => Some(tokenizer),
            Kind::Registered(_) => None,
        }
    }

    /// The encoding this is.
    pub fn encoding(&self) -> Encoding {
        match &self.0 {
            Kind::Published(tokenizer) => tokenizer.encoding(),
            Kind::Registered(tokenizer) => tokenizer.encoding(),
        }
    }

    /// How many tokens the text is. Cost: linear; with a published encoding some 4 to 15 ns a byte for text not seen
    /// before and 1 to 2 for text seen; a registered one takes longer.
    #[inline]
    pub fn count(&self, text: &str) -> usize {
        match &self.0 {
            Kind::Published(tokenizer) => tokenizer.count(text),
            Kind::Registered(tokenizer) => tokenizer.count_up_to(text, usize::MAX).unwrap_or(usize::MAX),
        }
    }

    /// How many tokens the text is, or `None` if it is more than `limit`.
    ///
    /// Cost: as [`Tokenizer::count`] for the part of the text that exceeds the limit, not for what follows. (One
    /// pre-token, such as a megabyte of one letter, is counted whole.)
    pub fn count_up_to(&self, text: &str, limit: usize) -> Option<usize> {
        match &self.0 {
            Kind::Published(tokenizer) => tokenizer.count_up_to(text, limit),
            Kind::Registered(tokenizer) => tokenizer.count_up_to(text, limit),
        }
    }

    /// An interval that holds the count of the text, without merging or looking words up: a fact, not a share of texts.
    ///
    /// With a published encoding `hi` is some two to three times the count of prose and code and 1.4 times that of logs,
    /// and `lo` some nine tenths of it; with a registered one they are the length by that of the longest token, and the
    /// length. Cost: linear; see `docs/metering.md` for the speed.
    ///
    /// ```
    /// use turnfold_tokens::Encoding;
    ///
    /// let text = "The meeting is moved to Thursday, because the room is taken. ".repeat(20);
    /// let tokenizer = Encoding::O200kBase.tokenizer();
    /// let (count, bounds) = (tokenizer.count(&text), tokenizer.bounds(&text));
    /// assert_eq!((bounds.lo, count, bounds.hi), (261, 261, 820));
    /// ```
    pub fn bounds(&self, text: &str) -> Bounds {
        match &self.0 {
            Kind::Published(tokenizer) => tokenizer.bounds(text),
            Kind::Registered(tokenizer) => tokenizer.bounds(text),
        }
    }

    /// Whether the text is at most `limit` tokens: what [`Tokenizer::count_up_to`] says, found sooner.
    ///
    /// Cost: as [`Tokenizer::bounds`] where the limit is outside; inside, the text is counted until the bounds of the
    /// rest decide.
    pub fn fits(&self, text: &str, limit: usize) -> bool {
        match &self.0 {
            Kind::Published(tokenizer) => tokenizer.fits(text, limit),
            Kind::Registered(tokenizer) => {
                let bounds = tokenizer.bounds(text);
                bounds.hi <= limit || bounds.lo <= limit && tokenizer.count_up_to(text, limit).is_some()
            }
        }
    }

    /// The ids of the tokens. Cost: as [`Tokenizer::count`] and four bytes a token.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        match &self.0 {
            Kind::Published(tokenizer) => tokenizer.encode(text),
            Kind::Registered(tokenizer) => tokenizer.encode(text),
        }
    }

    /// The bytes that the tokens stand for. They need not be UTF-8: a token may hold a part of a character.
    ///
    /// # Errors
    ///
    /// The first id that is neither a token nor a special token of this encoding.
    pub fn decode(&self, ids: &[u32]) -> Result<Vec<u8>, UnknownToken> {
        match &self.0 {
            Kind::Published(tokenizer) => tokenizer.decode(ids),
            Kind::Registered(tokenizer) => tokenizer.decode(ids),
        }
    }

    /// The beginning, end or both of a text that is at most `max_tokens` when counted alone.
    ///
    /// Cuts fall between characters, so what is kept is text: no half of a character, no U+FFFD. With
    /// [`Keep::Both`] the two parts together, and joined without anything between, are at most `max_tokens`.
    ///
    /// With a published encoding each part is the longest for its share. Only where more than 4096 bytes of one
    /// pre-token are kept, a part that is longer by less than a token may be missed. Cost: as [`Tokenizer::count`] of
    /// what is kept (head), of the text (tail). With a registered one a part with one more character is too long, and
    /// the cost is that of counting what is kept for each bit of its length.
    pub fn truncate(&self, text: &str, max_tokens: usize, keep: Keep) -> Truncation {
        let whole = Truncation {
            head_bytes: text.len(),
            tail_start: text.len(),
        };
        if self.count_up_to(text, max_tokens).is_some() {
            return whole;
        }
        let head = |max: usize| match &self.0 {
            Kind::Published(tokenizer) => tokenizer.head(text, max),
            Kind::Registered(tokenizer) => tokenizer.head(text, max),
        };
        let tail = |max: usize| match &self.0 {
            Kind::Published(tokenizer) => tokenizer.tail(text, max),
            Kind::Registered(tokenizer) => tokenizer.tail(text, max),
        };
        match keep {
            Keep::Head => Truncation {
                head_bytes: head(max_tokens),
                ..whole
            },
            Keep::Tail => Truncation {
                head_bytes: 0,
                tail_start: tail(max_tokens),
            },
            Keep::Both => joined_ends(text, max_tokens, &|part| self.count(part), &head, &tail),
        }
    }

    /// Places at which the text may be cut so that counts add up, with the tokens before each: what stands between any
    /// two of them counts, alone, the difference of their tokens.
    ///
    /// The first is the start of the text and the last its end; others follow at least `every_bytes` apart, and
    /// farther where a pre-token is longer or white space stands in between. A registered encoding has no others: of
    /// its pattern nothing is known. Cost: as [`Tokenizer::count`].
    pub fn prefix_sums(&self, text: &str, every_bytes: usize) -> Vec<PrefixSum> {
        if let Kind::Published(tokenizer) = &self.0 {
            return tokenizer.prefix_sums(text, every_bytes);
        }
        let whole = PrefixSum {
            bytes: text.len(),
            tokens: self.count(text),
        };
        let places = [PrefixSum::default(), whole];
        places
            .get(..1 + usize::from(!text.is_empty()))
            .unwrap_or_default()
            .to_vec()
    }
}
