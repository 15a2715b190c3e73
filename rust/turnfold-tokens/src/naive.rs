//! The textbook twin: the published patterns run by a regex engine, merging as it is defined, special tokens nowhere.
//!
//! Slow and obvious, it judges the rest of the crate. Behind the feature `naive`, so that no user pays for the engine.

use std::collections::HashMap;

use fancy_regex::Regex;

use crate::Encoding;

const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const CL100K: &str = concat!(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+",
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
);

/// The textbook twin of one encoding.
pub struct Naive {
    pattern: Regex,
    ranks: HashMap<Vec<u8>, u32>,
}

impl Naive {
    /// Builds the twin. Cost: some 100 ms.
    ///
    /// # Panics
    ///
    /// If the encoding is a registered one, which has no twin here, or a pattern does not compile.
    #[expect(clippy::expect_used, reason = "a judge that cannot be built must stop the test")]
    pub fn new(encoding: Encoding) -> Self {
        let pattern = match encoding {
            Encoding::O200kBase | Encoding::O200kHarmony => O200K,
            Encoding::Cl100kBase => CL100K,
            Encoding::Registered(_) => "",
        };
        let tables = encoding
            .tokenizer()
            .as_published()
            .expect("a published encoding")
            .tables();
        Self {
            pattern: Regex::new(pattern).expect("a published pattern"),
            ranks: tables
                .vocabulary
                .tokens()
                .map(|(rank, token)| (token.to_vec(), rank))
                .collect(),
        }
    }

    /// The pre-tokens of a text.
    ///
    /// # Panics
    ///
    /// If the regex engine gives up, as it does on some hundred thousand spaces.
    #[expect(clippy::expect_used, reason = "a judge that gives up must stop the test")]
    pub fn pieces<'t>(&self, text: &'t str) -> Vec<&'t str> {
        self.pattern
            .find_iter(text)
            .map(|piece| piece.expect("the regex engine gave up").as_str())
            .collect()
    }

    /// The ids of the tokens of a text. Cost: the square of each pre-token.
    ///
    /// # Panics
    ///
    /// As [`Naive::pieces`].
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.pieces(text)
            .into_iter()
            .flat_map(|piece| self.merge(piece.as_bytes()))
            .collect()
    }

    fn merge(&self, piece: &[u8]) -> Vec<u32> {
        if let Some(rank) = self.ranks.get(piece) {
            return vec![*rank];
        }
        let mut parts: Vec<&[u8]> = piece.chunks(1).collect();
        loop {
            let mut ends = Vec::with_capacity(parts.len());
            let mut end = 0;
            for part in &parts {
                end += part.len();
                ends.push(end);
            }
            let start = |i: usize| ends[i] - parts[i].len();
            let candidates =
                (1..parts.len()).filter_map(|i| Some((*self.ranks.get(&piece[start(i - 1)..ends[i]])?, i - 1)));
            let Some((_, i)) = candidates.min() else { break };
            let joined = &piece[start(i)..ends[i + 1]];
            parts.splice(i..i + 2, [joined]);
        }
        parts.iter().map(|part| self.ranks[*part]).collect()
    }
}
