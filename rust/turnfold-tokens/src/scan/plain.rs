//! Pieces that are one token of every published vocabulary, which shows without a look into a table: those of one byte, of one
//! to three ASCII digits, of spaces, and most of two ASCII characters. They are a third of prose and most of a log.

use super::block::below;
use crate::simd::{BLOCK, Isa, Kinds};

/// Any of the first with any of the second is a token. Eight pairs of sets that hold 92 to 99 of 100 pieces of two ASCII
/// characters, numbers aside, in prose, code and JSON.
const PAIRS: [(&[u8], &[u8]); 8] = [
    (b" \").", b"\n\"#$%&'()*+,-./:;<?L[\\]_`adsx{|"),
    (b" (,-./:=[_", b"\n\"$%'(*-/ABCDLMNPSTX[\\_abcdefghijklmnoprstvwxy{"),
    (b" ')./:>]}", b"\n\"%'(),-./:<=?[\\]{"),
    (b"\t (,-./=[_abcdefghiklmnoprstuv", b"abcdefghilmnoprstuvwy"),
    (b"\t (,-./ABCHMNPST_", b"ABCDEFGHIKLMNOPRSTUVWXYiouy"),
    (b"\t\n\r !\"#$%&'()*+,-./:;<=>?@[\\]_`{|}~", b"\n"),
    (
        b" ",
        b"\t\n !\"#$%&'()*+,-./:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~",
    ),
    (b"\t (,-./AEIO_", b"ABCDEFGHIKLMNOPRSTUVWXdfklmnprst"),
];

/// Two ASCII characters are a plain piece if their bytes here, of the first as a left one and of the second as a right one,
/// have a bit in common.
#[repr(align(64))]
pub(crate) struct PairTable {
    pub(crate) left: [u8; 128],
    pub(crate) right: [u8; 128],
}

#[cfg(target_arch = "x86_64")]
impl PairTable {
    /// The upper halves of the bytes that are in pairs: no control is but white space.
    pub(crate) const ROWS: [u8; 7] = [0, 2, 3, 4, 5, 6, 7];
}

pub(crate) static TABLE: PairTable = {
    let mut table = PairTable {
        left: [0; 128],
        right: [0; 128],
    };
    let mut set = 0;
    while set < PAIRS.len() {
        let (left, right) = PAIRS[set];
        let mut at = 0;
        while at < left.len() {
            table.left[left[at] as usize] |= 1 << set;
            at += 1;
        }
        at = 0;
        while at < right.len() {
            table.right[right[at] as usize] |= 1 << set;
            at += 1;
        }
        set += 1;
    }
    table
};

/// Plain pieces of a block, by byte.
pub(super) struct Plain {
    pub(super) starts: u64,
    pub(super) ends: u64,
}

impl Plain {
    /// Those between two of `starts`.
    #[inline(always)]
    pub(super) fn of<I: Isa>(starts: u64, kinds: &Kinds, block: &[u8; BLOCK]) -> Self {
        let one = starts & starts >> 1;
        let longer = starts & !(starts >> 1);
        let digits = kinds.digit & kinds.digit >> 1;
        let two = longer & starts >> 2;
        // Other scripts have few to ask about.
        let asked = two & !(kinds.high | kinds.high >> 1 | digits);
        let pairs = if asked == 0 { 0 } else { asked & I::pairs(block, &TABLE) };
        let two = two & digits | pairs;
        let three = longer & !(starts >> 2) & starts >> 3 & digits & kinds.digit >> 2;
        let spaces = Self::of_spaces(longer, starts, kinds.space);
        Self {
            starts: one | two | three | spaces.starts,
            ends: one << 1 | two << 2 | three << 3 | spaces.ends,
        }
    }

    /// Of the pieces at `longer`, which have two bytes and more, those of spaces alone.
    #[inline(always)]
    fn of_spaces(longer: u64, starts: u64, space: u64) -> Self {
        let inside = space & !starts;
        // The piece of the highest start has no end here.
        let mut found = longer & space & inside >> 1 & below((starts | 1).ilog2());
        // What is added to the first space inside runs to the byte behind the last one.
        let behind = (found << 1).wrapping_add(inside) & !inside;
        let mut others = behind & !starts;
        while others != 0 {
            let before = found & below(others.trailing_zeros());
            found &= !(1 << (before | 1).ilog2());
            others &= others - 1;
        }
        Self {
            starts: found,
            ends: behind & starts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encoding;

    #[test]
    fn plain_pieces_are_tokens() {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            let tables = encoding.tokenizer().as_published().unwrap().tables();
            let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
            let spaces = (1..BLOCK).map(|spaces| vec![b' '; spaces]);
            let numbers = (0..10)
                .map(|n| format!("{n}"))
                .chain((0..100).map(|n| format!("{n:02}")));
            let numbers = numbers
                .chain((0..1_000).map(|n| format!("{n:03}")))
                .map(String::into_bytes);
            for piece in bytes.chain(spaces).chain(numbers) {
                assert!(tables.is_token(&piece), "{piece:?}");
            }
            for (first, left) in (0..).zip(TABLE.left) {
                for (second, right) in (0..).zip(TABLE.right) {
                    assert!(
                        left & right == 0 || tables.is_token(&[first, second]),
                        "{first} {second}"
                    );
                }
            }
        }
    }
}
