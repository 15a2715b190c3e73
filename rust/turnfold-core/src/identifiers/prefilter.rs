//! Tells of a JSON literal that none of a few names is in its text, without resolving an escape.
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use crate::simd::{BLOCK, Halves, Isa, Level, Work, dispatch};

/// First bytes of a needle, by which all places of a block are told at once from most that do not have it.
const WINDOW: usize = 4;
/// A block of places, and what a window at the last of them has beyond it.
const LOOKED_AT: usize = BLOCK + WINDOW - 1;

/// Looks for a needle of each name: bytes of it that stand in a literal as they are, unless one is written as `\u00XX`.
///
/// Windows are compared as the packed searcher Teddy does it, which is Hyperscan's (Wang et al., 2019): needles are in
/// groups, a group is a bit, and it may begin where each byte of a window has that bit by both of its halves.
#[derive(Debug)]
pub(super) struct Prefilter {
    /// In the order of their bytes.
    needles: Vec<Needle>,
    /// The characters in needles, bit by bit.
    letters: u128,
    windows: [Halves; WINDOW],
    level: Level,
}

#[derive(Debug)]
struct Needle {
    bytes: Box<[u8]>,
    /// The place of its name.
    name: usize,
    is_sought: bool,
}

impl Prefilter {
    /// Most names. With more of them so many texts may have one that it takes longer than to look for words.
    const MOST: usize = 32;
    /// The group of characters that are written as numbers.
    const NUMBERED: u8 = 1;
    /// How many bits are left for groups of needles.
    const GROUPS: usize = 7;

    /// One that looks for nothing yet. None where it would not pay: for many names, for one that has no needle, and on a
    /// machine that looks at bytes one by one.
    pub(super) fn of<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Option<Self> {
        Some(Level::detect())
            .filter(|&level| level != Level::Baseline && names.len() <= Self::MOST)
            .and_then(|level| Self::at(level, names))
    }

    fn at<'a>(level: Level, names: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut needles: Vec<Needle> = names
            .enumerate()
            .map(|(name, text)| Needle {
                bytes: rarest(text.as_bytes()).into(),
                name,
                is_sought: false,
            })
            .collect();
        needles.sort_unstable_by(|one, other| one.bytes.cmp(&other.bytes));
        if needles.iter().any(|needle| needle.bytes.is_empty()) {
            return None;
        }
        let letters = needles.iter().flat_map(|needle| &needle.bytes);
        Some(Self {
            letters: letters.fold(0, |all, byte| all | 1 << byte),
            needles,
            windows: Default::default(),
            level,
        })
    }

    /// Looks from now on for the names that are not `found`.
    pub(super) fn seek(&mut self, found: &[bool]) {
        self.windows = Default::default();
        let numbered: [&[u8]; WINDOW] = [b"u", b"0", b"0", b"234567"];
        for (place, bytes) in self.windows.iter_mut().zip(numbered) {
            for byte in bytes {
                add(place, *byte, Self::NUMBERED);
            }
        }
        for needle in &mut self.needles {
            needle.is_sought = found.get(needle.name) == Some(&false);
        }
        let open = self.needles.iter().filter(|needle| needle.is_sought);
        let each = open.clone().count().div_ceil(Self::GROUPS);
        for (rank, needle) in open.enumerate() {
            // What begins alike is in one group, so that few bytes are in it at a place.
            let group = Self::NUMBERED << (1 + rank / each);
            for (at, place) in self.windows.iter_mut().enumerate() {
                match needle.bytes.get(at) {
                    Some(byte) => add(place, *byte, group),
                    None => place.as_flattened_mut().iter_mut().for_each(|groups| *groups |= group),
                }
            }
        }
    }

    /// Whether a name may be in the text of `literal`. Linear in its length.
    pub(super) fn may_hold(&self, literal: &[u8]) -> bool {
        dispatch(self.level, Filtering { by: self, literal })
    }

    /// Whether `rest` starts with a needle, or behind a backslash with a character of one.
    fn is_met(&self, rest: &[u8]) -> bool {
        if let [b'u', b'0', b'0', upper, lower, ..] = rest
            && let (Some(upper), Some(lower)) = (char::from(*upper).to_digit(8), char::from(*lower).to_digit(16))
            && self.letters >> (upper << 4 | lower) & 1 != 0
        {
            return true;
        }
        let mut sought = self.needles.iter().filter(|needle| needle.is_sought);
        sought.any(|needle| rest.starts_with(&needle.bytes))
    }
}

/// Says that the group may have the byte at this place of a window.
fn add([low, high]: &mut Halves, byte: u8, group: u8) {
    for (table, half) in [(low, byte & 15), (high, byte >> 4)] {
        if let Some(groups) = table.get_mut(usize::from(half)) {
            *groups |= group;
        }
    }
}

/// The end of the longest part of a name that no escape need interrupt, from the window on that prose has least.
fn rarest(name: &[u8]) -> &[u8] {
    let parts = name.split(|byte| !byte.is_ascii_graphic() || b"\"\\/".contains(byte));
    let part = parts.max_by_key(|part| part.len()).unwrap_or_default();
    let signs = |window: &[u8]| window.iter().filter(|byte| !byte.is_ascii_lowercase()).count();
    let windows = part.windows(WINDOW).enumerate();
    let from = windows.max_by_key(|(_, window)| signs(window)).map_or(0, |(at, _)| at);
    part.get(from..).unwrap_or_default()
}

struct Filtering<'a> {
    by: &'a Prefilter,
    literal: &'a [u8],
}

impl Work for Filtering<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let Self { by, literal } = self;
        let mut base = 0;
        while let Some(rest) = literal.get(base..).filter(|rest| !rest.is_empty()) {
            let mut last = [0; LOOKED_AT];
            let bytes = rest.first_chunk().unwrap_or_else(|| {
                last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                &last
            });
            let mut places = beginnings::<I>(bytes, &by.windows);
            while places != 0 {
                let at = places.trailing_zeros() as usize;
                if by.is_met(rest.get(at..).unwrap_or_default()) {
                    return true;
                }
                places &= places - 1;
            }
            base += BLOCK;
        }
        false
    }
}

/// The places at which a window of a group may begin.
#[inline(always)]
fn beginnings<I: Isa>(bytes: &[u8; LOOKED_AT], [first, second, third, last]: &[Halves; WINDOW]) -> u64 {
    let from = |at: usize| I::load(bytes.get(at..).and_then(<[u8]>::first_chunk).unwrap_or(&[0; BLOCK]));
    let start = I::common(I::sorts(from(0), first), I::sorts(from(1), second));
    let end = I::common(I::sorts(from(2), third), I::sorts(from(3), last));
    !I::equal(I::common(start, end), 0)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::json::unescape;

    /// A literal of a text in which characters are escaped as `how` says, or as they must be.
    fn literal(text: &str, how: &[u8]) -> Vec<u8> {
        let mut literal = String::from("\"");
        for (letter, how) in text.chars().zip(how.iter().cycle()) {
            match (letter, how) {
                ('/', 1) => literal.push_str("\\/"),
                ('"' | '\\', 1) => literal.extend(['\\', letter]),
                ('"' | '\\' | '\0'..' ', _) | (_, 2) => {
                    let mut units = [0; 2];
                    for unit in letter.encode_utf16(&mut units) {
                        let _ = write!(literal, "\\u{unit:04X}");
                    }
                }
                _ => literal.push(letter),
            }
        }
        (literal + "\"").into_bytes()
    }

    fn names() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-cu0-7_./\"\\\\\u{e9}]{0,6}|src/[a-z]{3,9}\\.py", 0..12)
    }

    proptest! {
        #[test]
        fn a_literal_that_is_left_out_has_no_name_in_its_text(
            names in names(),
            bits in prop::collection::vec("[a-cu0-7_./\"\\\\\n \u{e9}\u{4e2d}\u{1F600}]{0,40}", 0..8),
            own in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..9), 0..3),
            how in prop::collection::vec(prop_oneof![9 => Just(0), 1 => 1..3_u8], 1..40),
            found in prop::collection::vec(any::<bool>(), 12),
        ) {
            let mut bits = bits;
            for (name, at) in own {
                if !names.is_empty() {
                    bits.insert(at.min(bits.len()), name.get(&names).clone());
                }
            }
            let literal = literal(&bits.concat(), &how);
            let text = unescape(&literal);
            let is_there = names.iter().zip(&found).any(|(name, found)| !found && text.contains(name));
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                let Some(mut prefilter) = Prefilter::at(level, names.iter().map(String::as_str)) else {
                    prop_assert!(names.iter().any(|name| rarest(name.as_bytes()).is_empty()));
                    continue;
                };
                prefilter.seek(&found);
                prop_assert!(prefilter.may_hold(&literal) || !is_there, "{:?} {:?}", level, text);
            }
        }

        #[test]
        fn a_literal_without_a_needle_is_left_out(before in "[a-z ]{0,200}", after in "[a-z\u{e9} ]{0,200}") {
            let names = ["src/lexer.rs", "#12", "call_8fK2x", "a/b.c"];
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                let mut prefilter = Prefilter::at(level, names.into_iter()).expect("each has a needle");
                let holds = |prefilter: &Prefilter, name: &str| {
                    prefilter.may_hold(format!("\"{before}{name}{after}\"").as_bytes())
                };
                prefilter.seek(&[false; 4]);
                prop_assert!(!holds(&prefilter, ""));
                prop_assert!(!holds(&prefilter, "\\u00e9 \\u001b \\u003c \\n"));
                prop_assert!(names.iter().all(|name| holds(&prefilter, name)));
                prop_assert!(holds(&prefilter, "call\\u005f8fK2x"));
                prefilter.seek(&[true, false, false, false]);
                prop_assert!(!holds(&prefilter, names[0]));
            }
        }
    }
}
