//! What bounds rest on, found in a vocabulary when they are first asked for.

use crate::simd::is_unusual;
use crate::tables::{KEY_BYTES, Tables, key_at};

/// Bits of the filter of neighbours.
const NEIGHBOUR_BITS: u32 = 19;

/// A set of pairs of bytes.
pub(crate) struct Pairs(Box<[u64; 1 << 10]>);

impl Pairs {
    fn new() -> Self {
        Self(Box::new([0; 1 << 10]))
    }

    fn place([first, second]: [u8; 2]) -> (usize, u32) {
        (
            usize::from(first) << 2 | usize::from(second >> 6),
            u32::from(second & 63),
        )
    }

    fn add(&mut self, pair: [u8; 2]) {
        let (word, bit) = Self::place(pair);
        self.0[word % (1 << 10)] |= 1 << bit;
    }

    /// Whether the pair is in the set.
    #[inline(always)]
    pub(crate) fn holds(&self, pair: [u8; 2]) -> bool {
        let (word, bit) = Self::place(pair);
        self.0[word % (1 << 10)] >> bit & 1 == 1
    }
}

/// See the module.
pub(crate) struct Facts {
    /// Pairs of bytes that are tokens.
    pub(super) bonds: Pairs,
    /// Last byte before and first byte behind an edge between characters, inside a token that holds a part of some.
    pub(super) torn: Pairs,
    /// Whether what is taken for granted of usual text holds: pairs of small letters and a space with a letter or sign
    /// are tokens, where nothing is unusual (`simd::is_unusual`), and so are runs of up to 64 spaces.
    pub(super) is_usual: bool,
    /// Whether all numbers of two and three digits are tokens.
    pub(super) has_numbers: bool,
    /// For each byte the longest run of it up to which all runs are tokens.
    pub(super) runs: [u32; 256],
    /// The longest token with an ASCII letter, in bytes.
    pub(super) longest_word: usize,
    /// Characters of two and three bytes that are tokens, one bit each.
    characters: Vec<u64>,
    /// A filter of neighbouring characters in tokens, the second beyond ASCII: what is not in it is in no token.
    neighbours: Vec<u64>,
    /// White space of up to 15 bytes that is a token, with a tab or a newline in it: sorted keys.
    blanks: Vec<u128>,
}

impl Facts {
    pub(crate) fn new(tables: &Tables) -> Self {
        let mut facts = Self {
            bonds: Pairs::new(),
            torn: Pairs::new(),
            is_usual: false,
            has_numbers: false,
            runs: [1; 256],
            longest_word: 1,
            characters: vec![0; 1 << 10],
            neighbours: vec![0; 1 << (NEIGHBOUR_BITS - 6)],
            blanks: Vec::new(),
        };
        for (_, token) in tables.vocabulary.tokens() {
            facts.learn(token);
        }
        facts.blanks.sort_unstable();
        for (byte, longest) in (0..=u8::MAX).zip(&mut facts.runs) {
            while *longest < 128 && tables.is_token(&vec![byte; *longest as usize + 1]) {
                *longest += 1;
            }
        }
        let is_token = |number: String| tables.is_token(number.as_bytes());
        facts.has_numbers = (0..100).all(|number| is_token(format!("{number:02}")))
            && (0..1_000).all(|number| is_token(format!("{number:03}")));
        let usual = || (b'!'..=b'~').filter(|byte| !is_unusual(*byte));
        let small = || usual().filter(u8::is_ascii_lowercase);
        let mut words = small().flat_map(|first| small().map(move |second| [first, second]));
        let mut spaced = usual().filter(|byte| !byte.is_ascii_digit()).map(|byte| [b' ', byte]);
        facts.is_usual = words.all(|pair| facts.bonds.holds(pair))
            && spaced.all(|pair| facts.bonds.holds(pair))
            && facts.runs[usize::from(b' ')] >= 64;
        facts
    }

    fn learn(&mut self, token: &[u8]) {
        if let [first, second] = token {
            self.bonds.add([*first, *second]);
        }
        if token.iter().any(u8::is_ascii_alphabetic) {
            self.longest_word = self.longest_word.max(token.len());
        }
        if token.len() <= KEY_BYTES && token.len() > 1 && token.iter().all(|byte| matches!(byte, b' ' | b'\t'..=b'\r'))
        {
            self.blanks.push(key_at(token, 0, token.len()));
        }
        let Ok(text) = std::str::from_utf8(token) else {
            for pair in token.windows(2) {
                if pair[1] & 0xC0 != 0x80 {
                    self.torn.add([pair[0], pair[1]]);
                }
            }
            return;
        };
        if text.is_ascii() {
            return;
        }
        let mut before = None;
        for character in text.chars().map(u32::from) {
            if let Some(before) = before {
                let (word, bit) = neighbour_place(before, character);
                if let Some(word) = self.neighbours.get_mut(word) {
                    *word |= bit;
                }
            } else if character >= 0x80
                && text.chars().nth(1).is_none()
                && let Some(word) = self.characters.get_mut(character as usize >> 6)
            {
                *word |= 1 << (character & 63);
            }
            before = Some(character);
        }
    }

    /// Whether white space of several kinds is one token; `false` where that is not known.
    pub(super) fn is_blank_token(&self, bytes: &[u8]) -> bool {
        (1..=KEY_BYTES).contains(&bytes.len()) && self.blanks.binary_search(&key_at(bytes, 0, bytes.len())).is_ok()
    }

    /// Whether a character beyond ASCII of up to three bytes is a token.
    #[inline(always)]
    pub(super) fn is_character(&self, code_point: u32) -> bool {
        self.characters
            .get(code_point as usize >> 6)
            .is_some_and(|word| word >> (code_point & 63) & 1 == 1)
    }

    /// Whether some token that is text may hold the two characters side by side, the second beyond ASCII.
    #[inline(always)]
    pub(super) fn may_be_neighbours(&self, before: u32, behind: u32) -> bool {
        let (word, bit) = neighbour_place(before, behind);
        self.neighbours.get(word).is_none_or(|word| word & bit != 0)
    }
}

#[inline(always)]
fn neighbour_place(before: u32, behind: u32) -> (usize, u64) {
    let pair = u64::from(before) << 32 | u64::from(behind);
    let mixed = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - NEIGHBOUR_BITS);
    (mixed as usize >> 6, 1 << (mixed & 63))
}
