//! Cutting text into pre-tokens, as the published patterns do, without a regex engine.

pub(crate) mod block;
pub(crate) mod cl100k;
pub(crate) mod gpt2;
pub(crate) mod llama3;
pub(crate) mod o200k;
mod plain;

use crate::classes::{Class, class_at};
use crate::simd::{BLOCK, Isa, Level, Work, dispatch};
pub(crate) use plain::PairTable;
use plain::Plain;
#[cfg(test)]
pub(crate) use plain::TABLE as PAIR_TABLE;

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

/// How many pieces are asked for at once.
const BATCH: usize = 256;
/// How many come at most: one block brings more than were asked for.
pub(crate) const ROOM: usize = BATCH + BLOCK;
/// After so many plain pieces a batch is handed over, so that whoever waits for a count is told in time.
const PLAIN: usize = 4 * BATCH;

/// Pre-tokens in the order of the text, a batch at a time.
pub(crate) struct Spans {
    starts: [usize; ROOM],
    ends: [usize; ROOM],
    count: usize,
    /// Where the next batch begins.
    at: usize,
    /// How many plain pieces were left out of this one.
    plain: usize,
}

impl Default for Spans {
    fn default() -> Self {
        Self {
            starts: [0; ROOM],
            ends: [0; ROOM],
            count: 0,
            at: 0,
            plain: 0,
        }
    }
}

impl Spans {
    /// Before the first pre-token from `at` on, which is a pre-token edge.
    #[inline]
    pub(crate) fn restart(&mut self, at: usize) {
        (self.at, self.count, self.plain) = (at, 0, 0);
    }

    /// Where each piece starts, if plain ones were left out, and where it ends.
    #[inline(always)]
    pub(crate) fn pieces(&self) -> (&[usize], &[usize]) {
        let starts = self.starts.get(..self.count).unwrap_or_default();
        (starts, self.ends.get(..self.count).unwrap_or_default())
    }

    /// The edge up to which all pieces were handed out or left out.
    #[inline(always)]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// How many plain pieces were left out of the batch: each of them is one token of a published vocabulary.
    #[inline(always)]
    pub(crate) fn plain(&self) -> usize {
        self.plain
    }

    /// Goes on to the next pre-tokens of `text`: at least one, or a plain one left out, unless the text is at its end. Without
    /// plain ones, if these are to be left out, and with the starts of the others then.
    #[inline(always)]
    pub(crate) fn fill<I: Isa, const WITHOUT_PLAIN: bool>(&mut self, pattern: Pattern, text: &[u8]) {
        (self.count, self.plain) = (0, 0);
        while self.at < text.len() && self.count < BATCH && self.plain < PLAIN {
            let at = self.at;
            let rest = text.get(at..).unwrap_or_default();
            let mut copy = [0; BLOCK];
            let (block, length) = if let Some(block) = rest.first_chunk() {
                (block, BLOCK)
            } else {
                copy[..rest.len()].copy_from_slice(rest);
                (&copy, rest.len())
            };
            let kinds = I::kinds(block);
            let cut = block::cut::<I>(pattern, text, at, block, length, kinds);
            // The piece of the highest start has no end here.
            let last = (cut.starts | 1).ilog2();
            let mut ends = cut.starts & !1;
            let mut starts = cut.starts & !(1 << last);
            if WITHOUT_PLAIN {
                let plain = Plain::of::<I>(cut.starts, &kinds, block);
                (starts, ends) = (starts & !plain.starts, ends & !plain.ends);
                self.plain += plain.starts.count_ones() as usize;
                if let Some(room) = room(&mut self.starts, self.count) {
                    I::places(starts, at, room);
                }
            }
            if let Some(room) = room(&mut self.ends, self.count) {
                self.count += I::places(ends, at, room);
            }
            let open = at + last as usize;
            if cut.ends {
                self.at = text.len();
            } else if cut.starts == 1 {
                self.at = pattern.piece_end(text, open);
            } else {
                self.at = open;
                continue;
            }
            if let (Some(start), Some(end)) = (self.starts.get_mut(self.count), self.ends.get_mut(self.count)) {
                (*start, *end) = (open, self.at);
                self.count += 1;
            }
        }
    }
}

fn room(places: &mut [usize], at: usize) -> Option<&mut [usize; BLOCK]> {
    places.get_mut(at..)?.first_chunk_mut()
}

/// The pre-tokens of a text from a pre-token edge on, as their ends.
pub(crate) struct Pieces<'t> {
    pattern: Pattern,
    text: &'t [u8],
    spans: Spans,
    given: usize,
}

impl<'t> Pieces<'t> {
    #[inline]
    pub(crate) fn new(pattern: Pattern, text: &'t [u8], start: usize) -> Self {
        let mut spans = Spans::default();
        spans.restart(start);
        Self {
            pattern,
            text,
            spans,
            given: 0,
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.given == self.spans.count {
            self.given = 0;
            dispatch(
                Level::detect(),
                Fill::<false> {
                    pattern: self.pattern,
                    text: self.text,
                    spans: &mut self.spans,
                },
            );
        }
        let end = *self.spans.pieces().1.get(self.given)?;
        self.given += 1;
        Some(end)
    }
}

struct Fill<'a, const WITHOUT_PLAIN: bool> {
    pattern: Pattern,
    text: &'a [u8],
    spans: &'a mut Spans,
}

impl<const WITHOUT_PLAIN: bool> Work for Fill<'_, WITHOUT_PLAIN> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.spans.fill::<I, WITHOUT_PLAIN>(self.pattern, self.text);
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
    use crate::Encoding;

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

    /// The ends of all pieces, and the pieces that are listed where plain ones are left out, with the number of those.
    fn at_level(level: Level, pattern: Pattern, text: &[u8]) -> (Vec<usize>, Vec<(usize, usize)>, usize) {
        let (mut all, mut listed, mut plain) = (Vec::new(), Vec::new(), 0);
        let spans = &mut Spans::default();
        while spans.at() < text.len() {
            dispatch(level, Fill::<false> { pattern, text, spans });
            all.extend_from_slice(spans.pieces().1);
        }
        spans.restart(0);
        while spans.at() < text.len() {
            dispatch(level, Fill::<true> { pattern, text, spans });
            let (starts, ends) = spans.pieces();
            listed.extend(starts.iter().copied().zip(ends.iter().copied()));
            plain += spans.plain();
        }
        (all, listed, plain)
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
        for (pattern, encoding) in [
            (Pattern::Cl100k, Encoding::Cl100kBase),
            (Pattern::O200k, Encoding::O200kBase),
        ] {
            let tables = encoding.tokenizer().as_published().unwrap().tables();
            for (i, text) in texts.iter().enumerate() {
                let text = format!("{text}{}{text}s", "ab ".repeat(i % 23));
                let mut by_character = Vec::new();
                while by_character.last().copied().unwrap_or(0) < text.len() {
                    let start = by_character.last().copied().unwrap_or(0);
                    by_character.push(pattern.piece_end(text.as_bytes(), start));
                }
                for level in &levels {
                    let (by_block, mut listed, mut plain) = at_level(*level, pattern, text.as_bytes());
                    assert_eq!(by_block, by_character, "{level:?} {pattern:?} {text:?}");
                    listed.reverse();
                    let starts = std::iter::once(0).chain(by_character.iter().copied());
                    for (start, end) in starts.zip(by_character.iter().copied()) {
                        if listed.pop_if(|next| *next == (start, end)).is_none() {
                            plain -= 1;
                            assert!(
                                tables.is_token(&text.as_bytes()[start..end]),
                                "{level:?} {pattern:?} {text:?} {start}"
                            );
                        }
                    }
                    assert_eq!((listed, plain), (Vec::new(), 0), "{level:?} {pattern:?} {text:?}");
                }
            }
        }
    }

    #[test]
    fn many_pieces_and_long_ones_come_in_order() {
        let text = format!("{} {}", "a1 ".repeat(999), "中".repeat(999));
        for pattern in [Pattern::Cl100k, Pattern::O200k] {
            let given: Vec<usize> = Pieces::new(pattern, text.as_bytes(), 0).collect();
            assert_eq!(given, at_level(Level::Scalar, pattern, text.as_bytes()).0);
            assert_eq!(given.last(), Some(&text.len()));
            assert_eq!(Pieces::new(pattern, text.as_bytes(), 3).next(), Some(4));
            assert_eq!(Pieces::new(pattern, text.as_bytes(), text.len()).next(), None);
        }
    }
}
