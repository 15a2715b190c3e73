//! Old tool results masked, the oldest first, for as long as there is more to save.

use std::ops::Range;

use crate::masks::{self, Masked, Reason};
use crate::meter::TokenCount;
use crate::meter::bounds::Asked;
use crate::pairs::ScanOptions;
use crate::results;
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

    /// As many of the messages to come as it takes, about: the others need not be counted, nor found.
    fn enough(&self, coming: &mut impl Iterator<Item = Masked>, each: &[TokenCount]) -> Vec<Masked> {
        let mut over = self.over_tokens;
        let mut enough = Vec::new();
        while !is_met(over)
            && let Some((message, lines)) = coming.next()
        {
            let tokens = each.get(message).map_or(0, |count| self.number(count));
            let saved = tokens.cast_signed() - (LINE_TOKENS * lines.len() as u64).cast_signed();
            over = over.map(|over| over - saved);
            enough.push((message, lines));
        }
        enough
    }
}

/// Whether nothing more is to be saved.
fn is_met(over: Option<i64>) -> bool {
    over.is_some_and(|over| over <= 0)
}

/// The messages of a range in which lines stand for old results, in order, and what each saves: those of
/// [`results::open_results`] with the lines of [`masks::masks`], as far as they save anything and until enough is saved. O(messages)
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
    let old = results::each(transcript, options, encoding, messages).map(|result| (result, Reason::Old));
    let mut coming = masks::masked(old, encoding, saving.least_tokens);
    let each = transcript.each_tokens(&saving.asked);
    let mut over = saving.over_tokens;
    let mut taken = Vec::new();
    let mut some = saving.enough(&mut coming, &each);
    while !some.is_empty() {
        let at_once = (2 * some.len()).min(MOST_AT_ONCE);
        let counts = transcript.edited_tokens(&saving.asked, &some)?;
        for (masked, count) in some.into_iter().zip(&counts) {
            let before = each.get(masked.0).map_or(0, |count| saving.number(count));
            let saved = before.saturating_sub(saving.number(count));
            if saved == 0 || is_met(over) {
                continue;
            }
            over = over.map(|over| over - (saved.cast_signed() - saving.part_tokens));
            taken.push((masked, saved));
        }
        let more = if is_met(over) { 0 } else { at_once };
        some = coming.by_ref().take(more).collect();
    }
    Ok(taken)
}
