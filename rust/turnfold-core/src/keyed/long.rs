//! XXH3-128 of long texts, compiled for wide registers, which hold its sums from end to end.
//!
//! The library writes its sums to memory and reads them back for every 64 bytes, and knows no AVX-512. It is the judge.
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use super::{SECRET_BYTES, Secret};
use crate::simd::{self, BLOCK, Block, Isa, Level, Words, Work};
use turnfold_tokens::prefetch;

/// Shorter texts have ways of their own.
pub(super) const LEAST_BYTES: usize = 241;

/// Behind so many blocks the sums are stirred: each takes its key a word further on than the one before.
const STRETCH: usize = (SECRET_BYTES - BLOCK) / 8;
const LAST_KEY: usize = SECRET_BYTES - BLOCK - 7;
const END_KEYS: [usize; 2] = [11, SECRET_BYTES - BLOCK - 11];

const PRIME32: [u32; 3] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D];
const PRIME64: [u64; 5] = [
    0x9E37_79B1_85EB_CA87,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x27D4_EB2F_1656_67C5,
];
const PRIME_END: u64 = 0x1656_6791_9E37_79F9;
const START: Words = [
    PRIME32[2] as u64,
    PRIME64[0],
    PRIME64[1],
    PRIME64[2],
    PRIME64[3],
    PRIME32[1] as u64,
    PRIME64[4],
    PRIME32[0] as u64,
];

/// The digest of at least [`LEAST_BYTES`], in halves. As much of `ahead` is fetched.
pub(super) fn digest(level: Level, secret: &Secret, bytes: &[u8], ahead: &[u8]) -> [u64; 2] {
    simd::dispatch(level, Digest { secret, bytes, ahead })
}

struct Digest<'a> {
    secret: &'a Secret,
    bytes: &'a [u8],
    ahead: &'a [u8],
}

impl Work for Digest<'_> {
    type Output = [u64; 2];

    #[inline(always)]
    fn run<I: Isa>(self) -> [u64; 2] {
        let Self { secret, bytes, ahead } = self;
        // The last block is the last 64 bytes, whatever of them was in the one before.
        let Some((before, last)) = bytes.split_last().map(|(_, before)| before).zip(bytes.last_chunk()) else {
            return [0; 2];
        };
        let mut sums = I::sums(&START);
        let mut stretches = before.as_chunks::<BLOCK>().0.chunks_exact(STRETCH);
        let mut ahead = ahead;
        for stretch in &mut stretches {
            sums = add::<I>(sums, secret, stretch, ahead);
            ahead = ahead.get(STRETCH * BLOCK..).unwrap_or_default();
            sums = I::stir(sums, key(secret, SECRET_BYTES - BLOCK), PRIME32[0]);
        }
        sums = add::<I>(sums, secret, stretches.remainder(), ahead);
        let sums = I::of_sums(I::add(sums, last, key(secret, LAST_KEY)));
        let len = bytes.len() as u64;
        let from = [len.wrapping_mul(PRIME64[0]), !len.wrapping_mul(PRIME64[1])];
        [0, 1].map(|half| end(&sums, key(secret, END_KEYS[half]), from[half]))
    }
}

#[inline(always)]
fn add<I: Isa>(mut sums: I::Sums, secret: &Secret, blocks: &[Block], ahead: &[u8]) -> I::Sums {
    for (k, block) in blocks.iter().enumerate() {
        if let Some(byte) = ahead.get(k * BLOCK) {
            prefetch(byte);
        }
        sums = I::add(sums, block, key(secret, k * 8));
    }
    sums
}

/// A block of the secret. There is one wherever somebody asks.
#[inline(always)]
fn key(secret: &Secret, at: usize) -> &Block {
    secret.get(at..).and_then(<[u8]>::first_chunk).unwrap_or(&[0; BLOCK])
}

/// Half of a digest.
#[inline(always)]
fn end(sums: &Words, key: &Block, from: u64) -> u64 {
    let key = simd::words(key);
    let mut sum = from;
    for k in [0, 2, 4, 6] {
        let product = u128::from(sums[k] ^ key[k]) * u128::from(sums[k + 1] ^ key[k + 1]);
        sum = sum.wrapping_add(product as u64 ^ (product >> 64) as u64);
    }
    sum = (sum ^ sum >> 37).wrapping_mul(PRIME_END);
    sum ^ sum >> 32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keyed;

    #[test]
    fn every_level_gives_what_the_library_gives_at_every_length() {
        let secret: Secret = std::array::from_fn(|k| (k * k * 7 + k * 13 + 5) as u8);
        let text: Vec<u8> = (0..3 * STRETCH * BLOCK + 70).map(|k| (k * k / 3) as u8).collect();
        for len in LEAST_BYTES..=text.len() {
            let expected = keyed::of_any(&secret, &text[..len]);
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                assert_eq!(
                    digest(level, &secret, &text[..len], &text[len..]),
                    expected,
                    "{level:?}, {len} bytes"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn every_level_gives_what_the_library_gives(
            secret in prop::collection::vec(any::<u8>(), SECRET_BYTES),
            text in prop::collection::vec(any::<u8>(), LEAST_BYTES..9_000),
        ) {
            let secret: Secret = secret.try_into().expect("a secret");
            let expected = keyed::of_any(&secret, &text);
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                prop_assert_eq!(digest(level, &secret, &text, &[]), expected, "{:?}", level);
            }
        }
    }
}
