//! The pattern of `o200k_base`:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! \p{N}{1,3}
//!  ?[^\s\p{L}\p{N}]+[\r\n/]*
//! \s*[\r\n]+
//! \s+(?!\S)
//! \s+
//! ```

use super::{blank, byte_run_end, contraction_end, number_end, run_end};
use crate::classes::{Class, class_at};

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
#[inline]
fn begins(class: Class) -> bool {
    matches!(class, Class::Upper | Class::Caseless | Class::Mark)
}

/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
#[inline]
fn continues(class: Class) -> bool {
    matches!(class, Class::Lower | Class::Caseless | Class::Mark)
}

/// What the two word alternatives make of the letters from one place.
struct Word {
    /// The end under the first alternative (a `continues` part that is not empty).
    mixed: Option<usize>,
    /// The end under the second, tried only when the first matches nowhere: then it is the run of `begins`.
    capitals: Option<usize>,
}

#[inline]
fn word(text: &[u8], start: usize) -> Word {
    let mut at = start;
    // The greedy head gives characters back until one that can also continue stands at its end.
    let mut both_end = None;
    while let Some((class, width)) = class_at(text, at) {
        if class == Class::Lower {
            return Word {
                mixed: Some(run_end(text, at + width, continues)),
                capitals: None,
            };
        }
        if !begins(class) {
            break;
        }
        at += width;
        if class != Class::Upper {
            both_end = Some(at);
        }
    }
    Word {
        mixed: both_end,
        capitals: (at > start).then_some(at),
    }
}

/// See `Pattern::piece_end`.
#[inline]
pub(crate) fn piece_end(text: &[u8], start: usize) -> usize {
    let Some((first, width)) = class_at(text, start) else {
        return text.len();
    };
    let next = start + width;
    if first == Class::Number {
        return number_end(text, next);
    }
    if first != Class::Newline {
        let led = first.may_lead().then(|| word(text, next));
        let bare = (first.is_letter() || first == Class::Mark).then(|| word(text, start));
        let ends = [
            led.as_ref().and_then(|word| word.mixed),
            bare.as_ref().and_then(|word| word.mixed),
            led.as_ref().and_then(|word| word.capitals),
            bare.as_ref().and_then(|word| word.capitals),
        ];
        if let Some(end) = ends.into_iter().flatten().next() {
            return contraction_end(text, end).unwrap_or(end);
        }
    }
    let signs = first.is_sign()
        || (text.get(start) == Some(&b' ') && class_at(text, next).is_some_and(|(class, _)| class.is_sign()));
    if signs {
        return byte_run_end(text, run_end(text, next, Class::is_sign), |byte| {
            matches!(byte, b'\r' | b'\n' | b'/')
        });
    }
    let blank = blank(text, start);
    match blank.newline_end {
        Some(end) => end,
        None if blank.end < text.len() && blank.last > start => blank.last,
        None => blank.end,
    }
}
