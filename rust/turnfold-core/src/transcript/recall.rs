//! A body whose messages were counted before, whatever transcripts they stood in: read from what is known of them.

use std::borrow::Cow;
use std::sync::Arc;

use super::read::{NAMED, join, read_message};
use super::{Block, Segment, SegmentRows, SourceBytes, Span, TextSpan, Transcript};
use crate::formats::{self, Evidence, Rows, WireFormat};
use crate::json::Document;
use crate::known::{self, Known};
use crate::meter::{CountMemo, Counts};

/// How many messages more than there are known ones may be unknown before all is read at once, which is faster then.
/// (Of `n` messages, `u` unknown: `u - (n - u)`.)
const UNKNOWN: usize = 2;

/// A guess at the bytes of a message, for the size of tables.
const EXPECTED_BYTES: usize = 1_024;

/// The messages of a list, as far as it is read, by what is known of them.
#[derive(Debug, Default)]
pub(crate) struct Recalled {
    items: Vec<Item>,
}

/// One message of a list.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) known: Arc<Known>,
    /// Where it starts; the gap before it ends there.
    pub(crate) start: u32,
    gap: u32,
}

impl Item {
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
        let format = named.or_else(|| recalled.items.first().map(|item| item.known.format))?;
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
            for (index, item) in recalled.items.iter().enumerate() {
                let bytes = item.span().of(body);
                found.add_known(index, bytes, item.known.leaning(bytes)?)?;
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
        let (mut format, mut edge, mut unknown) = (named, start, 0);
        loop {
            let mut at = skip_white(body, edge);
            match (body.get(at)?, items.is_empty()) {
                (b']', _) => return Some((Self { items }, edge)),
                (b',', false) => at = skip_white(body, at + 1),
                (_, true) => {}
                _ => return None,
            }
            let rest = body.get(at..).filter(|rest| rest.first() == Some(&b'{'))?;
            let found = known::find_first(format.map(|format| format as &dyn WireFormat), rest);
            let known = if let Some(known) = found {
                format = Some(known.format);
                known
            } else {
                unknown += 1;
                if unknown * 2 > items.len() + 1 + UNKNOWN {
                    return None;
                }
                let end = Document::value_end(body, at, levels)?;
                Arc::new(read(body.get(at..end)?, items.len(), format?)?)
            };
            let gap = edge as u32;
            edge = at + known.len as usize;
            items.push(Item {
                known,
                start: at as u32,
                gap,
            });
        }
    }

    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    /// What is known of one of its messages.
    pub(crate) fn known(&self, index: usize) -> Option<Arc<Known>> {
        self.items.get(index).map(|item| Arc::clone(&item.known))
    }

    /// The rows of all messages.
    pub(super) fn rows(&self) -> SegmentRows {
        let mut made = SegmentRows::default();
        made.messages.reserve(self.items.len());
        made.blocks.reserve(self.items.len());
        for item in &self.items {
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
            self.items.first()?.known.slot(slot)?;
            let mut counts = Counts::with_capacity(self.items.len(), self.items.len());
            for item in &self.items {
                counts.add(item.known.slot(slot)?);
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
    Some(Known::new(format, bytes, message, rows))
}
