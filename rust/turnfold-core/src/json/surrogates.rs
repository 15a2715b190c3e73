//! Escapes of surrogates, each of which is half of a character: told from all others 64 bytes at a time.
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use super::text::code_unit;
use crate::simd::{BLOCK, Isa, Level, Work, dispatch};

/// How long the escape of a surrogate is.
const ESCAPE: usize = 6;

/// Whether a string of some JSON has an escape of half a character that the other half does not stand beside. Linear in
/// the bytes.
pub(crate) fn has_half_character(json: &[u8]) -> bool {
    dispatch(Level::detect(), Looking(json))
}

struct Looking<'a>(&'a [u8]);

impl Work for Looking<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let (blocks, tail) = self.0.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        // Of the block before.
        let (mut backslashes, mut us) = (0, 0);
        for (index, block) in blocks.iter().chain(std::iter::once(&last)).enumerate() {
            let bytes = I::load(block);
            let (backslash, u) = (I::equal(bytes, b'\\'), I::equal(bytes, b'u'));
            let third = I::equal(I::folded(bytes), b'd');
            let found = (backslash << 2 | backslashes >> (BLOCK - 2)) & (u << 1 | us >> (BLOCK - 1)) & third;
            (backslashes, us) = (backslash, u);
            if found != 0 && self.is_half_at_any(index * BLOCK, found) {
                return true;
            }
        }
        false
    }
}

impl Looking<'_> {
    /// Whether one of the escapes whose third bytes are marked stands alone: `\ud` begins one of a surrogate.
    #[inline(never)]
    fn is_half_at_any(&self, base: usize, mut thirds: u64) -> bool {
        while thirds != 0 {
            if self.is_half((base + thirds.trailing_zeros() as usize).saturating_sub(2)) {
                return true;
            }
            thirds &= thirds - 1;
        }
        false
    }

    fn is_half(&self, at: usize) -> bool {
        match self.escaped(at) {
            Some(0xD800..=0xDBFF) => !matches!(self.escaped(at + ESCAPE), Some(0xDC00..=0xDFFF)),
            Some(0xDC00..=0xDFFF) => {
                let before = at.checked_sub(ESCAPE).and_then(|before| self.escaped(before));
                !matches!(before, Some(0xD800..=0xDBFF))
            }
            _ => false,
        }
    }

    /// The UTF-16 unit whose escape stands at a place: behind no backslash that escapes its own.
    fn escaped(&self, at: usize) -> Option<u32> {
        let (before, rest) = self.0.split_at_checked(at)?;
        let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
        code_unit(rest).filter(|_| backslashes.is_multiple_of(2))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By a look at one escape after the other.
    fn has_half(json: &[u8]) -> bool {
        let mut rest = json;
        while let Some(&byte) = rest.first() {
            let length = match (byte, code_unit(rest)) {
                (b'\\', None) => 2,
                (b'\\', Some(0xD800..=0xDBFF)) => match rest.get(ESCAPE..).and_then(code_unit) {
                    Some(0xDC00..=0xDFFF) => 2 * ESCAPE,
                    _ => return true,
                },
                (b'\\', Some(0xDC00..=0xDFFF)) => return true,
                (b'\\', Some(_)) => ESCAPE,
                _ => 1,
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        false
    }

    const PART: &str =
        "\\\\ud83d|\\\\uDE00|\\\\uDBfF\\\\udC0a|\\\\u00ed|\\\\u12|(\\\\\\\\){1,3}|\\\\n|\"|[ud8Da \u{e9}]";

    proptest! {
        #[test]
        fn finds_what_a_look_at_every_escape_finds(before in 0_usize..150, parts in prop::collection::vec(PART, 0..12)) {
            let text = [&" ".repeat(before), parts.concat().as_str()].concat();
            let wanted = has_half(text.as_bytes());
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                prop_assert_eq!(dispatch(level, Looking(text.as_bytes())), wanted, "{:?} {:?}", level, text);
            }
        }
    }
}
