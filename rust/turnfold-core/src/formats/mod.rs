//! Wire formats: one file each, one trait. Vendor names live here and in `meter/envelope/`.

use std::fmt;

use crate::json::{Kind, Value, is_blank};
use crate::meter::envelope::Envelope;
use crate::rules::Rules;
use crate::transcript::{
    Binding, Block, BlockKind, BlockView, ContentForm, Head, Message, Place, Role, Span, TextForm, TextSpan, Transcript,
};

pub mod anthropic_messages;
pub mod bedrock_converse;
mod detect;
pub mod gemini_contents;
pub mod mistral_chat;
pub mod openai_chat;
pub mod openai_responses;

pub use detect::{Conversation, Evidence, Leaning, Mark, Strength, Verdict, conversation};

/// Every wire format, in the order in which detection asks them.
pub const ALL: [&dyn WireFormat; 6] = [
    &openai_chat::OpenAiChat,
    &anthropic_messages::AnthropicMessages,
    &openai_responses::OpenAiResponses,
    &bedrock_converse::BedrockConverse,
    &mistral_chat::MistralChat,
    &gemini_contents::GeminiContents,
];

/// The format with this public name or one of its aliases; letter case, `-` and `_` for `.` make no difference.
pub fn by_name(name: &str) -> Option<&'static dyn WireFormat> {
    let plain = name.to_ascii_lowercase().replace(['-', '_'], ".");
    ALL.into_iter()
        .find(|format| format.name() == plain || format.aliases().contains(&plain.as_str()))
}

/// A part of a request, as providers render and cache it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// Tool definitions: `Head::tools`.
    Tools,
    /// Instructions beside the messages: `Head::system`.
    System,
    /// The messages, in order.
    Messages,
}

impl Section {
    /// The name: `tools`, `system` or `messages`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::System => "system",
            Self::Messages => "messages",
        }
    }
}

/// Reasoning that its provider takes back only after the very words that it was produced after.
#[derive(Debug)]
pub struct BoundReasoning {
    /// Models that refuse it after other words, by name: variants (`name-20260101`, `vendor/name`) are meant too.
    pub models: &'static [&'static str],
    /// The header, and its value, that allows `setting`.
    pub header: (&'static str, &'static str),
    /// The field of the body, and its value, by which the provider leaves such reasoning out instead of refusing it.
    pub setting: (&'static str, &'static str),
}

impl BoundReasoning {
    /// Whether `model` is one of those that refuse.
    pub fn refuses(&self, model: &str) -> bool {
        let edge = |rest: Option<char>| !rest.is_some_and(|c| c.is_ascii_alphanumeric());
        self.models.iter().any(|name| {
            model.match_indices(name).any(|(at, _)| {
                let (before, after) = (model.get(..at), model.get(at + name.len()..));
                edge(before.and_then(|text| text.chars().next_back()))
                    && edge(after.and_then(|text| text.chars().next()))
            })
        })
    }
}

/// What the kernel needs to know of a wire format.
pub trait WireFormat: Sync + fmt::Debug {
    /// The public name: `openai.chat`.
    fn name(&self) -> &'static str;

    /// Other spellings of the name, in lower case with dots.
    fn aliases(&self) -> &'static [&'static str];

    /// The format that this one is a dialect of: what marks that one marks this one too, so a mark of this one that is
    /// more than a hint decides.
    fn dialect_of(&self) -> Option<&'static str> {
        None
    }

    /// The field of a body that holds the messages: `messages`.
    fn list_field(&self) -> &'static str;

    /// The field of a body that holds a section; JSON paths start with it.
    fn section_field(&self, section: Section) -> &'static str {
        match section {
            Section::Messages => self.list_field(),
            other => other.as_str(),
        }
    }

    /// Whether a message must say its role.
    fn needs_role(&self) -> bool {
        true
    }

    /// The message that one value in place of the array of messages stands for, as JSON bytes; `None` where the format
    /// has no such spelling. [`WireFormat::read_message`] reads both that and `value` itself.
    fn lone_message(&self, value: Value<'_>) -> Option<Vec<u8>> {
        let _ = value;
        None
    }

    /// What the provider demands of a transcript, as neutral flags.
    fn rules(&self) -> &'static Rules;

    /// The order in which the provider renders the request, which is the order of its prompt cache.
    fn render_order(&self) -> &'static [Section];

    /// How the provider's tokens around the text are counted.
    fn envelope(&self) -> &'static dyn Envelope;

    /// Fields that only mark where the prompt cache may end: with or without them the model reads the same.
    fn cache_markers(&self) -> &'static [&'static str];

    /// Fields of a request whose values are the model's or a tool author's own JSON: nothing in them marks a cache.
    fn foreign_fields(&self) -> &'static [&'static str];

    /// The arguments inside a call's own JSON value, as a JSON value or as JSON in a string.
    fn arguments<'d>(&self, call: Value<'d>) -> Option<Value<'d>>;

    /// How the provider binds reasoning to what stands before it; `None` where it does not.
    fn bound_reasoning(&self) -> Option<&'static BoundReasoning> {
        None
    }

    /// The strongest mark of this format outside the messages, if any. `body` is the whole input, `messages` its array.
    fn body_mark(&self, body: Value<'_>, messages: Value<'_>) -> Option<Mark>;

    /// The strongest mark of this format in one message, if any. `own_model`: whether the body names no model, or one of
    /// those that [`WireFormat::is_own_model`] knows.
    fn message_mark(&self, message: Value<'_>, index: usize, own_model: bool) -> Option<Mark>;

    /// Whether the model's name is one that only this format's own provider gives.
    fn is_own_model(&self, model: &str) -> bool {
        let _ = model;
        false
    }

    /// Reads one message, an object, into rows. Never fails: what it does not know becomes an opaque block, and a
    /// missing `role` leaves `Message::role_text` empty, which [`WireFormat::needs_role`] may forbid. The caller sets
    /// `Message::gap`.
    fn read_message(&self, message: Value<'_>, rows: &mut Rows) -> Message;

    /// Fills the spans of `head` that this format keeps beside the messages. `body` is an object.
    fn read_head(&self, body: Value<'_>, head: &mut Head);

    /// Whether the request names earlier items that only the server holds. O(blocks).
    fn remote(&self, transcript: &Transcript) -> bool {
        let _ = transcript;
        false
    }

    /// A new message with one text, as JSON bytes in this format. Falls back to the nearest role the format allows.
    fn text_message(&self, role: Role, text: &str) -> Vec<u8>;

    /// A result with one text for `call`, as JSON bytes: a message of its own, or, where results stand in the next
    /// message ([`ResultPlace::NextMessage`]), the block that goes into it.
    ///
    /// [`ResultPlace::NextMessage`]: crate::rules::ResultPlace::NextMessage
    fn result_for(&self, call: &BlockView<'_>, text: &str) -> Vec<u8>;

    /// Where in the JSON of a call or result its id stands, field by field. Empty where the kind has no id.
    fn id_path(&self, block: &BlockView<'_>) -> &'static [&'static str] {
        let _ = block;
        &[]
    }

    /// Where in the JSON of a call or result the tool's name stands, field by field. Empty where the kind has no name.
    fn name_path(&self, block: &BlockView<'_>) -> &'static [&'static str] {
        let _ = block;
        &[]
    }

    /// Whether the field of a message that lists its blocks may hold one block bare.
    fn bare_block(&self) -> bool {
        false
    }

    /// What a new call id may look like.
    fn call_id_form(&self) -> CallIdForm {
        let asked = self.rules().call_id_form;
        CallIdForm {
            shortest: asked.map_or(1, |asked| asked.least.max(1)),
            longest: asked.map_or(40, |asked| asked.most.min(40)),
            marks: asked
                .and_then(|asked| asked.signs)
                .is_none_or(|signs| signs.contains('_') && signs.contains('-')),
        }
    }

    /// A text, given as a JSON string literal, as a block of a message's list.
    fn text_block(&self, literal: &[u8]) -> Vec<u8> {
        let mut out = b"{\"type\":\"text\",\"text\":".to_vec();
        out.extend_from_slice(literal);
        out.push(b'}');
        out
    }

    /// The JSON that takes the place of a block's `body` (`replaced`) when its text becomes `text`.
    fn body_of(&self, replaced: &[u8], text: &str) -> Vec<u8> {
        let _ = replaced;
        crate::json::escape(text)
    }

    /// A message of the user with these blocks (JSON values), as JSON bytes. Asked only of formats whose results stand
    /// in the next message.
    fn user_message(&self, blocks: &[Vec<u8>]) -> Vec<u8> {
        blocks_message("role", "user", "content", blocks)
    }

    /// What a model of this name does with a request whose reply may not fit the window; `None` where that is not known.
    fn at_window(&self, model: &str) -> Option<AtWindow> {
        let _ = model;
        None
    }

    /// Whether a model of this name checks that the calls of the current turn carry their signatures.
    fn checks_signatures(&self, model: &str) -> bool {
        let _ = model;
        false
    }
}

/// What is done with a request that fits the window, though not with the longest reply that it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtWindow {
    /// It is refused.
    Refused,
    /// It is taken, and the reply stops at the window.
    Cut,
}

/// What a call id may look like: ASCII letters and digits, of so many characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallIdForm {
    /// Least number of characters.
    pub shortest: usize,
    /// Greatest number of characters.
    pub longest: usize,
    /// Whether `_` and `-` are allowed.
    pub marks: bool,
}

impl CallIdForm {
    /// Whether the character may stand in an id.
    pub fn allows(&self, letter: char) -> bool {
        letter.is_ascii_alphanumeric() || (self.marks && matches!(letter, '_' | '-'))
    }
}

/// The rows that reading messages fills.
#[derive(Debug, Default)]
pub struct Rows {
    /// One row a block.
    pub blocks: Vec<Block>,
    /// One row a counted text.
    pub texts: Vec<TextSpan>,
}

impl Rows {
    /// No rows, with room for so many blocks of one text.
    pub fn with_capacity(blocks: usize) -> Self {
        Self {
            blocks: Vec::with_capacity(blocks),
            texts: Vec::with_capacity(blocks),
        }
    }

    /// Number of blocks so far.
    pub fn block_count(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Number of texts so far.
    pub fn text_count(&self) -> u32 {
        self.texts.len() as u32
    }

    /// Adds a counted text: a string by its text, anything else by its bytes. `None` and `null` add nothing.
    pub fn text(&mut self, value: Option<Value<'_>>) {
        let Some(value) = value.filter(|v| !v.is_null()) else {
            return;
        };
        let form = if value.is_string() {
            TextForm::JsonString
        } else {
            TextForm::Json
        };
        self.texts.push(TextSpan {
            span: value.span(),
            form,
        });
    }

    /// Adds the arguments of a call: where it has none by the name that the format gives them, what it says in fields
    /// that are not `known`, by their JSON.
    pub(crate) fn arguments(&mut self, arguments: Option<Value<'_>>, call: Value<'_>, known: &[&str]) {
        if arguments.is_some_and(|given| !given.is_null()) {
            return self.text(arguments);
        }
        for (_, value) in call
            .fields()
            .filter(|(key, _)| !known.iter().any(|name| key.is_text(name)))
        {
            self.text(Some(value));
        }
    }

    /// Adds encoded data that is counted by an allowance.
    pub fn data(&mut self, value: Value<'_>) {
        self.texts.push(TextSpan {
            span: value.span(),
            form: TextForm::Data,
        });
    }

    /// Adds a block whose texts are those added since `texts`.
    pub fn block(&mut self, texts: u32, mut block: Block) {
        block.texts = texts..self.text_count();
        self.blocks.push(block);
    }

    /// Adds a block of text: `text` is a string, `value` the block's own value.
    pub fn text_block(&mut self, value: Value<'_>, text: Value<'_>, place: Place) {
        let texts = self.text_count();
        self.text(Some(text));
        self.block(texts, text_block(value, text, place));
    }

    /// Adds the blocks of a field `content` that is a string or a list, whose items `read` adds; anything else is opaque.
    pub(crate) fn content(&mut self, content: Option<Value<'_>>, read: impl Fn(Value<'_>, Place, &mut Self)) {
        let Some(content) = content else { return };
        match content_form(Some(content)) {
            ContentForm::Missing | ContentForm::Null => {}
            ContentForm::Text { .. } => self.text_block(content, content, Place::Field("content")),
            ContentForm::List(_) => {
                for (k, item) in content.items().enumerate() {
                    read(item, Place::Item("content", k as u32), self);
                }
            }
            ContentForm::Other => self.opaque(content, Place::Field("content")),
        }
    }

    /// Adds a block of an unknown kind, counted by its JSON and bound to both neighbours.
    pub fn opaque(&mut self, value: Value<'_>, place: Place) {
        let texts = self.text_count();
        self.text(Some(value));
        let block = Block {
            binding: Binding::Both,
            type_name: value.get("type").and_then(literal),
            ..block_of(value, BlockKind::Opaque, place)
        };
        self.block(texts, block);
    }
}

/// A block row with nothing but its value, kind and place.
pub(crate) fn block_of(value: Value<'_>, kind: BlockKind, place: Place) -> Block {
    Block {
        span: value.span(),
        kind,
        binding: Binding::Free,
        place,
        call_id: None,
        name: None,
        body: None,
        texts: 0..0,
        by_name: false,
        family: 0,
        non_blocking: false,
        server_side: false,
        whole: false,
        part_of: None,
        item_id: None,
        seal: None,
        blank: false,
        is_error: false,
        type_name: None,
    }
}

/// The row of a block of text.
pub(crate) fn text_block(value: Value<'_>, text: Value<'_>, place: Place) -> Block {
    Block {
        body: Some(text.span()),
        blank: is_blank(text.raw()),
        ..block_of(value, BlockKind::Text, place)
    }
}

/// The span of a string value, quotes included.
pub(crate) fn literal(value: Value<'_>) -> Option<Span> {
    value.is_string().then(|| value.span())
}

/// The span of a call's id, quotes included. An empty string is none: nothing tells such calls apart.
pub(crate) fn call_id(value: Value<'_>) -> Option<Span> {
    literal(value).filter(|_| value.raw() != b"\"\"")
}

/// What a `content` value is.
pub(crate) fn content_form(content: Option<Value<'_>>) -> ContentForm {
    let Some(content) = content else {
        return ContentForm::Missing;
    };
    match content.kind() {
        Kind::Null => ContentForm::Null,
        Kind::String => ContentForm::Text {
            blank: is_blank(content.raw()),
        },
        Kind::Array => ContentForm::List(content.items().count() as u32),
        _ => ContentForm::Other,
    }
}

/// Whether a result's `content` is text and nothing else, so that a string can take its place without loss.
pub(crate) fn only_text(content: Value<'_>) -> bool {
    !content.is_array()
        || content
            .items()
            .all(|part| part.get("text").is_some_and(Value::is_string))
}

/// `{"<role_field>":"<role>","<list>":[...]}`.
pub(crate) fn blocks_message(role_field: &str, role: &str, list: &str, blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut out = format!("{{\"{role_field}\":\"{role}\",\"{list}\":[").into_bytes();
    out.extend_from_slice(&blocks.join(&b','));
    out.extend_from_slice(b"]}");
    out
}

/// The role that a literal spells.
pub(crate) fn role_of(role: Option<Value<'_>>) -> Role {
    let Some(role) = role else { return Role::Other };
    match &*role.key() {
        b"system" => Role::System,
        b"developer" => Role::Developer,
        b"user" => Role::User,
        b"assistant" => Role::Assistant,
        b"tool" | b"function" => Role::Tool,
        _ => Role::Other,
    }
}

/// `{"role":...,"content":...}` with a text.
pub(crate) fn plain_message(role: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 40);
    out.extend_from_slice(b"{\"role\":");
    out.extend_from_slice(&crate::json::escape(role));
    out.extend_from_slice(b",\"content\":");
    out.extend_from_slice(&crate::json::escape(text));
    out.push(b'}');
    out
}
