//! Where runs and words stand in a text, 64 bytes at a time, as bit masks; and which runs need a look at all.
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use super::survival::is_wide_letter;
use crate::simd::{BLOCK, Block, Isa, Level, Work, dispatch};

/// A bit for each byte of a text.
#[derive(Debug, Default)]
pub(super) struct Marks {
    blocks: Vec<Marked>,
}

/// Bit `k` is for byte `k` of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marked {
    /// Bytes of the classes of runs, but for backslashes.
    runs: u64,
    /// One past each run that is no word of prose, or has a bracket behind it, or might begin the phrase of an exit code;
    /// and backslashes.
    ends: u64,
}

/// How far the runs that need a look were asked for.
pub(super) struct Looks {
    index: usize,
    /// Those in this block that were not.
    ends: u64,
}

/// What one block tells the next.
#[derive(Default)]
struct Carry {
    /// 1 if its last byte is in a run, or a word.
    before: u64,
    /// Whether that run needs a look.
    look: bool,
    /// Bytes of the next block that belong to its last character, if that is a letter.
    over: u64,
}

impl Marks {
    /// Marks `text`. Linear in its length.
    pub(super) fn read(&mut self, text: &str) {
        self.read_at(Level::detect(), text);
    }

    fn read_at(&mut self, level: Level, text: &str) {
        self.blocks.clear();
        dispatch(level, Reading { marks: self, text });
    }

    #[inline(always)]
    fn add<I: Isa>(&mut self, text: &str, block: &Block, carry: &mut Carry) {
        let bytes = I::load(block);
        let Signs {
            mut runs,
            uppers,
            dashes,
            stops,
            others,
            backslashes,
            brackets,
            exits,
        } = Signs::of::<I>(bytes);
        runs |= wide_letters::<I>(text, self.blocks.len() * BLOCK, bytes, &mut carry.over);
        let before = carry.before;
        carry.before = runs >> (BLOCK - 1);
        let starts = runs & !(runs << 1 | before);
        // Of the last byte it is not known.
        let ends = runs & !(runs >> 1 | 1 << (BLOCK - 1));
        // A letter beyond ASCII asks for none: no rule names a word with one, unless a sign in it asks.
        let looks = uppers & !starts
            | dashes & starts & !ends
            | stops & !ends
            | others & !(starts & ends)
            | exits & starts & (exits >> 1 | 1 << (BLOCK - 1))
            | runs & brackets >> 1;
        // A bit within a run, added to all of them, leaves one behind it.
        let (sum, over) = runs.overflowing_add(looks);
        let look = carry.look || brackets & before != 0;
        let (sum, over_by_carry) = sum.overflowing_add(u64::from(look));
        carry.look = over || over_by_carry;
        let ends = sum & !runs | backslashes;
        self.blocks.push(Marked { runs, ends });
    }

    /// The runs that need a look, from `at` on.
    pub(super) fn looks(&self, at: usize) -> Looks {
        let index = at / BLOCK;
        let ends = self.blocks.get(index).map_or(0, |block| block.ends);
        Looks {
            index,
            ends: ends & !0 << (at % BLOCK),
        }
    }

    /// The next of them: where it starts, and one past it. Of a backslash that does not stand behind a run, its place twice.
    #[inline]
    pub(super) fn next_look(&self, looks: &mut Looks) -> Option<(usize, usize)> {
        let mut block = self.blocks.get(looks.index)?;
        while looks.ends == 0 {
            looks.index += 1;
            block = self.blocks.get(looks.index)?;
            looks.ends = block.ends;
        }
        let below = looks.ends & looks.ends.wrapping_neg();
        looks.ends ^= below;
        let end = looks.index * BLOCK + below.trailing_zeros() as usize;
        let mut base = looks.index * BLOCK;
        let mut gaps = !block.runs & (below - 1);
        while gaps == 0 && base > 0 {
            base -= BLOCK;
            gaps = self.blocks.get(base / BLOCK).map_or(0, |block| !block.runs);
        }
        let start = base + BLOCK - gaps.leading_zeros() as usize;
        Some((start, end))
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

/// A text to be marked.
struct Reading<'a> {
    marks: &'a mut Marks,
    text: &'a str,
}

impl Work for Reading<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { marks, text } = self;
        let (blocks, tail) = text.as_bytes().as_chunks::<BLOCK>();
        marks.blocks.reserve(blocks.len() + 1);
        let mut carry = Carry::default();
        for block in blocks {
            marks.add::<I>(text, block, &mut carry);
        }
        if !tail.is_empty() {
            let mut block = [b' '; BLOCK];
            block.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
            marks.add::<I>(text, &block, &mut carry);
        } else if carry.look {
            marks.blocks.push(Marked { runs: 0, ends: 1 });
        }
    }
}

/// What the bytes of a block are.
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
    /// Opening brackets.
    brackets: u64,
    /// `e` and `x` in either case.
    exits: u64,
}

impl Signs {
    #[inline(always)]
    fn of<I: Isa>(bytes: I::Bytes) -> Self {
        let folded = I::folded(bytes);
        let letters = I::between(folded, b'a', b'z');
        let dashes = I::equal(bytes, b'-');
        let stops = I::equal(bytes, b'.') | I::equal(bytes, b':');
        let runs = letters
            | I::between(bytes, b'-', b':')
            | I::between(bytes, b'#', b'%')
            | I::equal(bytes, b'+')
            | I::equal(bytes, b'@')
            | I::equal(bytes, b'_')
            | I::equal(bytes, b'~');
        Self {
            runs,
            uppers: I::between(bytes, b'A', b'Z'),
            dashes,
            stops,
            others: runs & !(letters | dashes | stops),
            backslashes: I::equal(bytes, b'\\'),
            brackets: I::equal(bytes, b'('),
            exits: I::equal(folded, b'e') | I::equal(folded, b'x'),
        }
    }
}

/// Hands the spans of the longest runs of word characters to `take`, as [`super::survival::words`] gives them, until it
/// says that it has enough. Linear in the length.
pub(super) fn each_word(text: &str, take: impl FnMut(usize, usize) -> bool) {
    each_word_at(Level::detect(), text, take);
}

pub(super) fn each_word_at(level: Level, text: &str, take: impl FnMut(usize, usize) -> bool) {
    dispatch(level, Words { text, take });
}

struct Words<'a, T> {
    text: &'a str,
    take: T,
}

impl<T: FnMut(usize, usize) -> bool> Work for Words<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { text, mut take } = self;
        let mut open = None;
        let mut carry = Carry::default();
        let (blocks, tail) = text.as_bytes().as_chunks::<BLOCK>();
        // A space behind the last word.
        let mut last = [b' '; BLOCK];
        last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        let mut base = 0;
        for block in blocks.iter().chain(std::iter::once(&last)) {
            let bytes = I::load(block);
            let mut words =
                I::between(I::folded(bytes), b'a', b'z') | I::between(bytes, b'0', b'9') | I::equal(bytes, b'_');
            words |= wide_letters::<I>(text, base, bytes, &mut carry.over);
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
}

/// The bytes, in the block at `base`, of letters beyond ASCII that may be in runs and words.
#[inline(always)]
fn wide_letters<I: Isa>(text: &str, base: usize, bytes: I::Bytes, over: &mut u64) -> u64 {
    let found = std::mem::take(over);
    // First bytes of characters from U+0080 to U+0FFF.
    let starts = I::between(bytes, 0xC2, 0xE0);
    if starts == 0 {
        return found;
    }
    // From U+0100 to U+02BF and from U+0400 to U+047F all are letters, and from U+00C0 on but for × and ÷, which end in
    // these two.
    let signs = I::equal(bytes, 0x97) | I::equal(bytes, 0xB7);
    let latin = I::equal(bytes, 0xC3) & !(signs >> 1 | 1 << (BLOCK - 1));
    let letters = latin | I::between(bytes, 0xC4, 0xCA) | I::between(bytes, 0xD0, 0xD1);
    *over = letters >> (BLOCK - 1);
    found | letters | letters << 1 | other_letters(text, base, starts & !letters, over)
}

/// The bytes of those letters that begin at some of `starts`.
#[inline]
fn other_letters(text: &str, base: usize, mut starts: u64, over: &mut u64) -> u64 {
    let mut found = 0;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_level_marks_the_same(text in "([a-zA-Z0-9]{0,9}[ -~\u{e9}\u{d7}\u{939}\u{4e2d}\u{1F600}]{0,3}){0,40}") {
            let mut wanted = Marks::default();
            wanted.read_at(Level::Baseline, &text);
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                let mut marks = Marks::default();
                marks.read_at(level, &text);
                prop_assert_eq!(&marks.blocks, &wanted.blocks, "{:?} {:?}", level, text);
            }
        }
    }
}
