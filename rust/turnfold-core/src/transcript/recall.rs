//! A body whose messages were counted before, whatever transcripts they stood in: read from what is known of them.

use std::borrow::Cow;
use std::sync::Arc;

use super::read::{NAMED, join, read_message};
use super::{Segment, SourceBytes, Span, Transcript};
use crate::formats::{self, Evidence, Leaning, Rows, WireFormat};
use crate::json::Document;
use crate::known::{self, Known};
use crate::meter::{CountMemo, Counts};

/// How many messages more than there are known ones may be unknown before all is read at once, which is faster then.
/// (Of `n` messages, `u` unknown: `u - (n - u)`.)
const UNKNOWN: usize = 2;

/// A guess at the bytes of a message, for the size of tables.
const EXPECTED_BYTES: usize = 1_024;

/// The rows of a list of messages, as far as it is read.
#[derive(Default)]
struct Reading {
    rows: Rows,
    messages: Vec<super::Message>,
    known: Vec<Option<Arc<Known>>>,
    leanings: Vec<Leaning>,
}

impl Transcript {
    /// What [`Transcript::from_json`] gives, where most messages are known; `None` where they are not, or anything is out
    /// of the ordinary. One comparison of the bytes of known messages, O(messages), and O(bytes) of all else.
    pub(crate) fn recalled(source: &SourceBytes, named: Option<&'static dyn WireFormat>) -> Option<Self> {
        let body = source.bytes();
        u32::try_from(body.len()).ok()?;
        let (start, levels) = list_start(body)?;
        let (reading, end) = Reading::of(body, start, levels, named)?;
        let format = named.or_else(|| reading.known.iter().flatten().next().map(|known| known.format))?;
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
            for (index, (message, leaning)) in reading.messages.iter().zip(&reading.leanings).enumerate() {
                found.add_known(index, message.span.of(body), leaning)?;
            }
            let (judged, why) = found.weigh(std::iter::empty()).ok()?;
            if judged.name() != format.name() {
                return None;
            }
            reason = why;
        }
        let counts = reading.counts();
        let mut head = super::Head::of_body(&document, start, format);
        drop(document);
        head.source = SourceBytes(Arc::new(outside));
        let segment = Segment {
            source: source.clone(),
            messages: reading.messages,
            blocks: reading.rows.blocks,
            texts: reading.rows.texts,
            listed: true,
            counts,
        };
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

impl Reading {
    /// Reads the list whose first item may stand at `start`; also gives one past the last item.
    fn of(body: &[u8], start: usize, levels: usize, named: Option<&'static dyn WireFormat>) -> Option<(Self, usize)> {
        let mut reading = Self::default();
        let expected = (body.len() - start) / EXPECTED_BYTES;
        reading.messages.reserve(expected);
        reading.rows.blocks.reserve(expected);
        let (mut format, mut edge, mut unknown) = (named, start, 0);
        loop {
            let mut at = skip_white(body, edge);
            match (body.get(at)?, reading.messages.is_empty()) {
                (b']', _) => return Some((reading, edge)),
                (b',', false) => at = skip_white(body, at + 1),
                (_, true) => {}
                _ => return None,
            }
            let rest = body.get(at..).filter(|rest| rest.first() == Some(&b'{'))?;
            let gap = Span {
                start: edge as u32,
                end: at as u32,
            };
            if let Some(known) = known::find_first(format.map(|format| format as &dyn WireFormat), rest) {
                format = Some(known.format);
                edge = at + known.bytes.len();
                reading.add_known(known, gap, named.is_none())?;
            } else {
                unknown += 1;
                if unknown * 2 > reading.messages.len() + 1 + UNKNOWN {
                    return None;
                }
                edge = Document::value_end(body, at, levels)?;
                reading.add_unknown(body.get(at..edge)?, gap, format?, named.is_none())?;
            }
        }
    }

    fn add_known(&mut self, known: Arc<Known>, gap: Span, leans: bool) -> Option<()> {
        self.add(gap, &known.message, &known.blocks, &known.texts);
        if leans {
            self.leanings.push(*known.leaning()?);
        }
        self.known.push(Some(known));
        Some(())
    }

    fn add_unknown(&mut self, bytes: &[u8], gap: Span, format: &'static dyn WireFormat, leans: bool) -> Option<()> {
        let document = Document::parse(bytes).ok()?;
        let mut rows = Rows::default();
        let index = self.messages.len();
        let path = |path: &str| join(format, index, path);
        let message = read_message(format, document.root(), false, &mut rows, &path).ok()?;
        self.add(gap, &message, &rows.blocks, &rows.texts);
        if leans {
            self.leanings.push(Leaning::of(document.root(), format));
        }
        self.known.push(None);
        Some(())
    }

    /// Adds the rows of a message that starts where its gap ends; theirs start at 0.
    fn add(&mut self, gap: Span, message: &super::Message, blocks: &[super::Block], texts: &[super::TextSpan]) {
        let (first_block, first_text) = (self.rows.block_count(), self.rows.text_count());
        self.messages.push(message.moved(gap, gap.end, first_block));
        let moved = blocks
            .iter()
            .map(|block| block.moved(0, gap.end, first_text + block.texts.start));
        self.rows.blocks.extend(moved);
        self.rows.texts.extend(texts.iter().map(|text| text.moved(0, gap.end)));
    }

    /// The counts in every encoding in which all messages have them.
    fn counts(&self) -> CountMemo {
        CountMemo::of_slots(|slot| {
            self.known.first()?.as_ref()?.slot(slot)?;
            let mut counts = Counts::with_capacity(self.messages.len(), self.rows.blocks.len());
            for known in &self.known {
                counts.add(known.as_ref()?.slot(slot)?);
            }
            Some(counts)
        })
    }
}
