//! The pattern of `cl100k_base`:
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
//! ```

use super::{blank, byte_run_end, contraction_end, number_end, run_end};
use crate::classes::{Class, class_at};

/// See `Pattern::piece_end`.
#[inline]
pub(crate) fn piece_end(text: &[u8], start: usize) -> usize {
    let Some((first, width)) = class_at(text, start) else {
        return text.len();
    };
    if let Some(end) = contraction_end(text, start) {
        return end;
    }
    let next = start + width;
    if first.is_letter() {
        return run_end(text, next, Class::is_letter);
    }
    if first == Class::Number {
        return number_end(text, next);
    }
    let second = class_at(text, next).map(|(class, _)| class);
    if first.may_lead() && second.is_some_and(Class::is_letter) {
        return run_end(text, next, Class::is_letter);
    }
    let signs = first.is_sign() || (text.get(start) == Some(&b' ') && second.is_some_and(Class::is_sign));
    if signs {
        return byte_run_end(text, run_end(text, next, Class::is_sign), |byte| {
            matches!(byte, b'\r' | b'\n')
        });
    }
    let blank = blank(text, start);
    if blank.end == text.len() {
        return blank.end;
    }
    match blank.newline_end {
        Some(end) => end,
        None if blank.last > start => blank.last,
        None => blank.end,
    }
}
