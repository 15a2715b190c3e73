//! A body that goes on from one that is read already: what both share is found by comparison, and only the rest is read.

use std::borrow::Cow;
use std::sync::Arc;

use super::read::{NAMED, join, read_message};
use super::{Message, Segment, Source, SourceBytes, Span, Transcript};
use crate::errors::ReadError;
use crate::formats::Rows;
use crate::json::Document;
use crate::meter::CountMemo;
use crate::prefix::common_prefix;
use crate::recent;

/// So many bytes that are not one in memory are compared where two transcripts may be of one body.
const TWIN_BYTES: usize = 32 << 10;

/// Messages at the start of a body that another transcript has, byte for byte.
struct Shared {
    messages: usize,
    /// One past the last of them in the body.
    end: usize,
}

impl Transcript {
    /// Reads a body of which `previous` has a part: equal to [`Transcript::from_json`] of it in everything that can be
    /// asked, with the format named where the caller named that of `previous`.
    ///
    /// Where everything beside the messages is as it was and the bodies share at least half of their bytes from the
    /// start, the shared messages keep their rows and counts, and of `source` only the rest is read and copied: one
    /// comparison of the shared bytes, O(bytes of the rest), and, where the last messages of `previous` are not shared,
    /// a copy of the rows of the segment that the difference lies in. Anything else is read as a whole.
    ///
    /// # Errors
    /// As [`Transcript::from_json`].
    pub fn extend_from(previous: &Self, source: Source) -> Result<Self, ReadError> {
        match previous.extended((*source).as_ref()) {
            Some(extended) => Ok(Self {
                landmarks: recent::landmarks((*source).as_ref()),
                ..extended
            }),
            None => Self::from_json(source, previous.named.then(|| previous.format.name())),
        }
    }

    /// Whether both were read from the same bytes in the same way, as shows without a long look: most of them are one in
    /// memory.
    pub(crate) fn is_twin(&self, other: &Self) -> bool {
        let mut left = TWIN_BYTES;
        let mut is_same = |(own, others): (&Arc<Segment>, &Arc<Segment>)| {
            Arc::ptr_eq(own, others) || {
                let bytes = own.source.bytes();
                let start = |segment: &Segment| segment.messages().first().map(|message| message.span.start);
                bytes.len() <= left && {
                    left -= bytes.len();
                    bytes == others.source.bytes() && own.len() == others.len() && start(own) == start(others)
                }
            }
        };
        self.named == other.named
            && Arc::ptr_eq(&self.head, &other.head)
            && self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(&mut is_same)
    }

    /// `None` where `body` must be read as a whole, to be refused or because too little is shared.
    pub(super) fn extended(&self, body: &[u8]) -> Option<Self> {
        let head = &*self.head;
        let outside = head.source.bytes();
        if head.lone || u32::try_from(body.len()).is_err() || !body.starts_with(head.before.of(outside)) {
            return None;
        }
        let listed = body.strip_suffix(head.after.of(outside))?;
        let shared = self.shared(listed, head.before.len())?;
        let rest = listed.get(shared.end..)?;
        if shared.messages == 0 || rest.len() > shared.end {
            return None;
        }
        self.followed_by(shared.messages, rest)
    }

    /// The first `kept` messages and then those of `rest`, both of them JSON arrays without a space between messages: equal to
    /// what [`Transcript::from_json`] reads of the array of all, with the format named where it was, at the cost of the
    /// rest alone. `None` where the whole must be read for that, to be refused or because this is no such array.
    #[must_use]
    pub fn grown(&self, kept: usize, rest: &[u8]) -> Option<Self> {
        let head = &*self.head;
        let outside = head.source.bytes();
        let is_array = !head.lone && head.before.of(outside) == b"[" && head.after.of(outside) == b"]";
        if !is_array || kept == 0 || kept > self.len() || !self.is_compact() {
            return None;
        }
        let before: usize = self.segments.iter().map(|segment| segment.stretch().len()).sum();
        u32::try_from(before + rest.len()).ok()?;
        match rest.strip_prefix(b"[")?.strip_suffix(b"]")? {
            [] => self.followed_by(kept, &[]),
            items => self.followed_by(kept, &[b",", items].concat()),
        }
    }

    /// Whether its messages stand with a comma and nothing else between them.
    fn is_compact(&self) -> bool {
        let mut gap: &[u8] = b"";
        self.segments.iter().all(|segment| {
            let source = segment.source.bytes();
            let has_gap = |message: &Message| message.gap.of(source) == std::mem::replace(&mut gap, b",");
            segment.listed && segment.messages().iter().all(has_gap)
        })
    }

    /// The first `kept` messages and then the items of `rest`, which begins with what parts them from those.
    fn followed_by(&self, kept: usize, rest: &[u8]) -> Option<Self> {
        let document = Document::parse_items(rest, if self.head.bare { 1 } else { 2 }).ok()?;
        let (mut evidence, mut reason) = (None, Cow::Borrowed(NAMED));
        if !self.named {
            let mut known = self.evidence.as_ref()?.before(kept)?;
            known.read(|index| Some(self.message(index)?.bytes()))?;
            let messages = document.roots();
            known.add(kept, &messages);
            let judged = known.reaches(kept).then(|| known.weigh((kept..).zip(messages)));
            let (format, why) = judged?.ok()?;
            if format.name() != self.format.name() {
                return None;
            }
            (evidence, reason) = (Some(Arc::new(known)), why);
        }
        let mut rows = Rows::default();
        let mut messages = Vec::new();
        let mut edge = 0;
        for (index, value) in (kept..).zip(document.roots()) {
            let path = |path: &str| join(self.format, index, path);
            let mut message = read_message(self.format, value, false, &mut rows, &path).ok()?;
            message.gap = Span {
                start: edge,
                end: message.span.start,
            };
            edge = message.span.end;
            messages.push(message);
        }
        drop(document);
        let mut segments = self.first_segments(kept);
        let source = SourceBytes(Arc::new(rest.to_vec()));
        let counts = CountMemo::default();
        segments.push(Arc::new(Segment::new(source, messages, rows, true, counts)));
        segments.retain(|segment| !segment.is_empty());
        Segment::merge_tail(&mut segments, 0);
        let extended = Self::from_segments(self.format, reason, Arc::clone(&self.head), segments);
        Some(Self {
            named: self.named,
            evidence,
            pairs: if kept == self.len() {
                self.pairs.grown()
            } else {
                Arc::default()
            },
            ..extended
        })
    }

    /// The messages that a body has from the start, given that its first `at` bytes are those before the messages.
    fn shared(&self, body: &[u8], at: usize) -> Option<Shared> {
        let mut shared = Shared { messages: 0, end: at };
        for segment in &self.segments {
            // Elsewhere the bytes that are written are not those that stand in the source.
            if !segment.listed || segment.has_comma_before(0) != (shared.messages > 0) {
                break;
            }
            let messages = segment.messages();
            let (first, last) = (messages.first()?, messages.last()?);
            let own = Span {
                start: first.gap.start,
                end: last.span.end,
            };
            let rest = body.get(shared.end..)?;
            let same = common_prefix(own.of(segment.source.bytes()), rest);
            let end = own.start + same as u32;
            let whole = messages.partition_point(|message| message.span.end <= end);
            if let Some(message) = whole.checked_sub(1).and_then(|k| messages.get(k)) {
                shared.messages += whole;
                shared.end += (message.span.end - own.start) as usize;
            }
            if whole < messages.len() {
                break;
            }
        }
        Some(shared)
    }

    /// The segments of the messages before `end`: shared, but for a part of one.
    fn first_segments(&self, end: usize) -> Vec<Arc<Segment>> {
        let mut segments = Vec::with_capacity(self.segments.len() + 1);
        for (segment, &start) in self.segments.iter().zip(&self.starts) {
            let wanted = end.saturating_sub(start as usize);
            if wanted >= segment.len() {
                segments.push(Arc::clone(segment));
            } else if wanted > 0 {
                segments.push(Arc::new(segment.slice(0..wanted)));
            }
        }
        segments
    }
}
