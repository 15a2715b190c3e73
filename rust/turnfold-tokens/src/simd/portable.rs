//! The levels that every machine has.

use super::{BLOCK, Isa, Kinds, is_unusual};
use crate::scan::PairTable;

use wide::{CmpEq, CmpGt, i8x16};

/// See [`super::Level::Scalar`].
pub(crate) struct Scalar;

impl Isa for Scalar {
    fn unusual(block: &[u8; BLOCK]) -> u64 {
        let places = block.iter().zip(0..);
        places.fold(0, |found, (byte, place)| {
            found | u64::from(is_unusual(*byte) || !byte.is_ascii()) << place
        })
    }

    fn having(block: &[u8; BLOCK], bit: u8) -> u64 {
        let places = block.iter().zip(0..);
        places.fold(0, |found, (byte, place)| found | u64::from(byte & bit != 0) << place)
    }

    fn pairs(block: &[u8; BLOCK], table: &PairTable) -> u64 {
        let of = |table: &[u8; 128], byte: u8| table.get(usize::from(byte)).copied().unwrap_or(0);
        let places = block.windows(2).zip(0..);
        places.fold(0, |found, (pair, place)| {
            found | u64::from(of(&table.left, pair[0]) & of(&table.right, pair[1]) != 0) << place
        })
    }

    fn kinds(block: &[u8; BLOCK]) -> Kinds {
        let mut kinds = Kinds::default();
        for (byte, place) in block.iter().zip(0..) {
            let bit = |set: bool| u64::from(set) << place;
            kinds.letter |= bit(byte.is_ascii_alphabetic());
            kinds.lower |= bit(byte.is_ascii_lowercase());
            kinds.digit |= bit(byte.is_ascii_digit());
            kinds.blank |= bit(matches!(byte, b' ' | b'\t'..=b'\r'));
            kinds.space |= bit(*byte == b' ');
            kinds.newline |= bit(matches!(byte, b'\n' | b'\r'));
            kinds.quote |= bit(*byte == b'\'');
            kinds.slash |= bit(*byte == b'/');
            kinds.high |= bit(!byte.is_ascii());
            kinds.inner |= bit(byte & 0xC0 == 0x80);
        }
        kinds
    }
}

/// See [`super::Level::Baseline`].
pub(crate) struct Baseline;

impl Isa for Baseline {
    #[inline(always)]
    fn kinds(block: &[u8; BLOCK]) -> Kinds {
        let equal = |bytes: i8x16, byte: u8| bytes.cmp_eq(i8x16::splat(byte.cast_signed()));
        // Bytes that are not ASCII compare as negative.
        let between = |bytes: i8x16, first: u8, last: u8| {
            bytes.cmp_gt(i8x16::splat((first - 1).cast_signed())) & i8x16::splat((last + 1).cast_signed()).cmp_gt(bytes)
        };
        let mut kinds = Kinds::default();
        let (quarters, _) = block.as_chunks::<16>();
        for (quarter, shift) in quarters.iter().zip([0, 16, 32, 48]) {
            let mask = |bytes: i8x16| u64::from(bytes.move_mask().cast_unsigned()) << shift;
            let bytes = i8x16::new(quarter.map(u8::cast_signed));
            let space = equal(bytes, b' ');
            kinds.letter |= mask(between(bytes | i8x16::splat(0x20), b'a', b'z'));
            kinds.lower |= mask(between(bytes, b'a', b'z'));
            kinds.digit |= mask(between(bytes, b'0', b'9'));
            kinds.blank |= mask(space | between(bytes, b'\t', b'\r'));
            kinds.space |= mask(space);
            kinds.newline |= mask(equal(bytes, b'\n') | equal(bytes, b'\r'));
            kinds.quote |= mask(equal(bytes, b'\''));
            kinds.slash |= mask(equal(bytes, b'/'));
            kinds.high |= mask(bytes);
            kinds.inner |= mask(i8x16::splat(-64).cmp_gt(bytes));
        }
        kinds
    }
}
