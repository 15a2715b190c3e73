//! A body whose messages were counted before, whatever transcripts they stood in: read from what is known of them.

use std::borrow::Cow;
use std::sync::Arc;

use super::read::{NAMED, join, read_message};
use super::{Block, Segment, SegmentRows, SourceBytes, Span, TextSpan, Transcript};
use crate::formats::{self, Evidence, Rows, WireFormat};
use crate::json::Document;
use crate::known::{self, Batch, Known, Walk};
use crate::meter::{CountMemo, Counts};

/// How many messages more than there are known ones may be unknown before all is read at once, which is faster then.
/// (Of `n` messages, `u` unknown: `u - (n - u)`.)
const UNKNOWN: usize = 2;

/// A guess at the bytes of a message, for the size of tables.
const EXPECTED_BYTES: usize = 1_024;

/// The messages of a list, as far as it is read, by what is known of them.
#[derive(Debug, Default)]
pub(crate) struct Recalled {
    batches: Vec<Arc<Batch>>,
    items: Vec<Item>,
}

/// One message of a list.
#[derive(Debug)]
struct Item {
    batch: u32,
    index: u32,
    /// Where it starts; the gap before it ends there.
    start: u32,
    gap: u32,
}

/// A message of a list, with all that it yields.
#[derive(Clone, Copy)]
pub(crate) struct RecalledMessage<'a> {
    pub(crate) known: &'a Known,
    /// Where it starts; the gap before it ends there.
    pub(crate) start: u32,
    gap: u32,
}

impl RecalledMessage<'_> {
    fn span(&self) -> Span {
        Span {
            start: self.start,
            end: self.start + self.known.len,
        }
    }
}

impl Transcript {
    /// What [`Transcript::from_json`] gives, where most messages are known; `None` where they are not, or anything is out
    /// of the ordinary. One comparison of the bytes of known messages, O(messages), and O(bytes) of all else.
    pub(crate) fn recalled(source: &SourceBytes, named: Option<&'static dyn WireFormat>) -> Option<Self> {
        let body = source.bytes();
        u32::try_from(body.len()).ok()?;
        let (start, levels) = list_start(body)?;
        let (recalled, end) = Recalled::of(body, start, levels, named)?;
        let format = named.or_else(|| recalled.batches.first().map(|batch| batch.format))?;
        // The body without its messages, which has the same fields in the same places but for these.
        let mut outside = Vec::with_capacity(start + body.len() - end);
        outside.extend_from_slice(body.get(..start)?);
        outside.extend_from_slice(body.get(end..)?);
        let document = Document::parse(&outside).ok()?;
        let (conversation, candidates) = formats::conversation(document.root(), named).ok()?;
        if conversation.lone || conversation.value.span().start as usize + 1 != start {
            return None;
        }
        let (mut evidence, mut reason) = (None, Cow::Borrowed(NAMED));
        if named.is_none() {
            let found = evidence.insert(Evidence::of_body(document.root(), conversation.value, &candidates));
            for (index, message) in recalled.messages().enumerate() {
                let bytes = message.span().of(body);
                found.add_known(index, bytes, message.known.leaning(bytes, format)?)?;
            }
            let (judged, why) = found.weigh(std::iter::empty()).ok()?;
            if judged.name() != format.name() {
                return None;
            }
            reason = why;
        }
        let counts = recalled.counts();
        let mut head = super::Head::of_body(&document, start, format);
        drop(document);
        head.source = SourceBytes(Arc::new(outside));
        known::note_recalled(body.len());
        let segment = Segment::of_recalled(source.clone(), recalled, counts);
        let read = Self::from_segments(format, reason, Arc::new(head), vec![Arc::new(segment)]);
        Some(Self {
            named: named.is_some(),
            evidence: evidence.map(Arc::new),
            ..read
        })
    }
}

/// One past the opening bracket of the first list that may hold messages, and how deep it stands.
fn list_start(body: &[u8]) -> Option<(usize, usize)> {
    let mut at = skip_white(body, 0);
    if body.get(at) == Some(&b'[') {
        return Some((at + 1, 1));
    }
    loop {
        // The bracket of the body, or the comma after a field.
        if !matches!(body.get(at), Some(b'{' | b',')) {
            return None;
        }
        let key = skip_white(body, at + 1);
        let key_end = Document::value_end(body, key, 1)?;
        let colon = skip_white(body, key_end);
        let value = skip_white(body, colon + 1);
        let name = body.get(key..key_end)?;
        if formats::ALL.iter().any(|format| is_literal(name, format.list_field())) && body.get(value) == Some(&b'[') {
            return Some((value + 1, 2));
        }
        at = skip_white(body, Document::value_end(body, value, 1)?);
    }
}

fn is_literal(literal: &[u8], text: &str) -> bool {
    matches!(literal, [b'"', inner @ .., b'"'] if inner == text.as_bytes())
}

fn skip_white(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| b" \n\r\t".contains(byte)).count()
}

impl Recalled {
    /// Reads the list whose first item may stand at `start`; also gives one past the last item.
    fn of(body: &[u8], start: usize, levels: usize, named: Option<&'static dyn WireFormat>) -> Option<(Self, usize)> {
        let mut items: Vec<Item> = Vec::with_capacity((body.len() - start) / EXPECTED_BYTES);
        let mut walk = Walk::new(body.len());
        let (mut format, mut edge, mut unknown) = (named, start, 0);
        loop {
            let mut at = skip_white(body, edge);
            match (body.get(at)?, items.is_empty()) {
                (b']', _) => {
                    return Some((
                        Self {
                            batches: walk.batches,
                            items,
                        },
                        edge,
                    ));
                }
                (b',', false) => at = skip_white(body, at + 1),
                (_, true) => {}
                _ => return None,
            }
            let rest = body.get(at..).filter(|rest| rest.first() == Some(&b'{'))?;
            if let Some((first, run)) = walk.next_run(rest) {
                let batch = walk.batches.len() as u32 - 1;
                for (index, span) in (first..).zip(run.messages) {
                    items.push(Item {
                        batch,
                        index,
                        start: at as u32 + span.start,
                        gap: edge as u32,
                    });
                    edge = at + span.end as usize;
                }
                continue;
            }
            let found = walk.next(format.map(|format| format as &dyn WireFormat), rest);
            let (index, len) = if let Some(found) = found {
                found
            } else {
                unknown += 1;
                if unknown * 2 > items.len() + 1 + UNKNOWN {
                    return None;
                }
                let end = Document::value_end(body, at, levels)?;
                let known = read(body.get(at..end)?, items.len(), format?)?;
                let len = known.len;
                walk.take(&Arc::new(Batch::alone(format?, known)));
                (0, len)
            };
            format = format.or_else(|| Some(walk.batches.last()?.format));
            items.push(Item {
                batch: walk.batches.len() as u32 - 1,
                index,
                start: at as u32,
                gap: edge as u32,
            });
            edge = at + len as usize;
        }
    }

    /// Number of messages.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// All messages, in order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = RecalledMessage<'_>> {
        self.items.iter().filter_map(|item| self.message(item))
    }

    /// One of the messages.
    pub(crate) fn at(&self, index: usize) -> Option<RecalledMessage<'_>> {
        self.message(self.items.get(index)?)
    }

    fn message(&self, item: &Item) -> Option<RecalledMessage<'_>> {
        let batch = self.batches.get(item.batch as usize)?;
        Some(RecalledMessage {
            known: batch.messages.get(item.index as usize)?,
            start: item.start,
            gap: item.gap,
        })
    }

    /// The rows of all messages.
    pub(super) fn rows(&self) -> SegmentRows {
        let mut made = SegmentRows::default();
        made.messages.reserve(self.items.len());
        made.blocks.reserve(self.items.len());
        for item in self.messages() {
            let (first_block, first_text) = (made.blocks.len() as u32, made.texts.len() as u32);
            let gap = Span {
                start: item.gap,
                end: item.start,
            };
            let rows = &*item.known.rows;
            made.messages.push(rows.message.moved(gap, item.start, first_block));
            let moved = |block: &Block| block.moved(0, item.start, first_text + block.texts.start);
            made.blocks.extend(rows.blocks.iter().map(moved));
            let moved = |text: &TextSpan| text.moved(0, item.start);
            made.texts.extend(rows.texts.iter().map(moved));
        }
        made
    }

    /// The counts in every encoding in which all messages have them.
    fn counts(&self) -> CountMemo {
        CountMemo::of_slots(|slot| {
            self.at(0)?.known.slot(slot)?;
            let mut counts = Counts::with_capacity(self.items.len(), self.items.len());
            for message in self.messages() {
                counts.add(message.known.slot(slot)?);
            }
            Some(counts)
        })
    }
}

/// Reads message `index` of a list, alone.
fn read(bytes: &[u8], index: usize, format: &'static dyn WireFormat) -> Option<Known> {
    let document = Document::parse(bytes).ok()?;
    let mut rows = Rows::default();
    let path = |path: &str| join(format, index, path);
    let message = read_message(format, document.root(), false, &mut rows, &path).ok()?;
    Some(Known::new(bytes, message, rows))
}
