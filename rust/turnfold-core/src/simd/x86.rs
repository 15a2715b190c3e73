//! The instructions of x86-64 processors: AVX2, and AVX-512 with bytes.

use std::arch::x86_64::{
    __m256i, __m512i, _mm_loadu_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_mul_epu32, _mm256_or_si256,
    _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_shuffle_epi32,
    _mm256_slli_epi64, _mm256_srli_epi16, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_sub_epi8, _mm256_xor_si256,
    _mm512_add_epi64, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_cmpeq_epi8_mask, _mm512_cmple_epu8_mask,
    _mm512_loadu_si512, _mm512_mul_epu32, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_shuffle_epi8,
    _mm512_shuffle_epi32, _mm512_slli_epi64, _mm512_srli_epi16, _mm512_srli_epi64, _mm512_storeu_si512,
    _mm512_sub_epi8, _mm512_xor_si512,
};

use super::{Block, Halves, Isa, Words, Work};

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
const ESCAPES: Halves = [
    [
        0, 0, 0b1101, 0, 0b1000, 0b1000, 0b0100, 0, 0, 0, 0, 0, 0b0010, 0, 0b0100, 0b0001,
    ],
    [0, 0, 0b0001, 0, 0, 0b0010, 0b0100, 0b1000, 0, 0, 0, 0, 0, 0, 0, 0],
];

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
fn sorts(bytes: __m256i, [low, high]: &Halves) -> __m256i {
    let half = _mm256_set1_epi8(0x0F);
    let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
    let low = _mm256_shuffle_epi8(table(low), _mm256_and_si256(bytes, half));
    _mm256_and_si256(low, _mm256_shuffle_epi8(table(high), upper))
}

#[inline]
#[target_feature(enable = "avx2")]
fn common(bytes: (__m256i, __m256i), others: (__m256i, __m256i)) -> (__m256i, __m256i) {
    (_mm256_and_si256(bytes.0, others.0), _mm256_and_si256(bytes.1, others.1))
}

#[inline]
#[target_feature(enable = "avx2")]
fn barred(bytes: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(sorts(bytes, &ESCAPES), _mm256_setzero_si256())
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
    fn sorts(bytes: Self::Bytes, halves: &Halves) -> Self::Bytes {
        // SAFETY: as above.
        unsafe { (sorts(bytes.0, halves), sorts(bytes.1, halves)) }
    }

    #[inline(always)]
    fn common(bytes: Self::Bytes, others: Self::Bytes) -> Self::Bytes {
        // SAFETY: as above.
        unsafe { common(bytes, others) }
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
fn whole_table(of: &[u8; 16]) -> __m512i {
    // SAFETY: the load is of the table.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(of.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn whole_sorts(bytes: __m512i, [low, high]: &Halves) -> __m512i {
    let half = _mm512_set1_epi8(0x0F);
    let upper = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), half);
    let low = _mm512_shuffle_epi8(whole_table(low), _mm512_and_si512(bytes, half));
    _mm512_and_si512(low, _mm512_shuffle_epi8(whole_table(high), upper))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn common_of_whole(bytes: __m512i, others: __m512i) -> __m512i {
    _mm512_and_si512(bytes, others)
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

    #[inline(always)]
    fn sorts(bytes: Self::Bytes, halves: &Halves) -> Self::Bytes {
        // SAFETY: as above.
        unsafe { whole_sorts(bytes, halves) }
    }

    #[inline(always)]
    fn common(bytes: Self::Bytes, others: Self::Bytes) -> Self::Bytes {
        // SAFETY: as above.
        unsafe { common_of_whole(bytes, others) }
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
