//! Token counts of a transcript: text by the published vocabularies, and around it what each provider adds.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use turnfold_tokens::Encoding;

use self::tail::TailSums;
use crate::formats::Section;

pub mod bounds;
mod count;
pub mod envelope;
mod estimate;
pub mod media;
pub mod models;
mod slots;
mod tail;

pub(crate) use slots::Slots;

/// Whether a count is a fact or an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CountSource {
    /// The provider's own count, by its published vocabulary and framing.
    Exact,
    /// An interval that holds the provider's count; `n` is the likeliest value.
    Estimate,
}

/// A number of tokens: `lo <= n <= hi`, all three equal where the count is exact, `lo < hi` where it is not.
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
    /// What later models of the provider count beyond `n`. Only in counts of messages, which are made before a model is
    /// known; it wraps round in sums.
    later: u32,
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
            later: 0,
        }
    }

    /// An estimate; bounds that do not hold `n`, or meet, are moved apart.
    pub fn estimate(n: u64, lo: u64, hi: u64) -> Self {
        let lo = lo.min(n);
        Self {
            n,
            lo,
            hi: hi.max(n).max(lo + 1),
            source: CountSource::Estimate,
            later: 0,
        }
    }

    /// The same with another likeliest value, as far as the bounds allow.
    pub(crate) fn moved(self, by: i64) -> Self {
        let n = self.n.saturating_add_signed(by).clamp(self.lo, self.hi);
        Self { n, ..self }
    }

    /// What later models of the provider count, where `n` is what earlier ones do.
    pub(crate) fn read_later(self) -> Self {
        let later = i64::from(self.later.cast_signed());
        Self {
            later: 0,
            ..self.moved(later)
        }
    }

    /// The same, of which later models count so much more than `n`, or less.
    pub(crate) fn later(self, more: i64) -> Self {
        let later = more.cast_unsigned() as u32;
        Self { later, ..self }
    }

    /// What later models count beyond `n`.
    pub(crate) fn more_later(self) -> i64 {
        i64::from(self.later.cast_signed())
    }

    /// The count as it must be read when the vocabulary is that of another model: unchanged for
    /// [`models::ModelLabel::Exact`], otherwise an estimate.
    ///
    /// `Estimate` widens text by as much as [`envelope::anthropic_messages`] does; `Assumed` by less, since most open
    /// vocabularies stay close to `o200k_base` (kimi-k2, mistral-medium and muse-spark in the recordings). What a host
    /// adds by a template of its own is not in it ([`envelope::template_of_host`]).
    #[must_use]
    pub fn under(self, label: models::ModelLabel) -> Self {
        let share = |tokens: u64, percent: u64| tokens.saturating_mul(percent) / 100;
        match label {
            models::ModelLabel::Exact => self,
            models::ModelLabel::Assumed => Self::estimate(self.n, share(self.lo, 70), share(self.hi, 150) + 16),
            models::ModelLabel::Estimate => {
                Self::estimate(share(self.n, 120), share(self.lo, 65), share(self.hi, 220) + 16)
            }
        }
    }
}

impl std::ops::Add for TokenCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            n: self.n.saturating_add(other.n),
            lo: self.lo.saturating_add(other.lo),
            hi: self.hi.saturating_add(other.hi),
            later: self.later.wrapping_add(other.later),
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
    /// Text tokens of each block row; encoded data by the middle of its allowance.
    pub(crate) blocks: Vec<u64>,
    /// `sums[k]` is the sum of the messages before k, up to a constant: one more entry than messages.
    pub(crate) sums: Vec<TokenCount>,
}

/// Counts of one message by one encoding.
#[derive(Clone, Debug)]
pub(crate) struct MessageCounts {
    /// As [`Counts::blocks`].
    pub(crate) blocks: BlockCounts,
    /// What the message costs.
    pub(crate) count: TokenCount,
}

/// One count a block. Most messages have one block, whose count stands here.
#[derive(Clone, Debug)]
pub(crate) enum BlockCounts {
    One(u64),
    Other(Box<[u64]>),
}

impl FromIterator<u64> for BlockCounts {
    fn from_iter<I: IntoIterator<Item = u64>>(counts: I) -> Self {
        let mut counts = counts.into_iter();
        match (counts.next(), counts.next()) {
            (Some(count), None) => Self::One(count),
            (first, second) => Self::Other(first.into_iter().chain(second).chain(counts).collect()),
        }
    }
}

impl Counts {
    /// Counts of no message, with room for so many.
    pub(crate) fn with_capacity(messages: usize, blocks: usize) -> Self {
        let mut sums = Vec::with_capacity(messages + 1);
        sums.push(TokenCount::ZERO);
        Self {
            blocks: Vec::with_capacity(blocks),
            sums,
        }
    }

    /// Adds the message that comes next.
    pub(crate) fn add(&mut self, message: &MessageCounts) {
        let sum = self.sums.last().copied().unwrap_or(TokenCount::ZERO);
        match &message.blocks {
            BlockCounts::One(count) => self.blocks.push(*count),
            BlockCounts::Other(counts) => self.blocks.extend_from_slice(counts),
        }
        self.sums.push(sum + message.count);
    }

    /// What the messages `range` cost.
    pub(crate) fn range(&self, range: Range<usize>) -> TokenCount {
        match (self.sums.get(range.start), self.sums.get(range.end)) {
            (Some(&earlier), Some(&later)) => difference(later, earlier),
            _ => TokenCount::ZERO,
        }
    }

    /// Adds what is known of some messages of another segment.
    fn extend(&mut self, other: &Self, messages: &Range<usize>, blocks: &Range<usize>) {
        let last = self.sums.last().copied().unwrap_or(TokenCount::ZERO);
        let base = other.sums.get(messages.start).copied().unwrap_or(TokenCount::ZERO);
        let sums = other.sums.get(messages.start + 1..=messages.end).unwrap_or_default();
        self.sums.extend(sums.iter().map(|&sum| last + difference(sum, base)));
        self.blocks
            .extend_from_slice(other.blocks.get(blocks.clone()).unwrap_or_default());
    }
}

/// The count between two prefix sums. An estimate's bounds never meet, so equal bounds say that every part is exact.
fn difference(later: TokenCount, earlier: TokenCount) -> TokenCount {
    let n = later.n.saturating_sub(earlier.n);
    let lo = later.lo.saturating_sub(earlier.lo);
    let hi = later.hi.saturating_sub(earlier.hi);
    if lo == hi {
        TokenCount::exact(n)
    } else {
        TokenCount {
            later: later.later.wrapping_sub(earlier.later),
            ..TokenCount::estimate(n, lo, hi)
        }
    }
}

/// Counts made so far for one segment, by encoding. Filled once each, by whichever thread is first; a part of a
/// segment and two segments joined take along what was counted.
#[derive(Debug, Default)]
pub struct CountMemo {
    slots: Slots<Arc<Counts>>,
    tails: Slots<TailSums>,
}

impl CountMemo {
    /// The slot of an encoding.
    pub(crate) fn slot(&self, encoding: Encoding) -> Option<&OnceLock<Arc<Counts>>> {
        self.slots.place(slot_of(encoding))
    }

    /// A memo of what `make` gives for each slot; called for each, so quick to say that there is nothing.
    pub(crate) fn of_slots(make: impl Fn(usize) -> Option<Counts>) -> Self {
        let memo = Self::default();
        for slot in 0..Encoding::LIMIT {
            if let Some(counts) = make(slot) {
                memo.slots.put(slot, Arc::new(counts));
            }
        }
        memo
    }

    /// Whether the segment is counted in `encoding`.
    pub(crate) fn is_counted(&self, encoding: Encoding) -> bool {
        self.slots.get(slot_of(encoding)).is_some()
    }

    /// What the last messages cost, where only those were asked for.
    pub(crate) fn tail(&self, encoding: Encoding) -> Option<&TailSums> {
        self.tails.get(slot_of(encoding))
    }

    /// Keeps what the last messages cost, unless that is there already; either way what is kept. `None` where there is no
    /// such slot.
    pub(crate) fn put_tail(&self, encoding: Encoding, sums: TailSums) -> Option<&TailSums> {
        Some(self.tails.place(slot_of(encoding))?.get_or_init(|| sums))
    }

    /// The counts of parts of segments, one after the other, for the encodings that all are counted in. A part is its
    /// segment's memo, and which of its messages and rows of blocks.
    pub(crate) fn of_parts(parts: &[(&Self, Range<usize>, Range<usize>)]) -> Self {
        let all = Self::default();
        let Some((first, ..)) = parts.first() else { return all };
        let messages = parts.iter().map(|(_, messages, _)| messages.len()).sum();
        let rows = parts.iter().map(|(.., blocks)| blocks.len()).sum();
        for (slot, _) in first.slots.filled() {
            let each: Option<Vec<_>> = parts.iter().map(|(memo, ..)| memo.slots.get(slot)).collect();
            let Some(each) = each else { continue };
            let mut counts = Counts::with_capacity(messages, rows);
            for (of, (_, messages, blocks)) in each.into_iter().zip(parts) {
                counts.extend(of, messages, blocks);
            }
            all.slots.put(slot, Arc::new(counts));
        }
        all
    }
}

/// Counts made so far of what stands outside the messages, by encoding, for the model that was asked about first.
#[derive(Debug, Default)]
pub struct HeadMemo {
    outside: Slots<OfModel>,
    tools: Slots<OfModel>,
    system: Slots<OfModel>,
    holds_tools: OnceLock<bool>,
}

/// A count and the model that it is for.
type OfModel = (Box<str>, TokenCount);

impl HeadMemo {
    /// Whether the request lists any tool, found out on first use.
    pub(crate) fn holds_tools(&self, find: impl FnOnce() -> bool) -> bool {
        *self.holds_tools.get_or_init(find)
    }

    /// What stands outside the messages in all, made on first use.
    pub(crate) fn outside(&self, encoding: Encoding, model: &str, make: impl FnOnce() -> TokenCount) -> TokenCount {
        remembered(&self.outside, encoding, model, make)
    }

    /// Whether that is remembered for the model.
    pub(crate) fn knows_outside(&self, encoding: Encoding, model: &str) -> bool {
        let known = self.outside.get(slot_of(encoding));
        known.is_some_and(|(known, _)| **known == *model)
    }

    /// A section outside the messages, made on first use.
    pub(crate) fn section(
        &self,
        section: Section,
        encoding: Encoding,
        model: &str,
        make: impl FnOnce() -> TokenCount,
    ) -> TokenCount {
        match section {
            Section::Tools => remembered(&self.tools, encoding, model, make),
            Section::System => remembered(&self.system, encoding, model, make),
            Section::Messages => make(),
        }
    }
}

fn remembered(
    slots: &Slots<OfModel>,
    encoding: Encoding,
    model: &str,
    make: impl FnOnce() -> TokenCount,
) -> TokenCount {
    let Some(slot) = slots.place(slot_of(encoding)) else {
        return make();
    };
    match slot.get() {
        Some((known, count)) if **known == *model => *count,
        Some(_) => make(),
        None => {
            let count = make();
            let _ = slot.set((model.into(), count));
            count
        }
    }
}

pub(crate) fn slot_of(encoding: Encoding) -> usize {
    encoding.index()
}

#[cfg(test)]
mod tests;
