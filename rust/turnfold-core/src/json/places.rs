//! Where the bytes of the grammar stand: 64 bytes at a time, as bit masks. The masks are those that simdjson made known
//! (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019).
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use crate::simd::{BLOCK, Block, Isa, Level, Work, dispatch};

/// The places, from `start` on, of quotes around strings (both), of `{}[]:,` outside strings, and of the first bytes of
/// whatever else stands outside them. `None` where a string holds a control character or an escape that is none, or does
/// not end, or a backslash stands outside strings. White space may be what is outside and in no place; every other byte
/// there is in one, or follows on one without a gap.
pub(super) fn places(level: Level, bytes: &[u8], start: usize) -> Option<Vec<u32>> {
    dispatch(level, Places { bytes, start })
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

struct Places<'a> {
    bytes: &'a [u8],
    start: usize,
}

impl Work for Places<'_> {
    type Output = Option<Vec<u32>>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Self::Output {
        let Self { bytes, start } = self;
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
}

#[inline(always)]
fn one<I: Isa>(bytes: &[u8], block: &Block, base: usize, carry: &mut Carry, found: &mut Vec<u32>) -> Option<()> {
    let loaded = I::load(block);
    let quotes = I::equal(loaded, b'"');
    let backslashes = I::equal(loaded, b'\\');
    let controls = I::between(loaded, 0, 0x1F);
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
