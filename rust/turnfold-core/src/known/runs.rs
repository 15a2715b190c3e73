//! Messages of a batch that stood in a row, as one text: where they stand so again, one digest finds them all.

use super::Sign;
use crate::keyed;
use crate::transcript::{Message, Segment, Span};

/// How many messages a run has. Each starts at a message of the batch whose number is a multiple of this.
pub(super) const RUN: usize = 8;

/// A run, from the start of its first message to the end of its last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(super) sign: Sign,
    /// Where its messages stand, from its own start on.
    pub(crate) messages: [Span; RUN],
}

/// The runs of a batch that is being put together, each at its place in it; `None` where something stood between the
/// messages, in the list or in the batch.
#[derive(Debug, Default)]
pub(super) struct Runs {
    made: Vec<Option<Run>>,
    messages: usize,
    /// Where in the source the messages since the last multiple of [`RUN`] stand, as far as they stood in a row.
    row: Vec<Span>,
}

/// Where in a source a message stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    span: Span,
    /// Where the message before it ends, if a comma stands between the two.
    follows: Option<u32>,
}

impl Place {
    pub(super) fn of(segment: &Segment, row: &Message) -> Self {
        // A message that came alone has none before it.
        let has_comma = memchr::memchr(b',', row.gap.of(segment.source.bytes())).is_some();
        Self {
            span: row.span,
            follows: has_comma.then_some(row.gap.start),
        }
    }
}

impl Runs {
    /// Takes note of the message that comes next in the batch, in `source`.
    pub(super) fn push(&mut self, place: Place, source: &[u8]) {
        let place_in_run = self.messages % RUN;
        self.messages += 1;
        if place_in_run == 0 {
            self.row.clear();
        }
        let goes_on = self.row.last().is_none_or(|last| place.follows == Some(last.end));
        if place_in_run == self.row.len() && goes_on {
            self.row.push(place.span);
        }
        if place_in_run == RUN - 1 {
            self.made.push(self.run(source));
        }
    }

    fn run(&self, source: &[u8]) -> Option<Run> {
        let spans = <[Span; RUN]>::try_from(self.row.as_slice()).ok()?;
        let [Span { start, .. }, .., Span { end, .. }] = spans;
        Some(Run {
            sign: Sign {
                digest: keyed::digest(Span { start, end }.of(source)),
                len: end - start,
            },
            messages: spans.map(|span| span.moved(start, 0)),
        })
    }

    pub(super) fn finish(self) -> Box<[Option<Run>]> {
        self.made.into()
    }
}
