//! What the estimate is a weighted sum of: how often each of some hundred conditions holds in a text.
//!
//! A condition is a boolean function of a byte and of at most 64 bytes before it, so counts of a text are the sums of
//! the counts of its parts, wherever it is cut, as long as the conditions see what precedes. Each is worked out for 64 or
//! 512 positions at once, from the eight planes of bits of those bytes.

use super::lanes::Lanes;

/// Sequences of letters that are counted, in either case, as places in the alphabet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequences<'a> {
    pub(super) pairs: &'a [[u8; 2]],
    pub(super) triples: &'a [[u8; 3]],
    /// Triples at the start of a word after a space.
    pub(super) openings: &'a [[u8; 3]],
}

#[cfg(any(test, feature = "naive"))]
impl Sequences<'_> {
    /// How many conditions there are with these sequences.
    pub(super) const fn conditions(&self) -> usize {
        SHAPES + self.pairs.len() + self.triples.len() + self.openings.len() + SCRIPTS
    }
}

/// Conditions of ASCII text that are not sequences.
#[cfg(any(test, feature = "naive"))]
pub(super) const SHAPES: usize = 152;

/// Conditions that hold only where a byte is not ASCII.
pub(super) const SCRIPTS: usize = 207;

/// Takes the conditions one after another, always in the same order.
pub(super) trait Sink<L> {
    fn add(&mut self, holds: L);
    /// The next `count` hold nowhere.
    fn skip(&mut self, count: usize);
}

/// How often [`Past::later`] is called for ASCII text, and at most.
const LOOKS: usize = 131;
const FOREIGN_LOOKS: usize = 23;

/// The bits of the block before, as far as they are looked at from the next one.
pub(super) struct Past<L> {
    bits: [L; LOOKS + FOREIGN_LOOKS],
    at: usize,
    was_foreign: bool,
}

impl<L: Lanes> Past<L> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            bits: [L::first(0); LOOKS + FOREIGN_LOOKS],
            at: 0,
            was_foreign: false,
        }
    }

    #[inline(always)]
    fn later<const K: i32>(&mut self, bits: L) -> L {
        let moved = bits.later::<K>(self.bits[self.at]);
        self.bits[self.at] = bits;
        self.at += 1;
        moved
    }
}

/// Hands the conditions of one block to `sink`; `valid` are the positions that the text has.
#[inline(always)]
#[expect(clippy::too_many_lines, reason = "one list, in the order of the weights")]
#[expect(
    clippy::similar_names,
    reason = "a condition, and the same one or more places before"
)]
pub(super) fn conditions<L: Lanes, S: Sink<L>>(
    planes: &[L; 8],
    valid: L,
    sequences: Sequences<'_>,
    past: &mut Past<L>,
    s: &mut S,
) {
    past.at = 0;
    // Plain loops and functions: a closure would be compiled on its own, for a processor that lacks the instructions.
    let p = planes;
    let mut n = *p;
    for plane in &mut n {
        *plane = plane.not();
    }
    let ascii = n[7].and(valid);
    let mut columns = [valid; 16];
    for (v, column) in columns.iter_mut().enumerate() {
        let low = bit(p, &n, 0, v & 1 != 0).and(bit(p, &n, 1, v & 2 != 0));
        *column = low.and(bit(p, &n, 2, v & 4 != 0)).and(bit(p, &n, 3, v & 8 != 0));
    }
    let signs = ascii.and(n[6]).and(p[5]);
    let (row2, row3) = (signs.and(n[4]), signs.and(p[4]));
    let capital = ascii.and(p[6]).and(n[5]);
    let (row4, row5) = (capital.and(n[4]), capital.and(p[4]));
    let small = ascii.and(p[6]).and(p[5]);
    let (row6, row7) = (small.and(n[4]), small.and(p[4]));
    let not_first = columns[0].not();
    let to_z = n[3].or(p[3].and(n[2]).and(n[1].or(n[0])));
    let upper = row4.and(not_first).or(row5.and(to_z));
    let lower = row6.and(not_first).or(row7.and(to_z));
    let letter = upper.or(lower);
    let digit = row3.and(n[3].or(n[2].and(n[1])));
    let space = row2.and(columns[0]);
    let low = ascii.and(n[6]).and(n[5]).and(n[4]);
    let (tab, newline, carriage) = (low.and(columns[9]), low.and(columns[10]), low.and(columns[13]));
    let blank = space.or(tab).or(newline).or(carriage);
    let mark = ascii.and(p[5].or(p[6])).and(letter.or(digit).or(space).not());
    let high = p[7];
    let word = letter.or(high);

    let word1 = past.later::<1>(word);
    let lower1 = past.later::<1>(lower);
    let upper1 = past.later::<1>(upper);
    let letter1 = past.later::<1>(letter);
    let digit1 = past.later::<1>(digit);
    let space1 = past.later::<1>(space);
    let mark1 = past.later::<1>(mark);
    let newline1 = past.later::<1>(newline);
    let blank1 = past.later::<1>(blank);
    let high1 = past.later::<1>(high);

    s.add(valid);
    s.add(upper);
    s.add(digit);
    s.add(space);
    s.add(newline);
    s.add(tab);
    s.add(carriage);
    s.add(ascii.and(p[5].or(p[6]).or(blank).not()));
    s.add(mark);

    // Words: from a letter after none, or a capital after a small letter.
    let camel = upper.and(lower1);
    let start = letter.and(word1.not()).or(camel);
    let spaced = letter.and(space1);
    s.add(start);
    s.add(spaced);
    s.add(camel);
    s.add(start.and(upper));
    s.add(start.and(mark1));
    s.add(start.and(newline1));
    let inner = letter.and(camel.not());
    let (mut nth, mut nth_spaced) = (start, spaced);
    for k in 2..=16 {
        nth = past.later::<1>(nth).and(inner);
        if k <= 13 {
            s.add(nth);
        }
        if k == 16 {
            s.add(nth);
        }
        if k <= 9 || k == 12 {
            nth_spaced = past.later::<1>(nth_spaced).and(inner);
            s.add(nth_spaced);
        }
    }
    let mut capitals = upper.and(upper1.not());
    for _ in 0..4 {
        capitals = past.later::<1>(capitals).and(upper);
        s.add(capitals);
    }
    let upper2 = past.later::<2>(upper);
    s.add(lower.and(upper1).and(upper2));

    // Digits: one token for up to three.
    let number = digit.and(digit1.not());
    s.add(number);
    let digits = digit
        .and(digit1)
        .and(past.later::<2>(digit))
        .and(past.later::<3>(digit));
    let mut third = number;
    for _ in 0..6 {
        third = past.later::<3>(third).and(digits);
        s.add(third);
    }
    s.add(digit.and(letter1));
    s.add(letter.and(digit1));
    s.add(digit.and(space1));
    s.add(digit.and(mark1));
    let plain = letter.or(digit);
    let plain2 = plain.and(past.later::<1>(plain));
    let plain4 = plain2.and(past.later::<2>(plain2));
    let plain8 = plain4.and(past.later::<4>(plain4));
    let plain16 = plain8.and(past.later::<8>(plain8));
    let plain32 = plain16.and(past.later::<16>(plain16));
    s.add(plain8);
    s.add(plain16);
    s.add(plain32);

    // White space.
    let spaces2 = space.and(space1);
    let spaces4 = spaces2.and(past.later::<2>(spaces2));
    let spaces8 = spaces4.and(past.later::<4>(spaces4));
    let spaces16 = spaces8.and(past.later::<8>(spaces8));
    s.add(spaces2);
    s.add(spaces4);
    s.add(spaces16);
    s.add(space.and(newline1));
    s.add(newline.and(newline1));
    s.add(newline.and(space1));
    s.add(newline.and(mark1));
    s.add(newline.and(letter1));
    s.add(blank.and(blank1));
    let indented = past.later::<1>(spaces2);
    s.add(indented.and(space.not()).and(valid));
    s.add(indented.and(letter));
    s.add(indented.and(mark));
    s.add(space.and(mark1));

    // Signs.
    let first_mark = mark.and(mark1.not());
    s.add(first_mark);
    s.add(first_mark.and(space1));
    s.add(first_mark.and(letter1));
    s.add(first_mark.and(digit1));
    let mark2 = past.later::<1>(first_mark).and(mark);
    s.add(mark2);
    let mark3 = past.later::<1>(mark2).and(mark);
    s.add(mark3);
    let mut other = p[0].xor(past.later::<1>(p[0]));
    for plane in &p[1..] {
        other = other.or(plane.xor(past.later::<1>(*plane)));
    }
    let again = valid.and(other.not());
    let marks = again.and(mark);
    s.add(marks);
    let marks2 = marks.and(past.later::<1>(marks));
    s.add(marks2);
    let marks4 = marks2.and(past.later::<2>(marks2));
    s.add(marks4);
    let marks8 = marks4.and(past.later::<4>(marks4));
    let marks16 = marks8.and(past.later::<8>(marks8));
    s.add(marks16);
    s.add(again.and(letter));
    for v in [2, 4, 7, 8, 9, 10, 12, 13, 14, 15] {
        s.add(row2.and(columns[v]));
    }
    for column in &columns[10..] {
        s.add(row3.and(*column));
    }
    for column in &columns[11..] {
        s.add(row5.and(*column));
    }
    s.add(row6.and(columns[0]));
    s.add(row7.and(columns[11]));
    s.add(row7.and(columns[12]));

    // Letters.
    let (early, late) = (ascii.and(p[6]).and(n[4]), ascii.and(p[6]).and(p[4]));
    let (mut letters, mut letters1, mut letters2) = ([valid; 26], [valid; 26], [valid; 26]);
    for k in 0..26 {
        letters[k] = if k < 15 {
            early.and(columns[k + 1])
        } else {
            late.and(columns[k - 15])
        };
        letters1[k] = past.later::<1>(letters[k]);
        letters2[k] = past.later::<1>(letters1[k]);
    }
    for letter in *b"acegjkouvwxz" {
        s.add(letters[place(letter)]);
    }
    let (vowel, rare) = (any_of(&letters, b"aeiou"), any_of(&letters, b"jkqvwxz"));
    let vowel1 = past.later::<1>(vowel);
    let consonant = letter.and(vowel.not());
    let consonant1 = letter1.and(vowel1.not());
    let cluster = consonant.and(consonant1);
    s.add(vowel.and(vowel1));
    s.add(cluster);
    s.add(cluster.and(past.later::<2>(cluster)));
    s.add(consonant.and(start));
    s.add(vowel.and(letter1.not()));
    s.add(rare.and(consonant1));
    let end = valid.and(word.not()).and(letter1);
    for letter in *b"abdefghjklmprstwxz" {
        s.add(end.and(letters1[place(letter)]));
    }
    for letter in *b"flrtyz" {
        s.add(spaced.and(letters[place(letter)]));
    }
    for bits in [
        row5.and(columns[15]),
        row5.and(columns[12]),
        row2.and(columns[14]),
        row2.and(columns[15]),
        row2.and(columns[13]),
        row2.and(columns[8]),
    ] {
        s.add(past.later::<1>(bits).and(letter));
    }
    for [a, b] in sequences.pairs {
        s.add(letters1[*a as usize].and(letters[*b as usize]));
    }
    for [a, b, c] in sequences.triples {
        s.add(
            letters2[*a as usize]
                .and(letters1[*b as usize])
                .and(letters[*c as usize]),
        );
    }
    let spaced2 = past.later::<2>(spaced);
    for [a, b, c] in sequences.openings {
        s.add(
            letters2[*a as usize]
                .and(letters1[*b as usize])
                .and(letters[*c as usize].and(spaced2)),
        );
    }
    debug_assert_eq!(past.at, LOOKS, "looks of ASCII text");

    let foreign = high.any();
    if foreign || past.was_foreign {
        past.at = LOOKS;
        scripts(
            p,
            &n,
            &columns,
            Around {
                valid,
                high,
                high1,
                letter,
                letter1,
                space1,
                word1,
            },
            past,
            s,
        );
        debug_assert_eq!(past.at, LOOKS + FOREIGN_LOOKS, "looks of other text");
    } else {
        s.skip(SCRIPTS);
    }
    past.was_foreign = foreign;
}

/// What the scripts see of the rest.
#[derive(Clone, Copy)]
struct Around<L> {
    valid: L,
    high: L,
    high1: L,
    letter: L,
    letter1: L,
    space1: L,
    word1: L,
}

/// Conditions of text outside ASCII: by first byte, and by half a block of the second.
#[inline(always)]
#[expect(clippy::too_many_lines, reason = "one list, in the order of the weights")]
#[expect(clippy::similar_names, reason = "named after bytes")]
fn scripts<L: Lanes, S: Sink<L>>(
    p: &[L; 8],
    n: &[L; 8],
    columns: &[L; 16],
    around: Around<L>,
    past: &mut Past<L>,
    s: &mut S,
) {
    let Around {
        valid,
        high,
        high1,
        letter,
        letter1,
        space1,
        word1,
    } = around;
    let (inside, first) = (high.and(n[6]), high.and(p[6]));
    s.add(first);
    s.add(inside);
    s.add(first.and(high1.not()));
    s.add(first.and(space1));
    s.add(high.and(letter1));
    s.add(letter.and(high1));
    s.add(valid.and(high.or(letter).not()).and(high1));
    // Each byte from 0x80 on.
    let mut is = [high; 128];
    for (v, byte) in is.iter_mut().enumerate() {
        let row = bit(p, n, 4, v & 16 != 0)
            .and(bit(p, n, 5, v & 32 != 0))
            .and(bit(p, n, 6, v & 64 != 0));
        *byte = row.and(high).and(columns[v & 15]);
    }
    for v in 0xC2..=0xDF {
        s.add(is[v - 0x80]);
    }
    // Second bytes in 32 pairs.
    let mut pair = [high; 32];
    for (v, pair) in pair.iter_mut().enumerate() {
        let low = bit(p, n, 1, v & 1 != 0)
            .and(bit(p, n, 2, v & 2 != 0))
            .and(bit(p, n, 3, v & 4 != 0));
        *pair = low.and(bit(p, n, 4, v & 8 != 0)).and(bit(p, n, 5, v & 16 != 0));
    }
    let after_e0 = past.later::<1>(is[0x60]).and(inside);
    for pair in &pair[16..32] {
        s.add(after_e0.and(*pair));
    }
    let after_e1 = past.later::<1>(is[0x61]).and(inside);
    for pair in &pair[0..32] {
        s.add(after_e1.and(*pair));
    }
    let after_e2 = past.later::<1>(is[0x62]).and(inside);
    for pair in &pair[0..4] {
        s.add(after_e2.and(*pair));
    }
    for v in 2..16 {
        s.add(after_e2.and(pair[2 * v].or(pair[2 * v + 1])));
    }
    let after_e3 = past.later::<1>(is[0x63]).and(inside);
    for pair in &pair[0..8] {
        s.add(after_e3.and(*pair));
    }
    s.add(after_e3.and(p[4].or(p[5])));
    for v in 0xE4..=0xEF {
        s.add(is[v - 0x80]);
    }
    let han = high
        .and(p[6])
        .and(p[5])
        .and(n[4])
        .and(p[2].or(p[3]))
        .and(n[3].or(n[2].and(n[1])));
    let hangul = high
        .and(p[6])
        .and(p[5])
        .and(n[4])
        .and(p[3])
        .and(is[0x6E].or(is[0x6F]).or(han).not());
    for script in [han, hangul] {
        let (second, third) = (past.later::<1>(script), past.later::<2>(script));
        for plane in &p[..6] {
            s.add(second.and(*plane));
            s.add(third.and(*plane));
        }
    }
    let cyrillic = past.later::<1>(is[0x50].or(is[0x51]));
    let arabic = past.later::<1>(is[0x58].or(is[0x59]));
    let latin = past.later::<1>(is[0x43].or(is[0x44]).or(is[0x45]));
    let indic = past.later::<1>(after_e0);
    let kana = past.later::<1>(after_e3);
    for script in [cyrillic, arabic, latin, indic, kana] {
        for plane in &p[..6] {
            s.add(script.and(*plane));
        }
    }
    let mut run = first.and(word1.not());
    for _ in 0..8 {
        run = past.later::<2>(run).and(high);
        s.add(run);
    }
    s.add(is[0x70]);
    let after_f0 = past.later::<1>(is[0x70]).and(inside);
    for v in [0x90, 0x91, 0x92, 0x93, 0x96, 0x9D, 0x9E, 0x9F, 0xA0] {
        s.add(after_f0.and(is[v - 0x80]));
    }
    s.add(is[0x71].or(is[0x72]).or(is[0x73]).or(is[0x74]));
    let emoji = past.later::<1>(after_f0.and(is[0x1F]));
    for v in [0x87, 0x8C, 0x8E, 0x91, 0x92, 0x93, 0x94, 0x98, 0x9A, 0xA4] {
        s.add(emoji.and(is[v - 0x80]));
    }
}

/// Where bit `k` of a byte is set, or not.
#[inline(always)]
fn bit<L: Lanes>(p: &[L; 8], n: &[L; 8], k: usize, set: bool) -> L {
    if set { p[k] } else { n[k] }
}

/// The place of a small letter in the alphabet.
#[inline(always)]
const fn place(letter: u8) -> usize {
    (letter - b'a') as usize
}

/// Where one of these letters stands.
#[inline(always)]
fn any_of<L: Lanes>(letters: &[L; 26], which: &[u8]) -> L {
    let mut found = letters[place(which[0])];
    for letter in &which[1..] {
        found = found.or(letters[place(*letter)]);
    }
    found
}
