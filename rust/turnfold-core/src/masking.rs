//! Old tool results masked, the oldest first, for as long as there is more to save.

use std::ops::Range;

use crate::masks::{self, Masked, Reason};
use crate::meter::TokenCount;
use crate::meter::bounds::Asked;
use crate::pairs::ScanOptions;
use crate::results::open_results;
use crate::splice::SpliceError;
use crate::transcript::Transcript;

/// What a message keeps of a masked result, about: more than most do.
const LINE_TOKENS: u64 = 32;
/// Most messages that are counted together once those are that are surely needed.
const MOST_AT_ONCE: usize = 64;

/// What is to be saved, and how it is counted.
#[derive(Clone, Debug)]
pub struct Saving<'a> {
    /// How messages are counted; of all, whatever the range.
    pub asked: Asked<'a>,
    /// Whether by upper bounds; else by the likeliest numbers.
    pub bound: bool,
    /// Results of less than that stay.
    pub least_tokens: u64,
    /// So much is to be saved; `None` for all that can be.
    pub over_tokens: Option<i64>,
    /// What each message that changes counts beside: for the rounding of estimates.
    pub part_tokens: i64,
}

impl Saving<'_> {
    fn number(&self, count: &TokenCount) -> u64 {
        if self.bound { count.hi } else { count.n }
    }

    /// How many of these messages it takes, about: the others need not be counted.
    fn enough(&self, masked: &[Masked], each: &[TokenCount]) -> usize {
        let Some(mut over) = self.over_tokens else {
            return masked.len();
        };
        let saved = masked.iter().map(|(message, lines)| {
            let tokens = each.get(*message).map_or(0, |count| self.number(count));
            tokens.cast_signed() - (LINE_TOKENS * lines.len() as u64).cast_signed()
        });
        let needed = saved.take_while(|saved| {
            let more = over > 0;
            over -= saved;
            more
        });
        needed.count()
    }
}

/// The messages of a range in which lines stand for old results, in order, and what each saves: those of
/// [`open_results`] with the lines of [`masks::masks`], as far as they save anything and until enough is saved. O(messages)
/// after the first count, and the bytes of those that change.
///
/// # Errors
/// As [`Transcript::edited_tokens`].
pub fn mask_old(
    transcript: &Transcript,
    options: &ScanOptions,
    messages: Range<usize>,
    saving: &Saving<'_>,
) -> Result<Vec<(Masked, u64)>, SpliceError> {
    let encoding = saving.asked.encoding;
    let results = open_results(transcript, options, encoding, messages);
    let old = results.iter().map(|result| (result, Reason::Old));
    let masked = masks::masks(old, encoding, saving.least_tokens);
    let each = transcript.each_tokens(&saving.asked);
    let mut over = saving.over_tokens;
    let is_met = |over: Option<i64>| over.is_some_and(|over| over <= 0);
    let mut saved = Vec::with_capacity(masked.len());
    let mut at_once = saving.enough(&masked, &each).max(1);
    while let Some(some) = masked
        .get(saved.len()..)
        .filter(|rest| !rest.is_empty() && !is_met(over))
    {
        let some = some.get(..at_once).unwrap_or(some);
        let counts = transcript.edited_tokens(&saving.asked, some)?;
        for ((message, _), count) in some.iter().zip(&counts) {
            let before = each.get(*message).map_or(0, |count| saving.number(count));
            let less = before.saturating_sub(saving.number(count));
            let taken = if is_met(over) { 0 } else { less };
            if taken > 0 {
                over = over.map(|over| over - (taken.cast_signed() - saving.part_tokens));
            }
            saved.push(taken);
        }
        at_once = (2 * at_once).min(MOST_AT_ONCE);
    }
    let taken = masked.into_iter().zip(saved).filter(|(_, saved)| *saved > 0);
    Ok(taken.collect())
}
