//! The transcript: the caller's bytes and the columns read from them in one pass.
//!
//! Messages live in segments. `from_json` makes one segment; `append` adds one and shares the others; `splice` slices
//! them. A row never owns text: it holds spans into its segment's source.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::formats::{Evidence, WireFormat};
use crate::json::{self, Unescaping};
use crate::meter::{CountMemo, HeadMemo};
use crate::pairs::PairMemo;
use crate::rules::Folding;
use crate::splice::texts::CountedEdits;

mod extend;
mod read;
mod recall;
mod segment;
mod view;
mod write;

pub(crate) use recall::Recalled;
pub(crate) use segment::{MERGE_BYTES, is_barrier};
pub use view::{BlockView, MessageView};

/// Bytes that rows point into: a caller's buffer, kept alive for as long as a segment needs it.
pub type Source = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A half-open byte range in a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span's bytes in `source`.
    pub fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Whether the span holds no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Who speaks. `Tool` is also the legacy `function` role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions.
    System,
    /// Instructions, in the newer spelling.
    Developer,
    /// The user, or whoever feeds results to the model.
    User,
    /// The model.
    Assistant,
    /// A tool's result, where the format gives it a message of its own.
    Tool,
    /// Anything else; kept verbatim.
    Other,
}

impl Role {
    /// `system`, `developer`, `user`, `assistant`, `tool` or `other`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other => "other",
        }
    }

    /// The role of that name; any other name is `Other`'s.
    pub fn by_name(name: &str) -> Self {
        let all = [Self::System, Self::Developer, Self::User, Self::Assistant, Self::Tool];
        all.into_iter()
            .find(|role| role.as_str() == name)
            .unwrap_or(Self::Other)
    }
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Text for the other side to read.
    Text,
    /// The model asks for a tool.
    ToolCall,
    /// A tool's answer.
    ToolResult,
    /// The model's reasoning, open or sealed.
    Reasoning,
    /// An image, a document, a sound.
    Media,
    /// A kind this version does not know; kept verbatim and counted by its JSON.
    Opaque,
}

impl BlockKind {
    /// `text`, `tool_call`, `tool_result`, `reasoning`, `media` or `opaque`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Reasoning => "reasoning",
            Self::Media => "media",
            Self::Opaque => "opaque",
        }
    }
}

/// What a block must stay beside when the transcript is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Nothing beyond its own pair.
    Free,
    /// What comes after it.
    Next,
    /// Both neighbours: an unknown kind.
    Both,
    /// Everything before it is folded into it already: no cut at or before it.
    Barrier,
    /// Nothing; but it sets state for everything after it (tools, instructions, settings), so it must not be lost.
    Sticky,
    /// It stands for something that only the server holds: what the model made next, and results without a call, may
    /// need it.
    Pointer,
}

impl Binding {
    /// `free`, `next`, `both`, `barrier`, `sticky` or `pointer`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Next => "next",
            Self::Both => "both",
            Self::Barrier => "barrier",
            Self::Sticky => "sticky",
            Self::Pointer => "pointer",
        }
    }
}

/// Where in its message a block stands; with the message's index this gives its JSON path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The message itself (a `tool` message is one result block).
    Message,
    /// A field that holds one value: `content`, `refusal`, `function_call`, ...
    Field(&'static str),
    /// An item of a list field: `content[2]`, `tool_calls[0]`.
    Item(&'static str, u32),
}

/// How a text span is turned into the text that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextForm {
    /// A JSON string literal with its quotes: escapes are resolved, a lone surrogate becomes U+FFFD.
    JsonString,
    /// Any JSON value, counted as its bytes stand.
    Json,
    /// A JSON value that holds encoded data (an image, a sound, a document's bytes, a sealed text): counted by an
    /// allowance, never by its letters. `BlockView::texts` leaves it out.
    Data,
}

/// One text that the meter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSpan {
    /// The literal's bytes.
    pub span: Span,
    /// How to read them.
    pub form: TextForm,
}

/// One block of a message.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each asked for by name")]
#[derive(Clone, Debug)]
pub struct Block {
    /// The block's own JSON value: a content item, a call object, a content string with its quotes, or the message.
    pub span: Span,
    /// What it is.
    pub kind: BlockKind,
    /// What it must stay beside.
    pub binding: Binding,
    /// Where it stands.
    pub place: Place,
    /// The call's id (call and result alike), as a JSON string literal. Absent where the input has none.
    pub call_id: Option<Span>,
    /// The tool's name, as a JSON string literal.
    pub name: Option<Span>,
    /// The value a rewrite may replace by a string: the text literal, the `content` of a result that is all text.
    pub body: Option<Span>,
    /// Rows of `Segment::texts` to count for this block.
    pub texts: Range<u32>,
    /// Call or result without an id, in a form that pairs by `name` and nearness then (`PairTable::call_id` says what it
    /// is known by).
    pub by_name: bool,
    /// A result of a call that the model does not wait for: it may stand anywhere after the call, beside others.
    pub non_blocking: bool,
    /// Calls and results pair within one family only: kinds that the provider keeps apart. 0 where the format has one.
    pub family: u8,
    /// A call that the provider runs itself: its result, if any, stands in the same message.
    pub server_side: bool,
    /// A call with its result inside: it pairs with nothing.
    pub whole: bool,
    /// The id (of a call before it) that it belongs to, as a JSON string literal: an inner call of a program, a call
    /// that was approved. Both stay on one side of a cut.
    pub part_of: Option<Span>,
    /// The server's own id of the item, which pairs nothing, as a JSON string literal.
    pub item_id: Option<Span>,
    /// The provider's seal on it (a signature, sealed bytes), as a JSON string literal: only unchanged is it accepted.
    pub seal: Option<Span>,
    /// A text block, or a result, whose text is empty or only white space.
    pub blank: bool,
    /// The tool reported a failure.
    pub is_error: bool,
    /// The block's `type` (or field name) as the input spells it, where it is `Opaque` or `Media`.
    pub type_name: Option<Span>,
}

/// What a message's `content` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentForm {
    /// No such field.
    Missing,
    /// `null`.
    Null,
    /// A string; `true` when it is empty or only white space.
    Text {
        /// Empty, or only white space.
        blank: bool,
    },
    /// A list; its length.
    List(u32),
    /// Some other JSON value; kept as an opaque block.
    Other,
}

/// One message.
#[derive(Clone, Debug)]
pub struct Message {
    /// The message's JSON value.
    pub span: Span,
    /// Bytes between the previous message of this source (or the opening bracket) and this one: comma and white space.
    pub gap: Span,
    /// Who speaks.
    pub role: Role,
    /// The `role` literal as the input spells it.
    pub role_text: Option<Span>,
    /// The `name` field, where the format counts it.
    pub name: Option<Span>,
    /// What `content` is.
    pub content: ContentForm,
    /// Rows of `Segment::blocks`.
    pub blocks: Range<u32>,
}

/// Messages of one source.
#[derive(Debug)]
pub struct Segment {
    /// The bytes that all spans point into.
    pub source: SourceBytes,
    rows: OnceLock<SegmentRows>,
    /// What the rows are made from, where none was read.
    recalled: Option<Recalled>,
    /// Whether the messages and the gaps before them stand in the source one after the other as in an array: with a
    /// comma in each gap, but maybe the first.
    pub listed: bool,
    has_pointer: OnceLock<bool>,
    last_barrier: OnceLock<Option<usize>>,
    has_half_character: OnceLock<bool>,
    /// Counts made so far, by encoding.
    pub counts: CountMemo,
}

/// The rows of a segment.
#[derive(Debug, Default)]
struct SegmentRows {
    messages: Vec<Message>,
    /// In message order.
    blocks: Vec<Block>,
    /// In block order.
    texts: Vec<TextSpan>,
}

/// A source with a `Debug` that does not print it.
#[derive(Clone)]
pub struct SourceBytes(pub Source);

impl std::fmt::Debug for SourceBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SourceBytes({} bytes)", self.bytes().len())
    }
}

impl SourceBytes {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// Everything of a request body outside its messages.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each asked for by name")]
#[derive(Debug)]
pub struct Head {
    /// The body.
    pub source: SourceBytes,
    /// Bytes up to and including the opening bracket of the message array.
    pub before: Span,
    /// Bytes from the closing bracket on, with the white space before it.
    pub after: Span,
    /// Whether the input was a bare array of messages.
    pub bare: bool,
    /// Whether one value stood where the array of messages belongs: a string, or one message. Written as it came for
    /// as long as it is alone.
    pub lone: bool,
    /// The `model` literal.
    pub model: Option<Span>,
    /// The `system` value, where the format keeps it beside the messages.
    pub system: Option<Span>,
    /// The `tools` value.
    pub tools: Option<Span>,
    /// JSON path of `system`, where it is not the one that the format names.
    pub system_path: &'static str,
    /// JSON path of `tools`, where it is not the one that the format names.
    pub tools_path: &'static str,
    /// The cap on the length of the reply, where the format's rules ask for it.
    pub output_limit: Option<Setting>,
    /// The name of earlier content that only the server holds, where a field beside the messages has one.
    pub remote: Option<Span>,
    /// The value that asks for a reply by a schema (`response_format`, `output_config`), which providers count.
    pub schema: Option<Span>,
    /// Fields that the provider hands on to the model's own API as they are.
    pub handed_on: Option<Span>,
    /// Whether the request turns the model's thinking on.
    pub thinking: bool,
    /// Whether the request demands a call, of any tool or of one.
    pub demands_call: bool,
    /// Whether the request leaves it to the provider to mark where its prompt cache ends.
    pub caches: bool,
    /// Whether the request asks for a compaction of its messages instead of a reply.
    pub compacts: bool,
    /// Whether the request goes on from items that only the server holds.
    pub continued: bool,
    /// Whether the request says that the server keeps none of its items.
    pub unstored: bool,
    /// Texts of `system` to count.
    pub system_texts: Vec<TextSpan>,
    /// Counts made so far, by encoding.
    pub counts: HeadMemo,
}

/// A value outside the messages, with its place.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The value.
    pub span: Span,
    /// JSON path of it in the body.
    pub path: &'static str,
}

/// A request, read. Immutable; cheap to clone; safe to share between threads.
#[derive(Clone, Debug)]
pub struct Transcript {
    pub(crate) format: &'static dyn WireFormat,
    pub(crate) format_reason: Cow<'static, str>,
    /// Whether the caller named the format.
    pub(crate) named: bool,
    /// What else the format was found by; `None` where that is not known of every message.
    pub(crate) evidence: Option<Arc<Evidence>>,
    pub(crate) pairs: Arc<PairMemo>,
    pub(crate) counted_edits: Arc<CountedEdits>,
    /// Those of the body that it was read from (`recent`); empty where it was made otherwise.
    pub(crate) landmarks: Arc<[u64]>,
    pub(crate) head: Arc<Head>,
    pub(crate) segments: Vec<Arc<Segment>>,
    /// `starts[k]` is the index of the first message of segment k; one more entry than segments.
    pub(crate) starts: Vec<u32>,
}

impl Transcript {
    /// The wire format it was read as.
    pub fn format(&self) -> &'static dyn WireFormat {
        self.format
    }

    /// Why that format: the mark that decided, or that the caller named it.
    pub fn format_reason(&self) -> &str {
        &self.format_reason
    }

    /// Everything outside the messages.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The segments, in order.
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// The field of a body that holds the messages; JSON paths start with it, those of a bare array too.
    pub fn list_field(&self) -> &'static str {
        self.format.list_field()
    }

    /// About how much memory it keeps, shared or not. O(segments).
    pub(crate) fn held_bytes(&self) -> usize {
        let segments: usize = self.segments.iter().map(|segment| segment.held_bytes()).sum();
        segments + self.head.source.bytes().len()
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0) as usize
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of messages at the start that are instructions (system or developer).
    pub fn leading(&self) -> usize {
        let roles = self
            .segments
            .iter()
            .flat_map(|segment| (0..segment.len()).map_while(|index| segment.role(index)));
        roles
            .take_while(|role| matches!(role, Role::System | Role::Developer))
            .count()
    }

    /// Whether the request names earlier items that only the server holds: cutting the messages does not shorten those,
    /// and a result here may answer a call there. O(segments), and O(blocks) once.
    pub fn remote(&self) -> bool {
        self.format.remote(self)
    }

    /// The first message that may answer, or belong to, a call that only the server holds: what stands for the server's
    /// items brings nothing to what is before it. O(segments), and O(blocks) once.
    pub(crate) fn first_remote(&self) -> Option<usize> {
        let whole = self.head.continued || self.head.remote.is_some();
        let named = || self.first_pointer().unwrap_or(0);
        self.remote().then(|| if whole { 0 } else { named() })
    }

    /// Whether a block stands for something that only the server holds. O(segments), and O(blocks) once.
    pub fn has_pointer(&self) -> bool {
        self.segments.iter().any(|segment| segment.has_pointer())
    }

    /// The first message with a block that stands for something that only the server holds. O(segments) where there is
    /// none, and O(blocks) once.
    pub fn first_pointer(&self) -> Option<usize> {
        let (segment, start) = self
            .segments
            .iter()
            .zip(&self.starts)
            .find(|(segment, _)| segment.has_pointer())?;
        Some(*start as usize + segment.first_pointer()?)
    }

    /// The messages that the provider's latest summary stands for: all between the instructions and it. Empty where there
    /// is none, and where only the user's messages precede one that hands them back ([`Folding::AllButUser`]).
    /// O(segments) where there is none, else O(messages).
    pub fn folded(&self) -> Range<usize> {
        let leading = self.leading();
        let folded = leading..self.last_barrier().unwrap_or(leading).max(leading);
        let said = |index: usize| self.message(index).is_some_and(|message| message.role() == Role::User);
        if self.format.rules().folding == Folding::AllButUser && folded.clone().all(said) {
            return leading..leading;
        }
        folded
    }

    /// The message with the provider's latest summary of what is before it. O(segments), and O(blocks) once.
    pub fn last_barrier(&self) -> Option<usize> {
        if self.format.rules().folding == Folding::None {
            return None;
        }
        let mut segments = self.segments.iter().zip(&self.starts).rev();
        segments.find_map(|(segment, start)| Some(*start as usize + segment.last_barrier()?))
    }

    /// The message at `index`. O(log segments).
    pub fn message(&self, index: usize) -> Option<MessageView<'_>> {
        if index >= self.len() {
            return None;
        }
        let k = self.starts.partition_point(|&s| s as usize <= index).checked_sub(1)?;
        let segment = self.segments.get(k)?;
        let first = *self.starts.get(k)? as usize;
        Some(MessageView {
            index,
            segment,
            row: segment.messages().get(index - first)?,
        })
    }

    /// All messages, in order.
    pub fn messages(&self) -> impl Iterator<Item = MessageView<'_>> + '_ {
        self.messages_from(0)
    }

    /// The messages from `first` on, in order. O(segments) for the first of them.
    pub fn messages_from(&self, first: usize) -> impl Iterator<Item = MessageView<'_>> + '_ {
        self.segments
            .iter()
            .zip(&self.starts)
            .skip_while(move |(segment, start)| **start as usize + segment.len() <= first)
            .flat_map(move |(segment, &start)| {
                let skipped = first.saturating_sub(start as usize);
                let rows = segment.messages().get(skipped..).unwrap_or_default();
                rows.iter().enumerate().map(move |(k, row)| MessageView {
                    index: start as usize + skipped + k,
                    segment,
                    row,
                })
            })
    }

    /// The messages whose own bytes hold `part`, in order. O(bytes).
    pub fn messages_with(&self, part: &[u8]) -> Vec<usize> {
        let finder = memchr::memmem::Finder::new(part);
        let holding = self.messages().filter(|message| finder.find(message.bytes()).is_some());
        holding.map(|message| message.index).collect()
    }

    /// Who speaks first.
    pub fn first_role(&self) -> Option<Role> {
        self.segments.first()?.role(0)
    }

    /// The model the body names.
    pub fn model(&self) -> Option<Cow<'_, str>> {
        self.head.model.map(|s| json::unescape(s.of(self.head.source.bytes())))
    }
}

impl TextSpan {
    /// The text to count.
    pub fn read(self, source: &[u8]) -> Cow<'_, str> {
        let raw = self.span.of(source);
        match self.form {
            TextForm::JsonString => json::unescape(raw),
            TextForm::Json | TextForm::Data => String::from_utf8_lossy(raw),
        }
    }

    /// The same, in room that many texts share.
    pub(crate) fn read_in<'a>(self, source: &'a [u8], room: &'a mut Unescaping) -> Cow<'a, str> {
        match self.form {
            TextForm::JsonString => room.text(source, self.span.start as usize..self.span.end as usize),
            TextForm::Json | TextForm::Data => self.read(source),
        }
    }
}
