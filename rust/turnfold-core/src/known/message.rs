//! All that one message yields.

use std::sync::OnceLock;

use super::Sign;
use crate::formats::{Leaning, Rows, WireFormat};
use crate::json::Document;
use crate::keyed;
use crate::meter::{MessageCounts, Slots, slot_of};
use crate::pairs::Pairing;
use crate::transcript::{Block, Message, Role, Segment, Span, TextSpan, is_barrier};
use turnfold_tokens::{Encoding, prefetch};

/// A message, its spans from its own start on. What metering asks for stands in front, the rows elsewhere.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Known {
    /// What stands for its bytes.
    pub(super) digest: [u64; 2],
    /// How many bytes it has.
    pub(crate) len: u32,
    pub(crate) role: Role,
    /// Whether it holds a summary of the provider's.
    pub(crate) is_barrier: bool,
    leaning: OnceLock<Option<Leaning>>,
    /// Its calls and results.
    pub(crate) pairing: Pairing,
    counts: Slots<MessageCounts>,
    pub(crate) rows: Box<KnownRows>,
}

/// The rows of a message.
#[derive(Clone, Debug)]
pub(crate) struct KnownRows {
    pub(crate) message: Message,
    pub(crate) blocks: Box<[Block]>,
    pub(crate) texts: Box<[TextSpan]>,
}

impl Known {
    /// A message that was read from `bytes`, alone.
    pub(crate) fn new(bytes: &[u8], message: Message, rows: Rows) -> Self {
        Self {
            digest: keyed::digest(bytes),
            len: message.span.len() as u32,
            role: message.role,
            is_barrier: is_barrier(&rows.blocks),
            leaning: OnceLock::new(),
            pairing: Pairing::of(&rows.blocks, bytes),
            counts: Slots::default(),
            rows: Box::new(KnownRows {
                message,
                blocks: rows.blocks.into(),
                texts: rows.texts.into(),
            }),
        }
    }

    /// A message of a segment.
    pub(crate) fn of(segment: &Segment, row: &Message) -> Self {
        let blocks = segment.blocks_of(row);
        let mut rows = Rows::with_capacity(blocks.len());
        for block in blocks {
            let first_text = rows.text_count();
            let texts = segment.texts_of(block).iter();
            rows.texts.extend(texts.map(|text| text.moved(row.span.start, 0)));
            rows.blocks.push(block.moved(row.span.start, 0, first_text));
        }
        let bytes = row.span.of(segment.source.bytes());
        Self::new(bytes, row.moved(Span::default(), 0, 0), rows)
    }

    pub(super) fn sign(&self) -> Sign {
        Sign {
            digest: self.digest,
            len: self.len,
        }
    }

    /// Has all that stands in front brought near, for who asks for it soon.
    pub(super) fn fetch(&self) {
        prefetch(&self.role);
        prefetch(&self.pairing);
        self.counts.published().iter().for_each(prefetch);
    }

    /// The counts in an encoding, if they were made.
    pub(crate) fn counts(&self, encoding: Encoding) -> Option<&MessageCounts> {
        self.slot(slot_of(encoding))
    }

    /// The counts of a slot, if they were made.
    pub(crate) fn slot(&self, slot: usize) -> Option<&MessageCounts> {
        self.counts.get(slot)
    }

    /// Keeps the counts in an encoding. They follow from the bytes, so it makes no difference who comes first.
    pub(crate) fn learn(&self, encoding: Encoding, counts: MessageCounts) {
        self.counts.put(slot_of(encoding), counts);
    }

    /// What the message, whose bytes these are and which was read as `format`, says of its format. O(bytes) the first
    /// time.
    pub(crate) fn leaning(&self, bytes: &[u8], format: &'static dyn WireFormat) -> Option<&Leaning> {
        let make = || {
            let document = Document::parse(bytes).ok()?;
            Some(Leaning::of(document.root(), format))
        };
        self.leaning.get_or_init(make).as_ref()
    }

    /// How many bytes it takes.
    pub(super) fn size(&self) -> usize {
        let rows = size_of::<KnownRows>() + size_of_val(&*self.rows.blocks) + size_of_val(&*self.rows.texts);
        size_of::<Self>() + rows + self.pairing.size()
    }
}
