//! The classes of characters that the published patterns tell apart.

use crate::class_table::{BLOCKS, INDEX};

/// A class of characters. The classes tile Unicode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Anything else: punctuation, symbols, controls, unassigned and private code points.
    Other,
    /// `\p{Lu}` and `\p{Lt}`.
    Upper,
    /// `\p{Ll}`.
    Lower,
    /// `\p{Lm}` and `\p{Lo}`: letters without case.
    Caseless,
    /// `\p{M}`.
    Mark,
    /// `\p{N}`.
    Number,
    /// `\s` but carriage return and line feed.
    Space,
    /// Carriage return and line feed.
    Newline,
}

impl Class {
    const BY_CODE: [Self; 8] = [
        Self::Other,
        Self::Upper,
        Self::Lower,
        Self::Caseless,
        Self::Mark,
        Self::Number,
        Self::Space,
        Self::Newline,
    ];

    /// The class of a code point; `Other` above the last one.
    #[inline]
    pub(crate) fn of(code_point: u32) -> Self {
        Self::BY_CODE[Self::code_of(code_point) & 7]
    }

    /// The class of a code point as a number below 8, what `as usize` makes of it.
    #[inline]
    pub(crate) fn code_of(code_point: u32) -> usize {
        let block = INDEX.get((code_point >> 7) as usize).copied().unwrap_or(0);
        usize::from(BLOCKS[usize::from(block) * 128 + (code_point & 127) as usize])
    }

    /// `\p{L}`.
    #[inline]
    pub(crate) fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Caseless)
    }

    /// `\s`.
    #[inline]
    pub(crate) fn is_space(self) -> bool {
        matches!(self, Self::Space | Self::Newline)
    }

    /// `[^\s\p{L}\p{N}]`.
    #[inline]
    pub(crate) fn is_sign(self) -> bool {
        matches!(self, Self::Other | Self::Mark)
    }

    /// `[^\r\n\p{L}\p{N}]`, what may stand before the letters of a word.
    #[inline]
    pub(crate) fn may_lead(self) -> bool {
        matches!(self, Self::Other | Self::Mark | Self::Space)
    }
}

/// Whether `character` is of `[\p{L}\p{N}]`: a letter or a number of any script, and no mark.
#[inline]
pub fn is_letter_or_number(character: char) -> bool {
    let class = Class::of(u32::from(character));
    class.is_letter() || class == Class::Number
}

/// The class and the width in bytes of the character at byte `at` of a text; `None` at its end.
///
/// `text` is UTF-8 and `at` is on a character edge. (Bytes that are not UTF-8 give some class and a width within
/// the text, never a panic.)
#[inline]
pub(crate) fn class_at(text: &[u8], at: usize) -> Option<(Class, usize)> {
    let first = *text.get(at)?;
    if first < 0x80 {
        return Some((Class::of(u32::from(first)), 1));
    }
    let low = |offset: usize| u32::from(text.get(at + offset).copied().unwrap_or(0) & 0x3F);
    let lead = u32::from(first);
    let (code_point, width) = if lead < 0xE0 {
        ((lead & 0x1F) << 6 | low(1), 2)
    } else if lead < 0xF0 {
        ((lead & 0x0F) << 12 | low(1) << 6 | low(2), 3)
    } else {
        ((lead & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4)
    };
    Some((Class::of(code_point), width.min(text.len() - at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_syntax::hir::{Class as ParsedClass, HirKind};

    fn matched(pattern: &str) -> Vec<bool> {
        let hir = regex_syntax::parse(pattern).unwrap();
        let HirKind::Class(ParsedClass::Unicode(class)) = hir.kind() else {
            panic!("{pattern}")
        };
        let mut matched = vec![false; 0x11_0000];
        for range in class.iter() {
            matched[range.start() as usize..=range.end() as usize].fill(true);
        }
        matched
    }

    #[test]
    fn classes_are_those_of_the_regex_engine() {
        type Test = fn(Class) -> bool;
        let tests: [(&str, Test); 9] = [
            (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", |c| {
                matches!(c, Class::Upper | Class::Caseless | Class::Mark)
            }),
            (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", |c| {
                matches!(c, Class::Lower | Class::Caseless | Class::Mark)
            }),
            (r"\p{L}", Class::is_letter),
            (r"\p{N}", |c| c == Class::Number),
            (r"\s", Class::is_space),
            (r"[\r\n]", |c| c == Class::Newline),
            (r"[^\s\p{L}\p{N}]", Class::is_sign),
            (r"[^\r\n\p{L}\p{N}]", Class::may_lead),
            (r"\p{M}", |c| c == Class::Mark),
        ];
        for (pattern, test) in tests {
            let matched = matched(pattern);
            for character in (0..0x11_0000).filter_map(char::from_u32) {
                let class = Class::of(u32::from(character));
                assert_eq!(test(class), matched[character as usize], "{pattern} at {character:?}");
            }
        }
    }

    #[test]
    fn every_character_is_read_with_its_width() {
        let mut bytes = [0; 4];
        for character in (0..0x11_0000).filter_map(char::from_u32) {
            let text = character.encode_utf8(&mut bytes).as_bytes();
            assert_eq!(class_at(text, 0), Some((Class::of(u32::from(character)), text.len())));
        }
        assert_eq!(class_at(b"", 0), None);
        assert_eq!(class_at(b"\xF0", 0).unwrap().1, 1);
    }
}
