//! `gemini.contents`: Google's generateContent, as the REST API spells it (`functionCall`) and as the SDKs do
//! (`function_call`); recorded requests mix both.
//!
//! Source of the shapes: the generated types of `google-genai` (Python) 3.6. The SDK's `config` is read like the fields
//! that it becomes; `contents` may be one string, one content or one part, and `parts` one part.

use super::{Mark, Rows, Section, Strength, WireFormat, block_of, blocks_message};
use crate::json::{self, Document, Kind, Value, is_blank};
use crate::meter::envelope::{self, Envelope};
use crate::rules::Rules;
use crate::transcript::{BlockKind, BlockView, ContentForm, Head, Message, Place, Role, Setting, Span};

mod parts;
mod rules;

use parts::{Payload, opaque, read_part};
pub use rules::RULES;

/// The format.
#[derive(Debug)]
pub struct GeminiContents;

impl WireFormat for GeminiContents {
    fn name(&self) -> &'static str {
        "gemini.contents"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &[
            "gemini",
            "google",
            "google.genai",
            "gemini.generatecontent",
            "generatecontent",
            "vertex",
        ]
    }

    fn list_field(&self) -> &'static str {
        "contents"
    }

    fn section_field(&self, section: Section) -> &'static str {
        match section {
            Section::Messages => "contents",
            Section::System => "systemInstruction",
            Section::Tools => "tools",
        }
    }

    fn needs_role(&self) -> bool {
        false
    }

    fn lone_message(&self, value: Value<'_>) -> Option<Vec<u8>> {
        if value.is_object() {
            return Some(value.raw().to_vec());
        }
        value.is_string().then(|| {
            let part = [b"{\"text\":", value.raw(), b"}"].concat();
            blocks_message("role", "user", "parts", &[part])
        })
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn render_order(&self) -> &'static [Section] {
        // Not documented. A cached content (the page "Context caching") holds instructions, tools and contents, and what
        // is sent beside it may change none of them.
        &[Section::System, Section::Tools, Section::Messages]
    }

    fn envelope(&self) -> &'static dyn Envelope {
        &envelope::gemini_contents::GeminiEnvelope
    }

    fn cache_markers(&self) -> &'static [&'static str] {
        &[]
    }

    fn foreign_fields(&self) -> &'static [&'static str] {
        &[
            "args",
            "response",
            "parameters",
            "parametersJsonSchema",
            "parameters_json_schema",
        ]
    }

    fn arguments<'d>(&self, call: Value<'d>) -> Option<Value<'d>> {
        let fields = call.fields();
        let inner = fields.into_iter().find_map(|(key, value)| match &*key.key() {
            b"functionCall" | b"function_call" | b"toolCall" | b"tool_call" => value.get("args"),
            b"executableCode" | b"executable_code" => Some(value),
            _ => None,
        });
        inner.filter(|args| !args.is_null())
    }

    fn body_mark(&self, body: Value<'_>, messages: Value<'_>) -> Option<Mark> {
        let named = body.get("contents").is_some();
        named.then(|| Mark::new(Strength::Usual, messages, "the body has `contents`"))
    }

    fn message_mark(&self, message: Value<'_>, index: usize, _own_model: bool) -> Option<Mark> {
        message_mark(message, index)
    }

    fn read_message(&self, message: Value<'_>, rows: &mut Rows) -> Message {
        let first = rows.block_count();
        let (role, content) = if message.is_string() {
            read_string(message, rows);
            (None, ContentForm::List(1))
        } else {
            read_content(message, rows)
        };
        Message {
            span: message.span(),
            gap: Span::default(),
            role: role_of(role),
            role_text: role.map(Value::span),
            name: None,
            content,
            blocks: first..rows.block_count(),
        }
    }

    fn read_head(&self, body: Value<'_>, head: &mut Head) {
        for (key, value) in body.fields() {
            match &*key.key() {
                field @ (b"generationConfig" | b"generation_config") => read_settings(field, value, head),
                b"config" => {
                    for (key, value) in value.fields() {
                        read_section(&key.key(), value, true, head);
                    }
                    read_settings(b"config", value, head);
                }
                key => read_section(key, value, false, head),
            }
        }
    }

    fn text_message(&self, role: Role, text: &str) -> Vec<u8> {
        // Instructions stand beside the messages in this format, so they fall back to the user's role (GM-9).
        let role = match role {
            Role::Assistant => "model",
            Role::System | Role::Developer | Role::User | Role::Tool | Role::Other => "user",
        };
        let mut part = b"{\"text\":".to_vec();
        part.extend_from_slice(&json::escape(text));
        part.push(b'}');
        blocks_message("role", role, "parts", &[part])
    }

    fn result_for(&self, call: &BlockView<'_>, text: &str) -> Vec<u8> {
        let snake = Document::parse(call.bytes()).is_ok_and(|part| part.root().get("function_call").is_some());
        let field: &[u8] = if snake {
            b"function_response"
        } else {
            b"functionResponse"
        };
        let mut out = [b"{\"", field, b"\":{"].concat();
        if let Some(id) = call.call_id() {
            out.extend_from_slice(b"\"id\":");
            out.extend_from_slice(&json::escape(&id));
            out.push(b',');
        }
        out.extend_from_slice(b"\"name\":");
        out.extend_from_slice(&json::escape(&call.name().unwrap_or_default()));
        out.extend_from_slice(b",\"response\":{\"output\":");
        out.extend_from_slice(&json::escape(text));
        out.extend_from_slice(b"}}}");
        out
    }

    fn id_path(&self, block: &BlockView<'_>) -> &'static [&'static str] {
        match holder(block) {
            Some("functionCall") => &["functionCall", "id"],
            Some("function_call") => &["function_call", "id"],
            Some("functionResponse") => &["functionResponse", "id"],
            Some("function_response") => &["function_response", "id"],
            _ => &[],
        }
    }

    fn name_path(&self, block: &BlockView<'_>) -> &'static [&'static str] {
        match holder(block) {
            Some("functionCall") => &["functionCall", "name"],
            Some("function_call") => &["function_call", "name"],
            Some("functionResponse") => &["functionResponse", "name"],
            Some("function_response") => &["function_response", "name"],
            _ => &[],
        }
    }

    fn bare_block(&self) -> bool {
        true
    }

    fn text_block(&self, literal: &[u8]) -> Vec<u8> {
        // The only part of a content may stand bare in the place of the list.
        if literal.first() == Some(&b'{') {
            return literal.to_vec();
        }
        [b"{\"text\":", literal, b"}"].concat()
    }

    fn user_message(&self, blocks: &[Vec<u8>]) -> Vec<u8> {
        blocks_message("role", "user", "parts", blocks)
    }

    fn remote(&self, transcript: &crate::transcript::Transcript) -> bool {
        transcript.head().remote.is_some()
    }

    fn checks_signatures(&self, model: &str) -> bool {
        let version = model.to_ascii_lowercase();
        let version = version.rsplit_once("gemini-").map_or("", |(_, version)| version);
        let digits = version.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        digits.parse().is_ok_and(|major: u32| major >= 3)
    }

    fn body_of(&self, replaced: &[u8], text: &str) -> Vec<u8> {
        // A response is an object: where the whole of it goes, a text needs a field.
        if replaced.first() != Some(&b'{') {
            return json::escape(text);
        }
        let failed = Document::parse(replaced).is_ok_and(|response| response.root().get("error").is_some());
        let field: &[u8] = if failed { b"{\"error\":" } else { b"{\"output\":" };
        [field, &json::escape(text), b"}"].concat()
    }
}

/// The field of a part that holds the call or result of a function.
fn holder(block: &BlockView<'_>) -> Option<&'static str> {
    let part = Document::parse(block.bytes()).ok()?;
    let fields = ["functionCall", "function_call", "functionResponse", "function_response"];
    let held = |field: &&str| part.root().get(field).is_some_and(Value::is_object);
    fields.into_iter().find(held)
}

/// The role that a literal spells; without one it is the user's. Old SDKs put results under `function`.
fn role_of(role: Option<Value<'_>>) -> Role {
    let Some(role) = role else { return Role::User };
    match &*role.key() {
        b"user" | b"function" | b"tool" => Role::User,
        b"model" | b"assistant" => Role::Assistant,
        b"system" => Role::System,
        b"developer" => Role::Developer,
        _ => Role::Other,
    }
}

/// A lone string in place of the contents, or of a part.
fn read_string(text: Value<'_>, rows: &mut Rows) {
    let texts = rows.text_count();
    rows.text(Some(text));
    let mut block = block_of(text, BlockKind::Text, Place::Message);
    block.body = Some(text.span());
    block.blank = is_blank(text.raw());
    rows.block(texts, block);
}

/// Reads the parts of a content; what its role literal is, and what `parts` is.
fn read_content<'d>(message: Value<'d>, rows: &mut Rows) -> (Option<Value<'d>>, ContentForm) {
    let (mut role, mut parts, mut is_part) = (None, None, false);
    for (key, value) in message.fields() {
        match &*key.key() {
            b"role" => role = Some(value).filter(|role| role.is_string()),
            b"parts" => parts = Some(value),
            key => is_part |= Payload::of(key).is_some(),
        }
    }
    let form = match parts {
        // A part where a content belongs: the SDKs make the user's content of it.
        None if is_part => {
            read_part(message, Place::Message, rows);
            ContentForm::List(1)
        }
        None => ContentForm::Missing,
        Some(parts) => match parts.kind() {
            Kind::Null => ContentForm::Null,
            Kind::Array => {
                let mut count = 0;
                for part in parts.items() {
                    read_part(part, Place::Item("parts", count), rows);
                    count += 1;
                }
                ContentForm::List(count)
            }
            Kind::Object => {
                read_part(parts, Place::Field("parts"), rows);
                ContentForm::List(1)
            }
            _ => {
                opaque(parts, None, Place::Field("parts"), rows);
                ContentForm::Other
            }
        },
    };
    (role, form)
}

fn read_section(key: &[u8], value: Value<'_>, in_config: bool, head: &mut Head) {
    if value.is_null() {
        return;
    }
    match key {
        b"systemInstruction" | b"system_instruction" => {
            head.system = Some(value.span());
            let mut rows = Rows::default();
            read_instruction(value, &mut rows);
            head.system_texts = rows.texts;
            head.system_path = match (in_config, key == b"systemInstruction") {
                (false, true) => "systemInstruction",
                (false, false) => "system_instruction",
                (true, true) => "config.systemInstruction",
                (true, false) => "config.system_instruction",
            };
        }
        b"tools" => {
            head.tools = Some(value.span());
            head.tools_path = if in_config { "config.tools" } else { "tools" };
        }
        b"cachedContent" | b"cached_content" if value.is_string() => head.remote = Some(value.span()),
        _ => {}
    }
}

/// The texts of instructions: a content, a part, a string, or a list of those.
fn read_instruction(value: Value<'_>, rows: &mut Rows) {
    match value.kind() {
        Kind::Array => {
            for item in value.items() {
                read_instruction_part(item, rows);
            }
        }
        Kind::Object => match value.get("parts") {
            Some(parts) if parts.is_array() => {
                for part in parts.items() {
                    read_instruction_part(part, rows);
                }
            }
            Some(part) => read_instruction_part(part, rows),
            None => read_instruction_part(value, rows),
        },
        _ => rows.text(Some(value)),
    }
}

fn read_instruction_part(part: Value<'_>, rows: &mut Rows) {
    let text = part.get("text").filter(|text| text.is_string());
    rows.text(Some(text.unwrap_or(part)));
}

fn read_settings(field: &[u8], settings: Value<'_>, head: &mut Head) {
    for (key, value) in settings.fields().filter(|(_, value)| !value.is_null()) {
        match &*key.key() {
            b"responseSchema"
            | b"response_schema"
            | b"responseJsonSchema"
            | b"response_json_schema"
            | b"_responseJsonSchema" => {
                head.schema = Some(value).filter(|schema| schema.is_object()).map(Value::span);
            }
            b"thinkingConfig" | b"thinking_config" => {
                let budget = value.get("thinkingBudget").or_else(|| value.get("thinking_budget"));
                head.thinking = budget.is_none_or(|budget| budget.raw() != b"0");
            }
            key @ (b"maxOutputTokens" | b"max_output_tokens") => {
                let path = match (field, key == b"maxOutputTokens") {
                    (b"generationConfig", true) => "generationConfig.maxOutputTokens",
                    (b"generationConfig", false) => "generationConfig.max_output_tokens",
                    (b"generation_config", true) => "generation_config.maxOutputTokens",
                    (b"generation_config", false) => "generation_config.max_output_tokens",
                    (_, true) => "config.maxOutputTokens",
                    (_, false) => "config.max_output_tokens",
                };
                let span = value.span();
                head.output_limit = Some(Setting { span, path });
            }
            _ => {}
        }
    }
}

fn message_mark(message: Value<'_>, index: usize) -> Option<Mark> {
    let parts = message.get("parts")?;
    let role = message.get("role");
    let mut best = None;
    if role.is_some_and(|role| role.is_text("model")) {
        let text = format!("contents[{index}] is the `model`'s and has `parts`");
        best = Some(Mark::new(Strength::Proof, message, text));
    }
    let lone = Some(parts).filter(|parts| parts.is_object());
    for (k, part) in parts.items().chain(lone).enumerate() {
        let known = |(key, _): (Value<'_>, _)| Payload::of(&key.key());
        let strength = match part.fields().find_map(known) {
            // Other formats have parts with a text too, and give them a type.
            Some(Payload::Text) if part.get("type").is_some() => continue,
            Some(Payload::Text) => Strength::Usual,
            Some(_) => Strength::Proof,
            None => continue,
        };
        let found = Mark::new(strength, part, format!("contents[{index}].parts[{k}] is a part"));
        best = Mark::stronger(best, Some(found));
    }
    let empty = parts.is_array() && parts.items().next().is_none();
    best.or_else(|| empty.then(|| Mark::new(Strength::Usual, message, format!("contents[{index}] has empty `parts`"))))
}
