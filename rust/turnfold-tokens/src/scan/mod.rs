//! Cutting text into pre-tokens, as the published patterns do, without a regex engine.

mod ascii;
pub(crate) mod cl100k;
pub(crate) mod o200k;

use crate::classes::{Class, class_at};

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

/// The pre-tokens of a text from a pre-token edge on, as their ends.
pub(crate) struct Pieces<'t> {
    pattern: Pattern,
    text: &'t [u8],
    /// The last end given.
    at: usize,
    /// Where the block started whose further ends are `ends`.
    block: usize,
    ends: u64,
}

impl<'t> Pieces<'t> {
    #[inline]
    pub(crate) fn new(pattern: Pattern, text: &'t [u8], start: usize) -> Self {
        Self {
            pattern,
            text,
            at: start,
            block: 0,
            ends: 0,
        }
    }

    /// Cuts the block at `self.at`; leaves `self.ends` empty if no pre-token ends in it for sure.
    #[inline]
    fn cut_block(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        // Two bytes tell most text that is not for blocks.
        if let [first, second, ..] = rest
            && (first | second) < 0x80
        {
            let mut copy = [0; ascii::BLOCK];
            let (block, length) = if let Some(block) = rest.first_chunk() {
                (block, ascii::BLOCK)
            } else {
                for (to, from) in copy.iter_mut().zip(rest) {
                    *to = *from;
                }
                (&copy, rest.len())
            };
            self.block = self.at;
            self.ends = ascii::starts(self.pattern, block, length) & !1;
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.ends == 0 {
            if self.at >= self.text.len() {
                return None;
            }
            self.cut_block();
            if self.ends == 0 {
                self.at = self.pattern.piece_end(self.text, self.at);
                return Some(self.at);
            }
        }
        self.at = self.block + self.ends.trailing_zeros() as usize;
        self.ends &= self.ends - 1;
        Some(self.at)
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

    #[test]
    fn blocks_cut_as_characters_do() {
        // Every string of up to five of these, behind a start that puts its edges near the end of a block.
        const KINDS: [&str; 11] = ["a", "B", "7", " ", "\n", "\r", "\t", ".", "/", "'", "é"];
        let mut texts: Vec<String> = vec![String::new()];
        let mut last = 0;
        for _ in 0..5 {
            let next = texts.len();
            for i in last..next {
                texts.extend(KINDS.map(|kind| format!("{}{kind}", texts[i])));
            }
            last = next;
        }
        for pattern in [Pattern::Cl100k, Pattern::O200k] {
            for (i, text) in texts.iter().enumerate() {
                let text = format!("{text}{}{text}s", "ab ".repeat(i % 23));
                let by_block: Vec<usize> = Pieces::new(pattern, text.as_bytes(), 0).collect();
                let mut by_character = Vec::new();
                while by_character.last().copied().unwrap_or(0) < text.len() {
                    let start = by_character.last().copied().unwrap_or(0);
                    by_character.push(pattern.piece_end(text.as_bytes(), start));
                }
                assert_eq!(by_block, by_character, "{pattern:?} {text:?}");
            }
        }
    }
}
