//! Bounds: an interval that holds the count, found without merging anything.
//!
//! A piece of `n` bytes has one more token than edges between tokens inside it, so a count is told by which of the
//! `n - 1` places inside each piece are edges. What is known of that, for any text:
//!
//! 1. *A stretch between two edges is encoded as if it stood alone.* Nothing merges across an edge, so inside went
//!    just the merges that go on when the stretch is alone (`merge` rests on the same).
//! 2. *Two bytes that are a token together are not both tokens of their own.* By 1, two edges around them leave none
//!    between. So, of the place between such bytes and the places beside them, one is no edge: a window of three places,
//!    or of two where the piece starts or ends there. Of windows that share no place, each takes one from the count.
//! 3. *A piece that is a token is one*: numbers of up to three digits and runs of up to 64 spaces, where all of them
//!    are, and other white space that is looked up.
//! 4. *A character that is a token is not taken apart*, if no token that holds a part of a character may reach over
//!    one of its ends (`characters` has the proof).
//! 5. *Between two characters that stand beside each other in no token there is an edge*, if no token with a part of a
//!    character reaches over it either.
//! 6. *A run of one byte has few edges*: where all runs of up to `k` are tokens, two neighbouring tokens inside the
//!    run are longer than `k` together, by 1.
//!
//! The upper bound is the bytes less what 2, 3, 4 and 6 take away, the lower one the pieces and what 5 adds. (A long
//! piece has at least its length by that of the longest token.) All of it rests on what `facts` finds in the vocabulary.

mod facts;
#[cfg(test)]
mod tests;

pub(crate) use facts::Facts;

use crate::scan::Pattern;
use crate::scan::block::{self, below};
use crate::simd::{BLOCK, Isa, Kinds, Level, Work, dispatch};
use crate::vocabulary::LONGEST_TOKEN;

/// An interval that holds a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// There are at least so many tokens.
    pub lo: usize,
    /// There are at most so many.
    pub hi: usize,
}

impl std::ops::AddAssign for Bounds {
    fn add_assign(&mut self, other: Self) {
        self.lo += other.lo;
        self.hi += other.hi;
    }
}

/// How far the bounds had come at an edge of a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    at: usize,
    before: Bounds,
}

/// Marks are set at least so many bytes apart.
const MARK_BYTES: usize = 4_096;

/// The bounds of a text and marks on the way.
#[derive(Debug, Default)]
pub(crate) struct Marked {
    pub(crate) whole: Bounds,
    marks: Vec<Mark>,
}

impl Marked {
    /// Bounds of what stands behind `at`, an edge of a piece.
    pub(crate) fn behind(&self, at: usize) -> Bounds {
        let next = self.marks.partition_point(|mark| mark.at < at);
        // At least what stands behind the next mark, at most what stands behind the one before.
        let later = self.marks.get(next).map_or(self.whole, |mark| mark.before);
        let exact = self.marks.get(next).filter(|mark| mark.at == at);
        let earlier = exact.or_else(|| self.marks.get(next.checked_sub(1)?));
        Bounds {
            lo: self.whole.lo - later.lo,
            hi: self.whole.hi - earlier.map_or(0, |mark| mark.before.hi),
        }
    }
}

/// Bounds of `text` by the pieces of `pattern`. Cost: linear.
pub(crate) fn bounds(pattern: Pattern, facts: &Facts, text: &[u8]) -> Marked {
    at_level(Level::detect(), pattern, facts, text)
}

pub(crate) fn at_level(level: Level, pattern: Pattern, facts: &Facts, text: &[u8]) -> Marked {
    dispatch(level, Weighing { pattern, facts, text })
}

/// A text to be bounded.
#[derive(Clone, Copy)]
struct Weighing<'a> {
    pattern: Pattern,
    facts: &'a Facts,
    text: &'a [u8],
}

impl Work for Weighing<'_> {
    type Output = Marked;

    #[inline(always)]
    fn run<I: Isa>(self) -> Marked {
        let mut marked = Marked::default();
        let mut at = 0;
        let mut next_mark = 0;
        while at < self.text.len() {
            if at >= next_mark {
                let before = marked.whole;
                marked.marks.push(Mark { at, before });
                next_mark = at + MARK_BYTES;
            }
            let mut copy = [0; BLOCK];
            let (block, length) = block_at(self.text, at, &mut copy);
            let kinds = I::kinds(block);
            let cut = block::cut::<I>(self.pattern, self.text, at, block, length, kinds);
            let known = if cut.ends {
                length
            } else {
                63 - cut.starts.leading_zeros() as usize
            };
            if known == 0 {
                let end = self.pattern.piece_end(self.text, at);
                marked.whole += self.piece::<I>(at, end);
                at = end;
                continue;
            }
            let part = Part {
                at,
                length: known as u32,
                starts: cut.starts & below(known as u32),
                open_before: false,
                open_behind: false,
            };
            let (forced, merged) = self.part::<I>(block, kinds, part);
            marked.whole += Bounds {
                lo: (part.starts.count_ones() + forced) as usize,
                hi: known - merged as usize,
            };
            at += known;
        }
        marked
    }
}

/// What of a block is looked at: whole pieces, or a part of one.
#[derive(Clone, Copy)]
struct Part {
    /// Where the block starts in the text.
    at: usize,
    length: u32,
    /// Where pieces start; a part of a piece has the first bit.
    starts: u64,
    /// Whether the part's start is no edge of a piece.
    open_before: bool,
    /// Whether its end is none.
    open_behind: bool,
}

/// The block at `at`, filled up with zeros behind the text, and how much of it is text.
#[inline(always)]
fn block_at<'t>(text: &'t [u8], at: usize, copy: &'t mut [u8; BLOCK]) -> (&'t [u8; BLOCK], usize) {
    let rest = text.get(at..).unwrap_or_default();
    if let Some(block) = rest.first_chunk() {
        return (block, BLOCK);
    }
    copy[..rest.len()].copy_from_slice(rest);
    (copy, rest.len())
}

impl Weighing<'_> {
    /// Bounds of one piece of any length.
    #[inline(never)]
    fn piece<I: Isa>(&self, start: usize, end: usize) -> Bounds {
        let piece = self.text.get(start..end).unwrap_or_default();
        let first = piece.first().copied().unwrap_or(0);
        if piece.len() > BLOCK && piece.iter().all(|byte| *byte == first) {
            return self.run_of(first, piece.len());
        }
        let (mut least, mut most) = (1, 0);
        let mut at = start;
        while at < end {
            let mut next = (at + BLOCK).min(end);
            while next < end && self.text.get(next).is_some_and(|byte| byte & 0xC0 == 0x80) {
                next -= 1;
            }
            let mut copy = [0; BLOCK];
            let (block, _) = block_at(self.text, at, &mut copy);
            let part = Part {
                at,
                length: (next - at) as u32,
                starts: 1,
                open_before: at > start,
                open_behind: next < end,
            };
            let (forced, merged) = self.part::<I>(block, I::kinds(block), part);
            least += forced as usize;
            most += next - at - merged as usize;
            at = next;
        }
        // What may lead a word is up to four bytes.
        let is_word = piece.iter().skip(4).all(u8::is_ascii_alphabetic);
        let longest = if is_word {
            self.facts.longest_word
        } else {
            LONGEST_TOKEN
        };
        Bounds {
            lo: least.max(piece.len().saturating_sub(4).div_ceil(longest)),
            hi: most,
        }
    }

    /// Bounds of a piece of `length` times the same byte: point 6 above.
    fn run_of(&self, byte: u8, length: usize) -> Bounds {
        let longest = self.facts.runs[usize::from(byte)] as usize;
        Bounds {
            lo: length.div_ceil(LONGEST_TOKEN),
            hi: (2 * (length / (longest + 1)) + 1).min(length),
        }
    }

    /// How many places inside the pieces of a part are edges for sure, and how many are none.
    #[inline(always)]
    fn part<I: Isa>(&self, block: &[u8; BLOCK], kinds: Kinds, part: Part) -> (u32, u32) {
        let there = below(part.length);
        // Place `i` is the one before byte `i`.
        let inner = there & !part.starts;
        let Kinds {
            letter,
            lower,
            digit,
            blank,
            space,
            high,
            ..
        } = kinds;
        let sign = !(letter | digit | blank | high);
        let closed = !(part.open_before | part.open_behind);
        let mut characters = Characters::default();
        let digits = if self.facts.has_numbers { digit } else { 0 };
        let mut numbers = digits;
        if high & there != 0 {
            characters = self.characters(block, kinds, part);
            // A number may go on with digits of another script.
            let mut mixed = digit & (high << 1 | high >> 1);
            for _ in 0..2 {
                mixed |= digit & (mixed << 1 | mixed >> 1);
            }
            numbers &= !mixed;
        }
        let mut spaces = inner & space & space << 1;
        let mut whole = 0;
        if closed {
            whole = inner & numbers & numbers << 1;
            let mut other = inner & blank & blank << 1 & !spaces;
            other |= inner & (high & spaces << 1 | space & high << 1 & spaces >> 1);
            while other != 0 {
                let place = other.trailing_zeros();
                let start = (part.starts & below(place) | 1).ilog2();
                let end = (part.starts & !below(place)).trailing_zeros().min(part.length);
                let piece = below(end) & !below(start);
                other &= !piece;
                spaces &= !piece;
                let bytes = block.get(start as usize..end as usize).unwrap_or_default();
                if self.facts.is_blank_token(bytes) {
                    whole |= inner & piece;
                }
            }
            if self.facts.is_usual {
                whole |= spaces;
            }
        }
        let mut bonds = 0;
        if self.facts.is_usual {
            let usual = !I::unusual(block);
            bonds = usual & lower & (usual & lower) << 1 | usual & space << 1 & (letter | sign) | spaces;
        }
        let in_characters = characters.whole | characters.whole << 1;
        let mut asked = inner & !bonds & !whole & !(digits & digits << 1) & !in_characters;
        while asked != 0 {
            let place = asked.trailing_zeros() as usize;
            asked &= asked - 1;
            let pair = [block[(place - 1) % BLOCK], block[place % BLOCK]];
            bonds |= u64::from(self.facts.bonds.holds(pair)) << place;
        }
        bonds &= inner & !whole & !in_characters;
        if part.open_before {
            bonds &= !0b11;
        }
        if part.open_behind {
            bonds &= below(part.length - 1);
        }
        let merged = whole.count_ones() + (characters.inside & inner).count_ones() + windows(bonds, inner);
        (characters.edges.count_ones(), merged)
    }

    /// The characters beyond ASCII of which something is known.
    #[inline(always)]
    fn characters(&self, block: &[u8; BLOCK], kinds: Kinds, part: Part) -> Characters {
        let mut found = Characters::default();
        let inner = below(part.length) & !part.starts;
        let mut left = kinds.high & !kinds.inner & below(part.length);
        let byte = |place: u32| u32::from(block[place as usize % BLOCK]);
        // The character before, and where it ends.
        let (mut before, mut before_end) = (0, u32::MAX);
        while left != 0 {
            let place = left.trailing_zeros();
            left &= left - 1;
            let low = |offset: u32| byte(place + offset) & 0x3F;
            let lead = byte(place);
            let (code_point, width) = match lead {
                ..0xE0 => ((lead & 0x1F) << 6 | low(1), 2),
                0xE0..0xF0 => ((lead & 0x0F) << 12 | low(1) << 6 | low(2), 3),
                _ => ((lead & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4),
            };
            let start = part.at + place as usize;
            let end = start + width as usize;
            let doubtful = |edge: usize| match (self.text.get(edge.wrapping_sub(1)), self.text.get(edge)) {
                (Some(before), Some(behind)) => self.facts.torn.holds([*before, *behind]),
                _ => false,
            };
            let sure_before = !doubtful(start);
            if sure_before && self.facts.is_character(code_point) && !doubtful(end) {
                let bits = below(width) << place;
                found.whole |= bits;
                found.inside |= bits & bits << 1;
            }
            if inner >> place & 1 == 1 && place > 0 && sure_before {
                let beside = byte(place - 1);
                let known = if beside < 0x80 {
                    Some(beside)
                } else {
                    (before_end == place).then_some(before)
                };
                let apart = known.is_some_and(|known| !self.facts.may_be_neighbours(known, code_point));
                found.edges |= u64::from(apart) << place;
            }
            (before, before_end) = (code_point, place + width);
        }
        found
    }
}

/// What is known of the characters of a block that are not ASCII.
#[derive(Clone, Copy, Default)]
struct Characters {
    /// The bytes of characters that are not taken apart.
    whole: u64,
    /// The places inside these.
    inside: u64,
    /// Edges between characters that no token holds both of.
    edges: u64,
}

/// How many windows that share no place lie around places of `bonds`: from each run of bonds every third place.
///
/// A window is a place and those beside it, as far as they are inside the piece, so windows of one piece are apart where
/// their middles are by three, and those of two pieces always.
#[inline(always)]
fn windows(bonds: u64, inner: u64) -> u32 {
    // A single place between two runs belongs to both, so that what follows keeps the distance.
    let joined = bonds | inner & bonds << 1 & bonds >> 1;
    let mut middle = joined & !(joined << 1);
    let long = joined & joined << 1 & joined << 2 & joined << 3;
    let mut middles = middle;
    while middle != 0 {
        middle = middle << 3 & long;
        middles |= middle;
    }
    (middles & bonds).count_ones()
}
