//! Estimates: one pass over the bytes, no look at any vocabulary.
//!
//! A text's count is estimated as the sum of a weight for each byte and the one before it, and a weighted sum of how
//! often each of some dozen conditions holds that pairs of bytes can't tell (`features`): how long words grow, digits in
//! threes, indentation, runs of signs and of one character, third bytes of characters. The weights are fitted on exact
//! counts by `benches/fit_estimate.py`. Sums are integers, so every kind of processor gives the same number and a text
//! may come in pieces.

mod features;
mod lanes;
mod weights;

use features::{Past, Sink, conditions};
use lanes::{BLOCK, Lanes, Level, Work, dispatch};

use crate::Encoding;

/// How many conditions there are.
const CONDITIONS: usize = features::SHAPES + features::SCRIPTS;

/// Weights are in this part of a token.
const UNIT: i64 = 4_096;

/// An estimated count and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The estimate.
    pub tokens: u64,
    /// 98 of 100 recorded texts count at least this.
    pub lo: u64,
    /// 98 of 100 recorded texts count at most this.
    pub hi: u64,
}

impl Estimate {
    fn new(sum: i64, bytes: u64) -> Self {
        if bytes == 0 {
            return Self {
                tokens: 0,
                lo: 0,
                hi: 0,
            };
        }
        let rounded = u64::try_from((sum + UNIT / 2) / UNIT).unwrap_or(0);
        // No token is empty, and none of the published vocabularies has one of more than 256 bytes.
        let (least, most) = (bytes.div_ceil(256), bytes);
        let tokens = rounded.clamp(least, most);
        let (parts, root) = weights::SPREAD;
        let spread = (tokens * parts).div_ceil(1_000) + (tokens * root * root).isqrt().div_ceil(10) + 2;
        let lo = tokens.saturating_sub(spread).max(least);
        Self {
            tokens,
            lo,
            hi: (tokens + spread).min(most),
        }
    }
}

/// Estimates how many tokens `text` has; in a registered vocabulary as many as in `o200k_base`. No allocation; some two
/// looks and five vector instructions a byte with AVX2, 0.6 to 1.0 GB/s on an older processor that has no more.
///
/// ```
/// use turnfold_tokens::{Encoding, estimate};
///
/// let text = "The meeting is moved to Thursday, because the room is taken. ".repeat(20);
/// let exact = Encoding::O200kBase.tokenizer().count(&text) as u64;
/// let estimate = estimate(&text, Encoding::O200kBase);
/// assert!(estimate.tokens.abs_diff(exact) * 10 < exact);
/// ```
pub fn estimate(text: &str, encoding: Encoding) -> Estimate {
    at_level(Level::best(), &[text.as_bytes()], encoding)
}

/// The interval around an estimate of `tokens` for texts of `bytes` bytes together.
pub fn estimated_interval(tokens: u64, bytes: u64) -> Estimate {
    Estimate::new(
        i64::try_from(tokens).unwrap_or(i64::MAX / UNIT).saturating_mul(UNIT),
        bytes,
    )
}

/// Estimates one text that comes in pieces, cut anywhere: equal to [`estimate`] of the whole.
pub fn estimate_pieces(pieces: &[&str], encoding: Encoding) -> Estimate {
    let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
    at_level(Level::best(), &pieces, encoding)
}

fn at_level(level: Level, pieces: &[&[u8]], encoding: Encoding) -> Estimate {
    let (weights, table) = match encoding {
        Encoding::Cl100kBase => (&weights::CL100K, &weights::CL100K_PAIRS),
        // Most vocabularies of today lie close to that of o200k_base.
        Encoding::O200kBase | Encoding::O200kHarmony | Encoding::Registered(_) => {
            (&weights::O200K, &weights::O200K_PAIRS)
        }
    };
    let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
    let sum = pairs(table, pieces) + dispatch(level, Weighing { pieces, weights });
    Estimate::new(sum, bytes)
}

/// Weights of each byte after each, the later one in the higher half of the place.
type Pairs = [i16; 1 << 16];

/// A table as it is in its file, each weight's lower byte first.
#[expect(clippy::large_stack_arrays, reason = "the compiler alone runs this")]
const fn read_pairs(bytes: &[u8; 1 << 17]) -> Pairs {
    let mut pairs = [0; 1 << 16];
    let mut at = 0;
    while at < pairs.len() {
        pairs[at] = i16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
        at += 1;
    }
    pairs
}

/// The sum of the weights of each byte and the one before it; a null before the first.
fn pairs(table: &Pairs, pieces: &[&[u8]]) -> i64 {
    let weight = |pair: u64| i32::from(table[(pair & 0xFFFF) as usize]);
    let (mut total, mut before) = (0, 0);
    for piece in pieces {
        // What 32 bits hold.
        for part in piece.chunks(1 << 14) {
            let mut sums = [weight(u64::from_le_bytes([before, part[0], 0, 0, 0, 0, 0, 0])), 0];
            let mut rest = part;
            // Pairs out of registers: a load of each would take as long as the look at its weight.
            while let Some(even) = rest.first_chunk::<8>()
                && let Some(odd) = rest[1..].first_chunk::<8>()
            {
                let (even, odd) = (u64::from_le_bytes(*even), u64::from_le_bytes(*odd));
                sums[0] += weight(even) + weight(even >> 16) + weight(even >> 32) + weight(even >> 48);
                sums[1] += weight(odd) + weight(odd >> 16) + weight(odd >> 32) + weight(odd >> 48);
                rest = &rest[8..];
            }
            sums[1] += rest
                .windows(2)
                .map(|pair| weight(u64::from(pair[0]) | u64::from(pair[1]) << 8))
                .sum::<i32>();
            total += i64::from(sums[0]) + i64::from(sums[1]);
            before = part[part.len() - 1];
        }
    }
    total
}

/// One text in pieces, to be weighed.
struct Weighing<'a> {
    pieces: &'a [&'a [u8]],
    weights: &'a [i16; CONDITIONS],
}

impl Work for Weighing<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) -> i64 {
        let mut scales = Scales {
            past: Past::<L>::new(),
            weights: self.weights,
            total: 0,
        };
        let mut pieces = self.pieces.iter();
        let mut piece: &[u8] = &[];
        let mut gathered;
        loop {
            // One place that weighs: the conditions are long, and compiled once for each kind of processor.
            let (block, used) = if let Some(whole) = piece.first_chunk::<BLOCK>() {
                piece = &piece[L::BYTES..];
                (whole, L::BYTES)
            } else {
                gathered = [0; BLOCK];
                let mut used = 0;
                while used < L::BYTES {
                    let (head, tail) = piece.split_at(piece.len().min(L::BYTES - used));
                    gathered[used..used + head.len()].copy_from_slice(head);
                    (used, piece) = (used + head.len(), tail);
                    if used < L::BYTES {
                        let Some(next) = pieces.next() else { break };
                        piece = next;
                    }
                }
                (&gathered, used)
            };
            if used == 0 {
                break;
            }
            scales.weigh(block, used);
        }
        scales.total
    }
}

struct Scales<'a, L> {
    past: Past<L>,
    weights: &'a [i16; CONDITIONS],
    total: i64,
}

impl<L: Lanes> Scales<'_, L> {
    /// Adds the first `used` bytes of a block.
    #[inline(always)]
    fn weigh(&mut self, block: &[u8; BLOCK], used: usize) {
        let mut scale = Scale {
            sums: [L::no_sum(); 4],
            weights: self.weights,
            at: 0,
        };
        conditions(&L::planes(block), L::first(used), &mut self.past, &mut scale);
        for sum in scale.sums {
            self.total += L::total(sum);
        }
    }
}

struct Scale<'a, L: Lanes> {
    /// Four that take turns where an addition takes some cycles, so that none waits for the one before; else the first.
    sums: [L::Sum; 4],
    weights: &'a [i16; CONDITIONS],
    at: usize,
}

impl<L: Lanes> Sink<L> for Scale<'_, L> {
    #[inline(always)]
    fn add(&mut self, holds: L) {
        if let Some(&weight) = self.weights.get(self.at) {
            let [a, b, c, d] = self.sums;
            let next = holds.weigh(a, weight);
            self.sums = if L::TURNS { [b, c, d, next] } else { [next, b, c, d] };
            self.at += 1;
        }
    }
}

/// How often each condition holds in `text`: what the weights are fitted on, beside its pairs of bytes.
#[cfg(feature = "naive")]
pub fn condition_counts(text: &[u8]) -> [u32; CONDITIONS] {
    use lanes::Word;

    struct Counts([u32; CONDITIONS], usize);
    impl Sink<Word> for Counts {
        fn add(&mut self, holds: Word) {
            self.0[self.1] += u32::try_from(holds.weigh(Word::no_sum(), 1)).unwrap_or(u32::MAX);
            self.1 += 1;
        }
    }

    let mut counts = Counts([0; CONDITIONS], 0);
    let mut past = Past::new();
    for chunk in text.chunks(Word::BYTES) {
        let mut block = [0; BLOCK];
        block[..chunk.len()].copy_from_slice(chunk);
        counts.1 = 0;
        conditions(&Word::planes(&block), Word::first(chunk.len()), &mut past, &mut counts);
    }
    counts.0
}

#[cfg(test)]
mod tests;
