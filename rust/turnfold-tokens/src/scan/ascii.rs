//! Cutting 64 bytes of ASCII at once, by bit masks.
//!
//! Bit `i` of a mask speaks of byte `i` of the block. The block starts at a pre-token edge, so nothing before it
//! matters. Everything that needs more than a few neighbours to decide ends what is trusted, and the scanners by
//! character go on from the last trusted edge.

use wide::{CmpEq, CmpGt, i8x16};

use super::Pattern;

/// How many bytes are cut at once.
pub(crate) const BLOCK: usize = 64;

/// Which bytes of a block are of which kind.
#[derive(Default)]
struct Kinds {
    letter: u64,
    lower: u64,
    digit: u64,
    /// Space, tab, line feed, vertical tab, form feed, carriage return.
    blank: u64,
    space: u64,
    newline: u64,
    quote: u64,
    slash: u64,
    /// Not ASCII.
    other: u64,
}

#[inline]
fn equal(bytes: i8x16, byte: u8) -> i8x16 {
    bytes.cmp_eq(i8x16::splat(byte.cast_signed()))
}

/// Which bytes are `first..=last`, all ASCII. (Bytes that are not compare as negative.)
#[inline]
fn between(bytes: i8x16, first: u8, last: u8) -> i8x16 {
    bytes.cmp_gt(i8x16::splat((first - 1).cast_signed())) & i8x16::splat((last + 1).cast_signed()).cmp_gt(bytes)
}

#[inline]
fn kinds(block: &[u8; BLOCK]) -> Kinds {
    let mask = |bytes: i8x16| u64::from(bytes.move_mask().cast_unsigned());
    let mut kinds = Kinds::default();
    let (quarters, _) = block.as_chunks::<16>();
    for (quarter, shift) in quarters.iter().zip([0, 16, 32, 48]) {
        let bytes = i8x16::new(quarter.map(u8::cast_signed));
        let space = equal(bytes, b' ');
        kinds.letter |= mask(between(bytes | i8x16::splat(0x20), b'a', b'z')) << shift;
        kinds.lower |= mask(between(bytes, b'a', b'z')) << shift;
        kinds.digit |= mask(between(bytes, b'0', b'9')) << shift;
        kinds.blank |= mask(space | between(bytes, b'\t', b'\r')) << shift;
        kinds.space |= mask(space) << shift;
        kinds.newline |= mask(equal(bytes, b'\n') | equal(bytes, b'\r')) << shift;
        kinds.quote |= mask(equal(bytes, b'\'')) << shift;
        kinds.slash |= mask(equal(bytes, b'/')) << shift;
        kinds.other |= mask(bytes) << shift;
    }
    kinds
}

/// The bits below `place` (at most 63).
#[inline]
fn below(place: u32) -> u64 {
    (1 << place) - 1
}

/// The first place of the run of `mask` that ends at `place`, or `place` + 1 if that bit is not set.
#[inline]
fn run_start(mask: u64, place: u32) -> u32 {
    64 - (!mask & (below(place) | 1 << place)).leading_zeros()
}

/// Where pre-tokens start among the first `length` bytes of a block that starts one, as far as these bytes tell.
///
/// Bit 0 is always set; the pre-token of the highest bit set may go on past the block.
#[inline]
pub(crate) fn starts(pattern: Pattern, block: &[u8; BLOCK], length: usize) -> u64 {
    let kinds = kinds(block);
    let Kinds {
        letter,
        digit,
        blank,
        newline,
        space,
        ..
    } = kinds;
    let o200k = pattern == Pattern::O200k;
    let sign = !(letter | digit | blank | kinds.other);

    // From here on nothing is known.
    let mut end = kinds.other.trailing_zeros().min(length as u32);
    let mut quotes = kinds.quote;
    while quotes != 0 {
        let place = quotes.trailing_zeros();
        quotes &= quotes - 1;
        let before = if place == 0 { 0 } else { 1 << (place - 1) };
        let may_contract = if o200k {
            letter & before != 0
        } else {
            (sign | space) & before == 0
        };
        if may_contract && block.get(place as usize + 1).is_none_or(|next| contracts(*next)) {
            end = end.min(place);
            break;
        }
    }

    // Newlines right behind signs are theirs; all other white space makes runs of its own.
    let theirs = newline & !newline.wrapping_add(newline & sign << 1);
    if o200k {
        end = end.min((kinds.slash & theirs << 1).trailing_zeros());
    }
    let Some(last) = end.checked_sub(1) else { return 1 };
    let own = blank & !theirs;
    let own_start = own & !(own << 1);
    let inline = blank & !newline;
    // A run is cut behind its last newline and before its last character, unless that is a newline.
    let mut starts = own_start | inline & !(inline << 1) | inline & !(blank >> 1);
    let mut before_newline = inline & newline >> 1;
    while before_newline != 0 {
        let start = 1 << run_start(inline, before_newline.trailing_zeros());
        starts &= !(start & !own_start);
        before_newline &= before_newline - 1;
    }

    // Numbers are cut in threes.
    let mut number_start = digit & !(digit << 1);
    let fourth = digit & digit << 1 & digit << 2 & digit << 3;
    loop {
        let more = number_start << 3 & fourth & !number_start;
        if more == 0 {
            break;
        }
        number_start |= more;
    }

    // Signs take a space before them; one sign alone, without a space, goes to the letters behind it.
    let sign_start = sign & !(sign << 1) & !(space << 1);
    let mut word_start = letter & ((digit | newline | sign & !sign_start) << 1);
    if o200k {
        word_start |= letter & !kinds.lower & kinds.lower << 1;
    }
    starts |= number_start | sign_start | word_start | 1;

    // White space that touches the end may be cut otherwise when more of it is known.
    let trusted = if blank >> last & 1 == 1 {
        run_start(blank, last)
    } else {
        last
    };
    starts & (below(trusted) | 1 << trusted)
}

/// Whether a byte behind an apostrophe may start a contraction (the long s is not ASCII).
#[inline]
fn contracts(byte: u8) -> bool {
    matches!(byte | 0x20, b's' | b'd' | b'm' | b't' | b'l' | b'v' | b'r') || byte >= 0x80
}
