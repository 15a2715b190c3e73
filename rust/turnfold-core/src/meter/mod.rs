//! Token counts of a transcript.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use turnfold_tokens::Encoding;

/// Whether a count is a fact or an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CountSource {
    /// The provider's own count, by its published vocabulary and framing.
    Exact,
    /// An interval that holds the provider's count; `n` is the likeliest value.
    Estimate,
}

/// A number of tokens: `lo <= n <= hi`, all three equal where the count is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenCount {
    /// The count, or the likeliest value.
    pub n: u64,
    /// The provider counts at least this.
    pub lo: u64,
    /// The provider counts at most this.
    pub hi: u64,
    /// Which of the two.
    pub source: CountSource,
}

impl TokenCount {
    /// No token.
    pub const ZERO: Self = Self::exact(0);

    /// A fact.
    pub const fn exact(n: u64) -> Self {
        Self {
            n,
            lo: n,
            hi: n,
            source: CountSource::Exact,
        }
    }

    /// An estimate; the bounds are moved apart where they do not hold `n`.
    pub fn estimate(n: u64, lo: u64, hi: u64) -> Self {
        Self {
            n,
            lo: lo.min(n),
            hi: hi.max(n).max(lo.min(n) + 1),
            source: CountSource::Estimate,
        }
    }
}

impl std::ops::Add for TokenCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            n: self.n + other.n,
            lo: self.lo + other.lo,
            hi: self.hi + other.hi,
            source: if other.source == CountSource::Estimate {
                other.source
            } else {
                self.source
            },
        }
    }
}

impl std::iter::Sum for TokenCount {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, std::ops::Add::add)
    }
}

/// Counts of one segment by one encoding.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// One a block row.
    pub(crate) blocks: Vec<TokenCount>,
    /// `sums[k]` is the sum of the messages before k: one more entry than messages.
    pub(crate) sums: Vec<TokenCount>,
}

type Slots<T> = [OnceLock<T>; Encoding::ALL.len()];

/// Counts made so far for one segment, by encoding. Filled once each, by whichever thread is first.
#[derive(Debug, Default)]
pub struct CountMemo {
    slots: Slots<Arc<Counts>>,
}

/// Counts made so far of what stands outside the messages, by encoding.
#[derive(Debug, Default)]
pub struct HeadMemo {
    _slots: Slots<TokenCount>,
}

impl CountMemo {
    /// The counts of a part of the segment.
    pub(crate) fn slice(&self, messages: Range<usize>, blocks: Range<usize>) -> Self {
        self.map(|counts| Counts {
            blocks: counts.blocks.get(blocks.clone()).unwrap_or_default().to_vec(),
            sums: counts
                .sums
                .get(messages.start..=messages.end)
                .unwrap_or_default()
                .to_vec(),
        })
    }

    /// The counts of this segment and of one right after it, for the encodings that both are counted in.
    pub(crate) fn joined(&self, after: &Self) -> Self {
        let joined = Self::default();
        for ((slot, first), second) in joined.slots.iter().zip(&self.slots).zip(&after.slots) {
            if let (Some(first), Some(second)) = (first.get(), second.get()) {
                let _ = slot.set(Arc::new(first.joined(second)));
            }
        }
        joined
    }

    fn map(&self, part: impl Fn(&Counts) -> Counts) -> Self {
        let mapped = Self::default();
        for (slot, counts) in mapped.slots.iter().zip(&self.slots) {
            if let Some(counts) = counts.get() {
                let _ = slot.set(Arc::new(part(counts)));
            }
        }
        mapped
    }
}

impl Counts {
    fn joined(&self, after: &Self) -> Self {
        let last = self.sums.last().copied().unwrap_or(TokenCount::ZERO);
        let base = after.sums.first().copied().unwrap_or(TokenCount::ZERO);
        let moved = after.sums.iter().skip(1).map(|&sum| last + minus(sum, base));
        Self {
            blocks: self.blocks.iter().chain(&after.blocks).copied().collect(),
            sums: self.sums.iter().copied().chain(moved).collect(),
        }
    }
}

/// The count between two prefix sums. An estimate's bounds never meet, so equal bounds say that every part is exact.
fn minus(later: TokenCount, earlier: TokenCount) -> TokenCount {
    let (n, lo, hi) = (later.n - earlier.n, later.lo - earlier.lo, later.hi - earlier.hi);
    if lo == hi {
        TokenCount::exact(n)
    } else {
        TokenCount::estimate(n, lo, hi)
    }
}
