//! Cutting text into pre-tokens, as the published patterns do, without a regex engine.

pub(crate) mod block;
pub(crate) mod cl100k;
pub(crate) mod gpt2;
pub(crate) mod llama3;
pub(crate) mod o200k;

use crate::classes::{Class, class_at};
use crate::simd::{BLOCK, Isa, Level, Work, dispatch};

/// A published pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The pattern of `cl100k_base`.
    Cl100k,
    /// The pattern of `o200k_base` and `o200k_harmony`.
    O200k,
}

impl Pattern {
    /// The end of the pre-token that starts at byte `start`, which must lie before the end of `text`.
    ///
    /// Cost: linear in the pre-token, except that a run of white space is read up to its end.
    #[inline]
    pub(crate) fn piece_end(self, text: &[u8], start: usize) -> usize {
        match self {
            Self::Cl100k => cl100k::piece_end(text, start),
            Self::O200k => o200k::piece_end(text, start),
        }
    }
}

/// How many ends are asked for at once.
const BATCH: usize = 256;
/// How many come at most: one block brings more than were asked for.
pub(crate) const ROOM: usize = BATCH + BLOCK;

/// Ends of pre-tokens that follow one another.
pub(crate) struct Ends {
    /// Where the first of these pre-tokens starts.
    pub(crate) start: usize,
    places: [usize; ROOM],
    count: usize,
}

impl Default for Ends {
    fn default() -> Self {
        Self {
            start: 0,
            places: [0; ROOM],
            count: 0,
        }
    }
}

impl Ends {
    /// Before the first pre-token from `start` on.
    #[inline]
    pub(crate) fn restart(&mut self, start: usize) {
        self.start = start;
        self.count = 0;
    }

    /// The ends, in order.
    #[inline(always)]
    pub(crate) fn places(&self) -> &[usize] {
        self.places.get(..self.count).unwrap_or_default()
    }

    /// Goes on to the next pre-tokens of `text`: at least one unless the text is at its end.
    #[inline(always)]
    pub(crate) fn fill<I: Isa>(&mut self, pattern: Pattern, text: &[u8]) {
        self.start = self.places().last().copied().unwrap_or(self.start);
        self.count = 0;
        let mut at = self.start;
        while at < text.len() && self.count < BATCH {
            let rest = text.get(at..).unwrap_or_default();
            let mut copy = [0; BLOCK];
            let (block, length) = if let Some(block) = rest.first_chunk() {
                (block, BLOCK)
            } else {
                copy[..rest.len()].copy_from_slice(rest);
                (&copy, rest.len())
            };
            let cut = block::cut::<I>(pattern, text, at, block, length);
            let ends = cut.starts & !1;
            if let Some(room) = self.places.get_mut(self.count..).and_then(<[usize]>::first_chunk_mut) {
                self.count += I::places(ends, at, room);
            }
            at += 63 - cut.starts.leading_zeros() as usize;
            if cut.ends {
                at = text.len();
            } else if ends == 0 {
                at = pattern.piece_end(text, at);
            } else {
                continue;
            }
            if let Some(slot) = self.places.get_mut(self.count) {
                *slot = at;
                self.count += 1;
            }
        }
    }
}

/// The pre-tokens of a text from a pre-token edge on, as their ends.
pub(crate) struct Pieces<'t> {
    pattern: Pattern,
    text: &'t [u8],
    ends: Ends,
    given: usize,
}

impl<'t> Pieces<'t> {
    #[inline]
    pub(crate) fn new(pattern: Pattern, text: &'t [u8], start: usize) -> Self {
        let mut ends = Ends::default();
        ends.restart(start);
        Self {
            pattern,
            text,
            ends,
            given: 0,
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.given == self.ends.count {
            self.given = 0;
            dispatch(
                Level::detect(),
                Fill {
                    pattern: self.pattern,
                    text: self.text,
                    ends: &mut self.ends,
                },
            );
        }
        let end = *self.ends.places().get(self.given)?;
        self.given += 1;
        Some(end)
    }
}

struct Fill<'a> {
    pattern: Pattern,
    text: &'a [u8],
    ends: &'a mut Ends,
}

impl Work for Fill<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.ends.fill::<I>(self.pattern, self.text);
    }
}

/// The end of the run of characters from `at` whose class is `wanted`.
#[inline]
fn run_end(text: &[u8], mut at: usize, wanted: impl Fn(Class) -> bool) -> usize {
    while let Some((class, width)) = class_at(text, at) {
        if !wanted(class) {
            break;
        }
        at += width;
    }
    at
}

/// The end of `\p{N}{1,3}` whose first number ends at `at`.
#[inline]
fn number_end(text: &[u8], mut at: usize) -> usize {
    for _ in 0..2 {
        match class_at(text, at) {
            Some((Class::Number, width)) => at += width,
            _ => break,
        }
    }
    at
}

/// The end of the run of bytes from `at` that are `wanted`.
#[inline]
fn byte_run_end(text: &[u8], mut at: usize, wanted: impl Fn(u8) -> bool) -> usize {
    while text.get(at).is_some_and(|byte| wanted(*byte)) {
        at += 1;
    }
    at
}

/// The end of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `at`, if it stands there. The long s folds to s.
#[inline]
fn contraction_end(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'\'') {
        return None;
    }
    match (
        text.get(at + 1)?.to_ascii_lowercase(),
        text.get(at + 2).map(u8::to_ascii_lowercase),
    ) {
        (b's' | b't' | b'm' | b'd', _) => Some(at + 2),
        (b'r' | b'v', Some(b'e')) | (b'l', Some(b'l')) | (0xC5, Some(0xBF)) => Some(at + 3),
        _ => None,
    }
}

/// A run of white space: its end, the end of its last newline if it has one, the start of its last character.
struct Blank {
    end: usize,
    newline_end: Option<usize>,
    last: usize,
}

fn blank(text: &[u8], start: usize) -> Blank {
    let mut blank = Blank {
        end: start,
        newline_end: None,
        last: start,
    };
    while let Some((class, width)) = class_at(text, blank.end) {
        if !class.is_space() {
            break;
        }
        blank.last = blank.end;
        blank.end += width;
        if class == Class::Newline {
            blank.newline_end = Some(blank.end);
        }
    }
    blank
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(pattern: Pattern, text: &str) -> Vec<&str> {
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let end = pattern.piece_end(text.as_bytes(), start);
            pieces.push(&text[start..end]);
            start = end;
        }
        pieces
    }

    #[test]
    fn pieces_of_both_patterns() {
        let cases: [(&str, &[&str], &[&str]); 14] = [
            ("don't", &["don't"], &["don", "'t"]),
            ("it'\u{17F}x", &["it'\u{17F}", "x"], &["it", "'\u{17F}", "x"]),
            ("fooBarHTTPServer", &["foo", "Bar", "HTTPServer"], &["fooBarHTTPServer"]),
            ("ABC中D", &["ABC中", "D"], &["ABC中D"]),
            ("中Ab", &["中Ab"], &["中Ab"]),
            ("12345", &["123", "45"], &["123", "45"]),
            ("  a", &[" ", " a"], &[" ", " a"]),
            ("  1", &[" ", " ", "1"], &[" ", " ", "1"]),
            ("a \n  \n b", &["a", " \n  \n", " b"], &["a", " \n  \n", " b"]),
            ("a\n  ", &["a", "\n", "  "], &["a", "\n  "]),
            ("{\n/x", &["{\n/", "x"], &["{\n", "/x"]),
            ("\u{301}ABC", &["\u{301}", "ABC"], &["\u{301}ABC"]),
            (" ..x.y", &[" ..", "x", ".y"], &[" ..", "x", ".y"]),
            ("\t.x", &["\t", ".x"], &["\t", ".x"]),
        ];
        for (text, o200k, cl100k) in cases {
            assert_eq!(pieces(Pattern::O200k, text), o200k, "o200k {text:?}");
            assert_eq!(pieces(Pattern::Cl100k, text), cl100k, "cl100k {text:?}");
        }
    }

    fn ends_at(level: Level, pattern: Pattern, text: &[u8]) -> Vec<usize> {
        let mut ends = Ends::default();
        let mut all = Vec::new();
        loop {
            let ends = &mut ends;
            dispatch(level, Fill { pattern, text, ends });
            if ends.places().is_empty() {
                return all;
            }
            all.extend_from_slice(ends.places());
        }
    }

    #[test]
    fn blocks_cut_as_characters_do() {
        // Every string of up to four of these, behind a start that puts its edges near the end of a block.
        const KINDS: [&str; 20] = [
            "a", "B", "7", " ", "\n", "\r", "\t", ".", "/", "'", "é", "Ж", "中", "\u{301}", "\u{A0}", "٣", "😀", "'s",
            "'Re", "'\u{17F}",
        ];
        let mut texts: Vec<String> = vec![String::new()];
        let mut last = 0;
        for _ in 0..4 {
            let next = texts.len();
            for i in last..next {
                texts.extend(KINDS.map(|kind| format!("{}{kind}", texts[i])));
            }
            last = next;
        }
        let levels: Vec<Level> = Level::ALL.into_iter().filter(|level| level.is_there()).collect();
        for pattern in [Pattern::Cl100k, Pattern::O200k] {
            for (i, text) in texts.iter().enumerate() {
                let text = format!("{text}{}{text}s", "ab ".repeat(i % 23));
                let mut by_character = Vec::new();
                while by_character.last().copied().unwrap_or(0) < text.len() {
                    let start = by_character.last().copied().unwrap_or(0);
                    by_character.push(pattern.piece_end(text.as_bytes(), start));
                }
                for level in &levels {
                    let by_block = ends_at(*level, pattern, text.as_bytes());
                    assert_eq!(by_block, by_character, "{level:?} {pattern:?} {text:?}");
                }
            }
        }
    }

    #[test]
    fn many_pieces_and_long_ones_come_in_order() {
        let text = format!("{} {}", "a1 ".repeat(999), "中".repeat(999));
        for pattern in [Pattern::Cl100k, Pattern::O200k] {
            let given: Vec<usize> = Pieces::new(pattern, text.as_bytes(), 0).collect();
            assert_eq!(given, ends_at(Level::Scalar, pattern, text.as_bytes()));
            assert_eq!(given.last(), Some(&text.len()));
            assert_eq!(Pieces::new(pattern, text.as_bytes(), 3).next(), Some(4));
            assert_eq!(Pieces::new(pattern, text.as_bytes(), text.len()).next(), None);
        }
    }
}
