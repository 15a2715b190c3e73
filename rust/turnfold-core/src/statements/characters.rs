//! Classes of characters as Python's `re` and `str` have them, which the rules were written for.

use turnfold_tokens::is_letter_or_number;

/// The zeros of all scripts; each is followed by the other nine digits.
const ZEROS: [u32; 65] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
    0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
    0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0,
    0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0,
    0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// `\w`: a letter, a number or `_`. Marks are none.
#[inline]
pub(super) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || c == '_'
    } else {
        is_letter_or_number(c)
    }
}

/// `\d`: a decimal digit of any script.
#[inline]
pub(super) fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    let code = u32::from(c);
    let after = ZEROS.partition_point(|&zero| zero <= code);
    after > 0 && ZEROS.get(after - 1).is_some_and(|zero| code - zero < 10)
}

/// `[^\W\d_]`.
#[inline]
pub(super) fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphabetic()
    } else {
        is_letter_or_number(c) && !is_digit(c)
    }
}

/// `\s`.
#[inline]
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r' | '\u{1c}'..='\u{1f}') || (!c.is_ascii() && c.is_whitespace())
}

/// Whether a text has letters of the upper case and none of another.
pub(super) fn is_upper(text: &str) -> bool {
    let mut found = false;
    for c in text.chars() {
        if c.is_uppercase() {
            found = true;
        } else if c.is_lowercase() || is_title(c) {
            return false;
        }
    }
    found
}

/// Whether it is one of the few letters that stand for two, the first of them large.
fn is_title(c: char) -> bool {
    !c.is_ascii() && !c.is_uppercase() && !c.is_lowercase() && !c.to_lowercase().eq([c])
}

/// What a text is compared by: in lower case, with one space where there is white space.
pub(super) fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    let mut made = String::with_capacity(lower.len());
    for word in lower.split(is_space).filter(|word| !word.is_empty()) {
        if !made.is_empty() {
            made.push(' ');
        }
        made.push_str(word);
    }
    made
}
