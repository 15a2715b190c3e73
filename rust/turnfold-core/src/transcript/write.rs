//! Rows back to bytes.

use super::{Segment, Span, Transcript};

impl Transcript {
    /// The body: byte-identical to what was read as long as no message was added, removed or replaced; otherwise
    /// every kept message and everything outside the array still leave as the caller's own bytes. O(bytes).
    pub fn to_json(&self) -> Vec<u8> {
        let head = &*self.head;
        let inside: usize = self.segments.iter().map(|s| s.written_bytes() + s.messages.len()).sum();
        let mut out = Vec::with_capacity(head.before.len() + inside + head.after.len());
        self.write(&mut |bytes| out.extend_from_slice(bytes));
        out
    }

    /// Hands the bytes of [`Transcript::to_json`] to `sink`, piece by piece in order.
    pub fn write(&self, sink: &mut impl FnMut(&[u8])) {
        let head = &*self.head;
        let outside = head.source.bytes();
        sink(head.before.of(outside));
        let mut style: &[u8] = b"";
        for (index, view) in self.messages().enumerate() {
            let own = view.row.gap.of(view.segment.source.bytes());
            let (white_before, white_after) = match memchr::memchr(b',', own) {
                Some(comma) => (&own[..comma], own.get(comma + 1..).unwrap_or_default()),
                None => (&b""[..], own),
            };
            if index == 0 {
                sink(white_before);
                sink(white_after);
            } else if white_before.len() + white_after.len() < own.len() {
                sink(own);
            } else {
                // A message that comes without a comma was appended, or was the first of its array.
                sink(b",");
                sink(if own.is_empty() { style } else { own });
            }
            if !own.is_empty() {
                style = white_after;
            }
            sink(view.bytes());
        }
        sink(head.after.of(outside));
    }
}

impl Segment {
    /// Bytes that its messages and their gaps take.
    pub(super) fn written_bytes(&self) -> usize {
        self.messages.iter().map(|m| m.span.len() + m.gap.len()).sum()
    }
}

impl Span {
    /// The span moved by `from -> to`, its length kept.
    pub(super) fn moved(self, from: u32, to: u32) -> Self {
        let start = self.start.saturating_sub(from).saturating_add(to);
        Self {
            start,
            end: start.saturating_add(self.len() as u32),
        }
    }
}
