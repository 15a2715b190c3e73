//! The longest tail of a transcript within a limit: of what nobody counted before, little more than that tail is counted.

use turnfold_tokens::Encoding;

use super::count::Counting;
use super::{TokenCount, difference};
use crate::formats::WireFormat;
use crate::known::Adding;
use crate::recent;
use crate::transcript::{Segment, Transcript};

/// So many messages are counted before it is looked whether more fit. A shorter segment is counted as a whole.
const STRETCH: usize = 16;

/// Of a segment `[k]` is what its last `k` messages cost: of all of them, or of as many as were asked for first.
pub(crate) type TailSums = Box<[TokenCount]>;

impl Transcript {
    /// The first message of the longest tail of which the upper bound of [`Transcript::tokens`] is at most `limit`.
    ///
    /// O(log messages) where messages were counted. Else the first time O(bytes of the tail), and of the first segment
    /// that is longer than its part in the tail those are remembered; who asks for a longer tail later has it counted as
    /// a whole.
    pub fn tail_within(&self, encoding: Encoding, limit: u64) -> usize {
        let reading = self.format.envelope().reading(&self.model().unwrap_or_default());
        let (mut start, mut after, mut is_new) = (self.len(), TokenCount::ZERO, false);
        for segment in self.segments.iter().rev() {
            let fits = |own| reading.of(own + after).hi <= limit;
            is_new |= !segment.counts.is_counted(encoding) && segment.counts.tail(encoding).is_none();
            let (messages, sum) = segment.tail_within(self.format, encoding, &fits);
            start -= messages;
            after = sum + after;
            if messages < segment.len() {
                break;
            }
        }
        if is_new {
            recent::add(self);
        }
        start
    }
}

impl Segment {
    /// How many messages at its end fit, and what they cost.
    fn tail_within(
        &self,
        format: &'static dyn WireFormat,
        encoding: Encoding,
        fits: &dyn Fn(TokenCount) -> bool,
    ) -> (usize, TokenCount) {
        if self.len() > STRETCH && !self.counts.is_counted(encoding) {
            let sums = self.counts.tail(encoding);
            let sums = sums.or_else(|| self.counts.put_tail(encoding, self.count_tail(format, encoding, fits)));
            if let Some(sums) = sums {
                let fitting = sums.partition_point(|&sum| fits(sum));
                if fitting < sums.len() || sums.len() > self.len() {
                    let messages = fitting.saturating_sub(1);
                    return (messages, sums.get(messages).copied().unwrap_or(TokenCount::ZERO));
                }
            }
        }
        let counts = self.counts(format, encoding);
        let all = counts.sums.last().copied().unwrap_or(TokenCount::ZERO);
        let start = counts.sums.partition_point(|&before| !fits(difference(all, before)));
        let messages = self.len().saturating_sub(start);
        (messages, counts.range(self.len() - messages..self.len()))
    }

    /// Counts messages from the last one on, until one does not fit.
    fn count_tail(
        &self,
        format: &'static dyn WireFormat,
        encoding: Encoding,
        fits: &dyn Fn(TokenCount) -> bool,
    ) -> TailSums {
        let mut counting = Counting::new(format, encoding.tokenizer());
        let (mut sums, mut sum) = (vec![TokenCount::ZERO], TokenCount::ZERO);
        for stretch in self.messages().rchunks(STRETCH) {
            // In their order, as messages that follow each other are found together.
            let mut adding = Adding::new(format);
            let costs: Vec<_> = stretch
                .iter()
                .map(|message| self.look_up_or_count(message, &mut counting, &mut adding, |found| found.count))
                .collect();
            adding.finish();
            for cost in costs.into_iter().rev() {
                sum = cost + sum;
                sums.push(sum);
            }
            if !fits(sum) {
                break;
            }
        }
        sums.into()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::transcript::Source;

    const O200K: Encoding = Encoding::O200kBase;

    fn message(k: usize, format: &str) -> String {
        match (k % 3, format) {
            (0, _) => format!(r#"{{"role":"user","content":"message {k}{}"}}"#, " more".repeat(k % 7)),
            (_, "openai.chat") => format!(r#"{{"role":"assistant","content":"line {k}"}}"#),
            _ => format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"line {k}"}}]}}"#),
        }
    }

    fn transcript(messages: &[String], model: &str, format: &str, appended: usize) -> Transcript {
        let (read, later) = messages.split_at(messages.len() - appended.min(messages.len()));
        let body = format!(r#"{{"model":"{model}","messages":[{}]}}"#, read.join(","));
        let source: Source = Arc::new(body.into_bytes());
        let read = Transcript::read_whole(source, Some(format)).unwrap();
        later.iter().fold(read, |read, message| {
            read.append(Arc::new(message.clone().into_bytes())).unwrap()
        })
    }

    proptest! {
        /// Whatever was asked for before, by any way.
        #[test]
        fn a_tail_is_the_longest_that_fits(
            count in 0..90_usize,
            seed in 0..1_000_usize,
            appended in 0..40_usize,
            asked in prop::collection::vec((0..1_000_u64, 0..4_u8), 1..4),
            (model, format) in prop::sample::select(vec![
                ("gpt-4o", "openai.chat"),
                ("claude-opus-4-1", "anthropic.messages"),
                ("claude-opus-4-7", "anthropic.messages"),
            ]),
        ) {
            let messages: Vec<_> = (seed * 100..seed * 100 + count).map(|k| message(k, format)).collect();
            let other = transcript(&messages, model, format, 0);
            let tail = |k: usize| other.tokens(O200K, Some(k..count)).hi;
            let t = transcript(&messages, model, format, appended);
            for (limit, way) in asked {
                let limit = limit * (2 + tail(0)) / 900;
                match way {
                    0 => drop(t.tokens(O200K, None)),
                    1 => drop(t.tokens(O200K, Some(count / 2..count))),
                    _ => {}
                }
                let slow = (0..=count).find(|&k| tail(k) <= limit).unwrap();
                prop_assert_eq!(t.tail_within(O200K, limit), slow, "{} of {}", limit, tail(0));
            }
        }
    }
}
