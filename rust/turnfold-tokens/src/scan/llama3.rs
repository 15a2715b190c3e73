//! The pattern of Llama 3 and, with one digit instead of three, of Qwen 2:
//!
//! ```text
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```
//!
//! It is that of `cl100k_base` as first published; tiktoken's today differs in the white space at the end of a text.

use super::{blank, cl100k};
use crate::classes::{Class, class_at};

/// The end of the pre-token that starts at byte `start`, which must lie before the end of `text`. Numbers are cut in
/// ones with `single_digits`, in threes without.
pub(crate) fn piece_end(text: &[u8], start: usize, single_digits: bool) -> usize {
    let end = cl100k::piece_end(text, start);
    match class_at(text, start) {
        Some((Class::Number, width)) if single_digits => start + width,
        Some((class, _)) if class.is_space() && end == text.len() => {
            let blank = blank(text, start);
            let newline_end = blank.newline_end.filter(|_| blank.end == end);
            newline_end.unwrap_or(end)
        }
        _ => end,
    }
}
