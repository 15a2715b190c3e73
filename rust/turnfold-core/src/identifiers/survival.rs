//! Which of a list of identifiers occur in texts.

use aho_corasick::{AhoCorasick, MatchKind};

use super::marks::each_word;
use super::prefilter::Prefilter;
use crate::keyed::{Keyed, hash};

/// Most identifiers that are told apart by one word; more than that are looked for by an automaton.
const MOST_OF_A_WORD: usize = 8;
/// Places in a sieve for each identifier, about: of words that are of none, one in so many is looked up.
const PLACES: usize = 16;

/// Looks for a fixed list of identifiers in any number of texts.
///
/// An identifier occurs where its text stands on the edges of a token: `ABC-12` does not occur in `ABC-123`, nor `1.2`
/// in `0.1.2`, but `run` occurs in `self.run` and `a.py` in `src/a.py`, and a URL between marks of emphasis (`_`). Case
/// counts.
///
/// Every word of an identifier, but for a URL's first and last, is a whole word of the text where it occurs. So a text is read word by word, and at one
/// that is the longest word of an identifier its surroundings are compared.
#[derive(Debug)]
pub struct Watch {
    names: Vec<Name>,
    by_word: Keyed<Vec<u32>>,
    sieve: Sieve,
    /// Identifiers without a word, and those that share theirs with many.
    crowded: Option<(AhoCorasick, Vec<usize>)>,
    found: Vec<bool>,
    open: usize,
    prefilter: Option<Prefilter>,
    /// Whether others are open than those that it looks for.
    stale: bool,
}

/// An identifier and its longest word.
#[derive(Debug)]
struct Name {
    text: Box<str>,
    start: usize,
    stop: usize,
}

impl Watch {
    /// A watch for `identifiers`. Takes a few times their bytes of memory; an empty one occurs nowhere.
    pub fn new<S: AsRef<str>>(identifiers: &[S]) -> Self {
        let mut by_word: Keyed<Vec<u32>> = Keyed::default();
        let mut sieve = Sieve::of(identifiers.len());
        let mut crowded = Vec::new();
        let names: Vec<Name> = identifiers.iter().map(|name| Name::of(name.as_ref())).collect();
        for (index, name) in names.iter().enumerate() {
            if name.text.is_empty() {
                continue;
            }
            let word = name.word();
            let bucket = by_word.entry(hash(word, 0)).or_default();
            if word.is_empty() || bucket.len() == MOST_OF_A_WORD {
                crowded.push(index);
                continue;
            }
            bucket.push(index as u32);
            sieve.add(word);
        }
        let patterns = crowded
            .iter()
            .filter_map(|&index| names.get(index))
            .map(|n| n.text.as_bytes());
        // Building fails only beyond 2^31 states. Then nothing is found: a survivor reported lost, never the reverse.
        let automaton = (!crowded.is_empty())
            .then(|| {
                AhoCorasick::builder()
                    .match_kind(MatchKind::Standard)
                    .build(patterns)
                    .ok()
            })
            .flatten();
        Self {
            open: names.iter().filter(|name| !name.text.is_empty()).count(),
            found: vec![false; names.len()],
            crowded: automaton.map(|automaton| (automaton, crowded)),
            by_word,
            sieve,
            prefilter: None,
            stale: true,
            names,
        }
    }

    /// The same, for who asks [`Self::may_find_in`] first.
    pub(crate) fn for_literals(mut self) -> Self {
        self.prefilter = Prefilter::of(self.names.iter().map(|name| &*name.text));
        self
    }

    /// Whether [`Self::feed`] may find one more in the text of `literal`: a JSON string that was read without an error, or
    /// a text as it stands. Linear in its length.
    pub(crate) fn may_find_in(&mut self, literal: &[u8]) -> bool {
        let Some(prefilter) = &mut self.prefilter else {
            return self.open > 0;
        };
        if std::mem::take(&mut self.stale) {
            prefilter.seek(&self.found);
        }
        self.open > 0 && prefilter.may_hold(literal)
    }

    /// Marks the identifiers that occur in `text`. Linear in its length, times the identifiers that end at one place.
    pub fn feed(&mut self, text: &str) {
        if self.open == 0 {
            return;
        }
        let Self {
            names,
            by_word,
            sieve,
            crowded,
            found,
            open,
            stale,
            ..
        } = self;
        if !by_word.is_empty() {
            each_word(text, |start, stop| {
                if !sieve.may_hold(text.as_bytes(), start, stop) {
                    return false;
                }
                let word = text.as_bytes().get(start..stop).unwrap_or_default();
                for &index in by_word.get(&hash(word, 0)).map_or(&[][..], Vec::as_slice) {
                    let (Some(name), Some(found)) = (names.get(index as usize), found.get_mut(index as usize)) else {
                        continue;
                    };
                    if !*found && name.is_around(text, start) {
                        *found = true;
                        *open -= 1;
                        *stale = true;
                        sieve.remove(word);
                    }
                }
                *open == 0
            });
            if *open == 0 {
                return;
            }
        }
        let Some((automaton, crowded)) = crowded else { return };
        for hit in automaton.find_overlapping_iter(text) {
            let index = crowded.get(hit.pattern().as_usize());
            let Some(found) = index.and_then(|&index| found.get_mut(index)) else {
                continue;
            };
            if !*found && stands_alone(text, hit.start(), hit.end()) {
                *found = true;
                *open -= 1;
                *stale = true;
                if *open == 0 {
                    return;
                }
            }
        }
    }

    /// What was found so far, one flag an identifier in the order given to `new`.
    pub fn found(&self) -> &[bool] {
        &self.found
    }

    /// The same; all are looked for anew.
    pub fn restart(&mut self) -> Vec<bool> {
        self.open = self.names.iter().filter(|name| !name.text.is_empty()).count();
        self.sieve.refill();
        self.stale = true;
        let none = vec![false; self.names.len()];
        std::mem::replace(&mut self.found, none)
    }
}

/// By words, how many identifiers are waited for: of what comes to nothing there is none. What says so is no secret, so that
/// a text can aim at a place; the table behind it has a key.
#[derive(Debug)]
struct Sieve {
    waited: Vec<u32>,
    all: Vec<u32>,
    shift: u32,
}

impl Sieve {
    /// Bytes of a word that tell it from others.
    const START: usize = size_of::<u64>();

    fn of(identifiers: usize) -> Self {
        let places = (identifiers * PLACES).next_power_of_two().clamp(1 << 8, 1 << 16);
        Self {
            waited: vec![0; places],
            all: vec![0; places],
            shift: u64::BITS - places.ilog2(),
        }
    }

    fn place(&self, start: [u8; Self::START], length: usize) -> usize {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let kept = Self::START.saturating_sub(length) as u32 * u8::BITS;
        let letters = u64::from_le_bytes(start) & u64::MAX.checked_shr(kept).unwrap_or(0);
        ((letters ^ (length as u64) << (u64::BITS - u8::BITS)).wrapping_mul(ODD) >> self.shift) as usize
    }

    fn place_of(&self, word: &[u8]) -> usize {
        let mut start = [0; Self::START];
        start.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        self.place(start, word.len())
    }

    fn add(&mut self, word: &[u8]) {
        let place = self.place_of(word);
        for counts in [&mut self.waited, &mut self.all] {
            if let Some(waited) = counts.get_mut(place) {
                *waited += 1;
            }
        }
    }

    fn remove(&mut self, word: &[u8]) {
        let place = self.place_of(word);
        if let Some(waited) = self.waited.get_mut(place) {
            *waited = waited.saturating_sub(1);
        }
    }

    fn refill(&mut self) {
        self.waited.clone_from(&self.all);
    }

    /// Whether an identifier may be waited for that has the word at `start..stop` of a text.
    #[inline]
    fn may_hold(&self, text: &[u8], start: usize, stop: usize) -> bool {
        let place = match text.get(start..).and_then(<[u8]>::first_chunk) {
            Some(letters) => self.place(*letters, stop - start),
            None => self.place_of(text.get(start..stop).unwrap_or_default()),
        };
        self.waited.get(place).is_some_and(|&waited| waited > 0)
    }
}

impl Name {
    fn of(text: &str) -> Self {
        // A mark of emphasis at its edge would be one word with it.
        let at_edge = |word: &(usize, usize)| word.0 == 0 || word.1 == text.len();
        let url = is_url(text);
        let (start, stop) =
            words(text)
                .filter(|word| !url || !at_edge(word))
                .fold(
                    (0, 0),
                    |best: (usize, usize), word| {
                        if word.1 - word.0 > best.1 - best.0 { word } else { best }
                    },
                );
        Self {
            text: text.into(),
            start,
            stop,
        }
    }

    fn word(&self) -> &[u8] {
        self.text.as_bytes().get(self.start..self.stop).unwrap_or_default()
    }

    /// Whether it occurs in `text` with its longest word at `at`.
    fn is_around(&self, text: &str, at: usize) -> bool {
        let Some(start) = at.checked_sub(self.start) else {
            return false;
        };
        let stop = start + self.text.len();
        text.as_bytes().get(start..stop) == Some(self.text.as_bytes()) && stands_alone(text, start, stop)
    }
}

/// Which of `identifiers` occur in `text`: one flag each. See [`Watch`].
pub fn occurring<S: AsRef<str>>(identifiers: &[S], text: &str) -> Vec<bool> {
    let mut watch = Watch::new(identifiers);
    watch.feed(text);
    watch.found
}

/// The spans of the longest runs of word characters. [`each_word`] is faster for texts of more than a few words.
fn words(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let bytes = text.as_bytes();
    let is = |at: usize, sort: u8| {
        bytes
            .get(at)
            .is_some_and(|&byte| SORTS.get(usize::from(byte)) == Some(&sort))
    };
    // The width of the word character beyond ASCII at a place; 0 where there is none.
    let wide = move |at: usize| {
        let next = text.get(at..).and_then(|rest| rest.chars().next());
        next.filter(|&c| is_word(c)).map_or(0, char::len_utf8)
    };
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            while is(at, BETWEEN) {
                at += 1;
            }
            let start = at;
            loop {
                while is(at, IN_WORD) {
                    at += 1;
                }
                let width = if is(at, BEYOND) { wide(at) } else { 0 };
                if width == 0 {
                    break;
                }
                at += width;
            }
            if at > start {
                return Some((start, at));
            }
            if at >= bytes.len() {
                return None;
            }
            // A character beyond ASCII that is in no word.
            at += 1;
            while bytes.get(at).is_some_and(|b| b & 0xC0 == 0x80) {
                at += 1;
            }
        }
    })
}

const BETWEEN: u8 = 0;
const IN_WORD: u8 = 1;
const BEYOND: u8 = 2;

/// What a byte is to a word: this is asked for every byte of a text.
static SORTS: [u8; 256] = {
    let mut table = [BEYOND; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = if (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' {
            IN_WORD
        } else {
            BETWEEN
        };
        byte += 1;
    }
    table
};

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || is_wide_letter(c)
}

/// A letter or digit beyond ASCII of a script that puts spaces between words. Those of Latin are told without a table.
pub(super) fn is_wide_letter(c: char) -> bool {
    match c {
        '\u{C0}'..='\u{24F}' => !matches!(c, '×' | '÷'),
        '\u{80}'..'\u{E00}' => c.is_alphanumeric(),
        _ => false,
    }
}

/// Whether marks of emphasis (`_`) may stand around it, which are part of any other token.
fn is_url(name: &str) -> bool {
    name.contains("://")
}

/// Whether what stands at `start..end` is not part of a longer token.
pub(super) fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(own), Some(after)) = (text.get(..start), text.get(start..end), text.get(end..)) else {
        return false;
    };
    let word = is_word;
    let own_first = own.chars().next().is_some_and(word);
    let own_last = own.chars().next_back().is_some_and(word);
    let mut left = before.chars().rev();
    let mut right = after.chars();
    let free_left = !own_first
        || match left.next() {
            Some('_') if is_url(own) => !left.find(|&c| c != '_').is_some_and(word),
            Some(c) if word(c) => false,
            Some('-') => !left.next().is_some_and(word),
            Some('.') => {
                !own.starts_with(|c: char| c.is_ascii_digit()) || !left.next().is_some_and(|c| c.is_ascii_digit())
            }
            _ => true,
        };
    let free_right = !own_last
        || match right.next() {
            Some('_') if is_url(own) => !right.find(|&c| c != '_').is_some_and(word),
            Some(c) if word(c) => false,
            Some('-' | '.') => !right.next().is_some_and(word),
            _ => true,
        };
    free_left && free_right
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::marks::each_word_at;
    use super::*;
    use crate::simd::Level;

    proptest! {
        #[test]
        fn words_by_blocks_are_those_of_a_pass_over_every_byte(
            bits in prop::collection::vec("[a-z_0-9]{0,9}|[ .,-]{1,3}|[\u{e9}\u{d7}\u{939}\u{93f}\u{e01}\u{4e2d}\u{1F600}]", 0..60),
            enough in 0_usize..60,
        ) {
            let text = bits.concat();
            let most = if enough == 0 { usize::MAX } else { enough };
            let wanted: Vec<_> = words(&text).take(most).collect();
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                let mut found = Vec::new();
                each_word_at(level, &text, |start, stop| {
                    found.push((start, stop));
                    found.len() == enough
                });
                prop_assert_eq!(&found, &wanted, "{:?} {:?}", level, text);
            }
        }
    }

    #[test]
    fn words_by_blocks_have_every_letter_wherever_it_stands() {
        for c in '\u{80}'..'\u{1100}' {
            for ahead in [0, 61, 62, 63] {
                let text = format!("{}{c}a {c}", " ".repeat(ahead));
                let wanted: Vec<_> = words(&text).collect();
                for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                    let mut found = Vec::new();
                    each_word_at(level, &text, |start, stop| {
                        found.push((start, stop));
                        false
                    });
                    assert_eq!(found, wanted, "{level:?} {text:?}");
                }
            }
        }
    }

    #[test]
    fn letters_beyond_ascii() {
        for c in '\0'..='\u{2FFF}' {
            assert_eq!(
                is_wide_letter(c),
                c > '\u{7f}' && c < '\u{0E00}' && c.is_alphanumeric(),
                "{c:?}"
            );
        }
    }
}
