//! Estimates of a transcript: every text by one pass over its bytes instead of the vocabulary.

use std::ops::Range;

use turnfold_tokens::{Encoding, estimate, estimated_interval};

use super::TokenCount;
use super::count::Counted;
use super::models::ModelLabel;
use crate::transcript::{Segment, TextForm, Transcript};

impl Transcript {
    /// [`Transcript::tokens_for`] with the texts of the messages estimated: nothing is remembered, and no text of a
    /// message is looked up. Tools and instructions beside the messages are counted, once.
    ///
    /// The interval is the envelope's, widened by what 98 of 100 texts of that length keep to.
    pub fn estimated_tokens(
        &self,
        encoding: Encoding,
        label: ModelLabel,
        model: Option<&str>,
        range: Option<Range<usize>>,
    ) -> TokenCount {
        let whole = range.is_none();
        let (mut sum, mut texts, mut bytes) = (TokenCount::ZERO, 0, 0);
        for (segment, inside) in self.segments_in(range) {
            let (count, estimated, length) = self.estimate_messages(segment, inside, encoding);
            sum = sum + count;
            texts += estimated;
            bytes += length;
        }
        let sum = self.sent(sum, encoding, &self.counted_for(model), whole);
        let interval = estimated_interval(texts, bytes);
        let (lo, hi) = (interval.tokens - interval.lo, interval.hi - interval.tokens);
        let sum = TokenCount::estimate(sum.n, sum.lo.saturating_sub(lo), sum.hi.saturating_add(hi));
        self.labelled(sum, label)
    }

    /// What messages of a segment cost, and of that the estimated tokens and the bytes they were estimated from.
    fn estimate_messages(&self, segment: &Segment, range: Range<usize>, encoding: Encoding) -> (TokenCount, u64, u64) {
        let envelope = self.format.envelope();
        let tokenizer = encoding.tokenizer();
        let source = segment.source.bytes();
        let (mut sum, mut estimated, mut bytes) = (TokenCount::ZERO, 0, 0);
        for message in segment.messages().get(range).unwrap_or_default() {
            let mut inside = TokenCount::ZERO;
            for block in segment.blocks_of(message) {
                let counted: Vec<Counted> = segment
                    .texts_of(block)
                    .iter()
                    .map(|text| {
                        if text.form == TextForm::Data {
                            return super::count::count_text(self.format, tokenizer, *text, source);
                        }
                        let read = text.read(source);
                        let tokens = estimate(&read, encoding).tokens;
                        estimated += tokens;
                        bytes += read.len() as u64;
                        Counted {
                            tokens,
                            count: envelope.text(&read, tokens),
                        }
                    })
                    .collect();
                inside = inside + envelope.block(block, &counted);
            }
            sum = sum + envelope.message(message, source, inside, tokenizer);
        }
        (sum, estimated, bytes)
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
        let text = "The report is late, since the figures of two regions came in on Friday. ".repeat(30);
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
