//! Cutting up to 64 bytes at once, by bit masks.
//!
//! Bit `i` of a mask speaks of character `i` of the block: where not all is ASCII, the masks of bytes are squeezed
//! to masks of characters and the result is spread again. The block starts at a pre-token edge, so nothing before it
//! matters. Everything that needs more than a few neighbours to decide ends what is trusted, and the scanners by
//! character go on from the last trusted edge.

use super::{Pattern, contraction_end};
use crate::classes::Class;
use crate::simd::{BLOCK, Isa, Kinds};

/// What is known of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Where pre-tokens start, by byte. Bit 0 is always set; the pre-token of the highest bit set may go on.
    pub(crate) starts: u64,
    /// Whether the pre-token of the highest bit set ends with the block.
    pub(crate) ends: bool,
}

/// The bits below `place`.
#[inline(always)]
pub(crate) fn below(place: u32) -> u64 {
    if place >= 64 { u64::MAX } else { (1 << place) - 1 }
}

/// The first place of the run of `mask` that ends at `place`, or `place` + 1 if that bit is not set.
#[inline(always)]
fn run_start(mask: u64, place: u32) -> u32 {
    64 - (!mask & (below(place) | 1 << place)).leading_zeros()
}

/// Cuts the first `length` bytes (at least 1) of a block of these kinds, which stands at byte `at` of `text`.
#[inline(always)]
pub(crate) fn cut<I: Isa>(
    pattern: Pattern,
    text: &[u8],
    at: usize,
    block: &[u8; BLOCK],
    length: usize,
    kinds: Kinds,
) -> Cut {
    let length = length.min(BLOCK) as u32;
    let there = below(length);
    if kinds.high & there == 0 {
        let ascii = Characters {
            kinds,
            caseless: 0,
            mark: 0,
            count: length,
            bytes: length,
            leads: u64::MAX,
        };
        return ascii.cut::<I>(pattern, text, at);
    }
    Characters::of::<I>(kinds, block, length).cut::<I>(pattern, text, at)
}

/// A block by characters.
struct Characters {
    /// Which characters are of which kind; `high` is not used.
    kinds: Kinds,
    /// Letters without case.
    caseless: u64,
    /// Marks.
    mark: u64,
    /// How many characters are known.
    count: u32,
    /// How many bytes these are.
    bytes: u32,
    /// The bytes that start characters; all bits where every byte does.
    leads: u64,
}

impl Characters {
    /// The characters that lie whole in the first `length` bytes.
    #[inline(always)]
    fn of<I: Isa>(mut kinds: Kinds, block: &[u8; BLOCK], length: u32) -> Self {
        let mut bytes = length;
        // A mask for each class would be read and written again for each character, and wait for itself.
        let mut codes = [0; BLOCK];
        let mut left = kinds.high & !kinds.inner & below(length);
        while left != 0 {
            let place = left.trailing_zeros();
            left &= left - 1;
            let byte = |offset: u32| u32::from(block[(place + offset) as usize % BLOCK]);
            let low = |offset: u32| byte(offset) & 0x3F;
            let lead = byte(0);
            let (code_point, width) = if lead < 0xE0 {
                ((lead & 0x1F) << 6 | low(1), 2)
            } else if lead < 0xF0 {
                ((lead & 0x0F) << 12 | low(1) << 6 | low(2), 3)
            } else {
                ((lead & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4)
            };
            if place + width > length {
                bytes = place;
                break;
            }
            codes[place as usize % BLOCK] = Class::code_of(code_point) as u8;
        }
        let bits = [1, 2, 4].map(|bit| (bit, I::having(&codes, bit)));
        let class = |class: Class| {
            bits.iter().fold(u64::MAX, |all, (bit, having)| {
                all & if class as u8 & bit == 0 { !having } else { *having }
            })
        };
        let letters = class(Class::Upper) | class(Class::Lower) | class(Class::Caseless);
        kinds.letter |= letters;
        kinds.lower |= class(Class::Lower);
        kinds.digit |= class(Class::Number);
        kinds.blank |= class(Class::Space);
        let leads = !kinds.inner & below(bytes);
        let squeeze = |bits: u64| I::squeeze(bits, leads);
        Self {
            kinds: Kinds {
                letter: squeeze(kinds.letter),
                lower: squeeze(kinds.lower),
                digit: squeeze(kinds.digit),
                blank: squeeze(kinds.blank),
                space: squeeze(kinds.space),
                newline: squeeze(kinds.newline),
                quote: squeeze(kinds.quote),
                slash: squeeze(kinds.slash),
                high: 0,
                inner: 0,
            },
            caseless: squeeze(class(Class::Caseless)),
            mark: squeeze(class(Class::Mark)),
            count: leads.count_ones(),
            bytes,
            leads,
        }
    }

    #[inline(always)]
    fn cut<I: Isa>(&self, pattern: Pattern, text: &[u8], at: usize) -> Cut {
        let Kinds {
            mut letter,
            lower,
            digit,
            blank,
            space,
            newline,
            quote,
            slash,
            ..
        } = self.kinds;
        let o200k = pattern == Pattern::O200k;
        // Before this place all is known.
        let mut end = self.count;
        let mut caseless = self.caseless;
        if o200k && self.mark != 0 {
            // A mark behind a letter goes with it, as a letter without case would; any other is for the scanners.
            let bound = self.mark & !self.mark.wrapping_add(self.mark & letter << 1);
            end = end.min((self.mark & !bound).trailing_zeros());
            letter |= bound;
            caseless |= bound;
        }
        let upper = letter & !lower & !caseless;
        if o200k {
            // Whether a capital behind a letter without case starts a word depends on all letters around.
            end = end.min((upper & caseless << 1).trailing_zeros());
        }
        let sign = !(letter | digit | blank);

        // Newlines right behind signs are theirs; all other white space makes runs of its own.
        let theirs = newline & !newline.wrapping_add(newline & sign << 1);
        if o200k {
            end = end.min((slash & theirs << 1).trailing_zeros());
        }
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
        let mut more = number_start << 3 & fourth & !number_start;
        while more != 0 {
            number_start |= more;
            more = number_start << 3 & fourth & !number_start;
        }

        // Signs take a space before them; one sign alone, without a space, goes to the letters behind it.
        let sign_start = sign & !(sign << 1) & !(space << 1);
        let mut word_start = letter & ((digit | newline | sign & !sign_start) << 1);
        if o200k {
            word_start |= upper & lower << 1;
        }
        starts |= number_start | sign_start | word_start | 1;

        // Behind a word in the one pattern, at the start of a pre-token in the other.
        let mut quotes = if o200k {
            quote & letter << 1
        } else {
            quote & !((sign | space) << 1)
        };
        while quotes != 0 {
            let place = quotes.trailing_zeros();
            quotes &= quotes - 1;
            if place >= end {
                break;
            }
            let byte = at + self.byte::<I>(place);
            let Some(behind) = contraction_end(text, byte) else {
                continue;
            };
            // The long s is one character of two bytes.
            let long_s = text.get(byte + 1).is_some_and(|next| !next.is_ascii());
            let width = (behind - byte) as u32 - u32::from(long_s);
            if place + width >= end {
                end = place;
                break;
            }
            let after = 1 << (place + width);
            starts &= !(after - (1 << place));
            starts |= after;
            if o200k {
                // An apostrophe right behind stands behind no word.
                quotes &= !after;
            } else {
                starts |= 1 << place;
            }
        }

        let Some(last) = end.checked_sub(1) else {
            return Cut { starts: 1, ends: false };
        };
        // White space that touches the end may be cut otherwise when more of it is known.
        let blank_end = blank >> last & 1 == 1;
        let trusted = if blank_end { run_start(blank, last) } else { last };
        let starts = starts & (below(trusted) | 1 << trusted);
        let reached = at + self.bytes as usize == text.len();
        Cut {
            starts: if self.leads == u64::MAX {
                starts
            } else {
                I::spread(starts, self.leads)
            },
            ends: reached && end == self.count && !blank_end,
        }
    }

    /// The byte at which a character starts.
    #[inline(always)]
    fn byte<I: Isa>(&self, place: u32) -> usize {
        if self.leads == u64::MAX {
            place as usize
        } else {
            I::spread(1 << place, self.leads).trailing_zeros() as usize
        }
    }
}
