//! What the estimate weighs beside pairs of bytes: how often each of some dozen conditions holds in a text.
//!
//! A condition is a boolean function of a byte and of at most 64 bytes before it, so counts of a text are the sums of
//! the counts of its parts, wherever it is cut, as long as the conditions see what precedes. Each is worked out for 64 to
//! 512 positions at once, from the eight planes of bits of those bytes.

use super::lanes::Lanes;

/// Conditions of ASCII text.
pub(super) const SHAPES: usize = 22;

/// Conditions that hold only where a byte is not ASCII: the last ones.
pub(super) const SCRIPTS: usize = 10;

/// Takes the conditions one after another, always in the same order.
pub(super) trait Sink<L> {
    fn add(&mut self, holds: L);
}

/// How often [`Past::later`] is called for ASCII text, and at most.
const LOOKS: usize = 46;
const FOREIGN_LOOKS: usize = 34;

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

/// A loop that is written out: each look has a place of its own in [`Past`], which is known only then.
macro_rules! each {
    ($k:ident in $($value:literal)* => $body:block) => {
        $({
            #[allow(dead_code, reason = "not every body asks which turn it is")]
            const $k: usize = $value;
            $body
        })*
    };
}

/// Hands the conditions of one block to `sink`; `valid` are the positions that the text has.
#[inline(always)]
#[expect(
    clippy::similar_names,
    reason = "a condition, and the same one or more places before"
)]
pub(super) fn conditions<L: Lanes, S: Sink<L>>(planes: &[L; 8], valid: L, past: &mut Past<L>, s: &mut S) {
    past.at = 0;
    // Plain loops and functions: a closure would be compiled on its own, for a processor that lacks the instructions.
    let p = planes;
    let mut n = *p;
    for plane in &mut n {
        *plane = plane.not();
    }
    let ascii = n[7].and(valid);
    let capital = ascii.and(p[6]).and(n[5]);
    let small = ascii.and(p[6]).and(p[5]);
    // The 26 letters of a row of 32: not the first, and not the last five.
    let lettered = (p[4].and(p[3]).and(p[2].or(p[1].and(p[0]))))
        .or(n[4].and(low_half(p, &n, 0)))
        .not();
    let (upper, lower) = (capital.and(lettered), small.and(lettered));
    let letter = upper.or(lower);
    let third_row = ascii.and(n[6]).and(p[5]).and(p[4]);
    let digit = third_row.and(n[3].or(n[2].and(n[1])));
    let second_row = ascii.and(n[6]).and(p[5]).and(n[4]);
    let space = second_row.and(low_half(p, &n, 0));
    let mark = ascii.and(p[5].or(p[6])).and(letter.or(digit).or(space).not());
    let high = p[7];
    let word = letter.or(high);

    let word1 = past.later::<1>(word);
    let upper1 = past.later::<1>(upper);
    let lower1 = past.later::<1>(lower);
    let space1 = past.later::<1>(space);

    // Words: from a letter after none, or a capital after a small letter.
    let camel = upper.and(lower1);
    let start = letter.and(word1.not()).or(camel);
    let spaced = letter.and(space1);
    let inner = letter.and(camel.not());
    let (mut nth, mut nth_spaced) = (start, spaced);
    each!(K in 2 3 4 5 6 7 8 9 10 => {
        nth = past.later::<1>(nth).and(inner);
        if matches!(K, 3..=7 | 10) {
            s.add(nth);
        }
        if K <= 8 {
            nth_spaced = past.later::<1>(nth_spaced).and(inner);
        }
        if matches!(K, 2 | 4 | 8) {
            s.add(nth_spaced);
        }
    });
    let second = past.later::<1>(upper.and(upper1.not())).and(upper);
    s.add(past.later::<1>(second).and(upper));
    s.add(lower.and(upper1).and(past.later::<1>(upper1)));

    // Digits: one token for up to three.
    let digit1 = past.later::<1>(digit);
    let digits2 = digit.and(digit1);
    let digits4 = digits2.and(past.later::<2>(digits2));
    let mut third = digit.and(digit1.not());
    each!(K in 1 2 3 => {
        third = past.later::<3>(third).and(digits4);
        s.add(third);
    });
    let digits8 = digits4.and(past.later::<4>(digits4));
    s.add(digits8.and(past.later::<5>(digits8)));

    // Indentation, and what follows it.
    let indented = past.later::<1>(space.and(space1));
    s.add(indented.and(space.not()).and(valid));
    s.add(indented.and(letter));

    // Signs, and the same one again.
    let mark1 = past.later::<1>(mark);
    s.add(past.later::<1>(mark.and(mark1.not())).and(mark));
    let mut other = p[0].xor(past.later::<1>(p[0]));
    each!(K in 1 2 3 4 5 6 => {
        other = other.or(p[K].xor(past.later::<1>(p[K])));
    });
    let marks = mark.and(other.not()).and(mark1);
    let marks2 = marks.and(past.later::<1>(marks));
    s.add(marks2);
    let marks4 = marks2.and(past.later::<2>(marks2));
    s.add(marks4);
    let marks8 = marks4.and(past.later::<4>(marks4));
    s.add(marks8.and(past.later::<8>(marks8)));

    // Letters.
    let mut vowel = p[4].and(low_half(p, &n, 5));
    each!(V in 1 5 9 15 => {
        vowel = vowel.or(n[4].and(low_half(p, &n, V)));
    });
    let consonant = letter.and(vowel.not());
    let cluster = consonant.and(past.later::<1>(consonant));
    s.add(cluster.and(past.later::<2>(cluster)));
    debug_assert_eq!(past.at, LOOKS, "looks of ASCII text");

    let foreign = high.any();
    if foreign || past.was_foreign {
        past.at = LOOKS;
        scripts(p, &n, word1, past, s);
        debug_assert_eq!(past.at, LOOKS + FOREIGN_LOOKS, "looks of other text");
    }
    past.was_foreign = foreign;
}

/// Conditions of text outside ASCII, beside its pairs of bytes: third bytes of characters, words, characters again.
#[inline(always)]
fn scripts<L: Lanes, S: Sink<L>>(p: &[L; 8], n: &[L; 8], word1: L, past: &mut Past<L>, s: &mut S) {
    let high = p[7];
    let (inside, first) = (high.and(n[6]), high.and(p[6]));
    let of_three = first.and(p[5]).and(n[4]);
    let e0 = of_three.and(low_half(p, n, 0));
    let han = of_three.and(p[2].or(p[3])).and(n[3].or(n[2].and(n[1])));
    let hangul = of_three.and(p[3]).and(p[2].xor(p[1]));
    let after_e0 = past.later::<1>(e0).and(inside);
    let third = past.later::<2>(hangul);
    each!(K in 0 1 4 => {
        s.add(third.and(p[K]));
    });
    s.add(past.later::<2>(han).and(p[5]));
    s.add(past.later::<1>(after_e0).and(p[0]));
    let mut run = first.and(word1.not());
    each!(K in 2 3 4 5 6 7 => {
        run = past.later::<2>(run).and(high);
        if matches!(K, 4 | 7) {
            s.add(run);
        }
    });
    // The same character again, of three bytes and of two.
    let (mut other3, mut other2) = (high.not(), high.not());
    each!(K in 0 1 2 3 4 5 6 7 => {
        other3 = other3.or(p[K].xor(past.later::<3>(p[K])));
        other2 = other2.or(p[K].xor(past.later::<2>(p[K])));
    });
    let again = other3.not();
    let mut again = again.and(past.later::<1>(again)).and(past.later::<2>(again));
    again = again.and(past.later::<3>(again));
    s.add(again);
    again = again.and(past.later::<6>(again));
    again = again.and(past.later::<12>(again));
    again = again.and(past.later::<24>(again));
    s.add(again);
    let again = other2.not();
    let again = again.and(past.later::<1>(again));
    s.add(again.and(past.later::<2>(again)));
}

/// Where the lowest four bits of a byte are `value`.
#[inline(always)]
fn low_half<L: Lanes>(p: &[L; 8], n: &[L; 8], value: usize) -> L {
    let mut holds = if value & 1 == 0 { n[0] } else { p[0] };
    for k in 1..4 {
        holds = holds.and(if value >> k & 1 == 0 { n[k] } else { p[k] });
    }
    holds
}
