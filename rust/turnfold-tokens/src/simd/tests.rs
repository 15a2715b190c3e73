//! Every level does what the scalar one does.

use super::*;
use crate::piece_digest::COUNT_BITS;
use crate::scan::PAIR_TABLE;
use crate::tables::{VALUE_BITS, with_value};
use proptest::prelude::*;

struct Probe<'a> {
    block: &'a [u8; BLOCK],
    bits: u64,
    kept: u64,
    line: Line,
    counts: Line,
    key: Key,
    bit: u8,
}

impl Work for Probe<'_> {
    type Output = (Kinds, u64, u64, Vec<usize>, [usize; 2], u64, u64);
    #[inline(always)]
    fn run<I: Isa>(self) -> Self::Output {
        let mut places = [0; BLOCK];
        let count = I::places(self.bits, 1 << 20, &mut places);
        (
            I::kinds(self.block),
            I::squeeze(self.bits, self.kept),
            I::spread(self.bits, self.kept),
            places[..count].to_vec(),
            [
                I::find::<VALUE_BITS>(&self.line, self.key),
                I::find::<COUNT_BITS>(&self.counts, self.key & u128::MAX >> COUNT_BITS),
            ],
            I::unusual(self.block),
            I::having(self.block, self.bit),
        )
    }
}

proptest! {
    #[test]
    fn every_level_does_the_same(
        bytes in proptest::collection::vec(prop_oneof![any::<u8>(), b' '..=b'~', b'\t'..=b'\r'], BLOCK),
        bits: u64,
        kept in prop_oneof![any::<u64>(), Just(u64::MAX), Just(0)],
        keys in proptest::array::uniform4(1..u128::MAX >> 4),
        values in proptest::array::uniform4(1..16_usize),
        more in proptest::array::uniform4(1..256_usize),
        wanted in 0..6_usize,
        bit in 0..7,
    ) {
        let block: [u8; BLOCK] = bytes.try_into().unwrap();
        let (mut line, mut counts) = (Line::default(), Line::default());
        for k in 0..4 {
            line.0[k] = with_value(keys[k], values[k]);
            counts.0[k] = keys[k] & u128::MAX >> COUNT_BITS | (more[k] as u128) << (128 - COUNT_BITS);
        }
        let key = keys.get(wanted).copied().unwrap_or(7);
        if wanted == 5 {
            (line, counts) = (Line::default(), Line::default());
        }
        let at = |level| dispatch(level, Probe { block: &block, bits, kept, line, counts, key, bit: 1_u8 << bit });
        let scalar = at(Level::Scalar);
        prop_assert_eq!(scalar.2.count_ones(), (bits & 1_u64.checked_shl(kept.count_ones()).map_or(u64::MAX, |b| b - 1)).count_ones());
        prop_assert_eq!(scalar.4, if wanted < 4 { [values[wanted], more[wanted]] } else { [0; 2] });
        for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
            prop_assert_eq!(&at(level), &scalar, "{:?}", level);
        }
    }
}

struct Pairs<'a>(&'a [u8; BLOCK]);

impl Work for Pairs<'_> {
    type Output = u64;
    #[inline(always)]
    fn run<I: Isa>(self) -> u64 {
        I::pairs(self.0, &PAIR_TABLE)
    }
}

#[test]
fn pairs_are_those_of_the_table() {
    for (first, second) in (0..128_u8).flat_map(|first| (0..=u8::MAX).map(move |second| (first, second))) {
        let place = usize::from(first.wrapping_mul(7).wrapping_add(second)) % (BLOCK - 1);
        let mut block = [second; BLOCK];
        block[place] = first;
        let ascii = block
            .iter()
            .zip(0..)
            .fold(0, |ascii, (byte, place)| ascii | u64::from(byte.is_ascii()) << place);
        let both = ascii & ascii >> 1;
        let scalar = dispatch(Level::Scalar, Pairs(&block)) & both;
        for level in [Level::Avx2, Level::Avx512]
            .into_iter()
            .filter(|level| level.is_there())
        {
            assert_eq!(
                dispatch(level, Pairs(&block)) & both,
                scalar,
                "{level:?} {first} {second} at {place}"
            );
        }
        assert_eq!(dispatch(Level::Baseline, Pairs(&block)) & both & !scalar, 0);
    }
}

#[test]
fn the_best_level_is_there() {
    assert!(Level::detect().is_there());
    assert_eq!(Level::detect(), Level::detect());
}
