//! Messages and blocks with the segments that they lie in.

use std::borrow::Cow;

use super::{Block, BlockKind, Message, Place, Role, Segment, Span, TextForm, TextSpan};
use crate::json::{self, Unescaping};

/// One message with its segment.
#[derive(Clone, Copy, Debug)]
pub struct MessageView<'a> {
    /// Index in the transcript.
    pub index: usize,
    /// The segment it lies in.
    pub segment: &'a Segment,
    /// Its row.
    pub row: &'a Message,
}

impl<'a> MessageView<'a> {
    /// Who speaks.
    pub fn role(&self) -> Role {
        self.row.role
    }

    /// The message's own bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.row.span.of(self.segment.source.bytes())
    }

    /// The rows of its blocks, in order.
    pub fn rows(&self) -> &'a [Block] {
        let range = self.row.blocks.start as usize..self.row.blocks.end as usize;
        self.segment.blocks().get(range).unwrap_or_default()
    }

    /// Its blocks, in order.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = BlockView<'a>> + ExactSizeIterator + use<'a> {
        let view = *self;
        let rows = view.rows().iter().enumerate();
        rows.map(move |(index, row)| view.block_of(index, row))
    }

    /// One of its blocks. O(1).
    pub fn block(&self, index: usize) -> Option<BlockView<'a>> {
        Some(self.block_of(index, self.rows().get(index)?))
    }

    /// What is said in it: its texts, joined by newlines.
    pub fn said(&self) -> Cow<'a, str> {
        let mut texts = self.blocks().filter(|block| block.kind() == BlockKind::Text);
        let mut said = texts.next().map(|block| block.text()).unwrap_or_default();
        for more in texts {
            let joined = said.to_mut();
            joined.push('\n');
            joined.push_str(&more.text());
        }
        said
    }

    /// Its blocks, in order; with `said` only texts and media where user or model speaks.
    pub fn shown_blocks(&self, said: bool) -> impl Iterator<Item = BlockView<'a>> + use<'a> {
        let all = !said || !matches!(self.role(), Role::User | Role::Assistant);
        let says = |kind| matches!(kind, BlockKind::Text | BlockKind::Media);
        self.blocks().filter(move |block| all || says(block.kind()))
    }

    fn block_of(&self, index: usize, row: &'a Block) -> BlockView<'a> {
        BlockView {
            message: self.index,
            index,
            segment: self.segment,
            row,
        }
    }
}

/// One block with its segment.
#[derive(Clone, Copy, Debug)]
pub struct BlockView<'a> {
    /// Index of the message in the transcript.
    pub message: usize,
    /// Index of the block in its message.
    pub index: usize,
    /// The segment it lies in.
    pub segment: &'a Segment,
    /// Its row.
    pub row: &'a Block,
}

impl<'a> BlockView<'a> {
    /// What it is.
    pub fn kind(&self) -> BlockKind {
        self.row.kind
    }

    /// The call's id, escapes resolved.
    pub fn call_id(&self) -> Option<Cow<'a, str>> {
        self.literal(self.row.call_id)
    }

    /// The tool's name, escapes resolved.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        self.literal(self.row.name)
    }

    /// The texts that are counted for it.
    pub fn texts(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        let source = self.segment.source.bytes();
        self.text_spans().map(move |t| t.read(source))
    }

    /// Hands each of them to `take`. For who reads many and keeps none: they share `room`.
    pub(crate) fn each_text(&self, room: &mut Unescaping, mut take: impl FnMut(&str)) {
        let source = self.segment.source.bytes();
        for text in self.text_spans() {
            take(&text.read_in(source, room));
        }
    }

    /// All of them, joined by newlines.
    pub fn text(&self) -> Cow<'a, str> {
        let mut texts = self.texts();
        let mut text = texts.next().unwrap_or_default();
        for more in texts {
            let joined = text.to_mut();
            joined.push('\n');
            joined.push_str(&more);
        }
        text
    }

    /// The same; where it is one text it is read in `room`.
    pub(crate) fn text_in<'r>(&self, room: &'r mut Unescaping) -> Cow<'r, str>
    where
        'a: 'r,
    {
        let mut spans = self.text_spans();
        match (spans.next(), spans.next()) {
            (Some(only), None) => only.read_in(self.segment.source.bytes(), room),
            _ => self.text(),
        }
    }

    /// That text, if it begins with `beginning`. O(bytes) where it may, else only the first text's start is looked at.
    pub fn text_beginning_with(&self, beginning: &str) -> Option<Cow<'a, str>> {
        let first = self
            .text_spans()
            .next()
            .filter(|text| text.form == TextForm::JsonString);
        let first = first.and_then(|text| text.span.of(self.segment.source.bytes()).get(1));
        let may = match (first, beginning.as_bytes().first()) {
            // An escape tells nothing yet, and a quote that the text is empty.
            (Some(b'\\' | b'"') | None, _) | (_, None) => true,
            (Some(letter), Some(wanted)) => letter == wanted,
        };
        let text = may.then(|| self.text());
        text.filter(|text| text.starts_with(beginning))
    }

    /// How many bytes of the body those texts take: at least as many as they have. O(texts).
    pub fn text_bytes(&self) -> usize {
        self.text_spans().map(|t| t.span.len()).sum()
    }

    pub(crate) fn text_spans(&self) -> impl Iterator<Item = &'a TextSpan> + use<'a> {
        let range = self.row.texts.start as usize..self.row.texts.end as usize;
        let spans = self.segment.texts().get(range).unwrap_or_default();
        spans.iter().filter(|t| t.form != TextForm::Data)
    }

    /// The block's own bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.row.span.of(self.segment.source.bytes())
    }

    /// JSON path of the block in the body, `list` being the field with the messages: `messages[4].tool_calls[0]`.
    pub fn path(&self, list: &str) -> String {
        let message = self.message;
        match self.row.place {
            Place::Message => format!("{list}[{message}]"),
            Place::Field(field) => format!("{list}[{message}].{field}"),
            Place::Item(field, k) => format!("{list}[{message}].{field}[{k}]"),
        }
    }

    /// The id of the call that it belongs to, escapes resolved.
    pub fn part_of(&self) -> Option<Cow<'a, str>> {
        self.literal(self.row.part_of)
    }

    /// The server's own id of the item, escapes resolved.
    pub fn item_id(&self) -> Option<Cow<'a, str>> {
        self.literal(self.row.item_id)
    }

    /// The provider's seal, escapes resolved.
    pub fn seal(&self) -> Option<Cow<'a, str>> {
        self.literal(self.row.seal)
    }

    /// Its `type` as the input spells it, where the row has it.
    pub fn type_name(&self) -> Option<Cow<'a, str>> {
        self.literal(self.row.type_name)
    }

    fn literal(&self, span: Option<Span>) -> Option<Cow<'a, str>> {
        span.map(|s| json::unescape(s.of(self.segment.source.bytes())))
    }
}
