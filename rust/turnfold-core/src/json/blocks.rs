//! Where the bytes of the grammar stand: 64 bytes at a time, as bit masks.
//!
//! The one module of the crate with unsafe code. Two things need it, and nothing else here does: calling a function that
//! is compiled for more instructions than the crate, only where they were found, and the loads of the intrinsics inside.
//! The loop is written once, generic over [`Isa`]. The masks are those that simdjson made known (Langdale and Lemire,
//! "Parsing Gigabytes of JSON per Second", 2019).
#![allow(unsafe_code)]
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use wide::{CmpEq, CmpGt, i8x16};

pub(super) const BLOCK: usize = 64;
type Block = [u8; BLOCK];

/// Instructions that the loop is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// 128 bits, in what every processor of the target has.
    Baseline,
    /// AVX2.
    Avx2,
    /// AVX-512 with bytes.
    Avx512,
}

impl Level {
    #[cfg(test)]
    pub(super) const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// The best that this machine has.
    pub(super) fn detect() -> Self {
        [Self::Avx512, Self::Avx2]
            .into_iter()
            .find(|level| level.is_there())
            .unwrap_or(Self::Baseline)
    }

    pub(super) fn is_there(self) -> bool {
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

/// The places, from `start` on, of quotes around strings (both), of `{}[]:,` outside strings, and of the first bytes of
/// whatever else stands outside them. `None` where a string holds a control character or an escape that is none, or does
/// not end, or a backslash stands outside strings. White space may be what is outside and in no place; every other byte
/// there is in one, or follows on one without a gap.
pub(super) fn places(level: Level, bytes: &[u8], start: usize) -> Option<Vec<u32>> {
    match level {
        // SAFETY: the instructions were found.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if level.is_there() => unsafe { x86::avx2(bytes, start) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if level.is_there() => unsafe { x86::avx512(bytes, start) },
        _ => run::<Baseline>(bytes, start),
    }
}

/// Bit `k` of each mask is for byte `k` of the block.
trait Isa {
    /// Quotes, backslashes, control characters.
    fn strings(block: &Block) -> (u64, u64, u64);
    /// `{}[]:,` (and control characters that are taken for them: nothing may start with those), white space.
    fn outside(block: &Block) -> (u64, u64);
    /// What may follow a backslash, and the `u` among it.
    fn escapes(block: &Block) -> (u64, u64);
}

/// What one block tells the next.
#[derive(Default)]
struct Carry {
    /// All ones within a string.
    in_string: u64,
    /// 1 after a backslash that is not escaped.
    escaped: u64,
    /// 1 after a byte outside strings that is no sign of the grammar.
    word: u64,
}

#[inline(always)]
fn run<I: Isa>(bytes: &[u8], start: usize) -> Option<Vec<u32>> {
    let rest = bytes.get(start..)?;
    let mut found = Vec::with_capacity(rest.len() / 32 + BLOCK);
    let mut carry = Carry::default();
    let (blocks, tail) = rest.as_chunks::<BLOCK>();
    let mut base = start;
    for block in blocks {
        one::<I>(bytes, block, base, &mut carry, &mut found)?;
        base += BLOCK;
    }
    if !tail.is_empty() {
        let mut block = [b' '; BLOCK];
        block.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        // A string that is still open ends in no place.
        one::<I>(bytes, &block, base, &mut carry, &mut found)?;
    }
    (carry.in_string == 0).then_some(found)
}

#[inline(always)]
fn one<I: Isa>(bytes: &[u8], block: &Block, base: usize, carry: &mut Carry, found: &mut Vec<u32>) -> Option<()> {
    let (quotes, backslashes, controls) = I::strings(block);
    let escaped = escaped(backslashes, &mut carry.escaped);
    let quotes = quotes & !escaped;
    let inside = through(quotes) ^ carry.in_string;
    carry.in_string = 0_u64.wrapping_sub(inside >> 63);
    if controls & inside != 0 || backslashes & !inside != 0 {
        return None;
    }
    if escaped != 0 {
        let (allowed, unicode) = I::escapes(block);
        if escaped & !allowed != 0 {
            return None;
        }
        let mut waiting = escaped & unicode;
        while waiting != 0 {
            let at = base + waiting.trailing_zeros() as usize + 1;
            if !bytes.get(at..at + 4)?.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            waiting &= waiting - 1;
        }
    }
    if inside == u64::MAX && quotes == 0 {
        return Some(());
    }
    let (signs, white) = I::outside(block);
    let words = !(signs | white | quotes | inside);
    let starts = words & !(words << 1 | carry.word);
    carry.word = words >> 63;
    let mut places = (signs & !inside) | quotes | starts;
    while places != 0 {
        found.push((base + places.trailing_zeros() as usize) as u32);
        places &= places - 1;
    }
    Some(())
}

/// Which bytes have a backslash before them that is not itself escaped.
#[inline(always)]
fn escaped(backslashes: u64, carry: &mut u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    if backslashes == 0 {
        return std::mem::take(carry);
    }
    let backslashes = backslashes & !*carry;
    let follows = backslashes << 1 | *carry;
    let odd_starts = backslashes & !EVEN & !follows;
    let (even_runs, over) = odd_starts.overflowing_add(backslashes);
    *carry = u64::from(over);
    (EVEN ^ (even_runs << 1)) & follows
}

/// Bit `k` is whether an odd number of bits up to and with `k` is set.
#[inline(always)]
fn through(mut bits: u64) -> u64 {
    for by in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << by;
    }
    bits
}

/// Bit `k` is whether `is` holds for byte `k`, by what every processor of the target has.
#[inline]
pub(super) fn mask(block: &Block, is: impl Fn(i8x16) -> i8x16) -> u64 {
    let (quarters, _) = block.as_chunks::<16>();
    let mut all = 0;
    for quarter in quarters.iter().rev() {
        let mut signed = [0; 16];
        for (to, from) in signed.iter_mut().zip(quarter) {
            *to = from.cast_signed();
        }
        let mask = is(i8x16::new(signed)).move_mask();
        all = all << 16 | u64::from(mask.cast_unsigned() & 0xFFFF);
    }
    all
}

struct Baseline;

impl Baseline {
    #[inline]
    fn any(bytes: i8x16, of: &[u8]) -> i8x16 {
        let mut all = i8x16::splat(0);
        for byte in of {
            all |= bytes.cmp_eq(i8x16::splat(byte.cast_signed()));
        }
        all
    }
}

impl Isa for Baseline {
    #[inline]
    fn strings(block: &Block) -> (u64, u64, u64) {
        // Bytes that are not ASCII compare as negative.
        let control = |bytes: i8x16| i8x16::splat(0x20).cmp_gt(bytes) & bytes.cmp_gt(i8x16::splat(-1));
        (
            mask(block, |bytes| Self::any(bytes, b"\"")),
            mask(block, |bytes| Self::any(bytes, b"\\")),
            mask(block, control),
        )
    }

    #[inline]
    fn outside(block: &Block) -> (u64, u64) {
        (
            mask(block, |bytes| Self::any(bytes, b"{}[]:,")),
            mask(block, |bytes| Self::any(bytes, b" \n\r\t")),
        )
    }

    #[inline]
    fn escapes(block: &Block) -> (u64, u64) {
        (
            mask(block, |bytes| Self::any(bytes, b"\"\\/bfnrtu")),
            mask(block, |bytes| Self::any(bytes, b"u")),
        )
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256,
        _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256,
        _mm256_shuffle_epi8, _mm256_srli_epi16, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_loadu_si512,
        _mm512_set1_epi8,
    };

    use super::{Block, Isa, run};

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn avx2(bytes: &[u8], start: usize) -> Option<Vec<u32>> {
        run::<Avx2>(bytes, start)
    }

    #[target_feature(enable = "avx2,bmi1,avx512f,avx512bw")]
    pub(super) fn avx512(bytes: &[u8], start: usize) -> Option<Vec<u32>> {
        run::<Avx512>(bytes, start)
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
    fn equal(low: __m256i, high: __m256i, to: u8) -> u64 {
        let to = _mm256_set1_epi8(to.cast_signed());
        both(_mm256_cmpeq_epi8(low, to), _mm256_cmpeq_epi8(high, to))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn strings(block: &Block) -> (u64, u64, u64) {
        let (low, high) = halves(block);
        let last = _mm256_set1_epi8(0x1F);
        let controls = both(
            _mm256_cmpeq_epi8(_mm256_min_epu8(low, last), low),
            _mm256_cmpeq_epi8(_mm256_min_epu8(high, last), high),
        );
        (equal(low, high, b'"'), equal(low, high, b'\\'), controls)
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
        (!both(barred(low), barred(high)), equal(low, high, b'u'))
    }

    impl Isa for Avx2 {
        #[inline(always)]
        fn strings(block: &Block) -> (u64, u64, u64) {
            // SAFETY: only `avx2` and `avx512` use this, which are called where the instructions were found.
            unsafe { strings(block) }
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
    }

    struct Avx512;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn wide_strings(block: &Block) -> (u64, u64, u64) {
        // SAFETY: the load is of the 64 bytes.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        (
            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'"'.cast_signed())),
            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'\\'.cast_signed())),
            _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
        )
    }

    impl Isa for Avx512 {
        #[inline(always)]
        fn strings(block: &Block) -> (u64, u64, u64) {
            // SAFETY: only `avx512` uses this, which is called where the instructions were found.
            unsafe { wide_strings(block) }
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
    }
}
