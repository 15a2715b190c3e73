//! `mistral.chat`: Mistral's chat completions, a dialect of Chat Completions with kinds of content and rules of its own.
//!
//! Plain messages are the same in both and are read as the other one unless a mark says more. The entries of the
//! Conversations API (`message.input`, `function.call`, `tool.execution`, ...) are another format and are not read.
//!
//! Source of the shapes: the generated types of `mistralai` (Python) 3.7.

use super::{
    Mark, Rows, Section, Strength, WireFormat, block_of, call_id, content_form, literal, only_text, plain_message,
    role_of, text_block,
};
use crate::json::{self, Kind, Value, is_blank};
use crate::meter::envelope::{self, Envelope};
use crate::rules::{
    CallIdDemand, ContentDemand, IdScope, PrefillDemand, RefusedStep, ResultPlace, Rules, refused, refused_by_some,
};
use crate::transcript::{Binding, Block, BlockKind, BlockView, Head, Message, Place, Role, Span};

/// The format.
#[derive(Debug)]
pub struct MistralChat;

#[derive(Default)]
struct Fields<'d> {
    role: Option<Value<'d>>,
    content: Option<Value<'d>>,
    name: Option<Value<'d>>,
    tool_calls: Option<Value<'d>>,
    tool_call_id: Option<Value<'d>>,
}

impl<'d> Fields<'d> {
    fn of(message: Value<'d>) -> Self {
        let mut fields = Self::default();
        for (key, value) in message.fields() {
            let slot = match &*key.key() {
                b"role" => &mut fields.role,
                b"content" => &mut fields.content,
                b"name" => &mut fields.name,
                b"tool_calls" => &mut fields.tool_calls,
                b"tool_call_id" => &mut fields.tool_call_id,
                _ => continue,
            };
            *slot = Some(value).filter(|v| !v.is_null() || key.is_text("content"));
        }
        fields
    }
}

impl WireFormat for MistralChat {
    fn name(&self) -> &'static str {
        "mistral.chat"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["mistral", "mistralai", "mistral.chat.completions"]
    }

    fn dialect_of(&self) -> Option<&'static str> {
        Some("openai.chat")
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
        &envelope::mistral_chat::MistralEnvelope
    }

    fn cache_markers(&self) -> &'static [&'static str] {
        &[]
    }

    fn foreign_fields(&self) -> &'static [&'static str] {
        &["arguments", "parameters"]
    }

    fn arguments<'d>(&self, call: Value<'d>) -> Option<Value<'d>> {
        call.get("function").unwrap_or(call).get("arguments")
    }

    fn body_mark(&self, body: Value<'_>, _messages: Value<'_>) -> Option<Mark> {
        let model = body.get("model").filter(|model| model.is_string());
        let own = model.filter(|model| model.text().is_some_and(|name| is_own(&name)));
        Mark::stronger(
            body_mark(body),
            own.map(|model| Mark::new(Strength::Usual, model, "the model is one of Mistral's")),
        )
    }

    fn is_own_model(&self, model: &str) -> bool {
        is_own(model)
    }

    fn message_mark(&self, message: Value<'_>, index: usize, own_model: bool) -> Option<Mark> {
        // DeepSeek takes a `prefix` as well.
        if own_model {
            message_mark(message, index)
        } else {
            chunk_mark(message, index)
        }
    }

    fn read_message(&self, message: Value<'_>, rows: &mut Rows) -> Message {
        let fields = Fields::of(message);
        let role_value = fields.role.filter(|v| v.is_string());
        let role = role_of(role_value);
        let first = rows.block_count();
        if role == Role::Tool {
            read_result(message, &fields, rows);
        } else {
            rows.content(fields.content, read_chunk);
        }
        match fields.tool_calls {
            Some(calls) if calls.is_array() => {
                for (k, call) in calls.items().enumerate() {
                    read_call(call, Place::Item("tool_calls", k as u32), rows);
                }
            }
            Some(other) => rows.opaque(other, Place::Field("tool_calls")),
            None => {}
        }
        Message {
            span: message.span(),
            gap: Span::default(),
            role,
            role_text: role_value.map(Value::span),
            name: None,
            content: content_form(fields.content),
            blocks: first..rows.block_count(),
        }
    }

    fn read_head(&self, body: Value<'_>, head: &mut Head) {
        head.tools = body.get("tools").filter(|v| !v.is_null()).map(Value::span);
        head.schema = body.get("response_format").filter(|v| v.is_object()).map(Value::span);
    }

    fn text_message(&self, role: Role, text: &str) -> Vec<u8> {
        let role = match role {
            Role::System | Role::Developer => "system",
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
        let mut out = b"{\"role\":\"tool\",\"tool_call_id\":".to_vec();
        out.extend_from_slice(&json::escape(&call.call_id().unwrap_or_default()));
        if let Some(name) = call.name() {
            out.extend_from_slice(b",\"name\":");
            out.extend_from_slice(&json::escape(&name));
        }
        out.extend_from_slice(b",\"content\":");
        out.extend_from_slice(&json::escape(text));
        out.push(b'}');
        out
    }
}

/// A `tool` message: one result block that is the message itself.
fn read_result(message: Value<'_>, fields: &Fields<'_>, rows: &mut Rows) {
    let texts = rows.text_count();
    let mut blank = true;
    match fields.content {
        Some(content) if content.is_array() => {
            for part in content.items() {
                blank &= text_of(part).is_some_and(|text| is_blank(text.raw()));
                count_chunk(part, rows);
            }
        }
        Some(content) => {
            rows.text(Some(content));
            blank = content.is_null() || (content.is_string() && is_blank(content.raw()));
        }
        None => {}
    }
    let block = Block {
        call_id: fields.tool_call_id.and_then(call_id),
        name: fields.name.and_then(literal),
        body: fields.content.filter(|c| only_text(*c)).map(Value::span),
        blank,
        ..block_of(message, BlockKind::ToolResult, Place::Message)
    };
    rows.block(texts, block);
}

fn read_chunk(chunk: Value<'_>, place: Place, rows: &mut Rows) {
    let texts = rows.text_count();
    let kind = chunk.get("type");
    let text = text_of(chunk);
    let named = |kind_of| Block {
        type_name: kind.and_then(literal),
        ..block_of(chunk, kind_of, place)
    };
    let block = match (&*kind.map(Value::key).unwrap_or_default(), text) {
        // The type of a text may be left out.
        (b"text" | b"", Some(text)) => text_block(chunk, text, place),
        (b"thinking", _) => Block {
            seal: chunk.get("signature").and_then(literal),
            ..named(BlockKind::Reasoning)
        },
        (b"image_url" | b"document_url" | b"input_audio" | b"resource" | b"resource_link", _) => {
            named(BlockKind::Media)
        }
        (b"file", _) => Block {
            binding: Binding::Pointer,
            ..named(BlockKind::Media)
        },
        (b"reference" | b"tool_reference", _) => named(BlockKind::Opaque),
        _ => return rows.opaque(chunk, place),
    };
    count_chunk(chunk, rows);
    rows.block(texts, block);
}

fn text_of(value: Value<'_>) -> Option<Value<'_>> {
    value.get("text").filter(|text| text.is_string())
}

/// The texts that stand open in a chunk; what is encoded in it, or stands elsewhere, as data.
fn count_chunk(chunk: Value<'_>, rows: &mut Rows) {
    match &*chunk.get("type").map(Value::key).unwrap_or_default() {
        b"image_url" | b"input_audio" | b"file" => rows.data(chunk),
        b"document_url" => {
            rows.text(chunk.get("document_name"));
            rows.data(chunk);
        }
        b"resource" | b"resource_link" => {
            rows.text(chunk.get("uri"));
            let content = chunk.get("content").or_else(|| chunk.get("metadata"));
            rows.text(content.map(|content| text_of(content).unwrap_or(content)));
        }
        b"thinking" => {
            let thinking = chunk.get("thinking");
            if let Some(parts) = thinking.filter(|t| t.is_array()) {
                for part in parts.items() {
                    rows.text(Some(text_of(part).unwrap_or(part)));
                }
            } else {
                rows.text(thinking);
            }
        }
        _ => rows.text(Some(text_of(chunk).unwrap_or(chunk))),
    }
}

fn read_call(call: Value<'_>, place: Place, rows: &mut Rows) {
    if !call.is_object() {
        return rows.opaque(call, place);
    }
    let texts = rows.text_count();
    let wrapped = call.get("function").filter(|f| f.is_object());
    let function = wrapped.unwrap_or(call);
    let name = function.get("name");
    rows.text(name);
    let known: &[&str] = if wrapped.is_some() {
        &["name"]
    } else {
        &["id", "type", "index", "name"]
    };
    rows.arguments(function.get("arguments"), function, known);
    let block = Block {
        call_id: call.get("id").and_then(call_id),
        name: name.and_then(literal),
        ..block_of(call, BlockKind::ToolCall, place)
    };
    rows.block(texts, block);
}

/// Whether a model's name is one that Mistral's own API gives; behind a vendor and a slash it is a gateway's.
fn is_own(model: &str) -> bool {
    const FAMILIES: [&str; 9] = [
        "mistral-",
        "codestral-",
        "magistral-",
        "ministral-",
        "devstral-",
        "pixtral-",
        "voxtral-",
        "open-mistral-",
        "open-mixtral-",
    ];
    FAMILIES.iter().any(|family| model.starts_with(family))
}

fn body_mark(body: Value<'_>) -> Option<Mark> {
    const PROOFS: [&str; 3] = ["safe_prompt", "random_seed", "prompt_mode"];
    body.fields().find_map(|(key, _)| {
        let known = PROOFS.iter().find(|field| key.is_text(field))?;
        Some(Mark::new(Strength::Proof, key, format!("the body has `{known}`")))
    })
}

fn message_mark(message: Value<'_>, index: usize) -> Option<Mark> {
    let prefix = message
        .get("prefix")
        .filter(|p| matches!(p.kind(), Kind::True | Kind::False));
    let prefix = prefix.map(|p| Mark::new(Strength::Usual, p, format!("messages[{index}] has `prefix`")));
    Mark::stronger(chunk_mark(message, index), prefix)
}

fn chunk_mark(message: Value<'_>, index: usize) -> Option<Mark> {
    let content = message.get("content").filter(|c| c.is_array())?;
    content.items().enumerate().find_map(|(k, chunk)| {
        let kind = chunk.get("type")?;
        let string = |field: &str| chunk.get(field).is_some_and(Value::is_string);
        let list = |field: &str| chunk.get(field).is_some_and(Value::is_array);
        let known = match &*kind.key() {
            b"document_url" => string("document_url"),
            b"file" => string("file_id"),
            b"reference" => list("reference_ids"),
            b"input_audio" => string("input_audio"),
            b"resource" | b"resource_link" => string("uri"),
            b"thinking" => list("thinking"),
            _ => false,
        };
        known.then(|| {
            let name = String::from_utf8_lossy(&kind.key()).into_owned();
            let text = format!("messages[{index}].content[{k}] is of type `{name}`, as Mistral has it");
            Mark::new(Strength::Proof, chunk, text)
        })
    })
}

/// The demands of the format. The provider's page has none, so the ids are ours, `MC-1` to `MC-13`; each stands with its
/// source. "validator" is the request validator of the open-source package `mistral-common` 1.13 in its mode `serving`,
/// whose versions follow the model's tokenizer.
pub static RULES: Rules = Rules {
    result_place: ResultPlace::SameRun,
    id_scope: IdScope::WhileOpen,
    call_list: Some("tool_calls"),
    // Validator, all versions.
    has_messages: refused("MC-1", "Conversation must have at least one message"),
    // Validator from v11; before, by the counts of MC-3.
    result_needs_call: refused("MC-2", "Unexpected tool call id in tool results"),
    // Validator, all versions.
    call_needs_result: refused("MC-3", "Not the same number of function calls and responses"),
    // Validator, all versions: a `tool` message after the user's or the instructions.
    result_in_place: refused("MC-4", "Unexpected role 'tool' after role 'user'"),
    // Validator from v11; before, by the counts of MC-3.
    one_result_per_call: refused("MC-5", "Duplicate tool call id in tool results"),
    // Validator from v11.
    distinct_call_ids: refused("MC-6", "Duplicate tool call id in assistant message"),
    // Validator from v3.
    call_needs_id: refused("MC-7", "Tool call id has to be defined."),
    result_needs_id: refused("MC-7", "Tool call id has to be defined."),
    // Validator v3 to v11; from v13 on any text but `null` will do.
    call_id_form: Some(CallIdDemand {
        least: 9,
        most: 9,
        signs: Some(""),
        demand: refused_by_some("MC-8", "Tool call id must be a-z, A-Z, 0-9, with a length of 9"),
    }),
    // Validator, all versions, of a lone message; templates of the open models refuse it of any.
    first_is_user: Some(refused_by_some(
        "MC-9",
        "Conversation must start with a user message or system message",
    )),
    // Validator, all versions. The API refused a user's message behind a result for long (mistralai/mistral-vibe#578,
    // zed-industries/zed#37021, datapizza-labs/datapizza-ai#98); the validator allows it.
    refused_steps: &[
        RefusedStep {
            before: Role::Assistant,
            role: Role::System,
            demand: refused("MC-10", "Unexpected role 'system' after role 'assistant'"),
        },
        RefusedStep {
            before: Role::Tool,
            role: Role::System,
            demand: refused("MC-10", "Unexpected role 'system' after role 'tool'"),
        },
        RefusedStep {
            before: Role::Tool,
            role: Role::User,
            demand: refused_by_some("MC-10", "Unexpected role 'user' after role 'tool'"),
        },
    ],
    // Validator, all versions. No error, though every request is refused: stored transcripts end so all the time, and
    // another message comes before they are sent.
    last_not_assistant: Some(refused_by_some(
        "MC-11",
        "Expected last role User or Tool (or Assistant with prefix) for serving but got assistant",
    )),
    // Validator, all versions.
    prefill: Some(PrefillDemand {
        field: "prefix",
        demand: refused("MC-12", "Assistant message with prefix True must be last message"),
    }),
    // The API (OpenHands/OpenHands#8685); the validator up to v3, from v7 on it lets such messages pass.
    content: Some(ContentDemand {
        assistant_only: true,
        blank_is_empty: true,
        last_assistant_exempt: false,
        demand: refused_by_some(
            "MC-13",
            "Assistant message must have either content or tool_calls, but not none",
        ),
    }),
    ..Rules::NONE
};
