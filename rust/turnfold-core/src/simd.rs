//! What differs between processors: what the bytes of a block of 64 are, as bit masks, and sums over blocks.
//!
//! The one module of the crate with unsafe code. Two things need it, and nothing else here does: calling a function that
//! is compiled for more instructions than the crate, only where they were found, and the loads of the intrinsics inside.
//! What goes over blocks is written once, generic over [`Isa`], and compiled for each level by [`dispatch`].
#![allow(unsafe_code)]
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use wide::{CmpEq, CmpGt, i8x16};

/// How many bytes are looked at together.
pub(crate) const BLOCK: usize = 64;
pub(crate) type Block = [u8; BLOCK];
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
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm_loadu_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_broadcastsi128_si256,
        _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_mul_epu32,
        _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_shuffle_epi32, _mm256_slli_epi64, _mm256_srli_epi16, _mm256_srli_epi64, _mm256_storeu_si256,
        _mm256_sub_epi8, _mm256_xor_si256, _mm512_add_epi64, _mm512_cmpeq_epi8_mask, _mm512_cmple_epu8_mask,
        _mm512_loadu_si512, _mm512_mul_epu32, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi64,
        _mm512_shuffle_epi32, _mm512_slli_epi64, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi8,
        _mm512_xor_si512,
    };

    use super::{Block, Isa, Words, Work};

    /// Shuffles of four: the word beside each.
    const BESIDE: i32 = 0b01_00_11_10;

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn avx2<W: Work>(work: W) -> W::Output {
        work.run::<Avx2>()
    }

    #[target_feature(enable = "avx2,bmi1,avx512f,avx512bw")]
    pub(super) fn avx512<W: Work>(work: W) -> W::Output {
        work.run::<Avx512>()
    }

    /// By the lower half of a byte: the white space that it is; what of `{}[]:,` it is once `[` is `{` and `]` is `}`.
    const WHITE: [u8; 16] = *b" \x64\x64\x64\x11\x64\x71\x02\x64\t\n\x70\x64\r\x64\x64";
    const SIGNS: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b':', b'{', b',', b'}', 0, 0];
    /// By either half of a byte: the groups (same upper half) of what may follow a backslash. In both: it may.
    const LOWER: [u8; 16] = [
        0, 0, 0b1101, 0, 0b1000, 0b1000, 0b0100, 0, 0, 0, 0, 0, 0b0010, 0, 0b0100, 0b0001,
    ];
    const UPPER: [u8; 16] = [0, 0, 0b0001, 0, 0, 0b0010, 0b0100, 0b1000, 0, 0, 0, 0, 0, 0, 0, 0];

    struct Avx2;

    // No closures here: what takes one is compiled for the baseline, and the intrinsics in it are calls then.

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(block: &Block) -> (__m256i, __m256i) {
        let at = block.as_ptr();
        // SAFETY: both loads are within the 64 bytes.
        unsafe { (_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(32).cast())) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn both(low: __m256i, high: __m256i) -> u64 {
        let (low, high) = (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high));
        u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn table(of: &[u8; 16]) -> __m256i {
        // SAFETY: the load is of the table.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(of.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal((low, high): (__m256i, __m256i), to: u8) -> u64 {
        let to = _mm256_set1_epi8(to.cast_signed());
        both(_mm256_cmpeq_epi8(low, to), _mm256_cmpeq_epi8(high, to))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn between((low, high): (__m256i, __m256i), first: u8, last: u8) -> u64 {
        let (first, width) = (
            _mm256_set1_epi8(first.cast_signed()),
            _mm256_set1_epi8((last - first).cast_signed()),
        );
        let (low, high) = (_mm256_sub_epi8(low, first), _mm256_sub_epi8(high, first));
        both(
            _mm256_cmpeq_epi8(_mm256_min_epu8(low, width), low),
            _mm256_cmpeq_epi8(_mm256_min_epu8(high, width), high),
        )
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn folded((low, high): (__m256i, __m256i)) -> (__m256i, __m256i) {
        let bit = _mm256_set1_epi8(0x20);
        (_mm256_or_si256(low, bit), _mm256_or_si256(high, bit))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sign(bytes: __m256i) -> __m256i {
        let folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
        _mm256_cmpeq_epi8(folded, _mm256_shuffle_epi8(table(&SIGNS), bytes))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn blank(bytes: __m256i) -> __m256i {
        _mm256_cmpeq_epi8(bytes, _mm256_shuffle_epi8(table(&WHITE), bytes))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn outside(block: &Block) -> (u64, u64) {
        let (low, high) = halves(block);
        (both(sign(low), sign(high)), both(blank(low), blank(high)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn barred(bytes: __m256i) -> __m256i {
        let nibble = _mm256_set1_epi8(0x0F);
        let low = _mm256_shuffle_epi8(table(&LOWER), _mm256_and_si256(bytes, nibble));
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble);
        let high = _mm256_shuffle_epi8(table(&UPPER), high);
        _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn escapes(block: &Block) -> (u64, u64) {
        let (low, high) = halves(block);
        (!both(barred(low), barred(high)), equal((low, high), b'u'))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_half(sums: __m256i, data: __m256i, key: __m256i) -> __m256i {
        let turned = _mm256_xor_si256(data, key);
        let product = _mm256_mul_epu32(turned, _mm256_srli_epi64::<32>(turned));
        _mm256_add_epi64(_mm256_add_epi64(sums, _mm256_shuffle_epi32::<BESIDE>(data)), product)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn add(sums: (__m256i, __m256i), block: &Block, key: &Block) -> (__m256i, __m256i) {
        let (data, key) = (halves(block), halves(key));
        (add_half(sums.0, data.0, key.0), add_half(sums.1, data.1, key.1))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn stir_half(sums: __m256i, key: __m256i, times: __m256i) -> __m256i {
        let turned = _mm256_xor_si256(_mm256_xor_si256(sums, _mm256_srli_epi64::<47>(sums)), key);
        let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(turned), times);
        _mm256_add_epi64(_mm256_mul_epu32(turned, times), _mm256_slli_epi64::<32>(high))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn stir(sums: (__m256i, __m256i), key: &Block, times: u32) -> (__m256i, __m256i) {
        let (key, times) = (halves(key), _mm256_set1_epi64x(i64::from(times)));
        (stir_half(sums.0, key.0, times), stir_half(sums.1, key.1, times))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves_of(words: &Words) -> (__m256i, __m256i) {
        let at = words.as_ptr();
        // SAFETY: both loads are within the eight words.
        unsafe { (_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(4).cast())) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn words_of((low, high): (__m256i, __m256i)) -> Words {
        let mut words = Words::default();
        let at = words.as_mut_ptr();
        // SAFETY: both stores are within the eight words.
        unsafe {
            _mm256_storeu_si256(at.cast(), low);
            _mm256_storeu_si256(at.add(4).cast(), high);
        }
        words
    }

    impl Isa for Avx2 {
        type Bytes = (__m256i, __m256i);

        #[inline(always)]
        fn load(block: &Block) -> Self::Bytes {
            // SAFETY: only `avx2` and `avx512` use this, which are called where the instructions were found.
            unsafe { halves(block) }
        }

        #[inline(always)]
        fn equal(bytes: Self::Bytes, to: u8) -> u64 {
            // SAFETY: as above.
            unsafe { equal(bytes, to) }
        }

        #[inline(always)]
        fn between(bytes: Self::Bytes, first: u8, last: u8) -> u64 {
            // SAFETY: as above.
            unsafe { between(bytes, first, last) }
        }

        #[inline(always)]
        fn folded(bytes: Self::Bytes) -> Self::Bytes {
            // SAFETY: as above.
            unsafe { folded(bytes) }
        }

        #[inline(always)]
        fn outside(block: &Block) -> (u64, u64) {
            // SAFETY: as above.
            unsafe { outside(block) }
        }

        #[inline(always)]
        fn escapes(block: &Block) -> (u64, u64) {
            // SAFETY: as above.
            unsafe { escapes(block) }
        }

        type Sums = (__m256i, __m256i);

        #[inline(always)]
        fn sums(of: &Words) -> Self::Sums {
            // SAFETY: as above.
            unsafe { halves_of(of) }
        }

        #[inline(always)]
        fn of_sums(sums: Self::Sums) -> Words {
            // SAFETY: as above.
            unsafe { words_of(sums) }
        }

        #[inline(always)]
        fn add(sums: Self::Sums, block: &Block, key: &Block) -> Self::Sums {
            // SAFETY: as above.
            unsafe { add(sums, block, key) }
        }

        #[inline(always)]
        fn stir(sums: Self::Sums, key: &Block, times: u32) -> Self::Sums {
            // SAFETY: as above.
            unsafe { stir(sums, key, times) }
        }
    }

    struct Avx512;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn whole(block: &Block) -> __m512i {
        // SAFETY: the load is of the 64 bytes.
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn equal_of_whole(bytes: __m512i, to: u8) -> u64 {
        _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(to.cast_signed()))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn between_of_whole(bytes: __m512i, first: u8, last: u8) -> u64 {
        let from_first = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first.cast_signed()));
        _mm512_cmple_epu8_mask(from_first, _mm512_set1_epi8((last - first).cast_signed()))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn whole_folded(bytes: __m512i) -> __m512i {
        _mm512_or_si512(bytes, _mm512_set1_epi8(0x20))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn whole_of(words: &Words) -> __m512i {
        // SAFETY: the load is of the eight words.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn words_of_whole(sums: __m512i) -> Words {
        let mut words = Words::default();
        // SAFETY: the store is to the eight words.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), sums) };
        words
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn add_whole(sums: __m512i, block: &Block, key: &Block) -> __m512i {
        let data = whole(block);
        let turned = _mm512_xor_si512(data, whole(key));
        let product = _mm512_mul_epu32(turned, _mm512_srli_epi64::<32>(turned));
        _mm512_add_epi64(_mm512_add_epi64(sums, _mm512_shuffle_epi32::<BESIDE>(data)), product)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn stir_whole(sums: __m512i, key: &Block, times: u32) -> __m512i {
        let turned = _mm512_xor_si512(_mm512_xor_si512(sums, _mm512_srli_epi64::<47>(sums)), whole(key));
        let times = _mm512_set1_epi64(i64::from(times));
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(turned), times);
        _mm512_add_epi64(_mm512_mul_epu32(turned, times), _mm512_slli_epi64::<32>(high))
    }

    impl Isa for Avx512 {
        type Bytes = __m512i;

        #[inline(always)]
        fn load(block: &Block) -> Self::Bytes {
            // SAFETY: only `avx512` uses this, which is called where the instructions were found.
            unsafe { whole(block) }
        }

        #[inline(always)]
        fn equal(bytes: Self::Bytes, to: u8) -> u64 {
            // SAFETY: as above.
            unsafe { equal_of_whole(bytes, to) }
        }

        #[inline(always)]
        fn between(bytes: Self::Bytes, first: u8, last: u8) -> u64 {
            // SAFETY: as above.
            unsafe { between_of_whole(bytes, first, last) }
        }

        #[inline(always)]
        fn folded(bytes: Self::Bytes) -> Self::Bytes {
            // SAFETY: as above.
            unsafe { whole_folded(bytes) }
        }

        // Few blocks come here, so that wider registers give nothing.
        #[inline(always)]
        fn outside(block: &Block) -> (u64, u64) {
            Avx2::outside(block)
        }

        #[inline(always)]
        fn escapes(block: &Block) -> (u64, u64) {
            Avx2::escapes(block)
        }

        type Sums = __m512i;

        #[inline(always)]
        fn sums(of: &Words) -> Self::Sums {
            // SAFETY: as above.
            unsafe { whole_of(of) }
        }

        #[inline(always)]
        fn of_sums(sums: Self::Sums) -> Words {
            // SAFETY: as above.
            unsafe { words_of_whole(sums) }
        }

        #[inline(always)]
        fn add(sums: Self::Sums, block: &Block, key: &Block) -> Self::Sums {
            // SAFETY: as above.
            unsafe { add_whole(sums, block, key) }
        }

        #[inline(always)]
        fn stir(sums: Self::Sums, key: &Block, times: u32) -> Self::Sums {
            // SAFETY: as above.
            unsafe { stir_whole(sums, key, times) }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            ];
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                prop_assert_eq!(dispatch(level, Said(&block)), wanted, "{:?}", level);
            }
        }
    }
}
