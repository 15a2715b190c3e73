//! `openai.chat`: OpenAI Chat Completions, and the dialects that gateways and other providers made of it.
//!
//! Source of the shapes: the generated types of `openai` (Python) 3.57 for the API's own fields; litellm's types for
//! the dialect (`reasoning_content`, `thinking_blocks`, `reasoning_items`, `is_error`, `document`, `video_url`). Two
//! dialects of stored data: content parts whose `value` is their text, a reasoning or a call, with nothing that says
//! which result is whose; and SWE-agent's `tool_call_ids`, a list on the result's message.

mod marks;

use marks::{body_mark, message_mark};

use super::anthropic_messages::read_media;
use super::{
    Mark, Rows, Section, WireFormat, block_of, call_id, content_form, literal, only_text, plain_message, role_of,
};
use crate::json::{self, Kind, Value, is_blank};
use crate::meter::envelope::{self, Envelope};
use crate::rules::{
    CallIdDemand, ContentDemand, IdScope, NamedRoleDemand, ResultPlace, Rules, WindowDemand, refused, refused_by_some,
    unconfirmed,
};
use crate::transcript::{Binding, Block, BlockKind, BlockView, Head, Message, Place, Role, Setting, Span};

/// The format.
#[derive(Debug)]
pub struct OpenAiChat;

/// Fields that carry a model's reasoning in dialects of the format.
const REASONING_FIELDS: [&str; 5] = [
    "reasoning_content",
    "reasoning",
    "thinking_blocks",
    "reasoning_items",
    "reasoning_details",
];

/// The family of calls and results that have neither ids nor names.
const BY_PLACE: u8 = 1;

#[derive(Default)]
struct Fields<'d> {
    role: Option<Value<'d>>,
    content: Option<Value<'d>>,
    name: Option<Value<'d>>,
    refusal: Option<Value<'d>>,
    audio: Option<Value<'d>>,
    tool_calls: Option<Value<'d>>,
    function_call: Option<Value<'d>>,
    tool_call_id: Option<Value<'d>>,
    tool_call_ids: Option<Value<'d>>,
    is_error: bool,
    reasoning: [Option<Value<'d>>; REASONING_FIELDS.len()],
}

impl<'d> Fields<'d> {
    fn of(message: Value<'d>) -> Self {
        let mut fields = Self::default();
        for (key, value) in message.fields() {
            let slot = match &*key.key() {
                b"role" => &mut fields.role,
                b"content" => &mut fields.content,
                b"name" => &mut fields.name,
                b"refusal" => &mut fields.refusal,
                b"audio" => &mut fields.audio,
                b"tool_calls" => &mut fields.tool_calls,
                b"function_call" => &mut fields.function_call,
                b"tool_call_id" => &mut fields.tool_call_id,
                b"tool_call_ids" => &mut fields.tool_call_ids,
                b"is_error" => {
                    fields.is_error = value.kind() == Kind::True;
                    continue;
                }
                other => {
                    let known = REASONING_FIELDS.iter().position(|f| f.as_bytes() == other);
                    match known.and_then(|k| fields.reasoning.get_mut(k)) {
                        Some(slot) => slot,
                        None => continue,
                    }
                }
            };
            *slot = Some(value).filter(|v| !v.is_null() || key.is_text("content"));
        }
        fields
    }
}

impl WireFormat for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai.chat"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["openai", "openai.chat.completions", "chat.completions", "chat"]
    }

    fn list_field(&self) -> &'static str {
        "messages"
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn render_order(&self) -> &'static [Section] {
        &[Section::Tools, Section::Messages]
    }

    fn envelope(&self) -> &'static dyn Envelope {
        &envelope::openai_chat::OpenAiChatEnvelope
    }

    fn cache_markers(&self) -> &'static [&'static str] {
        // `cache_control` is what gateways accept in chat bodies for models of other providers.
        &["prompt_cache_breakpoint", "cache_control"]
    }

    fn foreign_fields(&self) -> &'static [&'static str] {
        // Gateways pass tools in the shapes of other providers through.
        &["arguments", "input", "parameters", "input_schema"]
    }

    fn arguments<'d>(&self, call: Value<'d>) -> Option<Value<'d>> {
        let wrapped = ["function", "custom"]
            .iter()
            .find_map(|key| call.get(key).filter(|v| v.is_object()));
        let holder = wrapped.unwrap_or(call);
        ["arguments", "input", "value"].iter().find_map(|key| holder.get(key))
    }

    fn body_mark(&self, body: Value<'_>, _messages: Value<'_>) -> Option<Mark> {
        body_mark(body)
    }

    fn message_mark(&self, message: Value<'_>, index: usize, _own_model: bool) -> Option<Mark> {
        message_mark(message, index)
    }

    fn read_message(&self, message: Value<'_>, rows: &mut Rows) -> Message {
        let fields = Fields::of(message);
        let role_value = fields.role.filter(|v| v.is_string());
        let role = role_of(role_value);
        let first = rows.block_count();
        if role == Role::Tool {
            read_result(message, &fields, rows);
        } else {
            read_reasoning(&fields, rows);
            rows.content(fields.content, read_part);
            read_extras(&fields, rows);
        }
        read_calls(&fields, rows);
        Message {
            span: message.span(),
            gap: Span::default(),
            role,
            role_text: role_value.map(Value::span),
            name: fields.name.filter(|_| role != Role::Tool).and_then(literal),
            content: content_form(fields.content),
            blocks: first..rows.block_count(),
        }
    }

    fn read_head(&self, body: Value<'_>, head: &mut Head) {
        let tools = body.get("tools").filter(|v| !v.is_null());
        head.output_limit = ["max_completion_tokens", "max_tokens"].into_iter().find_map(|path| {
            let cap = body.get(path).filter(|v| !v.is_null());
            cap.map(|cap| Setting { span: cap.span(), path })
        });
        head.schema = body.get("response_format").filter(|v| v.is_object()).map(Value::span);
        head.tools = tools
            .or_else(|| body.get("functions").filter(|v| !v.is_null()))
            .map(Value::span);
    }

    fn text_message(&self, role: Role, text: &str) -> Vec<u8> {
        let role = match role {
            Role::System => "system",
            Role::Developer => "developer",
            Role::Assistant => "assistant",
            Role::User | Role::Tool | Role::Other => "user",
        };
        plain_message(role, text)
    }

    fn id_path(&self, block: &BlockView<'_>) -> &'static [&'static str] {
        match block.kind() {
            BlockKind::ToolCall => &["id"],
            BlockKind::ToolResult => &["tool_call_id"],
            _ => &[],
        }
    }

    fn result_for(&self, call: &BlockView<'_>, text: &str) -> Vec<u8> {
        let (role, key, id) = if call.row.by_name {
            ("function", "name", call.name())
        } else {
            ("tool", "tool_call_id", call.call_id())
        };
        let mut out = format!("{{\"role\":\"{role}\",\"{key}\":").into_bytes();
        out.extend_from_slice(&json::escape(&id.unwrap_or_default()));
        out.extend_from_slice(b",\"content\":");
        out.extend_from_slice(&json::escape(text));
        out.push(b'}');
        out
    }
}

/// A `tool` or `function` message: one result block that is the message itself, and one more for each further call that
/// a list of ids says it answers.
fn read_result(message: Value<'_>, fields: &Fields<'_>, rows: &mut Rows) {
    let texts = rows.text_count();
    let mut blank = true;
    match fields.content {
        Some(content) if content.is_array() => {
            for part in content.items() {
                blank &= !result_part(part, rows);
            }
        }
        Some(content) => {
            rows.text(Some(content));
            blank = content.is_null() || (content.is_string() && is_blank(content.raw()));
        }
        None => {}
    }
    let by_name = fields.role.is_some_and(|r| r.is_text("function"));
    let listed = fields.tool_call_ids.into_iter().flat_map(Value::items).enumerate();
    let mut listed = listed.filter(|(_, id)| call_id(*id).is_some());
    let own = fields.tool_call_id.filter(|_| !by_name).and_then(call_id);
    let first = if own.is_none() && !by_name { listed.next() } else { None };
    let mut block = block_of(message, BlockKind::ToolResult, Place::Message);
    block.call_id = own.or(first.map(|(_, id)| id.span()));
    block.name = fields.name.and_then(literal);
    block.body = fields.content.filter(|c| only_text(*c)).map(Value::span);
    let by_place = !by_name && block.call_id.is_none() && has_values(fields.content);
    block.by_name = by_name || by_place;
    block.family = if by_place { BY_PLACE } else { 0 };
    block.blank = blank;
    block.is_error = fields.is_error;
    rows.block(texts, block);
    if first.is_some() {
        for (k, id) in listed {
            let mut further = block_of(id, BlockKind::ToolResult, Place::Item("tool_call_ids", k as u32));
            further.call_id = Some(id.span());
            further.is_error = fields.is_error;
            rows.block(rows.text_count(), further);
        }
    }
}

/// Whether the parts of a content list are of the dialect that has a `value` for everything, and ids for nothing.
fn has_values(content: Option<Value<'_>>) -> bool {
    let mut parts = content.into_iter().flat_map(Value::items);
    parts.any(|part| part.get("value").is_some_and(Value::is_string) && part.get("text").is_none())
}

/// The text of a part: `text`, or a dialect's `value`.
fn part_text(part: Value<'_>) -> Option<Value<'_>> {
    let text = part.get("text").filter(|t| t.is_string());
    let is_text = || part.get("type").is_some_and(|kind| kind.is_text("text"));
    text.or_else(|| part.get("value").filter(|v| v.is_string() && is_text()))
}

/// One part of a result's content list; whether it holds anything.
fn result_part(part: Value<'_>, rows: &mut Rows) -> bool {
    match part_text(part) {
        Some(text) => {
            rows.text(Some(text));
            !is_blank(text.raw())
        }
        None if is_media(part) => {
            media_texts(part, rows);
            true
        }
        None => {
            rows.text(Some(part));
            true
        }
    }
}

fn read_reasoning(fields: &Fields<'_>, rows: &mut Rows) {
    for (field, value) in REASONING_FIELDS.iter().zip(fields.reasoning) {
        let Some(value) = value else { continue };
        if value.is_array() {
            for (k, item) in value.items().enumerate() {
                read_thought(item, Place::Item(field, k as u32), rows);
            }
        } else {
            let texts = rows.text_count();
            rows.text(Some(value));
            let mut block = block_of(value, BlockKind::Reasoning, Place::Field(field));
            block.blank = value.is_string() && is_blank(value.raw());
            rows.block(texts, block);
        }
    }
}

/// An item of reasoning, open (`thinking`, `text`, `summary`) or sealed (`data`, `encrypted_content`), with the seal that
/// another provider put on it.
fn read_thought(item: Value<'_>, place: Place, rows: &mut Rows) {
    let texts = rows.text_count();
    let string = |name: &str| item.get(name).filter(|v| v.is_string());
    let open = ["thinking", "text", "summary", "content", "value"];
    let text = open.iter().find_map(|name| item.get(name).filter(|v| !v.is_null()));
    if let Some(parts) = text.filter(|t| t.is_array()) {
        parts
            .items()
            .for_each(|part| rows.text(Some(part_text(part).unwrap_or(part))));
    } else {
        rows.text(text);
    }
    let sealed = string("encrypted_content").or_else(|| string("data"));
    match sealed {
        Some(bytes) => rows.data(bytes),
        None if rows.text_count() == texts => rows.data(item),
        None => {}
    }
    let block = Block {
        type_name: item.get("type").and_then(literal),
        item_id: item.get("id").and_then(literal),
        seal: string("signature").or(sealed).map(Value::span),
        ..block_of(item, BlockKind::Reasoning, place)
    };
    rows.block(texts, block);
}

fn read_part(part: Value<'_>, place: Place, rows: &mut Rows) {
    let kind = part.get("type");
    let is = |name: &str| kind.is_some_and(|k| k.is_text(name));
    let text = if is("refusal") {
        part.get("refusal").filter(|t| t.is_string())
    } else {
        part_text(part)
    };
    let value = part.get("value").filter(|v| v.is_string());
    match (text, value) {
        (Some(text), _) if is("text") || is("refusal") => rows.text_block(part, text, place),
        (_, Some(value)) if is("tool_call") => {
            let texts = rows.text_count();
            rows.text(Some(value));
            let mut block = block_of(part, BlockKind::ToolCall, place);
            block.by_name = true;
            block.family = BY_PLACE;
            rows.block(texts, block);
        }
        (_, Some(_)) if is("reasoning") => read_thought(part, place, rows),
        _ if is("thinking") || is("redacted_thinking") => read_thought(part, place, rows),
        _ if is_media(part) => {
            let texts = rows.text_count();
            media_texts(part, rows);
            let mut block = block_of(part, BlockKind::Media, place);
            block.type_name = kind.and_then(literal);
            if part.get("file").is_some_and(is_pointer) {
                block.binding = Binding::Pointer;
            }
            rows.block(texts, block);
        }
        _ => rows.opaque(part, place),
    }
}

/// Whether a file or a sound is named by the id under which the server holds it.
fn is_pointer(media: Value<'_>) -> bool {
    let holds = |name: &str| media.get(name).is_some_and(Value::is_string);
    (holds("file_id") || holds("id")) && !holds("file_data") && !holds("data")
}

/// What is counted of an image, a sound or a file. Parts with a `source` are Anthropic's, which gateways pass through.
fn media_texts(part: Value<'_>, rows: &mut Rows) {
    if part.get("source").is_some() {
        read_media(part, rows);
    } else {
        rows.data(part);
    }
}

fn is_media(part: Value<'_>) -> bool {
    let kinds = [
        "image_url",
        "input_audio",
        "file",
        "video_url",
        "document",
        "image",
        "audio_url",
    ];
    part.get("type")
        .is_some_and(|kind| kinds.iter().any(|k| kind.is_text(k)))
}

fn read_extras(fields: &Fields<'_>, rows: &mut Rows) {
    if let Some(refusal) = fields.refusal {
        if refusal.is_string() {
            rows.text_block(refusal, refusal, Place::Field("refusal"));
        } else {
            rows.opaque(refusal, Place::Field("refusal"));
        }
    }
    if let Some(audio) = fields.audio {
        let texts = rows.text_count();
        rows.data(audio);
        let mut block = block_of(audio, BlockKind::Media, Place::Field("audio"));
        if is_pointer(audio) {
            block.binding = Binding::Pointer;
        }
        rows.block(texts, block);
    }
}

fn read_calls(fields: &Fields<'_>, rows: &mut Rows) {
    if let Some(calls) = fields.tool_calls {
        if calls.is_array() {
            for (k, call) in calls.items().enumerate() {
                read_call(call, Place::Item("tool_calls", k as u32), rows);
            }
        } else {
            rows.opaque(calls, Place::Field("tool_calls"));
        }
    }
    if let Some(call) = fields.function_call {
        if call.is_object() {
            let texts = rows.text_count();
            let name = call.get("name");
            rows.text(name);
            rows.arguments(call.get("arguments"), call, &["name"]);
            let mut block = block_of(call, BlockKind::ToolCall, Place::Field("function_call"));
            block.name = name.and_then(literal);
            block.by_name = true;
            rows.block(texts, block);
        } else {
            rows.opaque(call, Place::Field("function_call"));
        }
    }
}

/// What a call says beside its function.
const CALL_FIELDS: [&str; 6] = [
    "id",
    "type",
    "index",
    "name",
    "extra_content",
    "provider_specific_fields",
];

/// A call: `function{name,arguments}`, `custom{name,input}`, or a dialect's flat `name` and `arguments`.
fn read_call(call: Value<'_>, place: Place, rows: &mut Rows) {
    if !call.is_object() {
        rows.opaque(call, place);
        return;
    }
    let texts = rows.text_count();
    let [mut id, mut wrapped, mut name, mut arguments, mut extra] = [None; 5];
    for (key, value) in call.fields() {
        match &*key.key() {
            b"id" => id = Some(value),
            b"function" | b"custom" if value.is_object() => wrapped = Some(value),
            b"name" => name = Some(value),
            b"arguments" | b"input" => arguments = Some(value),
            b"extra_content" | b"provider_specific_fields" => extra = Some(value),
            _ => {}
        }
    }
    for (key, value) in wrapped.into_iter().flat_map(Value::fields) {
        match &*key.key() {
            b"name" => name = Some(value),
            b"arguments" | b"input" => arguments = Some(value),
            _ => {}
        }
    }
    rows.text(name);
    match wrapped {
        Some(wrapped) => rows.arguments(arguments, wrapped, &["name"]),
        None => rows.arguments(arguments, call, &CALL_FIELDS),
    }
    let mut block = block_of(call, BlockKind::ToolCall, place);
    block.call_id = id.and_then(call_id);
    block.name = name.and_then(literal);
    // Gemini's signature, as its own compatible endpoint and as litellm spell it.
    let holder = extra.map(|e| e.get("google").unwrap_or(e));
    block.seal = holder.and_then(|h| h.get("thought_signature")).and_then(literal);
    rows.block(texts, block);
}

/// The demands of the format. Error texts are as public reports quote them: BerriAI/litellm#4931 and #10696,
/// langchain-ai/langchain#33245, HolmesGPT/holmesgpt#1871, zeroclaw-labs/zeroclaw#937, aaif-goose/goose#12164,
/// NousResearch/hermes-agent#67777, theopenco/llmgateway#2749, MoonshotAI/kimi-cli#994, mckaywrigley/chatbot-ui#102;
/// which fields are required is as the generated types of `openai` (Python) say.
pub static RULES: Rules = Rules {
    result_place: ResultPlace::SameRun,
    id_scope: IdScope::WhileOpen,
    call_list: Some("tool_calls"),
    has_messages: refused("OC-13", "[] is too short - 'messages'"),
    result_needs_call: refused(
        "OC-1",
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    ),
    call_needs_result: refused("OC-2", UNANSWERED),
    result_in_place: refused("OC-2", UNANSWERED),
    one_result_per_call: refused_by_some("OC-1", "Duplicate value for 'tool_call_id'"),
    distinct_call_ids: refused_by_some("OC-12", "Duplicate value for 'tool_call_id'"),
    call_needs_id: refused("OC-4", "no tool message can answer a call without an id"),
    result_needs_id: refused("OC-4", "messages with role 'tool' must have a 'tool_call_id'"),
    call_id_form: Some(CallIdDemand {
        least: 0,
        most: 40,
        signs: None,
        // Servers that make longer ids themselves take them back.
        demand: refused_by_some("OC-11", "string too long. Expected a string with maximum length 40"),
    }),
    first_is_user: Some(refused_by_some(
        "OC-8",
        "chat templates of strict servers want the first message after the system text to be the user's",
    )),
    roles_alternate: Some(refused(
        "OC-8",
        "Conversation roles must alternate user/assistant/user/assistant/...",
    )),
    system_first: Some(refused_by_some("OC-7", "System message must be at the beginning")),
    one_system: Some(refused_by_some("OC-7", "System message must be at the beginning")),
    last_not_assistant: Some(refused_by_some(
        "OC-15",
        "This model does not support assistant message prefill. The conversation must end with a user message",
    )),
    content: Some(ContentDemand {
        assistant_only: true,
        blank_is_empty: false,
        last_assistant_exempt: false,
        demand: refused("OC-6", "Invalid value for 'content': expected a string, got null"),
    }),
    call_list_not_empty: Some(unconfirmed(
        "OC-9",
        "Invalid 'messages[..].tool_calls': empty array. Expected an array with minimum length 1",
    )),
    role_needs_name: Some(NamedRoleDemand {
        role: "function",
        demand: refused(
            "OC-5",
            "Missing parameter 'name': messages with role 'function' must have a 'name'",
        ),
    }),
    arguments_are_text: Some(refused_by_some(
        "OC-10",
        "Invalid type for 'messages[..].tool_calls[..].function.arguments': expected a string",
    )),
    whole_characters: Some(refused_by_some(
        "OC-14",
        "'utf-8' codec can't encode character: surrogates not allowed",
    )),
    // The rule's name is the error's code.
    fits_window: Some(WindowDemand {
        request: refused("context_length_exceeded", OVER_WINDOW),
        // Newer models stop the reply at the window.
        with_reply: refused_by_some("context_length_exceeded", OVER_WINDOW),
        refused: None,
        cut: None,
    }),
    ..Rules::NONE
};

const OVER_WINDOW: &str =
    "This model's maximum context length is exceeded. Please reduce the length of the messages or completion";
const UNANSWERED: &str =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'";
