//! Bounds of a transcript, and whether it is within a limit, counting no more than that takes.

use std::ops::Range;

use turnfold_tokens::{Encoding, Tokenizer, estimate};

use super::count::{Counted, count_text, exactly};
use super::models::ModelLabel;
use super::{TokenCount, difference};
use crate::json::Unescaping;
use crate::known::{self, Found};
use crate::transcript::{BlockKind, Segment, TextForm, Transcript};

/// What is counted, in what and for whom.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The encoding.
    pub encoding: Encoding,
    /// How sure it is that the encoding is the model's.
    pub label: ModelLabel,
    /// The model, where not the one that the body names.
    pub model: Option<&'a str>,
    /// Which messages, clamped; `None`: the whole request.
    pub range: Option<Range<usize>>,
}

/// Two counts, made from the lower and the upper bounds of texts.
#[derive(Clone, Copy, Debug)]
struct Between {
    low: TokenCount,
    high: TokenCount,
}

impl Between {
    const NOTHING: Self = Self::of(TokenCount::ZERO);

    const fn of(count: TokenCount) -> Self {
        Self {
            low: count,
            high: count,
        }
    }

    fn add(&mut self, other: Self) {
        self.low = self.low + other.low;
        self.high = self.high + other.high;
    }

    /// Puts what is known in the place of a part.
    fn replace(&mut self, part: Self, known: TokenCount) {
        self.low = difference(self.low, part.low) + known;
        self.high = difference(self.high, part.high) + known;
    }

    /// How far the two are apart.
    fn width(&self) -> u64 {
        self.high.hi.saturating_sub(self.low.hi)
    }
}

/// A message that is bounded and not counted.
struct Open<'a> {
    segment: &'a Segment,
    message: usize,
    bounds: Between,
}

impl Transcript {
    /// An interval that holds both ends of what [`Transcript::tokens_for`] gives, without counting the texts of messages
    /// that nobody counted before: these are bounded ([`Tokenizer::bounds`]). What stands beside the messages is
    /// counted, once. Equal to the count where all is known.
    pub fn bounded_tokens(&self, asked: &Asked<'_>) -> TokenCount {
        let mut parts = Vec::new();
        let low = self.messages_by(asked.range.clone(), |range| {
            let (part, _) = self.bounded(asked, range);
            parts.push(part.high);
            part.low
        });
        let mut parts = parts.into_iter();
        let high = self.messages_by(asked.range.clone(), |_| parts.next().unwrap_or(TokenCount::ZERO));
        let Between { low, high } = self.finished(asked, Between { low, high });
        if low == high {
            return low;
        }
        // Most texts lie near their lower bound.
        let n = low.n + high.n.saturating_sub(low.n) / 16;
        TokenCount {
            source: low.source,
            ..TokenCount::estimate(n, low.lo, high.hi)
        }
    }

    /// Whether the upper bound of [`Transcript::tokens_for`] is at most `limit`.
    ///
    /// Bounds answer where the limit is outside of them. Inside, messages are counted, the least sure first, until they
    /// do; what is counted is remembered.
    pub fn fits(&self, asked: &Asked<'_>, limit: u64) -> bool {
        let tokenizer = asked.encoding.tokenizer();
        let (mut sum, mut open) = self.bounded(asked, asked.range.clone().unwrap_or(0..self.len()));
        open.sort_by_key(|open| open.bounds.width());
        loop {
            let Between { low, high } = self.finished(asked, sum);
            if high.hi <= limit || low.hi > limit {
                return high.hi <= limit;
            }
            let Some(Open {
                segment,
                message,
                bounds,
            }) = open.pop()
            else {
                return high.hi <= limit;
            };
            sum.replace(bounds, segment.message_count(message, self.format, tokenizer));
        }
    }

    /// The messages of a range, without what their provider adds to the request.
    fn bounded(&self, asked: &Asked<'_>, range: Range<usize>) -> (Between, Vec<Open<'_>>) {
        let tokenizer = asked.encoding.tokenizer();
        let (mut sum, mut open) = (Between::NOTHING, Vec::new());
        for (segment, inside) in self.segments_in(range) {
            if segment.counts.is_counted(asked.encoding) {
                let counted = segment.counts(self.format, asked.encoding).range(inside);
                sum.add(Between::of(counted));
                continue;
            }
            for message in inside {
                let bounds = self.bounded_message(segment, message, tokenizer);
                sum.add(bounds);
                if bounds.low != bounds.high {
                    open.push(Open {
                        segment,
                        message,
                        bounds,
                    });
                }
            }
        }
        (sum, open)
    }

    fn bounded_message(&self, segment: &Segment, message: usize, tokenizer: &Tokenizer) -> Between {
        let (envelope, source) = (self.format.envelope(), segment.source.bytes());
        let Some(row) = segment.messages().get(message) else {
            return Between::NOTHING;
        };
        let found = known::find(self.format, row.span.of(source));
        let known = found.as_ref().and_then(Found::known);
        if let Some(counts) = known.and_then(|known| known.counts(tokenizer.encoding())) {
            return Between::of(counts.count);
        }
        let exact = exactly(tokenizer);
        let mut inside = Between::NOTHING;
        let (mut least, mut most): (Vec<Counted>, Vec<Counted>) = (Vec::new(), Vec::new());
        let mut room = Unescaping::default();
        for block in segment.blocks_of(row) {
            least.clear();
            most.clear();
            for text in segment.texts_of(block) {
                if text.form == TextForm::Data {
                    let counted = count_text(self.format, &exact, *text, source, &mut room);
                    least.push(counted);
                    most.push(counted);
                    continue;
                }
                let read = text.read_in(source, &mut room);
                let mut bounds = tokenizer.bounds(&read);
                if block.kind == BlockKind::ToolCall && text.form == TextForm::JsonString {
                    let sent = tokenizer.bounds(&envelope.arguments(&read));
                    bounds.lo = bounds.lo.min(sent.lo);
                    bounds.hi = bounds.hi.max(sent.hi);
                }
                let counted = |tokens: usize| Counted {
                    tokens: tokens as u64,
                    count: envelope.text(&read, tokens as u64),
                };
                least.push(counted(bounds.lo));
                most.push(counted(bounds.hi));
            }
            inside.add(Between {
                low: envelope.block(block, &least),
                high: envelope.block(block, &most),
            });
        }
        let beside = segment.beside(row, envelope, &|text| estimate(text, tokenizer.encoding()).tokens);
        Between {
            low: beside.of(envelope.message(row, source, inside.low, tokenizer)),
            high: beside.of(envelope.message(row, source, inside.high, tokenizer)),
        }
    }

    /// Counts of messages, as counts of what was asked for.
    fn finished(&self, asked: &Asked<'_>, sum: Between) -> Between {
        let model = self.counted_for(asked.model);
        let whole = asked.range.is_none();
        let finish = |count| {
            let sent = self.sent(count, asked.encoding, &model, whole);
            self.labelled(sent, asked.label, whole.then_some(&model))
        };
        Between {
            low: finish(sum.low),
            high: finish(sum.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::sync::Arc;

    use super::super::count::Counting;
    use super::*;
    use crate::meter::CountSource;

    fn read(body: &str) -> Transcript {
        Transcript::from_json(Arc::new(body.as_bytes().to_vec()), None).expect("a transcript")
    }

    /// Bodies of several formats whose texts nobody has counted; `seed` keeps them apart from those of other tests.
    fn bodies(seed: &str) -> Vec<String> {
        let mut messages = String::new();
        for k in 0..9 {
            let role = if k % 2 == 0 { "user" } else { "assistant" };
            let text = format!("{seed} {k}: the report is late, отчёт 12345.67 报告 \\n\\n    {{\\\"a\\\": [1, 2]}} ")
                .repeat(k + 1);
            let _ = write!(
                messages,
                r#"{}{{"role":"{role}","content":"{text}"}}"#,
                if k == 0 { "" } else { "," }
            );
        }
        vec![
            format!(r#"{{"model":"gpt-4o","messages":[{messages}]}}"#),
            format!(
                r#"{{"model":"gpt-4o","tools":[{{"type":"function","function":{{"name":"f","description":"{seed}"}}}}],"messages":[{messages}]}}"#
            ),
            format!(r#"{{"system":"{seed}","messages":[{messages}]}}"#),
            format!(r#"{{"model":"mistral-large-latest","safe_prompt":true,"messages":[{messages}]}}"#),
            format!(
                r#"{{"model":"gpt-4o","messages":[{messages},{{"role":"assistant","content":"{seed}","tool_calls":[{}]}}]}}"#,
                [
                    r#"{\"a\": [1, 2], \"b\": null}"#,
                    r#"{\n        \"a\" : 1\n}"#,
                    "free text"
                ]
                .map(|sent| format!(r#"{{"id":"c","function":{{"name":"f","arguments":"{sent} {seed}"}}}}"#))
                .join(",")
            ),
        ]
    }

    #[test]
    fn bounds_hold_what_a_count_gives() {
        for label in [ModelLabel::Exact, ModelLabel::Assumed, ModelLabel::Estimate] {
            for body in bodies(&format!("bounds {label:?}")) {
                let transcript = read(&body);
                for range in [None, Some(0..1), Some(2..7), Some(3..3)] {
                    let encoding = Encoding::O200kBase;
                    let asked = Asked {
                        encoding,
                        label,
                        model: None,
                        range: range.clone(),
                    };
                    let bounded = transcript.bounded_tokens(&asked);
                    // A copy of its own, so that nothing is counted when the next range is bounded.
                    let exact = read(&body).bounded_by_counting(&asked);
                    assert!(
                        bounded.lo <= exact.lo && exact.hi <= bounded.hi,
                        "{bounded:?} {exact:?}"
                    );
                    assert_eq!(bounded.source, exact.source);
                    assert!(bounded.lo <= bounded.n && bounded.n <= bounded.hi);
                }
                let asked = Asked {
                    encoding: Encoding::O200kBase,
                    label,
                    model: None,
                    range: None,
                };
                let exact = transcript.tokens_for(asked.encoding, label, None, None);
                assert_eq!(transcript.bounded_tokens(&asked), exact);
            }
        }
    }

    impl Transcript {
        fn bounded_by_counting(&self, asked: &Asked<'_>) -> TokenCount {
            let mut counting = Counting::new(self.format, asked.encoding.tokenizer());
            let (mut sum, open) = self.bounded(asked, asked.range.clone().unwrap_or(0..self.len()));
            for open in open {
                let row = &open.segment.messages()[open.message];
                let counted = open.segment.count_message(row, &mut counting);
                sum.replace(open.bounds, counted.count);
            }
            self.finished(asked, sum).high
        }
    }

    #[test]
    fn a_limit_is_judged_as_by_counting() {
        for label in [ModelLabel::Exact, ModelLabel::Assumed] {
            for range in [None, Some(1..6)] {
                for shift in [-1_000_000, -1, 0, 1, 1_000_000] {
                    // New texts each time, since what is counted is remembered.
                    for body in bodies(&format!("fits {label:?} {range:?} {shift}")) {
                        let asked = Asked {
                            encoding: Encoding::Cl100kBase,
                            label,
                            model: None,
                            range: range.clone(),
                        };
                        let counted = read(&body).bounded_by_counting(&asked);
                        let limit = counted.hi.saturating_add_signed(shift);
                        for _ in 0..2 {
                            assert_eq!(read(&body).fits(&asked, limit), shift >= 0, "{limit} {counted:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_costs_nothing() {
        let chat = read(r#"[{"role":"user","content":"Hi"}]"#);
        let encoding = Encoding::O200kBase;
        let asked = Asked {
            encoding,
            label: ModelLabel::Exact,
            model: None,
            range: Some(1..1),
        };
        let bounded = chat.bounded_tokens(&asked);
        assert_eq!((bounded.n, bounded.source), (0, CountSource::Exact));
        assert!(chat.fits(&asked, 0));
    }
}
