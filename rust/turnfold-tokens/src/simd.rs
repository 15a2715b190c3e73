//! What differs between processors: classifying 64 bytes, squeezing bit masks, listing set bits.
//!
//! One of two modules of the crate with unsafe code (`pages` is the other). Two things need it here: calling a function
//! that is compiled for more instructions than the crate (allowed only where [`Level::detect`] found them, or a test
//! asked for a level that it found), and the intrinsics inside. Everything above is written once, generic over
//! [`Isa`], and compiled for each level by [`dispatch`].
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU8, Ordering};

pub(crate) use portable::{Baseline, Scalar};

use crate::scan::PairTable;
use crate::tables::Key;

use wide::{CmpEq, CmpGt, i8x16};

/// How many bytes are classified at once.
pub(crate) const BLOCK: usize = 64;

/// Which bytes of a block are of which kind, bit `i` for byte `i`. What is in no mask is another sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// Letters.
    pub(crate) letter: u64,
    /// Small letters.
    pub(crate) lower: u64,
    /// Numbers.
    pub(crate) digit: u64,
    /// White space.
    pub(crate) blank: u64,
    /// The space.
    pub(crate) space: u64,
    /// Line feed and carriage return.
    pub(crate) newline: u64,
    /// The apostrophe.
    pub(crate) quote: u64,
    /// The slash.
    pub(crate) slash: u64,
    /// Bytes that are not ASCII.
    pub(crate) high: u64,
    /// Bytes inside a character: all but its first.
    pub(crate) inner: u64,
}

/// Letters that stand in pairs of small letters which are no tokens of the published vocabularies, and delete.
const UNUSUAL: [u8; 8] = [b'f', b'j', b'k', b'q', b'v', b'x', b'z', 0x7F];

/// Whether an ASCII byte is a control or one of those that few pairs which are no tokens can do without.
pub(crate) fn is_unusual(byte: u8) -> bool {
    byte < 0x20 || UNUSUAL.contains(&byte)
}

/// Four slots in one line of the cache: each a key with a value in the upper bits, which no key has, or 0. No key is in
/// two.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [Key; 4]);

/// Instructions that a piece of code is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Level {
    /// Byte by byte from a table; what every machine can do, and the judge of the others.
    Scalar = 1,
    /// 128 bits, in what every processor of the target has: SSE2, NEON, or plain code.
    Baseline = 2,
    /// AVX2 and BMI.
    Avx2 = 3,
    /// AVX-512 with VBMI2, as from Ice Lake and Zen 4 on.
    Avx512 = 4,
}

impl Level {
    pub(crate) const ALL: [Self; 4] = [Self::Scalar, Self::Baseline, Self::Avx2, Self::Avx512];

    /// Whether this machine has the instructions.
    pub(crate) fn is_there(self) -> bool {
        match self {
            Self::Scalar | Self::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_there()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// The best that this machine has. Cost: a load, after the first time.
    #[inline]
    pub(crate) fn detect() -> Self {
        static FOUND: AtomicU8 = AtomicU8::new(0);
        match FOUND.load(Ordering::Relaxed) {
            1 => Self::Scalar,
            2 => Self::Baseline,
            3 => Self::Avx2,
            4 => Self::Avx512,
            _ => {
                let best = Self::ALL.into_iter().rfind(|level| level.is_there());
                let best = best.unwrap_or(Self::Scalar);
                FOUND.store(best as u8, Ordering::Relaxed);
                best
            }
        }
    }
}

/// Code that is compiled for each level.
pub(crate) trait Work {
    type Output;
    /// To be marked `#[inline(always)]`, with all it calls in its inner loop: what is not inlined is compiled for
    /// the baseline.
    fn run<I: Isa>(self) -> Self::Output;
}

/// Runs `work` as compiled for `level`, or for the baseline where the machine lacks that.
#[inline]
pub(crate) fn dispatch<W: Work>(level: Level, work: W) -> W::Output {
    match level {
        Level::Scalar => work.run::<Scalar>(),
        // SAFETY: a level above the baseline is used only where `is_there` found its instructions: `detect` gives no
        // other, and tests ask first.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::avx2(work) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::avx512(work) },
        _ => work.run::<Baseline>(),
    }
}

/// The instructions of a level.
pub(crate) trait Isa {
    /// The kinds of the ASCII bytes of a block.
    fn kinds(block: &[u8; BLOCK]) -> Kinds;

    /// Where [`is_unusual`] holds, for ASCII bytes; others may be in it.
    #[inline(always)]
    fn unusual(block: &[u8; BLOCK]) -> u64 {
        let mut unusual = 0;
        let (quarters, _) = block.as_chunks::<16>();
        for (quarter, shift) in quarters.iter().zip([0, 16, 32, 48]) {
            let bytes = i8x16::new(quarter.map(u8::cast_signed));
            // Controls, and bytes that are not ASCII, which compare as negative.
            let mut found = i8x16::splat(0x20).cmp_gt(bytes);
            for byte in UNUSUAL {
                found |= bytes.cmp_eq(i8x16::splat(byte.cast_signed()));
            }
            unusual |= u64::from(found.move_mask().cast_unsigned()) << shift;
        }
        unusual
    }

    /// Which bytes of a block have a bit, one of the lower seven.
    #[inline(always)]
    fn having(block: &[u8; BLOCK], bit: u8) -> u64 {
        let bit = i8x16::splat(bit.cast_signed());
        let (quarters, _) = block.as_chunks::<16>();
        quarters.iter().zip([0, 16, 32, 48]).fold(0, |found, (quarter, shift)| {
            let bytes = i8x16::new(quarter.map(u8::cast_signed));
            found | u64::from((bytes & bit).cmp_eq(bit).move_mask().cast_unsigned()) << shift
        })
    }

    /// Where two bytes of a block are a pair of the table, by the first of them, if both are ASCII. Others may be in it, and
    /// none where that would take longer than it spares.
    #[inline(always)]
    fn pairs(_block: &[u8; BLOCK], _table: &PairTable) -> u64 {
        0
    }

    /// The bits of `bits` that `kept` has, moved together at the low end.
    #[inline(always)]
    fn squeeze(bits: u64, kept: u64) -> u64 {
        let (mut bits, mut kept) = (bits & kept, kept);
        let mut done = 0;
        let mut place = 0;
        // Run by run: a run of characters of one byte, then each character of several.
        while kept != 0 {
            let skipped = kept.trailing_zeros();
            (bits, kept) = (bits >> skipped, kept >> skipped);
            let run = (!kept).trailing_zeros();
            if run == 64 {
                return bits;
            }
            done |= (bits & ((1 << run) - 1)) << place;
            place += run;
            (bits, kept) = (bits >> run, kept >> run);
        }
        done
    }

    /// The reverse of `squeeze`: the low bits of `bits`, put where `kept` has bits.
    #[inline(always)]
    fn spread(mut bits: u64, kept: u64) -> u64 {
        let mut left = kept;
        let mut done = 0;
        while left != 0 {
            let lowest = left & left.wrapping_neg();
            done |= lowest & (bits & 1).wrapping_neg();
            bits >>= 1;
            left ^= lowest;
        }
        done
    }

    /// The value of the slot of a line that holds `key` (see [`Line`]); 0 if none does.
    #[inline(always)]
    fn find<const VALUE_BITS: u32>(line: &Line, key: Key) -> usize {
        let is_key = |slot: Key| u32::from((slot ^ key) & (Key::MAX >> VALUE_BITS) == 0);
        let ways = line.0.iter().rev().fold(0, |ways, slot| ways << 2 | is_key(*slot));
        value::<VALUE_BITS>(line, ways)
    }

    /// Writes `base` plus the place of each bit set to the front of `out`, in order; gives back how many.
    #[inline(always)]
    fn places(mut bits: u64, base: usize, out: &mut [usize; BLOCK]) -> usize {
        let count = bits.count_ones() as usize;
        let mut at = 0;
        // Eight at a time, more than there are: how many is the one branch to guess at.
        while at < count {
            for offset in 0..8 {
                out[(at + offset) % BLOCK] = base + (bits.trailing_zeros() & 63) as usize;
                bits &= bits.wrapping_sub(1);
            }
            at += 8;
        }
        count
    }
}

/// The value of the slot of the lowest bit set of `ways`, bit 2 `i` for slot `i`; 0 if there is none.
#[inline(always)]
fn value<const VALUE_BITS: u32>(line: &Line, ways: u32) -> usize {
    // Where none matches, some slot is read and nothing kept of it.
    let slot = line.0[(ways.trailing_zeros() / 2) as usize % 4];
    (slot >> (128 - VALUE_BITS)) as usize & usize::from(ways != 0).wrapping_neg()
}

/// Asks the processor to fetch what `value` stands in.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address does nothing but load the cache; this one is valid besides.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_bsrli_si128, _mm_loadu_si128, _mm_set_epi64x, _mm256_add_epi8, _mm256_adds_epu8,
        _mm256_alignr_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi8,
        _mm256_cmpeq_epi64, _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_movemask_pd,
        _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_xor_si256, _mm512_add_epi8, _mm512_add_epi64, _mm512_broadcast_i64x2, _mm512_castsi512_si128,
        _mm512_cmpeq_epi8_mask, _mm512_cmplt_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi64,
        _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_movepi8_mask,
        _mm512_or_si512, _mm512_permutex2var_epi8, _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_set1_epi64,
        _mm512_storeu_si512, _mm512_sub_epi8, _mm512_test_epi8_mask, _mm512_test_epi64_mask, _mm512_xor_si512,
        _pdep_u64, _pext_u64,
    };

    use super::{BLOCK, Isa, Kinds, Line, PairTable, Work, value};
    use crate::tables::Key;

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn avx2<W: Work>(work: W) -> W::Output {
        work.run::<Avx2>()
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn avx512<W: Work>(work: W) -> W::Output {
        work.run::<Avx512>()
    }

    /// Runs only inside [`avx2`].
    pub(crate) struct Avx2;

    impl Isa for Avx2 {
        #[inline(always)]
        fn kinds(block: &[u8; BLOCK]) -> Kinds {
            // SAFETY: only `avx2` uses this type, so the instructions are there; both loads are inside the block.
            unsafe {
                let low = half(_mm256_loadu_si256(block.as_ptr().cast()));
                let high = half(_mm256_loadu_si256(block.as_ptr().add(32).cast()));
                let join = |of: fn(&Kinds) -> u64| of(&low) | of(&high) << 32;
                Kinds {
                    letter: join(|k| k.letter),
                    lower: join(|k| k.lower),
                    digit: join(|k| k.digit),
                    blank: join(|k| k.blank),
                    space: join(|k| k.space),
                    newline: join(|k| k.newline),
                    quote: join(|k| k.quote),
                    slash: join(|k| k.slash),
                    high: join(|k| k.high),
                    inner: join(|k| k.inner),
                }
            }
        }

        #[inline(always)]
        fn pairs(block: &[u8; BLOCK], table: &PairTable) -> u64 {
            // SAFETY: as above.
            unsafe { pairs_in_halves(block, table) }
        }

        #[inline(always)]
        fn squeeze(bits: u64, kept: u64) -> u64 {
            // SAFETY: as above.
            unsafe { _pext_u64(bits, kept) }
        }

        #[inline(always)]
        fn spread(bits: u64, kept: u64) -> u64 {
            // SAFETY: as above.
            unsafe { _pdep_u64(bits, kept) }
        }

        #[inline(always)]
        fn find<const VALUE_BITS: u32>(line: &Line, key: Key) -> usize {
            // SAFETY: as above.
            value::<VALUE_BITS>(line, unsafe { matching_in_halves::<VALUE_BITS>(line, key) })
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn pairs_in_halves(block: &[u8; BLOCK], table: &PairTable) -> u64 {
        let row = |of: &[u8; 128], row: usize| {
            // SAFETY: a table is eight rows of 16 bytes.
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(of.as_ptr().add(16 * row).cast()) })
        };
        let of = |half: usize| {
            // SAFETY: a block is two halves of 32 bytes.
            let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().add(32 * half).cast()) };
            let (mut left, mut right) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for high in PairTable::ROWS {
                // Bytes of other rows get their highest bit, for which a shuffle gives 0.
                let low = _mm256_xor_si256(bytes, _mm256_set1_epi8((high << 4).cast_signed()));
                let place = _mm256_adds_epu8(low, _mm256_set1_epi8(0x70));
                let high = usize::from(high);
                left = _mm256_or_si256(left, _mm256_shuffle_epi8(row(&table.left, high), place));
                right = _mm256_or_si256(right, _mm256_shuffle_epi8(row(&table.right, high), place));
            }
            (left, right)
        };
        let ((left, right), (left_above, right_above)) = (of(0), of(1));
        let next = _mm256_alignr_epi8::<1>(_mm256_permute2x128_si256::<0x21>(right, right_above), right);
        let above = _mm256_permute2x128_si256::<0x81>(right_above, right_above);
        let next_above = _mm256_alignr_epi8::<1>(above, right_above);
        let none = |left: __m256i, next: __m256i| {
            let common = _mm256_and_si256(left, next);
            u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(common, _mm256_setzero_si256())).cast_unsigned())
        };
        !(none(left, next) | none(left_above, next_above) << 32)
    }

    /// As [`matching`].
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn matching_in_halves<const VALUE_BITS: u32>(line: &Line, key: Key) -> u32 {
        let (low, high) = ((key as u64).cast_signed(), ((key >> 64) as u64).cast_signed());
        let key = _mm256_broadcastsi128_si256(_mm_set_epi64x(high, low));
        let compared = _mm256_broadcastsi128_si256(_mm_set_epi64x((u64::MAX >> VALUE_BITS).cast_signed(), -1));
        let equal = |half: usize| {
            // SAFETY: a line is two halves of 32 bytes.
            let slots = unsafe { _mm256_loadu_si256(line.0.as_ptr().add(2 * half).cast()) };
            let other = _mm256_and_si256(_mm256_xor_si256(slots, key), compared);
            let equal = _mm256_cmpeq_epi64(other, _mm256_setzero_si256());
            _mm256_movemask_pd(_mm256_castsi256_pd(equal)).cast_unsigned()
        };
        let equal = equal(0) | equal(1) << 4;
        equal & equal >> 1 & 0b0101_0101
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn half(bytes: __m256i) -> Kinds {
        let mask = |bytes: __m256i| u64::from(_mm256_movemask_epi8(bytes).cast_unsigned());
        let equal = |byte: u8| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte.cast_signed()));
        // Moves `first` to the least signed number, so that one comparison tells the range.
        let between = |bytes: __m256i, first: u8, last: u8| {
            let moved = _mm256_add_epi8(bytes, _mm256_set1_epi8(0x80_u8.wrapping_sub(first).cast_signed()));
            _mm256_cmpgt_epi8(
                _mm256_set1_epi8((0x80_u8.wrapping_add(last - first + 1)).cast_signed()),
                moved,
            )
        };
        let space = equal(b' ');
        let newline = _mm256_or_si256(equal(b'\n'), equal(b'\r'));
        let folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
        let upper_or_lower = between(folded, b'a', b'z');
        Kinds {
            letter: mask(upper_or_lower),
            lower: mask(_mm256_and_si256(upper_or_lower, _mm256_cmpeq_epi8(folded, bytes))),
            digit: mask(between(bytes, b'0', b'9')),
            blank: mask(_mm256_or_si256(space, between(bytes, b'\t', b'\r'))),
            space: mask(space),
            newline: mask(newline),
            quote: mask(equal(b'\'')),
            slash: mask(equal(b'/')),
            high: mask(bytes),
            inner: mask(_mm256_cmpgt_epi8(_mm256_set1_epi8(-64), bytes)),
        }
    }

    /// Runs only inside [`avx512`].
    pub(crate) struct Avx512;

    impl Isa for Avx512 {
        #[inline(always)]
        fn kinds(block: &[u8; BLOCK]) -> Kinds {
            // SAFETY: only `avx512` uses this type, so the instructions are there; the load is the block.
            unsafe { whole(_mm512_loadu_si512(block.as_ptr().cast())) }
        }

        #[inline(always)]
        fn having(block: &[u8; BLOCK], bit: u8) -> u64 {
            // SAFETY: as above.
            unsafe {
                let bit = _mm512_set1_epi8(bit.cast_signed());
                _mm512_test_epi8_mask(_mm512_loadu_si512(block.as_ptr().cast()), bit)
            }
        }

        #[inline(always)]
        fn pairs(block: &[u8; BLOCK], table: &PairTable) -> u64 {
            // SAFETY: as above; each table is two loads long.
            unsafe {
                let block = _mm512_loadu_si512(block.as_ptr().cast());
                let of = |table: &[u8; 128]| {
                    let [low, high] = [0, 64].map(|at| _mm512_loadu_si512(table.as_ptr().add(at).cast()));
                    _mm512_permutex2var_epi8(low, block, high)
                };
                let next = _mm512_add_epi8(_mm512_loadu_si512(PLACES.as_ptr().cast()), _mm512_set1_epi8(1));
                _mm512_test_epi8_mask(of(&table.left), _mm512_permutexvar_epi8(next, of(&table.right)))
            }
        }

        #[inline(always)]
        fn squeeze(bits: u64, kept: u64) -> u64 {
            // SAFETY: as above.
            unsafe { _pext_u64(bits, kept) }
        }

        #[inline(always)]
        fn spread(bits: u64, kept: u64) -> u64 {
            // SAFETY: as above.
            unsafe { _pdep_u64(bits, kept) }
        }

        #[inline(always)]
        fn find<const VALUE_BITS: u32>(line: &Line, key: Key) -> usize {
            // SAFETY: as above.
            value::<VALUE_BITS>(line, unsafe { matching::<VALUE_BITS>(line, key) })
        }

        #[inline(always)]
        fn places(bits: u64, base: usize, out: &mut [usize; BLOCK]) -> usize {
            // SAFETY: as above; `list` writes inside `out`.
            unsafe { list(bits, base, out) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn whole(bytes: __m512i) -> Kinds {
        let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
        let between = |bytes: __m512i, first: u8, last: u8| {
            let moved = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first.cast_signed()));
            _mm512_cmplt_epu8_mask(moved, _mm512_set1_epi8((last - first + 1).cast_signed()))
        };
        let space = equal(b' ');
        let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
        Kinds {
            letter: between(folded, b'a', b'z'),
            lower: between(bytes, b'a', b'z'),
            digit: between(bytes, b'0', b'9'),
            blank: space | between(bytes, b'\t', b'\r'),
            space,
            newline: equal(b'\n') | equal(b'\r'),
            quote: equal(b'\''),
            slash: equal(b'/'),
            high: _mm512_movepi8_mask(bytes),
            inner: _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(-64)),
        }
    }

    /// Which slots hold the key: bit 2 `i` for slot `i`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn matching<const VALUE_BITS: u32>(line: &Line, key: Key) -> u32 {
        let (low, high) = ((key as u64).cast_signed(), ((key >> 64) as u64).cast_signed());
        // SAFETY: a line is 64 bytes.
        let slots = unsafe { _mm512_loadu_si512(line.0.as_ptr().cast()) };
        let key = _mm512_broadcast_i64x2(_mm_set_epi64x(high, low));
        let compared = _mm512_broadcast_i64x2(_mm_set_epi64x((u64::MAX >> VALUE_BITS).cast_signed(), -1));
        let other = u32::from(_mm512_test_epi64_mask(_mm512_xor_si512(slots, key), compared));
        !(other | other >> 1) & 0b0101_0101
    }

    static PLACES: [u8; BLOCK] = {
        let mut places = [0; BLOCK];
        let mut place = 0;
        while place < BLOCK {
            places[place] = place as u8;
            place += 1;
        }
        places
    };

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn list(bits: u64, base: usize, out: &mut [usize; BLOCK]) -> usize {
        let count = bits.count_ones() as usize;
        // SAFETY: the load is `PLACES`; each store is one of the eight eighths of `out`, of eight numbers of 64 bits.
        unsafe {
            let all = _mm512_loadu_si512(PLACES.as_ptr().cast());
            let packed = _mm512_maskz_compress_epi8(bits, all);
            let base = _mm512_set1_epi64((base as u64).cast_signed());
            let store = |eighth: usize, packed: __m128i, out: &mut [usize; BLOCK]| {
                let wide = _mm512_add_epi64(_mm512_cvtepu8_epi64(packed), base);
                _mm512_storeu_si512(out.as_mut_ptr().add(eighth * 8).cast(), wide);
            };
            let two = |quarter: usize, packed: __m128i, out: &mut [usize; BLOCK]| {
                store(2 * quarter, packed, out);
                store(2 * quarter + 1, _mm_bsrli_si128::<8>(packed), out);
            };
            two(0, _mm512_castsi512_si128(packed), out);
            if count > 16 {
                two(1, _mm512_extracti32x4_epi32::<1>(packed), out);
                if count > 32 {
                    two(2, _mm512_extracti32x4_epi32::<2>(packed), out);
                    two(3, _mm512_extracti32x4_epi32::<3>(packed), out);
                }
            }
        }
        count
    }
}

mod portable;
#[cfg(test)]
mod tests;
