//! What differs between processors: what the bytes of a block of 64 are, as bit masks, and sums over blocks.
//!
//! The one module of the crate with unsafe code, with what stands in `x86`. Two things need it, and nothing else here does: calling a function that
//! is compiled for more instructions than the crate, only where they were found, and the loads of the intrinsics inside.
//! What goes over blocks is written once, generic over [`Isa`], and compiled for each level by [`dispatch`].
#![allow(unsafe_code)]
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use wide::{CmpEq, CmpGt, i8x16};

/// How many bytes are looked at together.
pub(crate) const BLOCK: usize = 64;
pub(crate) type Block = [u8; BLOCK];
/// Tables of bits by the lower half of a byte, and by the upper one.
pub(crate) type Halves = [[u8; 16]; 2];
/// The words of a block.
pub(crate) type Words = [u64; BLOCK / 8];

/// Instructions that a piece of code is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// 128 bits, in what every processor of the target has.
    Baseline,
    /// AVX2.
    Avx2,
    /// AVX-512 with bytes.
    Avx512,
}

impl Level {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// The best that this machine has.
    pub(crate) fn detect() -> Self {
        [Self::Avx512, Self::Avx2]
            .into_iter()
            .find(|level| level.is_there())
            .unwrap_or(Self::Baseline)
    }

    pub(crate) fn is_there(self) -> bool {
        match self {
            Self::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_there() && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }
}

/// Code that is compiled for each level.
pub(crate) trait Work {
    type Output;
    /// To be marked `#[inline(always)]`, with all it calls in its inner loop: what is not inlined is compiled for the
    /// baseline.
    fn run<I: Isa>(self) -> Self::Output;
}

/// Runs `work` as compiled for `level`, or for the baseline where the machine lacks that.
pub(crate) fn dispatch<W: Work>(level: Level, work: W) -> W::Output {
    match level {
        // SAFETY: the instructions were found.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if level.is_there() => unsafe { x86::avx2(work) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if level.is_there() => unsafe { x86::avx512(work) },
        _ => work.run::<Baseline>(),
    }
}

/// The instructions of a level. Bit `k` of each mask is for byte `k` of the block.
pub(crate) trait Isa {
    /// A block in registers.
    type Bytes: Copy;
    fn load(block: &Block) -> Self::Bytes;
    /// Which bytes are this one.
    fn equal(bytes: Self::Bytes, to: u8) -> u64;
    /// Which bytes are from `first` to `last`, both ASCII below 127 or both beyond ASCII.
    fn between(bytes: Self::Bytes, first: u8, last: u8) -> u64;
    /// The bytes with the bit set that tells a small letter from a capital.
    fn folded(bytes: Self::Bytes) -> Self::Bytes;
    /// For each byte the bits that both of its halves have, by tables of what each half may have.
    fn sorts(bytes: Self::Bytes, halves: &Halves) -> Self::Bytes;
    /// The bits that two have.
    fn common(bytes: Self::Bytes, others: Self::Bytes) -> Self::Bytes;
    /// `{}[]:,` (and control characters that are taken for them: nothing may start with those), white space.
    fn outside(block: &Block) -> (u64, u64);
    /// What may follow a backslash in JSON, and the `u` among it.
    fn escapes(block: &Block) -> (u64, u64);

    /// Sums in registers, one for each word of a block.
    type Sums: Copy;
    fn sums(of: &Words) -> Self::Sums;
    fn of_sums(sums: Self::Sums) -> Words;
    /// Each sum with the word beside its own, and with the product of the halves of its own, which has the key's bits turned.
    fn add(sums: Self::Sums, block: &Block, key: &Block) -> Self::Sums;
    /// Each sum's high bits mixed into its low ones, the key's bits turned, times an odd number below 2^32.
    fn stir(sums: Self::Sums, key: &Block, times: u32) -> Self::Sums;
}

/// The words of a block, the same on every processor.
pub(crate) fn words(block: &Block) -> Words {
    let mut words = Words::default();
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// What every processor of the target has.
struct Baseline;

impl Baseline {
    #[inline(always)]
    fn mask(bytes: [i8x16; 4], is: impl Fn(i8x16) -> i8x16) -> u64 {
        bytes.into_iter().rev().fold(0, |all, quarter| {
            all << 16 | u64::from(is(quarter).move_mask().cast_unsigned() & 0xFFFF)
        })
    }

    #[inline(always)]
    fn any(block: &Block, of: &[u8]) -> u64 {
        let bytes = Self::load(block);
        of.iter().fold(0, |all, &byte| all | Self::equal(bytes, byte))
    }
}

impl Isa for Baseline {
    type Bytes = [i8x16; 4];

    #[inline(always)]
    fn load(block: &Block) -> Self::Bytes {
        let (quarters, _) = block.as_chunks::<16>();
        let mut bytes = [i8x16::splat(0); 4];
        for (to, quarter) in bytes.iter_mut().zip(quarters) {
            *to = i8x16::new(quarter.map(u8::cast_signed));
        }
        bytes
    }

    #[inline(always)]
    fn equal(bytes: Self::Bytes, to: u8) -> u64 {
        Self::mask(bytes, |quarter| quarter.cmp_eq(i8x16::splat(to.cast_signed())))
    }

    #[inline(always)]
    fn between(bytes: Self::Bytes, first: u8, last: u8) -> u64 {
        // Bytes beyond ASCII compare as negative.
        let (below, above) = (first.cast_signed() - 1, last.cast_signed() + 1);
        Self::mask(bytes, |quarter| {
            quarter.cmp_gt(i8x16::splat(below)) & i8x16::splat(above).cmp_gt(quarter)
        })
    }

    #[inline(always)]
    fn folded(bytes: Self::Bytes) -> Self::Bytes {
        bytes.map(|quarter| quarter | i8x16::splat(0x20))
    }

    #[inline(always)]
    fn sorts(bytes: Self::Bytes, halves: &Halves) -> Self::Bytes {
        let [low, high] = halves;
        bytes.map(|quarter| {
            let sort = |byte: u8| low[usize::from(byte & 15)] & high[usize::from(byte >> 4)];
            i8x16::new(quarter.to_array().map(|byte| sort(byte.cast_unsigned()).cast_signed()))
        })
    }

    #[inline(always)]
    fn common(bytes: Self::Bytes, others: Self::Bytes) -> Self::Bytes {
        std::array::from_fn(|k| bytes[k] & others[k])
    }

    #[inline(always)]
    fn outside(block: &Block) -> (u64, u64) {
        (Self::any(block, b"{}[]:,"), Self::any(block, b" \n\r\t"))
    }

    #[inline(always)]
    fn escapes(block: &Block) -> (u64, u64) {
        (Self::any(block, b"\"\\/bfnrtu"), Self::any(block, b"u"))
    }

    type Sums = Words;

    #[inline(always)]
    fn sums(of: &Words) -> Words {
        *of
    }

    #[inline(always)]
    fn of_sums(sums: Words) -> Words {
        sums
    }

    #[inline(always)]
    fn add(sums: Words, block: &Block, key: &Block) -> Words {
        let (data, key) = (words(block), words(key));
        std::array::from_fn(|k| {
            let turned = data[k] ^ key[k];
            let product = (turned & 0xFFFF_FFFF).wrapping_mul(turned >> 32);
            sums[k].wrapping_add(data[k ^ 1]).wrapping_add(product)
        })
    }

    #[inline(always)]
    fn stir(sums: Words, key: &Block, times: u32) -> Words {
        let key = words(key);
        std::array::from_fn(|k| (sums[k] ^ sums[k] >> 47 ^ key[k]).wrapping_mul(u64::from(times)))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Vowels and digits.
    const SORTS: Halves = [
        [2, 3, 2, 2, 2, 3, 2, 2, 2, 3, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ];

    /// What each level says of a block.
    struct Said<'a>(&'a Block);

    impl Work for Said<'_> {
        type Output = Vec<u64>;

        #[inline(always)]
        fn run<I: Isa>(self) -> Vec<u64> {
            let bytes = I::load(self.0);
            vec![
                I::equal(bytes, b'-'),
                I::equal(bytes, 0xC3),
                I::between(bytes, b'0', b'9'),
                I::between(bytes, 0, 0x1F),
                I::between(bytes, 0xC2, 0xE0),
                I::between(I::folded(bytes), b'a', b'z'),
                !I::equal(I::sorts(bytes, &SORTS), 0),
                I::equal(I::common(I::sorts(bytes, &SORTS), bytes), 1),
            ]
        }
    }

    fn mask(block: &Block, is: impl Fn(u8) -> bool) -> u64 {
        block.iter().rev().fold(0, |all, &byte| all << 1 | u64::from(is(byte)))
    }

    proptest! {
        #[test]
        fn every_level_says_what_a_look_at_each_byte_says(bytes in prop::collection::vec(any::<u8>(), BLOCK)) {
            let block: Block = bytes.try_into().expect("a block");
            let wanted = [
                mask(&block, |byte| byte == b'-'),
                mask(&block, |byte| byte == 0xC3),
                mask(&block, |byte| byte.is_ascii_digit()),
                mask(&block, |byte| byte < 0x20),
                mask(&block, |byte| (0xC2..=0xE0).contains(&byte)),
                mask(&block, |byte| byte.is_ascii_alphabetic()),
                mask(&block, |byte| byte.is_ascii_digit() || b"AEIOaeio".contains(&byte)),
                mask(&block, |byte| b"AEIOaeio".contains(&byte)),
            ];
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                prop_assert_eq!(dispatch(level, Said(&block)), wanted, "{:?}", level);
            }
        }
    }
}
