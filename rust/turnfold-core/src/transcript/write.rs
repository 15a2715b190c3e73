//! Rows back to bytes.

use std::borrow::Cow;
use std::sync::Arc;

use super::{MessageView, Segment, SourceBytes, Span, Transcript};
use crate::errors::ReadError;
use crate::json::Document;

impl Transcript {
    /// The body: byte-identical to what was read as long as no message was added, removed or replaced; otherwise
    /// every kept message and everything outside the array still leave as the caller's own bytes. O(bytes).
    pub fn to_json(&self) -> Vec<u8> {
        let head = &*self.head;
        let inside: usize = self.segments.iter().map(|s| s.bytes_of(&(0..s.len())) + s.len()).sum();
        let mut out = Vec::with_capacity(head.before.len() + inside + head.after.len());
        self.write(&mut |bytes| out.extend_from_slice(bytes));
        out
    }

    /// Hands the bytes of [`Transcript::to_json`] to `sink`, piece by piece in order.
    pub fn write(&self, sink: &mut impl FnMut(&[u8])) {
        let head = &*self.head;
        let outside = head.source.bytes();
        sink(head.before.of(outside));
        if head.lone && self.is_as_read() {
            for view in self.messages() {
                sink(view.bytes());
            }
            sink(head.after.of(outside));
            return;
        }
        if head.lone {
            sink(b"[");
        }
        let mut gaps = Gaps::opening();
        for view in self.messages() {
            let own = view.row.gap.of(view.segment.source.bytes());
            gaps.next(own).into_iter().flatten().for_each(&mut *sink);
            match self.lone_bytes(&view) {
                Some(message) => sink(&message),
                None => sink(view.bytes()),
            }
        }
        if head.lone {
            sink(b"]");
        }
        sink(head.after.of(outside));
    }

    /// One message as JSON bytes: its own, or those of the message that a lone value stands for.
    pub fn message_json(&self, index: usize) -> Option<Cow<'_, [u8]>> {
        let view = self.message(index)?;
        Some(self.lone_bytes(&view).map_or(Cow::Borrowed(view.bytes()), Cow::Owned))
    }

    /// Whether a lone value is alone still.
    fn is_as_read(&self) -> bool {
        let mut views = self.messages();
        let first = views.next();
        views.next().is_none() && first.is_some_and(|view| self.is_lone(&view))
    }

    /// Whether the message is the value that the body has in place of an array.
    fn is_lone(&self, view: &MessageView<'_>) -> bool {
        let (body, own) = (self.head.source.bytes(), view.segment.source.bytes());
        self.head.lone && std::ptr::eq(body, own) && view.row.span.start == self.head.before.end
    }

    /// A transcript of nothing but the message that a lone value stands for; `None` for any other message.
    ///
    /// # Errors
    /// `TooLarge` where the message is larger than a body may be.
    pub(crate) fn of_lone(&self, view: &MessageView<'_>) -> Result<Option<Self>, ReadError> {
        let Some(message) = self.lone_bytes(view) else {
            return Ok(None);
        };
        let segment = Segment::from_message(self.format, SourceBytes(Arc::new(message)), view.index, None)?;
        let (reason, head) = (self.format_reason.clone(), Arc::clone(&self.head));
        Ok(Some(Self::from_segments(
            self.format,
            reason,
            head,
            vec![Arc::new(segment)],
        )))
    }

    /// The message that a lone value stands for, once it stands among others.
    fn lone_bytes(&self, view: &MessageView<'_>) -> Option<Vec<u8>> {
        if !self.is_lone(view) {
            return None;
        }
        let document = Document::parse(view.bytes()).ok()?;
        self.format.lone_message(document.root())
    }
}

/// What stands before messages where they are written one after the other.
pub(super) struct Gaps<'a> {
    /// Whether the transcript's first message comes next.
    opens: bool,
    /// The white space behind the last comma, for messages that come without one; `None` where it is not known.
    style: Option<&'a [u8]>,
}

impl<'a> Gaps<'a> {
    /// Before the transcript's first message.
    pub(super) fn opening() -> Self {
        Self {
            opens: true,
            style: Some(b""),
        }
    }

    /// Behind messages of which nothing is known.
    pub(super) fn amid() -> Self {
        Self {
            opens: false,
            style: None,
        }
    }

    /// What is written before the next message, in pieces, given what stands before it where it comes from. `None` where
    /// that rests on messages of which nothing is known.
    pub(super) fn next(&mut self, own: &'a [u8]) -> Option<[&'a [u8]; 2]> {
        let (white_before, white_after) = match memchr::memchr(b',', own) {
            Some(comma) => (&own[..comma], own.get(comma + 1..).unwrap_or_default()),
            None => (&b""[..], own),
        };
        let style = self.style;
        if !own.is_empty() {
            self.style = Some(white_after);
        }
        if std::mem::take(&mut self.opens) {
            return Some([white_before, white_after]);
        }
        if white_before.len() + white_after.len() < own.len() {
            return Some([own, b""]);
        }
        // A message that comes without a comma was appended, or was the first of its array.
        Some([b",", if own.is_empty() { style? } else { own }])
    }
}

impl Span {
    /// The span moved by `from -> to`, its length kept.
    pub(crate) fn moved(self, from: u32, to: u32) -> Self {
        let start = self.start.saturating_sub(from).saturating_add(to);
        Self {
            start,
            end: start.saturating_add(self.len() as u32),
        }
    }
}
