//! The textbook twin: the published patterns run by a regex engine, merging as it is defined, special tokens nowhere.
//!
//! Slow and obvious, it judges the rest of the crate. Behind the feature `naive`, so that no user pays for the engine.

use std::collections::HashMap;

use fancy_regex::Regex;

use crate::Encoding;
use crate::bounds::{self, Bounds};
use crate::merge::Scratch;
use crate::scan::Pattern;
use crate::simd::Level;
use crate::tables::Tables;
use crate::vocabulary::LONGEST_TOKEN;

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
            .flat_map(|piece| merge(&self.ranks, piece.as_bytes()))
            .collect()
    }
}

fn merge(ranks: &HashMap<Vec<u8>, u32>, piece: &[u8]) -> Vec<u32> {
    if let Some(rank) = ranks.get(piece) {
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
        let candidates = (1..parts.len()).filter_map(|i| Some((*ranks.get(&piece[start(i - 1)..ends[i]])?, i - 1)));
        let Some((_, i)) = candidates.min() else { break };
        let joined = &piece[start(i)..ends[i + 1]];
        parts.splice(i..i + 2, [joined]);
    }
    parts.iter().map(|part| ranks[*part]).collect()
}

/// A vocabulary made up for a test, by the tables of this crate and by the textbook.
pub struct SmallVocabulary {
    tables: Tables,
    ranks: HashMap<Vec<u8>, u32>,
}

impl SmallVocabulary {
    /// Makes tokens of pairs of earlier ones: each two numbers of `recipe` name two, counted around. Where their join
    /// is a token already, is too long or does not merge into these two last, the pair is left out.
    ///
    /// # Panics
    ///
    /// If the crate refuses the vocabulary.
    #[expect(clippy::expect_used, reason = "a judge that cannot be built must stop the test")]
    pub fn new(recipe: &[u8]) -> Self {
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        let mut ranks: HashMap<Vec<u8>, u32> = tokens.iter().cloned().zip(0..).collect();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for pair in recipe.chunks_exact(2) {
            // Bytes as they are, or the latest tokens: small recipes make long tokens.
            let [left, right] = [pair[0], pair[1]].map(|number| match usize::from(number) {
                byte @ 32..128 => byte,
                number => tokens.len() - 1 - number % tokens.len().min(96),
            });
            let joined = [&tokens[left][..], &tokens[right][..]].concat();
            let merged = merge(&ranks, &joined);
            if joined.len() <= LONGEST_TOKEN && merged == [left as u32, right as u32] {
                ranks.insert(joined.clone(), tokens.len() as u32);
                tokens.push(joined);
                pairs.push((left as u32, right as u32));
            }
        }
        let mut packed = (tokens.len() as u32).to_le_bytes().to_vec();
        packed.extend(0..=255_u8);
        let (left, right): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        for side in [left, right] {
            for plane in 0..3 {
                packed.extend(side.iter().map(|rank| rank.to_le_bytes()[plane]));
            }
        }
        Self {
            tables: Tables::unpack(&packed).expect("a vocabulary by the rules"),
            ranks,
        }
    }

    /// The tokens of any bytes by the tables, and how many they say there are without listing them.
    pub fn fast(&self, piece: &[u8]) -> (Vec<u32>, usize) {
        if piece.is_empty() {
            return (Vec::new(), 0);
        }
        if let Some(rank) = self.tables.rank(piece) {
            return (vec![rank], 1);
        }
        let mut tokens = Vec::new();
        let mut scratch = Scratch::default();
        self.tables.encode_merged(piece, &mut scratch, &mut tokens);
        (tokens, self.tables.count_merged(piece, &mut scratch))
    }

    /// The bounds of a text by each published pattern on each kind of processor that this one is, beside the count by the
    /// textbook. Cost: the square of each pre-token.
    pub fn bounds(&self, text: &str) -> Vec<(Bounds, usize)> {
        let levels = Level::ALL.into_iter().filter(|level| level.is_there());
        let mut all = Vec::new();
        for pattern in [Pattern::O200k, Pattern::Cl100k] {
            let (mut count, mut at) = (0, 0);
            while at < text.len() {
                let end = pattern.piece_end(text.as_bytes(), at);
                count += self.slow(&text.as_bytes()[at..end]).len();
                at = end;
            }
            let bounds = |level| bounds::at_level(level, pattern, self.tables.facts(), text.as_bytes()).whole;
            all.extend(levels.clone().map(|level| (bounds(level), count)));
        }
        all
    }

    /// The tokens of any bytes by the textbook. Cost: the square of their number.
    pub fn slow(&self, piece: &[u8]) -> Vec<u32> {
        merge(&self.ranks, piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Characters, parts of characters and bytes that make none.
    const BYTES: &[&[u8]] = &[
        b"\xC3\xA9",
        b"\xE4\xB8\xAD",
        b"\xC3",
        b"\xA9",
        b"\xE0\x83\xA9",
        b"\xE4",
        b"a",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        #[test]
        fn any_small_vocabulary_merges_by_the_book(
            recipe in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..120),
                // Few letters, many tokens: what merges overlaps with everything.
                proptest::collection::vec(prop_oneof![b'a'..=b'c', 128..=255_u8], 0..160),
                // The bytes of a character, and what was made of them.
                proptest::collection::vec(prop_oneof![156..=160_u8, 182..=188_u8, 192..=200_u8], 0..80),
            ],
            piece in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..300),
                proptest::collection::vec(b'a'..=b'c', 0..1500),
                "[a-cé中]{0,200}".prop_map(String::into_bytes),
                proptest::collection::vec(proptest::sample::select(BYTES), 0..200).prop_map(|parts| parts.concat()),
                (proptest::collection::vec(b'a'..=b'b', 1..5), 1..300_usize).prop_map(|(part, times)| part.repeat(times)),
            ],
        ) {
            let vocabulary = SmallVocabulary::new(&recipe);
            let slow = vocabulary.slow(&piece);
            let (fast, count) = vocabulary.fast(&piece);
            prop_assert_eq!(count, slow.len());
            prop_assert_eq!(fast, slow);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        #[test]
        fn any_small_vocabulary_is_bounded(
            recipe in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..120),
                proptest::collection::vec(prop_oneof![b'a'..=b'c', 128..=255_u8], 0..160),
                proptest::collection::vec(prop_oneof![156..=160_u8, 182..=188_u8, 192..=200_u8], 0..80),
                // Digits and white space, of which a published vocabulary has all that is short.
                proptest::collection::vec(prop_oneof![b'0'..=b'2', Just(b' '), 224..=255_u8], 0..120),
            ],
            text in prop_oneof![
                "[a-c é中]{0,200}",
                "[0-2 \n\t]{0,200}",
                "[a-b]{60,140}( {60,140})?",
                "\\PC{0,60}",
                proptest::collection::vec(any::<char>(), 0..100).prop_map(|all| all.into_iter().collect()),
            ],
        ) {
            for (bounds, count) in SmallVocabulary::new(&recipe).bounds(&text) {
                prop_assert!((bounds.lo..=bounds.hi).contains(&count), "{:?} {}", bounds, count);
            }
        }
    }

    #[test]
    fn bytes_that_make_no_character_are_none() {
        // The last pair is the character of the bytes 202 and 164; 228 has the low bits of 164 and continues nothing.
        let vocabulary = SmallVocabulary::new(&[97, 97, 97, 98, 247, 189]);
        assert_eq!(vocabulary.slow(&[202, 164]), [258]);
        assert_eq!(vocabulary.fast(&[202, 228]), (vec![202, 228], 2));
    }

    #[test]
    fn a_recipe_makes_tokens() {
        let vocabulary = SmallVocabulary::new(b"abcd\xC1\xC0");
        assert_eq!(vocabulary.slow(b"abcd"), [258]);
        assert_eq!(vocabulary.fast(b"abxcdab").0, [256, u32::from(b'x'), 257, 256]);
    }
}
