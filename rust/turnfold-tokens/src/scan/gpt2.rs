//! The pattern of `gpt2`, `r50k_base` and `p50k_base`, and of byte-level pre-tokenizers with a pattern of their own:
//!
//! ```text
//! 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//! ```

use super::{blank, run_end};
use crate::classes::{Class, class_at};

/// The end of the pre-token that starts at byte `start`, which must lie before the end of `text`.
pub(crate) fn piece_end(text: &[u8], start: usize) -> usize {
    match text.get(start..).unwrap_or_default() {
        [b'\'', b's' | b't' | b'm' | b'd', ..] => return start + 2,
        [b'\'', b'r' | b'v', b'e', ..] | [b'\'', b'l', b'l', ..] => return start + 3,
        _ => {}
    }
    let body = start + usize::from(text.get(start) == Some(&b' '));
    match class_at(text, body).map(|(class, _)| class) {
        Some(class) if class.is_letter() => run_end(text, body, Class::is_letter),
        Some(Class::Number) => run_end(text, body, |class| class == Class::Number),
        Some(class) if class.is_sign() => run_end(text, body, Class::is_sign),
        _ => {
            let blank = blank(text, start);
            if blank.end < text.len() && blank.last > start {
                blank.last
            } else {
                blank.end
            }
        }
    }
}
