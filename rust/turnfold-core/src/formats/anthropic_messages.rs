//! `anthropic.messages`: Anthropic's Messages API.
//!
//! Source of the shapes: the generated types of `anthropic` (Python) 2.14, its beta kinds included.

mod marks;
mod rules;

use super::{
    AtWindow, BoundReasoning, Mark, Rows, Section, WireFormat, block_of, call_id, content_form, literal, only_text,
    plain_message, role_of, text_block,
};
use marks::{body_mark, message_mark};
pub use rules::RULES;

use crate::json::{self, Kind, Value, is_blank};
use crate::meter::envelope::{self, Envelope};
use crate::rules::Rules;
use crate::transcript::{Binding, Block, BlockKind, BlockView, Head, Message, Place, Role, Setting, Span, TextSpan};

/// The format.
#[derive(Debug)]
pub struct AnthropicMessages;

impl WireFormat for AnthropicMessages {
    fn name(&self) -> &'static str {
        "anthropic.messages"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["anthropic", "messages", "claude"]
    }

    fn list_field(&self) -> &'static str {
        "messages"
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn render_order(&self) -> &'static [Section] {
        &[Section::Tools, Section::System, Section::Messages]
    }

    fn envelope(&self) -> &'static dyn Envelope {
        &envelope::anthropic_messages::AnthropicEnvelope
    }

    fn cache_markers(&self) -> &'static [&'static str] {
        &["cache_control"]
    }

    fn foreign_fields(&self) -> &'static [&'static str] {
        &["input", "input_schema"]
    }

    fn arguments<'d>(&self, call: Value<'d>) -> Option<Value<'d>> {
        call.get("input")
    }

    fn bound_reasoning(&self) -> Option<&'static BoundReasoning> {
        Some(&BOUND_REASONING)
    }

    /// The page "Context windows": from 3.7 on a request is refused whose reply may not fit, from 4.5 on the reply stops
    /// at the window.
    fn at_window(&self, model: &str) -> Option<AtWindow> {
        let version = version_of(model)?;
        Some(if ((3, 7)..(4, 5)).contains(&version) {
            AtWindow::Refused
        } else {
            AtWindow::Cut
        })
    }

    fn body_mark(&self, body: Value<'_>, _messages: Value<'_>) -> Option<Mark> {
        body_mark(body)
    }

    fn message_mark(&self, message: Value<'_>, index: usize, _own_model: bool) -> Option<Mark> {
        message_mark(message, index)
    }

    fn read_message(&self, message: Value<'_>, rows: &mut Rows) -> Message {
        let [mut role_value, mut content, mut clear_at, mut settings] = [None; 4];
        for (key, value) in message.fields() {
            match &*key.key() {
                b"role" => role_value = Some(value),
                b"content" => content = Some(value),
                b"clear_at" => clear_at = Some(value),
                b"output_config" => settings = Some(value),
                _ => {}
            }
        }
        let role_value = role_value.filter(|v| v.is_string());
        let first = rows.block_count();
        rows.content(content, read_block);
        let role = role_of(role_value);
        if role == Role::System {
            read_instructions(first, clear_at, settings, rows);
        }
        Message {
            span: message.span(),
            gap: Span::default(),
            role,
            role_text: role_value.map(Value::span),
            name: None,
            content: content_form(content),
            blocks: first..rows.block_count(),
        }
    }

    fn read_head(&self, body: Value<'_>, head: &mut Head) {
        head.tools = body.get("tools").filter(|v| !v.is_null()).map(Value::span);
        head.output_limit = body.get("max_tokens").filter(|v| !v.is_null()).map(|cap| Setting {
            span: cap.span(),
            path: "max_tokens",
        });
        let schema = body
            .get("output_format")
            .or_else(|| body.get("output_config").and_then(|c| c.get("format")));
        head.schema = schema.filter(|v| v.is_object()).map(Value::span);
        let kind = body.get("thinking").and_then(|t| t.get("type"));
        head.caches = body.get("cache_control").is_some_and(Value::is_object);
        let choice = body.get("tool_choice").and_then(|c| c.get("type"));
        head.demands_call = choice.is_some_and(|c| c.is_text("any") || c.is_text("tool"));
        head.compacts = body.get("compaction").is_some_and(Value::is_object);
        head.thinking = kind.is_some_and(|k| k.is_text("enabled") || k.is_text("adaptive"));
        let Some(system) = body.get("system").filter(|v| !v.is_null()) else {
            return;
        };
        head.system = Some(system.span());
        let mut rows = Rows::default();
        if system.is_array() {
            for item in system.items() {
                inner_text(item, &mut rows);
            }
        } else {
            rows.text(Some(system));
        }
        head.system_texts = rows.texts;
    }

    fn text_message(&self, role: Role, text: &str) -> Vec<u8> {
        // Instructions stand beside the messages in this format, so they fall back to the user's role (AM-8).
        let role = match role {
            Role::Assistant => "assistant",
            Role::System | Role::Developer | Role::User | Role::Tool | Role::Other => "user",
        };
        plain_message(role, text)
    }

    fn id_path(&self, block: &BlockView<'_>) -> &'static [&'static str] {
        match block.kind() {
            BlockKind::ToolCall => &["id"],
            BlockKind::ToolResult => &["tool_use_id"],
            _ => &[],
        }
    }

    fn result_for(&self, call: &BlockView<'_>, text: &str) -> Vec<u8> {
        let mut out = b"{\"type\":\"tool_result\",\"tool_use_id\":".to_vec();
        out.extend_from_slice(&json::escape(&call.call_id().unwrap_or_default()));
        out.extend_from_slice(b",\"content\":");
        out.extend_from_slice(&json::escape(text));
        out.push(b'}');
        out
    }
}

/// Major and minor number in the name of a model: `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest`,
/// `us.anthropic.claude-opus-4.1`, `claude-sonnet-4@20250514`.
fn version_of(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.split_once("claude")?;
    let mut numbers = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        // Longer ones are dates.
        .map(|word| word.parse().ok().filter(|_| word.len() <= 2))
        .skip_while(Option::is_none);
    let major = numbers.next()??;
    Some((major, numbers.next().flatten().unwrap_or(0)))
}

/// Instructions between messages stay in force, unless they are shown for one turn only; so do settings beside them.
fn read_instructions(first: u32, clear_at: Option<Value<'_>>, settings: Option<Value<'_>>, rows: &mut Rows) {
    if !clear_at.is_some_and(|c| c.is_text("next_user_message")) {
        for block in rows.blocks.iter_mut().skip(first as usize) {
            if block.binding == Binding::Free {
                block.binding = Binding::Sticky;
            }
        }
    }
    if let Some(settings) = settings.filter(|s| s.is_object()) {
        let texts = rows.text_count();
        rows.text(Some(settings));
        let block = Block {
            binding: Binding::Sticky,
            ..block_of(settings, BlockKind::Opaque, Place::Field("output_config"))
        };
        rows.block(texts, block);
    }
}

#[derive(Default)]
struct Fields<'d> {
    kind: Option<Value<'d>>,
    text: Option<Value<'d>>,
    thinking: Option<Value<'d>>,
    signature: Option<Value<'d>>,
    data: Option<Value<'d>>,
    id: Option<Value<'d>>,
    name: Option<Value<'d>>,
    input: Option<Value<'d>>,
    caller: Option<Value<'d>>,
    tool_use_id: Option<Value<'d>>,
    content: Option<Value<'d>>,
    source: Option<Value<'d>>,
    title: Option<Value<'d>>,
    context: Option<Value<'d>>,
    is_error: bool,
}

impl<'d> Fields<'d> {
    fn of(block: Value<'d>) -> Self {
        let mut fields = Self::default();
        for (key, value) in block.fields() {
            let slot = match &*key.key() {
                b"type" => &mut fields.kind,
                b"text" => &mut fields.text,
                b"thinking" => &mut fields.thinking,
                b"signature" => &mut fields.signature,
                b"data" => &mut fields.data,
                b"id" => &mut fields.id,
                b"name" => &mut fields.name,
                b"input" => &mut fields.input,
                b"caller" => &mut fields.caller,
                b"tool_use_id" => &mut fields.tool_use_id,
                b"content" => &mut fields.content,
                b"source" => &mut fields.source,
                b"title" => &mut fields.title,
                b"context" => &mut fields.context,
                b"is_error" => {
                    fields.is_error = value.kind() == Kind::True;
                    continue;
                }
                _ => continue,
            };
            *slot = Some(value);
        }
        fields
    }
}

fn read_block(item: Value<'_>, place: Place, rows: &mut Rows) {
    let fields = Fields::of(item);
    let texts = rows.text_count();
    let kind_text = fields.kind.map(Value::key).unwrap_or_default();
    let block = match &*kind_text {
        b"text" => match fields.text.filter(|t| t.is_string()) {
            Some(text) => {
                rows.text(Some(text));
                text_block(item, text, place)
            }
            None => return rows.opaque(item, place),
        },
        b"thinking" => {
            rows.text(fields.thinking);
            reasoning(item, fields.signature, place)
        }
        b"redacted_thinking" => {
            rows.data(item);
            reasoning(item, fields.data, place)
        }
        b"image" | b"document" | b"search_result" | b"container_upload" => {
            media_texts(item, &fields, rows);
            Block {
                type_name: fields.kind.map(Value::span),
                binding: media_binding(&fields),
                ..block_of(item, BlockKind::Media, place)
            }
        }
        b"tool_use" => call(item, &fields, place, false, rows),
        b"server_tool_use" | b"mcp_tool_use" => call(item, &fields, place, true, rows),
        b"tool_result" => result(item, &fields, place, rows),
        b"mcp_tool_result" => Block {
            server_side: true,
            ..result(item, &fields, place, rows)
        },
        b"compaction" => compaction(item, &fields, place, rows),
        // Tools that come and go, and what a server listed: in force for everything after.
        b"tool_addition" | b"tool_removal" | b"mcp_tool_listing" => {
            rows.text(Some(item));
            known(item, &fields, Binding::Sticky, place)
        }
        // The place where another model took over. It is not rendered.
        b"fallback" => known(item, &fields, Binding::Next, place),
        kind if kind.ends_with(b"_tool_result") => server_result(item, &fields, place, rows),
        _ => return rows.opaque(item, place),
    };
    rows.block(texts, block);
}

fn known(item: Value<'_>, fields: &Fields<'_>, binding: Binding, place: Place) -> Block {
    Block {
        binding,
        type_name: fields.kind.map(Value::span),
        ..block_of(item, BlockKind::Opaque, place)
    }
}

fn reasoning(item: Value<'_>, seal: Option<Value<'_>>, place: Place) -> Block {
    Block {
        binding: Binding::Next,
        seal: seal.and_then(literal),
        ..block_of(item, BlockKind::Reasoning, place)
    }
}

/// The provider's summary of everything before it. Without content it failed, and does nothing. A seal tells the form
/// that opens a conversation from the older one, which may stand anywhere.
fn compaction(item: Value<'_>, fields: &Fields<'_>, place: Place, rows: &mut Rows) -> Block {
    let holds = fields.content.is_some_and(|c| !c.is_null());
    rows.text(fields.content);
    if let Some(bytes) = item.get("encrypted_content").filter(|v| v.is_string()) {
        rows.data(bytes);
    }
    rows.text(item.get("tool_changes"));
    let binding = if holds { Binding::Barrier } else { Binding::Free };
    Block {
        seal: fields.signature.and_then(literal),
        ..known(item, fields, binding, place)
    }
}

/// What a call says beside its input.
const CALL_FIELDS: [&str; 7] = ["type", "id", "name", "input", "caller", "server_name", "cache_control"];

fn call(item: Value<'_>, fields: &Fields<'_>, place: Place, server_side: bool, rows: &mut Rows) -> Block {
    rows.text(fields.name);
    rows.arguments(fields.input, item, &CALL_FIELDS);
    Block {
        call_id: fields.id.and_then(call_id),
        name: fields.name.and_then(literal),
        // Called by code that a call of the provider runs.
        part_of: fields.caller.and_then(|c| c.get("tool_id")).and_then(literal),
        server_side,
        ..block_of(item, BlockKind::ToolCall, place)
    }
}

fn result(item: Value<'_>, fields: &Fields<'_>, place: Place, rows: &mut Rows) -> Block {
    let texts = rows.text_count();
    match fields.content {
        Some(content) if content.is_array() => {
            for part in content.items() {
                inner_part(part, rows);
            }
        }
        content => rows.text(content),
    }
    Block {
        call_id: fields.tool_use_id.and_then(call_id),
        body: fields.content.filter(|c| only_text(*c)).map(Value::span),
        blank: rows.blank_since(texts, item),
        is_error: fields.is_error,
        ..block_of(item, BlockKind::ToolResult, place)
    }
}

/// What a tool that the provider ran gave back: one object, a list of them, or an error.
fn server_result(item: Value<'_>, fields: &Fields<'_>, place: Place, rows: &mut Rows) -> Block {
    let content = fields.content;
    let kind = content.and_then(|c| c.get("type"));
    if content.is_some_and(Value::is_array) {
        content
            .into_iter()
            .flat_map(Value::items)
            .for_each(|part| output(part, rows));
    } else if let Some(content) = content {
        output(content, rows);
    }
    Block {
        call_id: fields.tool_use_id.and_then(call_id),
        server_side: true,
        is_error: kind.is_some_and(|k| k.key().ends_with(b"_error")),
        ..block_of(item, BlockKind::ToolResult, place)
    }
}

/// One piece of a server tool's output: the texts that stand open in it, the sealed ones as data, anything else by its
/// JSON.
fn output(part: Value<'_>, rows: &mut Rows) {
    const OPEN: [&str; 8] = [
        "title",
        "url",
        "text",
        "stdout",
        "stderr",
        "content",
        "lines",
        "error_code",
    ];
    const SEALED: [&str; 2] = ["encrypted_content", "encrypted_stdout"];
    let texts = rows.text_count();
    for (key, value) in part.fields() {
        let is = |names: &[&str]| names.iter().any(|name| key.is_text(name));
        if value.is_string() && is(&SEALED) {
            rows.data(value);
        } else if value.is_string() && is(&OPEN) {
            rows.text(Some(value));
        } else if value.is_object() && key.is_text("content") {
            inner_part(value, rows);
        } else if value.is_array() && (is(&OPEN) || key.is_text("tool_references")) {
            value.items().for_each(|inner| inner_part(inner, rows));
        }
    }
    if rows.text_count() == texts {
        rows.text(Some(part));
    }
}

/// A block inside a result or a document.
fn inner_part(part: Value<'_>, rows: &mut Rows) {
    let fields = Fields::of(part);
    match &*fields.kind.map(Value::key).unwrap_or_default() {
        b"text" => inner_text(part, rows),
        b"image" | b"document" | b"search_result" | b"container_upload" => media_texts(part, &fields, rows),
        _ => rows.text(Some(part)),
    }
}

fn inner_text(part: Value<'_>, rows: &mut Rows) {
    let text = part.get("text").filter(|t| t.is_string());
    rows.text(Some(text.unwrap_or(part)));
}

/// What is counted of an image, a document, a search result.
pub(super) fn read_media(item: Value<'_>, rows: &mut Rows) {
    media_texts(item, &Fields::of(item), rows);
}

/// A file that the server holds stands for what no body shows.
fn media_binding(fields: &Fields<'_>) -> Binding {
    let kind = fields.source.and_then(|s| s.get("type"));
    let uploaded = fields.kind.is_some_and(|k| k.is_text("container_upload"));
    if uploaded || kind.is_some_and(|k| k.is_text("file")) {
        Binding::Pointer
    } else {
        Binding::Free
    }
}

/// The texts that stand open in it; the rest as encoded data.
fn media_texts(item: Value<'_>, fields: &Fields<'_>, rows: &mut Rows) {
    let is_search = fields.kind.is_some_and(|k| k.is_text("search_result"));
    rows.text(fields.title);
    rows.text(fields.context);
    if is_search {
        rows.text(fields.source);
        for part in fields.content.into_iter().flat_map(Value::items) {
            inner_text(part, rows);
        }
        return;
    }
    let Some(source) = fields.source.filter(|s| s.is_object()) else {
        return rows.data(item);
    };
    let form = source.get("type");
    let data = source.get("data").filter(|d| d.is_string());
    let content = source.get("content").filter(|c| !c.is_null());
    match (data, content) {
        (Some(text), _) if form.is_some_and(|f| f.is_text("text")) => rows.text(Some(text)),
        (_, Some(parts)) if form.is_some_and(|f| f.is_text("content")) => {
            if parts.is_string() {
                rows.text(Some(parts));
            }
            for part in parts.items() {
                if part.get("type").is_some_and(|k| k.is_text("text")) {
                    inner_text(part, rows);
                } else {
                    rows.data(part);
                }
            }
        }
        _ => rows.data(item),
    }
}

impl Rows {
    /// Whether all texts since `texts` are blank. `within` is a value of the same document.
    fn blank_since(&self, texts: u32, within: Value<'_>) -> bool {
        let rows = self.texts.get(texts as usize..).unwrap_or_default();
        rows.iter().all(|t: &TextSpan| match t.form {
            crate::transcript::TextForm::JsonString => is_blank(within.bytes_of(t.span)),
            _ => false,
        })
    }
}

/// The page "Preserved thinking", and `thinking.block_binding` in the generated types.
static BOUND_REASONING: BoundReasoning = BoundReasoning {
    models: &["claude-fable-5-1", "claude-fable-5-2"],
    header: ("anthropic-beta", "thinking-binding-controls-2026-08-01"),
    setting: ("thinking.block_binding.prefix_mismatch_behavior", "drop_block"),
};
