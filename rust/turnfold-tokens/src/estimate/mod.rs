//! Estimates: one pass over the bytes, no look at any vocabulary.
//!
//! A text's count is estimated as a weighted sum of how often each of some hundred conditions holds in it
//! (`features`): words begun and how long they grow, pairs and triples of letters, digits in threes, runs of white space
//! and of signs, first and second bytes of characters of each script. The weights are fitted on exact counts
//! (`weights`, made by `benches/fit_estimate.py`). Sums are integers, so every kind of processor gives the same number
//! and a text may come in pieces.

mod features;
mod lanes;
mod weights;

use features::{Past, Sequences, Sink, conditions};
use lanes::{BLOCK, Lanes, Level, Work, dispatch};

use crate::Encoding;

/// Weights are in this part of a token.
const UNIT: i64 = 4_096;

const SEQUENCES: Sequences<'static> = Sequences {
    pairs: weights::PAIRS,
    triples: weights::TRIPLES,
    openings: weights::OPENINGS,
};

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

/// Estimates how many tokens `text` has; in a registered vocabulary as many as in `o200k_base`. No allocation; 0.8 GB/s with
/// AVX-512, 0.2 to 0.3 with AVX2, less without.
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
    let weights = match encoding {
        Encoding::Cl100kBase => &weights::CL100K,
        // Most vocabularies of today lie close to that of o200k_base.
        Encoding::O200kBase | Encoding::O200kHarmony | Encoding::Registered(_) => &weights::O200K,
    };
    let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
    Estimate::new(dispatch(level, Weighing { pieces, weights }), bytes)
}

/// One text in pieces, to be weighed.
struct Weighing<'a> {
    pieces: &'a [&'a [u8]],
    weights: &'a [i16],
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
        loop {
            // One place that weighs: the conditions are long, and compiled once for each kind of processor.
            let (mut block, mut used) = ([0; BLOCK], 0);
            while used < L::BYTES {
                let (head, tail) = piece.split_at(piece.len().min(L::BYTES - used));
                block[used..used + head.len()].copy_from_slice(head);
                (used, piece) = (used + head.len(), tail);
                if used < L::BYTES {
                    let Some(next) = pieces.next() else { break };
                    piece = next;
                }
            }
            if used == 0 {
                break;
            }
            scales.weigh(&block, used);
        }
        scales.total
    }
}

struct Scales<'a, L> {
    past: Past<L>,
    weights: &'a [i16],
    total: i64,
}

impl<L: Lanes> Scales<'_, L> {
    /// Adds the first `used` bytes of a block.
    #[inline(always)]
    fn weigh(&mut self, block: &[u8; BLOCK], used: usize) {
        let mut scale = Scale {
            sums: [L::no_sum(); 4],
            weights: self.weights.iter(),
        };
        conditions(&L::planes(block), L::first(used), SEQUENCES, &mut self.past, &mut scale);
        for sum in scale.sums {
            self.total += L::total(sum);
        }
    }
}

struct Scale<'a, L: Lanes> {
    /// Four that take turns where an addition takes some cycles, so that none waits for the one before; else the first.
    sums: [L::Sum; 4],
    weights: std::slice::Iter<'a, i16>,
}

impl<L: Lanes> Sink<L> for Scale<'_, L> {
    #[inline(always)]
    fn add(&mut self, holds: L) {
        if let Some(&weight) = self.weights.next() {
            let [a, b, c, d] = self.sums;
            let next = holds.weigh(a, weight);
            self.sums = if L::TURNS { [b, c, d, next] } else { [next, b, c, d] };
        }
    }

    #[inline(always)]
    fn skip(&mut self, count: usize) {
        if count > 0 {
            let _ = self.weights.nth(count - 1);
        }
    }
}

/// How often each condition holds in `text`: what the weights are fitted on. With `candidates`, for these pairs of
/// letters, triples and openings (as places in the alphabet) instead of the chosen ones.
#[cfg(feature = "naive")]
pub fn condition_counts(text: &[u8], candidates: Option<Candidates<'_>>) -> Vec<u32> {
    use lanes::Word;

    struct Counts(Vec<u32>, usize);
    impl Sink<Word> for Counts {
        fn add(&mut self, holds: Word) {
            if self.1 == self.0.len() {
                self.0.push(0);
            }
            self.0[self.1] += u32::try_from(holds.weigh(Word::no_sum(), 1)).unwrap_or(u32::MAX);
            self.1 += 1;
        }

        fn skip(&mut self, count: usize) {
            self.1 += count;
            self.0.resize(self.0.len().max(self.1), 0);
        }
    }

    let sequences = candidates.map_or(SEQUENCES, |(pairs, triples, openings)| Sequences {
        pairs,
        triples,
        openings,
    });
    let mut counts = Counts(vec![0; sequences.conditions()], 0);
    let mut past = Past::new();
    for chunk in text.chunks(Word::BYTES) {
        let mut block = [0; BLOCK];
        block[..chunk.len()].copy_from_slice(chunk);
        counts.1 = 0;
        conditions(
            &Word::planes(&block),
            Word::first(chunk.len()),
            sequences,
            &mut past,
            &mut counts,
        );
    }
    counts.0
}

/// Pairs, triples and openings.
#[cfg(feature = "naive")]
pub type Candidates<'a> = (&'a [[u8; 2]], &'a [[u8; 3]], &'a [[u8; 3]]);

#[cfg(test)]
mod tests;
