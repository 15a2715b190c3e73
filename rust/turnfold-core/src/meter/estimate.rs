//! Estimates of a transcript: of each text only a sample is counted.

use std::cell::Cell;
use std::ops::Range;

use turnfold_tokens::{Encoding, estimate, estimated_interval};

use super::TokenCount;
use super::count::Counting;
use super::models::ModelLabel;
use crate::transcript::Transcript;

impl Transcript {
    /// [`Transcript::tokens_for`] with the texts of the messages estimated: no count is remembered. Tools and
    /// instructions beside the messages are counted, once.
    ///
    /// The interval is the envelope's, widened by what 99 of 100 texts of that length keep to.
    pub fn estimated_tokens(
        &self,
        encoding: Encoding,
        label: ModelLabel,
        model: Option<&str>,
        range: Option<Range<usize>>,
    ) -> TokenCount {
        let whole = range.is_none();
        let (texts, bytes) = (Cell::new(0), Cell::new(0));
        let count = |text: &str| {
            let found = estimate(text, encoding);
            // What is counted is off by nothing.
            if found.lo < found.hi {
                texts.set(texts.get() + found.tokens);
                bytes.set(bytes.get() + text.len() as u64);
            }
            found.tokens
        };
        let sum = self.messages_by(range, |range| self.estimated_messages(range, encoding, &count));
        let model = self.counted_for(model);
        let sum = self.sent(sum, encoding, &model, whole);
        let interval = estimated_interval(texts.get(), bytes.get());
        let (lo, hi) = (interval.tokens - interval.lo, interval.hi - interval.tokens);
        let sum = TokenCount::estimate(sum.n, sum.lo.saturating_sub(lo), sum.hi.saturating_add(hi));
        self.labelled(sum, label, whole.then_some(&model))
    }

    fn estimated_messages(&self, range: Range<usize>, encoding: Encoding, count: &dyn Fn(&str) -> u64) -> TokenCount {
        let mut counting = Counting::new(self.format, encoding.tokenizer());
        let parts = self.segments_in(range).flat_map(|(segment, inside)| {
            let messages = segment.messages().get(inside).unwrap_or_default();
            messages.iter().map(move |message| (segment, message))
        });
        parts
            .map(|(segment, message)| segment.count_message_by(message, &mut counting, count).count)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::meter::CountSource;

    fn read(body: &str) -> Transcript {
        Transcript::from_json(Arc::new(body.as_bytes().to_vec()), None).expect("a transcript")
    }

    #[test]
    fn estimates_lie_near_the_count_and_hold_it() {
        // Errors of sentences cancel; of one sentence again and again they don't.
        let text =
            "The report is late, since the figures of two regions came in on Friday. Nobody had told the tenants \
            that the water would be turned off, so they spent the morning looking for a leak. Please send me the list \
            of names again; the one that you attached was cut off after the first page. She keeps every letter that \
            her brother wrote from the ship, and reads one aloud on his birthday. Both parties agreed to share the \
            costs of the survey, although neither expected it to find anything. "
                .repeat(6);
        let chat = read(&format!(
            r#"[{{"role":"system","content":"Be brief."}},{{"role":"user","content":"{text}"}}]"#
        ));
        let claude = read(&format!(
            r#"{{"system":"s","messages":[{{"role":"user","content":"{text}"}}]}}"#
        ));
        for transcript in [chat, claude] {
            for encoding in Encoding::ALL {
                for range in [None, Some(0..1), Some(0..transcript.len())] {
                    let exact = transcript.tokens_for(encoding, ModelLabel::Exact, None, range.clone());
                    let found = transcript.estimated_tokens(encoding, ModelLabel::Exact, None, range);
                    assert_eq!(found.source, CountSource::Estimate);
                    assert!(found.n.abs_diff(exact.n) * 10 <= exact.n.max(20), "{found:?} {exact:?}");
                    assert!(found.lo <= exact.n && exact.n <= found.hi, "{found:?} {exact:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_costs_nothing() {
        let chat = read(r#"[{"role":"user","content":"Hi"}]"#);
        assert_eq!(
            chat.estimated_tokens(Encoding::O200kBase, ModelLabel::Exact, None, Some(1..1))
                .n,
            0
        );
    }
}
