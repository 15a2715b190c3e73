//! Positions of a text as bits, and how a processor works on them: 64, 256 or 512 at a time.
//!
//! Everything above is written once, generic over [`Lanes`]. The unsafe code of the estimator is here and nowhere else:
//! a function that is compiled for more instructions than the crate is called only where the processor was asked for
//! them, and the intrinsics inside it touch no memory but whole arrays.
#![allow(unsafe_code)]

/// The most bytes that are looked at together.
pub(super) const BLOCK: usize = 512;

/// One bit for each byte of a block, the first byte in the lowest bit.
pub(super) trait Lanes: Copy {
    /// Sums of weighted bits.
    type Sum: Copy;

    /// How many bytes a block has.
    const BYTES: usize;
    /// Whether an addition to a sum takes so long that four sums take turns.
    const TURNS: bool;

    /// Bit `k` of every byte, for each `k`; the block is the first [`Self::BYTES`] of these.
    fn planes(bytes: &[u8; BLOCK]) -> [Self; 8];
    /// The first `count` positions.
    fn first(count: usize) -> Self;
    /// Whether any position is set.
    fn any(self) -> bool;
    /// Both.
    fn and(self, other: Self) -> Self;
    /// Either.
    fn or(self, other: Self) -> Self;
    /// One of the two.
    fn xor(self, other: Self) -> Self;
    /// Neither: every position that is not set.
    fn not(self) -> Self;
    /// `K` positions later; the first `K` come from the end of `earlier`, the same bits of the block before.
    fn later<const K: i32>(self, earlier: Self) -> Self;
    /// An empty sum.
    fn no_sum() -> Self::Sum;
    /// `sum` and `weight` for each set position.
    fn weigh(self, sum: Self::Sum, weight: i16) -> Self::Sum;
    /// The whole sum.
    fn total(sum: Self::Sum) -> i64;
}

/// What every machine can do, and the judge of the rest.
#[derive(Clone, Copy)]
pub(super) struct Word(u64);

impl Lanes for Word {
    type Sum = i64;

    const BYTES: usize = 64;
    const TURNS: bool = false;

    #[inline(always)]
    fn planes(bytes: &[u8; BLOCK]) -> [Self; 8] {
        let mut planes = [0u64; 8];
        let (words, _) = bytes.as_chunks::<8>();
        for (at, word) in words.iter().take(8).enumerate() {
            let word = u64::from_le_bytes(*word);
            for (k, plane) in planes.iter_mut().enumerate() {
                // The multiplication gathers bit 0 of each byte into the top byte.
                let bits = ((word >> k) & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                *plane |= bits << (8 * at);
            }
        }
        planes.map(Self)
    }

    #[inline(always)]
    fn first(count: usize) -> Self {
        Self(first_of_word(count))
    }

    #[inline(always)]
    fn any(self) -> bool {
        self.0 != 0
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0)
    }

    #[inline(always)]
    fn later<const K: i32>(self, earlier: Self) -> Self {
        Self(self.0 << K | earlier.0 >> (64 - K))
    }

    #[inline(always)]
    fn no_sum() -> i64 {
        0
    }

    #[inline(always)]
    fn weigh(self, sum: i64, weight: i16) -> i64 {
        sum + i64::from(self.0.count_ones()) * i64::from(weight)
    }

    #[inline(always)]
    fn total(sum: i64) -> i64 {
        sum
    }
}

/// The lowest `count` bits, all where it is over 64.
#[inline(always)]
const fn first_of_word(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Work that is compiled for each kind of processor.
pub(super) trait Work {
    /// To be marked `#[inline(always)]`, with all it calls.
    fn run<L: Lanes>(self) -> i64;
}

/// Instructions that the work can be compiled for, the most able first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// AVX-512 with counts of bits and integer dot products, as from Ice Lake and Zen 4 on.
    Avx512,
    /// AVX2, which counts bits by a table of half bytes.
    Avx2,
    /// `popcnt` and BMI: the portable code, compiled for them.
    Popcnt,
    /// Nothing beyond the target.
    Portable,
}

impl Level {
    pub(super) const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Popcnt, Self::Portable];

    /// Whether this machine has the instructions. Cost: a load, after the first time.
    pub(super) fn is_there(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bitalg")
                    && is_x86_feature_detected!("avx512vnni")
                    && is_x86_feature_detected!("avx512vbmi2")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Popcnt => is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 | Self::Avx2 | Self::Popcnt => false,
            Self::Portable => true,
        }
    }

    /// The most able of this machine.
    #[inline]
    pub(super) fn best() -> Self {
        Self::ALL
            .into_iter()
            .find(|level| level.is_there())
            .unwrap_or(Self::Portable)
    }
}

/// Runs `work` as compiled for `level`, or the portable code where the machine lacks that.
#[inline]
pub(super) fn dispatch<W: Work>(level: Level, work: W) -> i64 {
    #[cfg(target_arch = "x86_64")]
    match level {
        // SAFETY: the processor was asked for every feature that the function is compiled for.
        Level::Avx512 if level.is_there() => return unsafe { x86::avx512(work) },
        // SAFETY: as above.
        Level::Avx2 if level.is_there() => return unsafe { x86::avx2(work) },
        // SAFETY: as above.
        Level::Popcnt if level.is_there() => return unsafe { x86::popcnt(work) },
        _ => {}
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    work.run::<Word>()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm_cvtsi32_si128, _mm256_add_epi8, _mm256_add_epi32, _mm256_alignr_epi8, _mm256_and_si256,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_movemask_epi8, _mm256_or_si256, _mm256_permute2x128_si256,
        _mm256_sad_epu8, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_setr_epi8, _mm256_setzero_si256,
        _mm256_shuffle_epi8, _mm256_slli_epi16, _mm256_slli_epi64, _mm256_srl_epi64, _mm256_srli_epi16,
        _mm256_storeu_si256, _mm256_testz_si256, _mm256_xor_si256,
    };
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_and_si512, _mm512_castsi512_si256,
        _mm512_cvtepi32_epi64, _mm512_dpwssd_epi32, _mm512_extracti64x4_epi64, _mm512_movepi8_mask, _mm512_or_si512,
        _mm512_popcnt_epi16, _mm512_reduce_add_epi64, _mm512_set_epi64, _mm512_set1_epi16, _mm512_set1_epi64,
        _mm512_setzero_si512, _mm512_shldi_epi64, _mm512_slli_epi16, _mm512_test_epi64_mask, _mm512_xor_si512,
    };

    use super::{BLOCK, Lanes, Word, Work, first_of_word};

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512bitalg,avx512vnni,avx512vbmi2,popcnt")]
    pub(super) fn avx512<W: Work>(work: W) -> i64 {
        work.run::<Wide>()
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2<W: Work>(work: W) -> i64 {
        work.run::<Half>()
    }

    #[target_feature(enable = "popcnt,bmi1")]
    pub(super) fn popcnt<W: Work>(work: W) -> i64 {
        work.run::<Word>()
    }

    /// Half a block in one register. Only [`avx2`] makes any, so the intrinsics below run where they exist.
    #[derive(Clone, Copy)]
    struct Half(__m256i);

    /// SAFETY of each use: see [`Half`].
    macro_rules! half {
        ($e:expr) => {
            Half(unsafe { $e })
        };
    }

    impl Half {
        /// From the bits of 32 bytes each.
        #[inline(always)]
        fn from_words(words: [u32; 8]) -> Self {
            // SAFETY: see `Half`; the load is `words`.
            half!(_mm256_loadu_si256(words.as_ptr().cast()))
        }
    }

    impl Lanes for Half {
        /// 32-bit sums, which hold what a block of twice the size adds as well: see `Wide`.
        type Sum = __m256i;

        const BYTES: usize = BLOCK / 2;
        const TURNS: bool = false;

        #[inline(always)]
        fn planes(bytes: &[u8; BLOCK]) -> [Self; 8] {
            let mut planes = [[0_u32; 8]; 8];
            let (parts, _) = bytes.as_chunks::<32>();
            for (part, bytes) in parts.iter().take(8).enumerate() {
                // SAFETY: see `Half`; the load is these 32 bytes.
                unsafe {
                    let x = _mm256_loadu_si256(bytes.as_ptr().cast());
                    planes[7][part] = _mm256_movemask_epi8(x).cast_unsigned();
                    planes[6][part] = _mm256_movemask_epi8(_mm256_slli_epi16::<1>(x)).cast_unsigned();
                    planes[5][part] = _mm256_movemask_epi8(_mm256_slli_epi16::<2>(x)).cast_unsigned();
                    planes[4][part] = _mm256_movemask_epi8(_mm256_slli_epi16::<3>(x)).cast_unsigned();
                    planes[3][part] = _mm256_movemask_epi8(_mm256_slli_epi16::<4>(x)).cast_unsigned();
                    planes[2][part] = _mm256_movemask_epi8(_mm256_slli_epi16::<5>(x)).cast_unsigned();
                    planes[1][part] = _mm256_movemask_epi8(_mm256_slli_epi16::<6>(x)).cast_unsigned();
                    planes[0][part] = _mm256_movemask_epi8(_mm256_slli_epi16::<7>(x)).cast_unsigned();
                }
            }
            let mut out = [Self::first(0); 8];
            for (plane, words) in out.iter_mut().zip(planes) {
                *plane = Self::from_words(words);
            }
            out
        }

        #[inline(always)]
        fn first(count: usize) -> Self {
            let mut words = [0; 8];
            for (part, word) in words.iter_mut().enumerate() {
                *word = first_of_word(count.saturating_sub(32 * part)) as u32;
            }
            Self::from_words(words)
        }

        #[inline(always)]
        fn any(self) -> bool {
            // SAFETY: see `Half`.
            unsafe { _mm256_testz_si256(self.0, self.0) == 0 }
        }

        #[inline(always)]
        fn and(self, other: Self) -> Self {
            half!(_mm256_and_si256(self.0, other.0))
        }

        #[inline(always)]
        fn or(self, other: Self) -> Self {
            half!(_mm256_or_si256(self.0, other.0))
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            half!(_mm256_xor_si256(self.0, other.0))
        }

        #[inline(always)]
        fn not(self) -> Self {
            half!(_mm256_xor_si256(self.0, _mm256_set1_epi8(-1)))
        }

        #[inline(always)]
        fn later<const K: i32>(self, earlier: Self) -> Self {
            // SAFETY: see `Half`.
            unsafe {
                let across = _mm256_permute2x128_si256::<0x21>(earlier.0, self.0);
                let before = _mm256_alignr_epi8::<8>(self.0, across);
                let carried = _mm256_srl_epi64(before, _mm_cvtsi32_si128(64 - K));
                Self(_mm256_or_si256(_mm256_slli_epi64::<K>(self.0), carried))
            }
        }

        #[inline(always)]
        fn no_sum() -> __m256i {
            // SAFETY: see `Half`.
            unsafe { _mm256_setzero_si256() }
        }

        #[inline(always)]
        fn weigh(self, sum: __m256i, weight: i16) -> __m256i {
            // SAFETY: see `Half`.
            unsafe {
                let counts = _mm256_setr_epi8(
                    0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
                );
                let low = _mm256_set1_epi8(15);
                let lower = _mm256_shuffle_epi8(counts, _mm256_and_si256(self.0, low));
                let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(self.0), low);
                let bits = _mm256_add_epi8(lower, _mm256_shuffle_epi8(counts, upper));
                // Four sums of eight bytes, each at most 64.
                let bits = _mm256_sad_epu8(bits, _mm256_setzero_si256());
                _mm256_add_epi32(sum, _mm256_madd_epi16(bits, _mm256_set1_epi16(weight)))
            }
        }

        #[inline(always)]
        fn total(sum: __m256i) -> i64 {
            let mut sums = [0_i32; 8];
            // SAFETY: see `Half`; the store is `sums`.
            unsafe { _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum) };
            sums.into_iter().map(i64::from).sum()
        }
    }

    /// A block in one register. Only [`avx512`] makes any, so the intrinsics below run where they exist.
    #[derive(Clone, Copy)]
    struct Wide(__m512i);

    /// SAFETY of each use: see [`Wide`].
    macro_rules! wide {
        ($e:expr) => {
            Wide(unsafe { $e })
        };
    }

    impl Wide {
        /// From the bits of 64 bytes each.
        #[inline(always)]
        fn from_words(words: [u64; 8]) -> Self {
            let [first, second, third, fourth, fifth, sixth, seventh, last] = words;
            wide!(_mm512_set_epi64(
                last.cast_signed(),
                seventh.cast_signed(),
                sixth.cast_signed(),
                fifth.cast_signed(),
                fourth.cast_signed(),
                third.cast_signed(),
                second.cast_signed(),
                first.cast_signed(),
            ))
        }
    }

    impl Lanes for Wide {
        /// 32-bit sums: a block adds at most 32 times the sum of all weights' sizes to each, which a test bounds.
        type Sum = __m512i;

        const BYTES: usize = BLOCK;
        const TURNS: bool = true;

        #[inline(always)]
        fn planes(bytes: &[u8; BLOCK]) -> [Self; 8] {
            let mut planes = [[0u64; 8]; 8];
            let (lanes, _) = bytes.as_chunks::<64>();
            for (lane, bytes) in lanes.iter().enumerate() {
                let (words, _) = bytes.as_chunks::<8>();
                // SAFETY: see `Wide`.
                unsafe {
                    let x = _mm512_set_epi64(
                        i64::from_le_bytes(words[7]),
                        i64::from_le_bytes(words[6]),
                        i64::from_le_bytes(words[5]),
                        i64::from_le_bytes(words[4]),
                        i64::from_le_bytes(words[3]),
                        i64::from_le_bytes(words[2]),
                        i64::from_le_bytes(words[1]),
                        i64::from_le_bytes(words[0]),
                    );
                    planes[7][lane] = _mm512_movepi8_mask(x);
                    planes[6][lane] = _mm512_movepi8_mask(_mm512_slli_epi16::<1>(x));
                    planes[5][lane] = _mm512_movepi8_mask(_mm512_slli_epi16::<2>(x));
                    planes[4][lane] = _mm512_movepi8_mask(_mm512_slli_epi16::<3>(x));
                    planes[3][lane] = _mm512_movepi8_mask(_mm512_slli_epi16::<4>(x));
                    planes[2][lane] = _mm512_movepi8_mask(_mm512_slli_epi16::<5>(x));
                    planes[1][lane] = _mm512_movepi8_mask(_mm512_slli_epi16::<6>(x));
                    planes[0][lane] = _mm512_movepi8_mask(_mm512_slli_epi16::<7>(x));
                }
            }
            let mut out = [Self::first(0); 8];
            for (plane, words) in out.iter_mut().zip(planes) {
                *plane = Self::from_words(words);
            }
            out
        }

        #[inline(always)]
        fn first(count: usize) -> Self {
            let mut words = [0; 8];
            for (lane, word) in words.iter_mut().enumerate() {
                *word = first_of_word(count.saturating_sub(64 * lane));
            }
            Self::from_words(words)
        }

        #[inline(always)]
        fn any(self) -> bool {
            // SAFETY: see `Wide`.
            unsafe { _mm512_test_epi64_mask(self.0, self.0) != 0 }
        }

        #[inline(always)]
        fn and(self, other: Self) -> Self {
            wide!(_mm512_and_si512(self.0, other.0))
        }

        #[inline(always)]
        fn or(self, other: Self) -> Self {
            wide!(_mm512_or_si512(self.0, other.0))
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            wide!(_mm512_xor_si512(self.0, other.0))
        }

        #[inline(always)]
        fn not(self) -> Self {
            wide!(_mm512_xor_si512(self.0, _mm512_set1_epi64(-1)))
        }

        #[inline(always)]
        fn later<const K: i32>(self, earlier: Self) -> Self {
            wide!(_mm512_shldi_epi64::<K>(
                self.0,
                _mm512_alignr_epi64::<7>(self.0, earlier.0)
            ))
        }

        #[inline(always)]
        fn no_sum() -> __m512i {
            // SAFETY: see `Wide`.
            unsafe { _mm512_setzero_si512() }
        }

        #[inline(always)]
        fn weigh(self, sum: __m512i, weight: i16) -> __m512i {
            // SAFETY: see `Wide`.
            unsafe { _mm512_dpwssd_epi32(sum, _mm512_popcnt_epi16(self.0), _mm512_set1_epi16(weight)) }
        }

        #[inline(always)]
        fn total(sum: __m512i) -> i64 {
            // SAFETY: see `Wide`.
            unsafe {
                let low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(sum));
                let high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64::<1>(sum));
                _mm512_reduce_add_epi64(_mm512_add_epi64(low, high))
            }
        }
    }
}
