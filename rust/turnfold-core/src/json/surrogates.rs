//! Escapes of surrogates, each of which is half of a character: told from all others 64 bytes at a time.
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use crate::simd::{BLOCK, Isa, Level, Work, dispatch};

/// Whether `\ud` or `\uD` stands in some bytes, as it does in each escape of a surrogate. Linear in their length.
pub(crate) fn escapes_surrogate(bytes: &[u8]) -> bool {
    dispatch(Level::detect(), Looking(bytes))
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
        blocks.iter().chain(std::iter::once(&last)).any(|block| {
            let bytes = I::load(block);
            let (backslash, u) = (I::equal(bytes, b'\\'), I::equal(bytes, b'u'));
            let third = I::equal(I::folded(bytes), b'd');
            let found = (backslash << 2 | backslashes >> (BLOCK - 2)) & (u << 1 | us >> (BLOCK - 1)) & third;
            (backslashes, us) = (backslash, u);
            found != 0
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_look_at_every_byte_finds(before in 0_usize..150, text in "([\\\\ud]{0,4}[DU a\u{e9}]?){0,30}") {
            let text = [&" ".repeat(before), text.as_str()].concat();
            let wanted = text.as_bytes().windows(3).any(|three| matches!(three, b"\\ud" | b"\\uD"));
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                prop_assert_eq!(dispatch(level, Looking(text.as_bytes())), wanted, "{:?} {:?}", level, text);
            }
        }
    }
}
