//! Segments cut and joined, with their rows and the counts made so far.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::write::Gaps;
use super::{Binding, Block, Message, Recalled, Role, Segment, SegmentRows, SourceBytes, Span, TextSpan};
use crate::formats::Rows;
use crate::json::has_half_character;
use crate::meter::CountMemo;

/// Two segments at the tail are merged only while their bytes together stay under this: copying more costs more than
/// one handle saves.
pub(crate) const MERGE_BYTES: usize = 1 << 20;

impl Segment {
    pub(crate) fn new(
        source: SourceBytes,
        messages: Vec<Message>,
        rows: Rows,
        listed: bool,
        counts: CountMemo,
    ) -> Self {
        let Rows { blocks, texts } = rows;
        let rows = SegmentRows {
            messages,
            blocks,
            texts,
        };
        Self {
            source,
            rows: rows.into(),
            recalled: None,
            listed,
            has_pointer: OnceLock::new(),
            last_barrier: OnceLock::new(),
            has_half_character: OnceLock::new(),
            counts,
        }
    }

    /// A segment of messages that are known; their rows are made when they are asked for.
    pub(super) fn of_recalled(source: SourceBytes, recalled: Recalled, counts: CountMemo) -> Self {
        Self {
            source,
            rows: OnceLock::new(),
            recalled: Some(recalled),
            listed: true,
            has_pointer: OnceLock::new(),
            last_barrier: OnceLock::new(),
            has_half_character: OnceLock::new(),
            counts,
        }
    }

    fn rows(&self) -> &SegmentRows {
        let make = || self.recalled.as_ref().map(Recalled::rows).unwrap_or_default();
        self.rows.get_or_init(make)
    }

    /// What is known of its messages, where none of them was read.
    pub(crate) fn recalled(&self) -> Option<&Recalled> {
        self.recalled.as_ref()
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        match &self.recalled {
            Some(recalled) => recalled.len(),
            None => self.messages().len(),
        }
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One row a message.
    pub fn messages(&self) -> &[Message] {
        &self.rows().messages
    }

    /// One row a block, in message order.
    pub fn blocks(&self) -> &[Block] {
        &self.rows().blocks
    }

    /// One row a counted text, in block order.
    pub fn texts(&self) -> &[TextSpan] {
        &self.rows().texts
    }

    /// Whether a block stands for something that only the server holds. O(blocks), once.
    pub(super) fn has_pointer(&self) -> bool {
        let found = || self.blocks().iter().any(|block| block.binding == Binding::Pointer);
        *self.has_pointer.get_or_init(found)
    }

    /// The first message with such a block. O(blocks).
    pub(super) fn first_pointer(&self) -> Option<usize> {
        self.messages().iter().position(|message| {
            let mut blocks = self.blocks_of(message).iter();
            blocks.any(|block| block.binding == Binding::Pointer)
        })
    }

    /// The last message with a summary of the provider's. O(blocks), once; of messages that are known no row is made.
    pub(super) fn last_barrier(&self) -> Option<usize> {
        *self.last_barrier.get_or_init(|| match &self.recalled {
            Some(recalled) => {
                let messages = recalled.messages().enumerate();
                messages
                    .filter(|(_, message)| message.known.is_barrier)
                    .last()
                    .map(|(index, _)| index)
            }
            None => self
                .messages()
                .iter()
                .rposition(|message| is_barrier(self.blocks_of(message))),
        })
    }

    /// The blocks of one of its messages.
    pub fn blocks_of(&self, message: &Message) -> &[Block] {
        self.blocks().get(usize_range(&message.blocks)).unwrap_or_default()
    }

    /// Who speaks in a message.
    pub(super) fn role(&self, index: usize) -> Option<Role> {
        match &self.recalled {
            Some(recalled) => recalled.at(index).map(|message| message.known.role),
            None => self.messages().get(index).map(|message| message.role),
        }
    }

    /// About how much memory its source and its rows take.
    pub(super) fn held_bytes(&self) -> usize {
        let rows = size_of_val(self.messages()) + size_of_val(self.blocks()) + size_of_val(self.texts());
        rows + self.source.bytes().len()
    }

    /// The messages `range` (indices within this segment, clamped to it) as a segment of their own over the same
    /// source. Counts already made come along. O(rows in the range); no byte is copied.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let stop = range.end.min(self.len());
        let start = range.start.min(stop);
        let mut messages = self.messages().get(start..stop).unwrap_or_default().to_vec();
        let blocks = self.block_rows(&(start..stop));
        let mut rows = Rows {
            blocks: self.blocks().get(blocks.clone()).unwrap_or_default().to_vec(),
            texts: Vec::new(),
        };
        let texts = match (rows.blocks.first(), rows.blocks.last()) {
            (Some(first), Some(last)) => first.texts.start..last.texts.end,
            _ => 0..0,
        };
        rows.texts = self.texts().get(usize_range(&texts)).unwrap_or_default().to_vec();
        for message in &mut messages {
            message.blocks = shift(&message.blocks, blocks.start as u32, 0);
        }
        for block in &mut rows.blocks {
            block.texts = shift(&block.texts, texts.start, 0);
        }
        let counts = CountMemo::of_parts(&[(&self.counts, start..stop, blocks)]);
        let part = Self::new(self.source.clone(), messages, rows, self.listed, counts);
        if self.has_half_character.get() == Some(&false) {
            let _ = part.has_half_character.set(false);
        }
        part
    }

    /// Whether a comma stands before a message.
    pub(super) fn has_comma_before(&self, message: usize) -> bool {
        let message = self.messages().get(message);
        message.is_some_and(|message| message.gap.of(self.source.bytes()).contains(&b','))
    }

    /// Bytes that some of its messages and the gaps before them take.
    pub(crate) fn bytes_of(&self, messages: &Range<usize>) -> usize {
        let messages = self.messages().get(messages.clone()).unwrap_or_default();
        messages.iter().map(|m| m.span.len() + m.gap.len()).sum()
    }

    /// The rows of the blocks of some of its messages.
    fn block_rows(&self, messages: &Range<usize>) -> Range<usize> {
        let messages = self.messages().get(messages.clone()).unwrap_or_default();
        match (messages.first(), messages.last()) {
            (Some(first), Some(last)) => usize_range(&(first.blocks.start..last.blocks.end)),
            _ => 0..0,
        }
    }

    /// Whether a string of any of its messages has an escape of half a character alone. O(bytes), once.
    pub(crate) fn has_half_character(&self) -> bool {
        *self
            .has_half_character
            .get_or_init(|| has_half_character(self.stretch()))
    }

    /// The bytes from its first message to its last.
    pub(crate) fn stretch(&self) -> &[u8] {
        let messages = self.messages();
        let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
            return &[];
        };
        let (start, end) = (first.span.start, last.span.end);
        Span { start, end }.of(self.source.bytes())
    }

    /// Merges the last two segments while the last has at least as many messages as the one before it, as a binary
    /// counter does: every byte is copied O(log n) times over n appends.
    ///
    /// The first `fixed` segments stay as they are.
    pub(super) fn merge_tail(segments: &mut Vec<Arc<Self>>, fixed: usize) {
        while let [first @ .., before, last] = segments.as_slice() {
            if first.len() < fixed
                || last.len() < before.len()
                || before.bytes_of(&(0..before.len())) + last.bytes_of(&(0..last.len())) > MERGE_BYTES
            {
                return;
            }
            let parts = [(before, 0..before.len()), (last, 0..last.len())];
            let merged = Self::of_parts(&parts, first.is_empty());
            segments.truncate(segments.len() - 2);
            segments.push(Arc::new(merged));
        }
    }

    /// Messages of segments (`range` within each, not empty), one after the other, copied into one source, with what
    /// [`Transcript::write`](super::Transcript::write) puts between them: so a body that goes on from them shares them.
    /// `opening`: they are the transcript's first. Counts that all of the segments have come along.
    pub(crate) fn of_parts(parts: &[(&Arc<Self>, Range<usize>)], opening: bool) -> Self {
        let bytes: usize = parts.iter().map(|(segment, range)| segment.bytes_of(range)).sum();
        let messages = parts.iter().map(|(_, range)| range.len()).sum();
        let counted: Vec<_> = parts
            .iter()
            .map(|(segment, range)| (&segment.counts, range.clone(), segment.block_rows(range)))
            .collect();
        let mut joined = Joined {
            bytes: Vec::with_capacity(bytes + 2 * messages),
            messages: Vec::with_capacity(messages),
            rows: Rows::with_capacity(counted.iter().map(|(_, _, blocks)| blocks.len()).sum()),
            gaps: if opening { Gaps::opening() } else { Gaps::amid() },
            listed: true,
        };
        for (segment, range) in parts {
            joined.add(segment, range);
        }
        let source = SourceBytes(Arc::new(joined.bytes));
        let whole = Self::new(
            source,
            joined.messages,
            joined.rows,
            joined.listed,
            CountMemo::of_parts(&counted),
        );
        let asked = parts
            .iter()
            .any(|(segment, _)| segment.has_half_character.get().is_some());
        if asked && !parts.iter().any(|(segment, _)| segment.has_half_character()) {
            let _ = whole.has_half_character.set(false);
        }
        whole
    }
}

impl Message {
    /// The row, with its spans moved so that the message starts at `to` and its blocks at row `first_block`.
    pub(crate) fn moved(&self, gap: Span, to: u32, first_block: u32) -> Self {
        self.moved_by(gap, first_block, |span| span.moved(self.span.start, to))
    }

    /// The row, with its spans where `moved` has them and its blocks at row `first_block`.
    pub(crate) fn moved_by(&self, gap: Span, first_block: u32, moved: impl Fn(Span) -> Span) -> Self {
        Self {
            span: moved(self.span),
            gap,
            role_text: self.role_text.map(&moved),
            name: self.name.map(&moved),
            blocks: shift(&self.blocks, self.blocks.start, first_block),
            ..self.clone()
        }
    }
}

impl Block {
    /// The row, with its spans moved by `from -> to` and its texts starting at row `first_text`.
    pub(crate) fn moved(&self, from: u32, to: u32, first_text: u32) -> Self {
        self.moved_by(first_text, |span| span.moved(from, to))
    }

    /// The row, with its spans where `moved` has them and its texts starting at row `first_text`.
    pub(crate) fn moved_by(&self, first_text: u32, moved: impl Fn(Span) -> Span) -> Self {
        Self {
            span: moved(self.span),
            call_id: self.call_id.map(&moved),
            name: self.name.map(&moved),
            body: self.body.map(&moved),
            type_name: self.type_name.map(&moved),
            part_of: self.part_of.map(&moved),
            item_id: self.item_id.map(&moved),
            seal: self.seal.map(&moved),
            texts: shift(&self.texts, self.texts.start, first_text),
            ..self.clone()
        }
    }
}

impl TextSpan {
    /// The row, with its span moved by `from -> to`.
    pub(crate) fn moved(self, from: u32, to: u32) -> Self {
        Self {
            span: self.span.moved(from, to),
            form: self.form,
        }
    }
}

struct Joined<'a> {
    bytes: Vec<u8>,
    messages: Vec<Message>,
    rows: Rows,
    gaps: Gaps<'a>,
    /// Whether what stands before each message is what is written there.
    listed: bool,
}

impl<'a> Joined<'a> {
    fn add(&mut self, segment: &'a Segment, messages: &Range<usize>) {
        let source = segment.source.bytes();
        for row in segment.messages().get(messages.clone()).unwrap_or_default() {
            let pieces = self.gaps.next(row.gap.of(source));
            self.listed &= pieces.is_some();
            let gap = self.copy(&pieces.unwrap_or_default());
            let span = self.copy(&[row.span.of(source)]);
            let first_block = self.rows.block_count();
            for block in segment.blocks_of(row) {
                let first_text = self.rows.text_count();
                let texts = segment.texts().get(usize_range(&block.texts)).unwrap_or_default();
                self.rows
                    .texts
                    .extend(texts.iter().map(|text| text.moved(row.span.start, span.start)));
                self.rows
                    .blocks
                    .push(block.moved(row.span.start, span.start, first_text));
            }
            self.messages.push(row.moved(gap, span.start, first_block));
        }
    }

    fn copy(&mut self, pieces: &[&[u8]]) -> Span {
        let start = self.bytes.len() as u32;
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        Span {
            start,
            end: self.bytes.len() as u32,
        }
    }
}

/// Whether a block of a message is a summary of the provider's.
pub(crate) fn is_barrier(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| block.binding == Binding::Barrier)
}

fn usize_range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

fn shift(range: &Range<u32>, from: u32, to: u32) -> Range<u32> {
    let by = |k: u32| k.saturating_sub(from) + to;
    by(range.start)..by(range.end)
}
