//! Where runs and words stand in a text, 64 bytes at a time, as bit masks; and which runs need a look at all.

use wide::{CmpEq, CmpGt, i8x16};

use super::survival::is_wide_letter;

const BLOCK: usize = 64;
type Block = [u8; BLOCK];
type Quarter = [u8; BLOCK / 4];

/// A bit for each byte of a text.
#[derive(Debug, Default)]
pub(super) struct Marks {
    blocks: Vec<Marked>,
}

/// Bit `k` is for byte `k` of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Marked {
    /// Bytes of the classes of runs, but for backslashes.
    runs: u64,
    /// One byte at least of each run that is no word of prose, or has a bracket behind it, or might begin the phrase of
    /// an exit code; and backslashes. Those of other runs, too.
    looks: u64,
}

/// What one block tells the next.
#[derive(Default)]
struct Carry {
    /// 1 if its last byte is in a run, or a word.
    before: u64,
    /// Bytes of the next block that belong to its last character, if that is a letter.
    over: u64,
}

impl Marks {
    /// Marks `text`. Linear in its length.
    pub(super) fn read(&mut self, text: &str) {
        self.blocks.clear();
        let (blocks, tail) = text.as_bytes().as_chunks::<BLOCK>();
        self.blocks.reserve(blocks.len() + 1);
        let mut carry = Carry::default();
        for block in blocks {
            self.add(text, block, &mut carry);
        }
        if !tail.is_empty() {
            let mut block = [b' '; BLOCK];
            block.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
            self.add(text, &block, &mut carry);
        }
    }

    #[inline]
    fn add(&mut self, text: &str, block: &Block, carry: &mut Carry) {
        let Signs {
            mut runs,
            uppers,
            dashes,
            stops,
            others,
            backslashes,
            wide,
            brackets,
            exits,
        } = Signs::of(block);
        let wide = wide_letters(text, self.blocks.len() * BLOCK, wide, &mut carry.over);
        runs |= wide;
        let before = carry.before;
        carry.before = runs >> (BLOCK - 1);
        let starts = runs & !(runs << 1 | before);
        // Of the last byte it is not known.
        let ends = runs & !(runs >> 1 | 1 << (BLOCK - 1));
        let looks = backslashes
            | wide
            | uppers & !starts
            | dashes & starts & !ends
            | stops & !ends
            | others & !(starts & ends)
            | exits & starts & (exits >> 1 | 1 << (BLOCK - 1))
            | runs & brackets >> 1;
        if brackets & before != 0
            && let Some(last) = self.blocks.last_mut()
        {
            last.looks |= 1 << (BLOCK - 1);
        }
        self.blocks.push(Marked { runs, looks });
    }

    /// The place from `at` on that needs a look, or the start of the run that stands there or before it; not before `at`.
    pub(super) fn next_look(&self, at: usize) -> Option<usize> {
        let mut index = at / BLOCK;
        let mut looks = self.blocks.get(index)?.looks & (!0 << (at % BLOCK));
        while looks == 0 {
            index += 1;
            looks = self.blocks.get(index)?.looks;
        }
        let mut below = looks.trailing_zeros();
        loop {
            let gaps = !self.blocks.get(index)?.runs & u64::MAX.checked_shr(u64::BITS - below).unwrap_or(0);
            let start = (index + 1) * BLOCK - gaps.leading_zeros() as usize;
            if gaps != 0 || start <= at {
                return Some(at.max(start));
            }
            index = index.checked_sub(1)?;
            below = u64::BITS;
        }
    }

    /// One past the bytes of a run that stand together from `at` on, up to a backslash.
    pub(super) fn run_end(&self, at: usize) -> usize {
        let mut index = at / BLOCK;
        let mut kept = !0 << (at % BLOCK);
        while let Some(block) = self.blocks.get(index) {
            let gaps = !block.runs & kept;
            if gaps != 0 {
                return index * BLOCK + gaps.trailing_zeros() as usize;
            }
            index += 1;
            kept = !0;
        }
        index * BLOCK
    }
}

/// What the bytes of a block are.
#[derive(Default)]
struct Signs {
    /// Those of all ASCII classes of runs but the backslash.
    runs: u64,
    uppers: u64,
    dashes: u64,
    /// Dots and colons.
    stops: u64,
    /// Digits and all signs of runs that no other mask has.
    others: u64,
    backslashes: u64,
    /// First bytes of characters from U+0080 to U+0FFF: all letters beyond ASCII that a run may have are among them.
    wide: u64,
    /// Opening brackets.
    brackets: u64,
    /// `e` and `x` in either case.
    exits: u64,
}

impl Signs {
    #[inline]
    fn of(block: &Block) -> Self {
        let mut signs = Self::default();
        let (quarters, _) = block.as_chunks::<{ BLOCK / 4 }>();
        for quarter in quarters.iter().rev() {
            let bytes = loaded(quarter);
            let folded = bytes | i8x16::splat(0x20);
            let letters = between(folded, b'a', b'z');
            let uppers = letters & between(bytes, b'A', b'Z');
            let dashes = equal(bytes, b'-');
            let stops = equal(bytes, b'.') | equal(bytes, b':');
            let runs = letters
                | between(bytes, b'-', b':')
                | between(bytes, b'#', b'%')
                | equal(bytes, b'+')
                | equal(bytes, b'@')
                | equal(bytes, b'_')
                | equal(bytes, b'~');
            let others = runs & !(letters | dashes | stops);
            for (mask, found) in [
                (&mut signs.runs, runs),
                (&mut signs.uppers, uppers),
                (&mut signs.dashes, dashes),
                (&mut signs.stops, stops),
                (&mut signs.others, others),
                (&mut signs.backslashes, equal(bytes, b'\\')),
                (&mut signs.wide, first_of_wide(bytes)),
                (&mut signs.brackets, equal(bytes, b'(')),
                (&mut signs.exits, equal(folded, b'e') | equal(folded, b'x')),
            ] {
                *mask = *mask << 16 | bits(found);
            }
        }
        signs
    }
}

/// Hands the spans of the longest runs of word characters to `take`, as [`super::survival::words`] gives them, until it
/// says that it has enough. Linear in the length.
pub(super) fn each_word(text: &str, mut take: impl FnMut(usize, usize) -> bool) {
    let mut open = None;
    let mut carry = Carry::default();
    let (blocks, tail) = text.as_bytes().as_chunks::<BLOCK>();
    // A space behind the last word.
    let mut last = [b' '; BLOCK];
    last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
    let mut base = 0;
    for block in blocks.iter().chain(std::iter::once(&last)) {
        let (mut words, wide) = word_signs(block);
        words |= wide_letters(text, base, wide, &mut carry.over);
        let mut edges = words ^ (words << 1 | carry.before);
        carry.before = words >> (BLOCK - 1);
        while edges != 0 {
            let at = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            match open.take() {
                None => open = Some(at),
                Some(start) if take(start, at) => return,
                Some(_) => {}
            }
        }
        base += BLOCK;
    }
}

/// The bytes, in the block at `base`, of letters beyond ASCII that may be in runs and words; `starts` are those at which one
/// may begin.
#[inline]
fn wide_letters(text: &str, base: usize, mut starts: u64, over: &mut u64) -> u64 {
    let mut found = std::mem::take(over);
    while starts != 0 {
        let bit = starts.trailing_zeros();
        starts &= starts - 1;
        let letter = text
            .get(base + bit as usize..)
            .and_then(|rest| rest.chars().next())
            .filter(|&letter| is_wide_letter(letter));
        if let Some(letter) = letter {
            let bytes = ((1_u128 << letter.len_utf8()) - 1) << bit;
            found |= bytes as u64;
            *over |= (bytes >> BLOCK) as u64;
        }
    }
    found
}

/// Word characters of ASCII, and first bytes of characters that may be others.
#[inline]
fn word_signs(block: &Block) -> (u64, u64) {
    let (mut words, mut wide) = (0, 0);
    let (quarters, _) = block.as_chunks::<{ BLOCK / 4 }>();
    for quarter in quarters.iter().rev() {
        let bytes = loaded(quarter);
        let word = between(bytes | i8x16::splat(0x20), b'a', b'z') | between(bytes, b'0', b'9') | equal(bytes, b'_');
        words = words << 16 | bits(word);
        wide = wide << 16 | bits(first_of_wide(bytes));
    }
    (words, wide)
}

#[inline]
fn loaded(quarter: &Quarter) -> i8x16 {
    i8x16::new(quarter.map(u8::cast_signed))
}

#[inline]
fn bits(found: i8x16) -> u64 {
    u64::from(found.move_mask().cast_unsigned() & 0xFFFF)
}

#[inline]
fn equal(bytes: i8x16, to: u8) -> i8x16 {
    bytes.cmp_eq(i8x16::splat(to.cast_signed()))
}

/// Bytes beyond ASCII compare as negative.
#[inline]
fn between(bytes: i8x16, first: u8, last: u8) -> i8x16 {
    bytes.cmp_gt(i8x16::splat(first.cast_signed() - 1)) & i8x16::splat(last.cast_signed() + 1).cmp_gt(bytes)
}

/// First bytes of characters from U+0080 to U+0FFF.
#[inline]
fn first_of_wide(bytes: i8x16) -> i8x16 {
    const BELOW: i8 = 0xC1_u8.cast_signed();
    const ABOVE: i8 = 0xE1_u8.cast_signed();
    bytes.cmp_gt(i8x16::splat(BELOW)) & i8x16::splat(ABOVE).cmp_gt(bytes)
}
