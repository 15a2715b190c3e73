//! Estimates: a weight for each byte and the one before it, and an exact count of a sample.
//!
//! The sum of weights tells which parts of a text are dear, one look a byte. How dear all of it is in this text, which
//! no table can know, is taken from windows that are counted exactly: about one byte in sixteen of a long text. The
//! weights are fitted on exact counts by `benches/fit_estimate.py`. The estimate of a text is the same on every kind of
//! processor and whatever was counted before.

mod weights;

use std::ops::Range;

use crate::{Encoding, Tokenizer};

/// Weights are in this part of a token.
const UNIT: f64 = 4_096.0;

/// A text of up to so many bytes is counted, and no window is smaller.
const LEAST: usize = 128;

/// No window is larger.
const MOST: usize = 256;

/// Bytes of text that have a window.
const EVERY: usize = 4_096;

/// What part of its text a window is, where that is neither too little nor too much.
const PART: usize = 12;

/// How many bytes further on a window may be cut where words end.
const REACH: usize = 32;

/// A sample of so many tokens is believed as much as the weights are, by the recordings that the docs judge by.
const TRUST: f64 = 60.0;

/// Likewise where the weights are of another vocabulary.
const TRUST_FOREIGN: f64 = 15.0;

/// By how much at most a sample may correct the weights, up or down.
const MOST_WRONG: f64 = 16.0;

/// An estimated count and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The estimate.
    pub tokens: u64,
    /// 99 of 100 recorded texts count at least this.
    pub lo: u64,
    /// 99 of 100 recorded texts count at most this.
    pub hi: u64,
}

/// Estimates how many tokens `text` has; one of at most 128 bytes is counted, and its interval is its count. No
/// allocation, but for what counting remembers. Needs the tables of the vocabulary, which the first call in a process
/// makes in some 10 to 30 ms.
///
/// ```
/// use turnfold_tokens::{Encoding, estimate};
///
/// let text = "The meeting is moved to Thursday, because the room is taken. ".repeat(20);
/// let exact = Encoding::O200kBase.tokenizer().count(&text) as u64;
/// let estimate = estimate(&text, Encoding::O200kBase);
/// assert!(estimate.tokens.abs_diff(exact) * 20 < exact);
/// ```
pub fn estimate(text: &str, encoding: Encoding) -> Estimate {
    let tokenizer = encoding.tokenizer();
    if text.len() <= LEAST {
        let tokens = tokenizer.count(text) as u64;
        return Estimate {
            tokens,
            lo: tokens,
            hi: tokens,
        };
    }
    let (table, trust) = match encoding {
        Encoding::Cl100kBase => (&weights::CL100K, TRUST),
        Encoding::O200kBase | Encoding::O200kHarmony => (&weights::O200K, TRUST),
        // Most vocabularies of today lie closest to that of o200k_base.
        Encoding::Registered(_) => (&weights::O200K, TRUST_FOREIGN),
    };
    estimated_interval(sampled(text, tokenizer, table, trust), text.len() as u64)
}

/// Estimates a text; one of up to [`LEAST`] bytes is its sample.
fn sampled(text: &str, tokenizer: &Tokenizer, table: &Pairs, trust: f64) -> u64 {
    let (mut sample, mut rest) = (Weight::default(), Weight::default());
    let (mut counted, mut at) = (0, 0);
    for window in windows(text) {
        rest.add(table, text, at..window.start);
        sample.add(table, text, window.clone());
        at = window.end;
        counted += tokenizer.count(&text[window]);
    }
    rest.add(table, text, at..text.len());
    counted as u64 + beside(rest, sample, counted, trust)
}

/// What some bytes weigh.
#[derive(Clone, Copy, Default)]
struct Weight {
    sum: i64,
    bytes: usize,
}

impl Weight {
    fn add(&mut self, table: &Pairs, text: &str, part: Range<usize>) {
        let bytes = text.as_bytes();
        let before = part.start.checked_sub(1).map_or(0, |at| bytes[at]);
        self.bytes += part.len();
        self.sum += pairs(table, before, &bytes[part]);
    }

    /// In tokens, of which none is longer than 256 bytes.
    #[expect(clippy::cast_precision_loss, reason = "an estimate is less precise")]
    fn tokens(self) -> f64 {
        (self.sum as f64 / UNIT).max(self.bytes as f64 / 256.0)
    }
}

/// The tokens of what stands beside a sample: by what the sample's tokens weigh, as far as a sample of that size is
/// believed.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate is less precise, and no less than 0"
)]
fn beside(rest: Weight, sample: Weight, counted: usize, trust: f64) -> u64 {
    let counted = counted as f64;
    let ratio = (counted / sample.tokens().max(1.0)).clamp(1.0 / MOST_WRONG, MOST_WRONG);
    let believed = counted / (counted + trust);
    (rest.tokens() * (1.0 + believed * (ratio - 1.0))).round() as u64
}

/// The interval around an estimate of `tokens` for texts of `bytes` bytes together.
pub fn estimated_interval(tokens: u64, bytes: u64) -> Estimate {
    // No token is empty, and none of the published vocabularies has one of more than 256 bytes.
    let (least, most) = (bytes.div_ceil(256), bytes);
    let tokens = tokens.clamp(least, most);
    let (parts, root) = weights::SPREAD;
    let spread = (tokens * parts).div_ceil(1_000) + (tokens * root * root).isqrt().div_ceil(10) + 2;
    Estimate {
        tokens,
        lo: tokens.saturating_sub(spread).max(least),
        hi: (tokens + spread).min(most),
    }
}

/// Which parts of a text are counted: all of up to [`LEAST`] bytes, else one of each [`EVERY`] bytes, at another place in
/// each, so that lines of one length are not met in one place only.
fn windows(text: &str) -> impl Iterator<Item = Range<usize>> {
    let count = (text.len() / EVERY).max(1);
    let part = text.len() / count;
    let width = (part / PART).clamp(LEAST, MOST);
    (0..count).map(move |k| {
        // Multiples of the golden ratio, in 256ths, lie far from each other.
        let place = (k * 158 + 77) & 0xFF;
        let room = part.saturating_sub(width + 2 * REACH);
        let from = cut(text, k * part + ((room * place) >> 8));
        from..cut(text, from + width)
    })
}

/// The first place from `at` on where a token surely ends and none of its neighbours needs what is behind: before a
/// space that follows no white space, or behind letters of a word. The next character where no such place is near.
fn cut(text: &str, at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    let bytes = text.as_bytes();
    let Some(near) = bytes.get(at - 1..bytes.len().min(at + REACH)) else {
        return bytes.len();
    };
    let ends = |pair: &[u8]| match *pair {
        [before, b' '] => !before.is_ascii_whitespace(),
        [before, byte] => {
            before.is_ascii_alphabetic() && byte.is_ascii() && !byte.is_ascii_alphabetic() && byte != b'\''
        }
        _ => false,
    };
    near.windows(2)
        .position(ends)
        .map(|after| at + after)
        .or_else(|| (at..at + 4).find(|&at| text.is_char_boundary(at)))
        .unwrap_or(bytes.len())
}

/// Weights of each byte after each, the later one in the higher half of the place.
type Pairs = [i32; 1 << 16];

/// A table as it is in its file, 16 bits a weight, the lower byte first. Weights of 32 bits are added as they are read: a
/// third faster.
#[expect(
    clippy::large_stack_arrays,
    reason = "the compiler alone runs it, or the script that fits the weights"
)]
const fn read_pairs(bytes: &[u8; 1 << 17]) -> Pairs {
    let mut pairs = [0; 1 << 16];
    let mut at = 0;
    while at < pairs.len() {
        pairs[at] = i16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]) as i32;
        at += 1;
    }
    pairs
}

/// The sum of the weights of each byte and the one before it.
fn pairs(table: &Pairs, mut before: u8, bytes: &[u8]) -> i64 {
    let weight = |pair: u64| table[(pair & 0xFFFF) as usize];
    let mut total = 0;
    // What 32 bits hold.
    for part in bytes.chunks(1 << 14) {
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
    total
}

/// Estimates texts by other weights, in the form of their file: what the script that fits them judges them by.
#[cfg(feature = "naive")]
pub fn estimates_by(table: &[u8], texts: &[&str], encoding: Encoding) -> Option<Vec<u64>> {
    let (table, tokenizer) = (read_pairs(table.try_into().ok()?), encoding.tokenizer());
    let estimate = |text: &&str| sampled(text, tokenizer, &table, TRUST);
    Some(texts.iter().map(estimate).collect())
}

#[cfg(test)]
mod tests;
