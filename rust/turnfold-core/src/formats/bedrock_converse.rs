//! `bedrock.converse`: Amazon Bedrock's Converse API, also in the body that Amazon's own models take without it.
//!
//! A block has no `type`: its one key is its kind. A `cachePoint` is a block that only marks where the prompt cache may
//! end, so it gives no row, in messages, `system` and tools alike. Bytes may be base64 text or, in recordings,
//! whatever a serializer made of them; nothing here looks inside.
//!
//! Source of the shapes: the service model of `bedrock-runtime` in botocore 1.44.

use super::{
    Mark, Rows, Section, Strength, WireFormat, block_of, blocks_message, call_id, content_form, literal, role_of,
    text_block,
};
use crate::json::{self, Value, is_blank};
use crate::meter::envelope::{self, Envelope};
use crate::rules::{
    BreakpointDemand, CallIdDemand, ContentDemand, IdScope, ResultPlace, Rules, SealDemand, refused, refused_by_some,
};
use crate::transcript::{Binding, Block, BlockKind, BlockView, ContentForm, Head, Message, Place, Role, Span};

/// The format.
#[derive(Debug)]
pub struct BedrockConverse;

/// The block that only marks a place in the prompt cache.
const CACHE_POINT: &str = "cachePoint";

/// The kinds of block that hold something.
const KINDS: [&str; 13] = [
    "text",
    "image",
    "document",
    "video",
    "audio",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "guardContent",
    "citationsContent",
    "searchResult",
    "toolAddition",
    "toolRemoval",
];

impl WireFormat for BedrockConverse {
    fn name(&self) -> &'static str {
        "bedrock.converse"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["bedrock", "converse", "aws.bedrock", "amazon.bedrock"]
    }

    fn list_field(&self) -> &'static str {
        "messages"
    }

    fn section_field(&self, section: Section) -> &'static str {
        match section {
            Section::Tools => "toolConfig.tools",
            Section::System => "system",
            Section::Messages => self.list_field(),
        }
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn render_order(&self) -> &'static [Section] {
        &[Section::Tools, Section::System, Section::Messages]
    }

    fn envelope(&self) -> &'static dyn Envelope {
        &envelope::bedrock_converse::BedrockEnvelope
    }

    fn cache_markers(&self) -> &'static [&'static str] {
        &[CACHE_POINT]
    }

    fn foreign_fields(&self) -> &'static [&'static str] {
        &["input", "json"]
    }

    fn arguments<'d>(&self, call: Value<'d>) -> Option<Value<'d>> {
        call.get("toolUse")?.get("input")
    }

    fn body_mark(&self, body: Value<'_>, _messages: Value<'_>) -> Option<Mark> {
        body_mark(body)
    }

    fn message_mark(&self, message: Value<'_>, index: usize, _own_model: bool) -> Option<Mark> {
        message_mark(message, index)
    }

    fn read_message(&self, message: Value<'_>, rows: &mut Rows) -> Message {
        let (mut role_value, mut content) = (None, None);
        for (key, value) in message.fields() {
            match &*key.key() {
                b"role" => role_value = Some(value),
                b"content" => content = Some(value),
                _ => {}
            }
        }
        let role_value = role_value.filter(|v| v.is_string());
        let role = role_of(role_value);
        let first = rows.block_count();
        let mut form = content_form(content);
        match (content, form) {
            (Some(text), ContentForm::Text { .. }) => rows.text_block(text, text, Place::Field("content")),
            (Some(list), ContentForm::List(_)) => {
                for (k, item) in list.items().enumerate() {
                    read_block(item, role, Place::Item("content", k as u32), rows);
                }
                // Markers are no content.
                form = ContentForm::List(list.items().filter(|item| !is_marker(*item)).count() as u32);
            }
            (Some(other), ContentForm::Other) => opaque(other, Place::Field("content"), rows),
            _ => {}
        }
        Message {
            span: message.span(),
            gap: Span::default(),
            role,
            role_text: role_value.map(Value::span),
            name: None,
            content: form,
            blocks: first..rows.block_count(),
        }
    }

    fn read_head(&self, body: Value<'_>, head: &mut Head) {
        let model = body.get("modelId").filter(|v| v.is_string()).map(Value::span);
        head.model = head.model.or(model);
        let config = body.get("toolConfig");
        let tools = config.and_then(|config| config.get("tools"));
        head.tools = tools.filter(|v| !v.is_null()).map(Value::span);
        let choice = config.and_then(|config| config.get("toolChoice"));
        head.demands_call = choice.is_some_and(|c| c.get("any").is_some() || c.get("tool").is_some());
        let schema = body.get("outputConfig").and_then(|config| config.get("textFormat"));
        head.schema = schema.filter(|v| v.is_object()).map(Value::span);
        let handed_on = body.get("additionalModelRequestFields");
        head.handed_on = handed_on.filter(|v| v.is_object()).map(Value::span);
        head.thinking = handed_on.is_some_and(thinks);
        let Some(system) = body.get("system").filter(|v| !v.is_null()) else {
            return;
        };
        head.system = Some(system.span());
        let mut rows = Rows::default();
        if system.is_array() {
            for item in system.items().filter(|item| !is_marker(*item)) {
                rows.text(Some(open_text(item).unwrap_or(item)));
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
        blocks_message("role", role, "content", &[self.text_block(&json::escape(text))])
    }

    fn result_for(&self, call: &BlockView<'_>, text: &str) -> Vec<u8> {
        let mut out = b"{\"toolResult\":{\"toolUseId\":".to_vec();
        out.extend_from_slice(&json::escape(&call.call_id().unwrap_or_default()));
        out.extend_from_slice(b",\"content\":[");
        out.extend_from_slice(&self.text_block(&json::escape(text)));
        out.extend_from_slice(b"]}}");
        out
    }

    fn id_path(&self, block: &BlockView<'_>) -> &'static [&'static str] {
        match block.kind() {
            BlockKind::ToolCall => &["toolUse", "toolUseId"],
            BlockKind::ToolResult => &["toolResult", "toolUseId"],
            _ => &[],
        }
    }

    fn text_block(&self, literal: &[u8]) -> Vec<u8> {
        let mut out = b"{\"text\":".to_vec();
        out.extend_from_slice(literal);
        out.push(b'}');
        out
    }

    fn body_of(&self, replaced: &[u8], text: &str) -> Vec<u8> {
        if replaced.first() != Some(&b'[') {
            return json::escape(text);
        }
        let mut out = b"[".to_vec();
        out.extend_from_slice(&self.text_block(&json::escape(text)));
        out.push(b']');
        out
    }
}

/// Whether the fields that go to the model unread turn Claude's thinking on. Other models have words of their own
/// (`reasoning_effort`, a `reasoning_config` that is a string), and none of them demands its reasoning back.
fn thinks(fields: Value<'_>) -> bool {
    ["thinking", "reasoning_config"].iter().any(|name| {
        let kind = fields.get(name).and_then(|settings| settings.get("type"));
        kind.is_some_and(|kind| kind.is_text("enabled") || kind.is_text("adaptive"))
    })
}

/// Whether an item of a list is nothing but a cache marker.
fn is_marker(item: Value<'_>) -> bool {
    let mut fields = item.fields();
    fields.next().is_some_and(|(key, _)| key.is_text(CACHE_POINT)) && fields.next().is_none()
}

/// The text of an item: its own, or that of a guarded one.
fn open_text(item: Value<'_>) -> Option<Value<'_>> {
    let guarded = || item.get("guardContent")?.get("text")?.get("text");
    item.get("text").or_else(guarded).filter(|text| text.is_string())
}

/// A block of an unknown kind, named by its `type` or its first key.
fn opaque(value: Value<'_>, place: Place, rows: &mut Rows) {
    let texts = rows.text_count();
    rows.text(Some(value));
    let first = || value.fields().next().map(|(key, _)| key.span());
    let block = Block {
        binding: Binding::Both,
        type_name: value.get("type").and_then(literal).or_else(first),
        ..block_of(value, BlockKind::Opaque, place)
    };
    rows.block(texts, block);
}

fn read_block(item: Value<'_>, role: Role, place: Place, rows: &mut Rows) {
    if is_marker(item) {
        return;
    }
    let is_kind = |key: Value<'_>| KINDS.iter().any(|kind| key.is_text(kind));
    let mut kinds = item.fields().filter(|(key, _)| is_kind(*key));
    // What the model reads of a block with two kinds is not documented.
    let (Some((key, value)), None) = (kinds.next(), kinds.next()) else {
        return opaque(item, place, rows);
    };
    let texts = rows.text_count();
    let named = |kind| Block {
        type_name: Some(key.span()),
        ..block_of(item, kind, place)
    };
    let block = match &*key.key() {
        b"text" if value.is_string() => text_block(item, value, place),
        _ if !value.is_object() => return opaque(item, place, rows),
        b"toolUse" => call(item, value, place),
        b"toolResult" => result(item, value, role, place, rows),
        b"reasoningContent" => reasoning(item, value, place, rows),
        b"guardContent" => match value.get("text").and_then(|t| t.get("text")).filter(|t| t.is_string()) {
            Some(text) => text_block(item, text, place),
            None => named(BlockKind::Media),
        },
        b"citationsContent" => Block {
            // The answer's text: it goes with its citations, so no other text may take its place.
            blank: value
                .get("content")
                .is_none_or(|parts| parts.items().all(is_blank_part)),
            ..block_of(item, BlockKind::Text, place)
        },
        b"toolAddition" | b"toolRemoval" => Block {
            binding: Binding::Sticky,
            ..named(BlockKind::Opaque)
        },
        _ => named(BlockKind::Media),
    };
    if block.kind != BlockKind::ToolResult && block.kind != BlockKind::Reasoning {
        count_kind(item, key, value, rows);
    }
    let beside = item.fields().filter(|(other, _)| other.span() != key.span());
    for (_, unknown) in beside.filter(|(other, _)| !other.is_text(CACHE_POINT)) {
        rows.text(Some(unknown));
    }
    rows.block(texts, block);
}

fn is_blank_part(part: Value<'_>) -> bool {
    part.get("text")
        .is_some_and(|text| text.is_string() && is_blank(text.raw()))
}

fn call(item: Value<'_>, value: Value<'_>, place: Place) -> Block {
    Block {
        call_id: value.get("toolUseId").and_then(call_id),
        name: value.get("name").and_then(literal),
        server_side: value.get("type").is_some_and(|kind| !kind.is_null()),
        ..block_of(item, BlockKind::ToolCall, place)
    }
}

/// A result. One of a tool that the provider ran stands in the model's own message and says its kind.
fn result(item: Value<'_>, value: Value<'_>, role: Role, place: Place, rows: &mut Rows) -> Block {
    let [mut id, mut content, mut kind] = [None; 3];
    let mut is_error = false;
    for (key, field) in value.fields() {
        match &*key.key() {
            b"toolUseId" => id = Some(field),
            b"content" => content = Some(field),
            b"type" => kind = Some(field).filter(|v| !v.is_null()),
            b"status" => is_error = field.is_text("error"),
            _ => {}
        }
    }
    let mut replaceable = content.is_some_and(|c| c.is_string() || c.is_array());
    let mut blank = true;
    if let Some(parts) = content.filter(|c| c.is_array()) {
        for part in parts.items().filter(|part| !is_marker(*part)) {
            replaceable &= part.get("text").is_some_and(Value::is_string) || part.get("json").is_some();
            blank &= is_blank_part(part);
            result_part(part, rows);
        }
    } else {
        rows.text(content);
        blank = content.is_none_or(|c| c.is_null() || c.is_string() && is_blank(c.raw()));
    }
    Block {
        call_id: id.and_then(call_id),
        body: content.filter(|_| replaceable).map(Value::span),
        server_side: kind.is_some() || role == Role::Assistant,
        blank,
        is_error,
        ..block_of(item, BlockKind::ToolResult, place)
    }
}

fn result_part(part: Value<'_>, rows: &mut Rows) {
    let kind = part
        .fields()
        .find(|(key, _)| KINDS.iter().any(|kind| key.is_text(kind)));
    match (part.get("json"), kind) {
        (Some(value), None) => rows.text(Some(value)),
        (None, Some((key, value))) => count_kind(part, key, value, rows),
        _ => rows.text(Some(part)),
    }
}

/// The texts that stand open in a block of this kind; what is encoded in it as data.
fn count_kind(item: Value<'_>, key: Value<'_>, value: Value<'_>, rows: &mut Rows) {
    let parts = |list: Option<Value<'_>>, rows: &mut Rows| {
        for part in list.into_iter().flat_map(Value::items) {
            rows.text(Some(open_text(part).unwrap_or(part)));
        }
    };
    match &*key.key() {
        b"toolUse" => {
            rows.text(value.get("name"));
            rows.arguments(value.get("input"), value, &["toolUseId", "name", "type", "input"]);
        }
        b"guardContent" => match open_text(item) {
            Some(text) => rows.text(Some(text)),
            None => rows.data(item),
        },
        b"citationsContent" => {
            parts(value.get("content"), rows);
            if let Some(citations) = value.get("citations").filter(|c| !c.is_null()) {
                rows.data(citations);
            }
        }
        b"searchResult" => {
            rows.text(value.get("title"));
            rows.text(value.get("source"));
            parts(value.get("content"), rows);
        }
        b"document" => {
            rows.text(value.get("name"));
            rows.text(value.get("context"));
            let source = value.get("source");
            let text = source.and_then(|s| s.get("text")).filter(|t| t.is_string());
            let content = source.and_then(|s| s.get("content")).filter(|c| c.is_array());
            match (text, content) {
                (Some(text), _) => rows.text(Some(text)),
                (_, Some(_)) => parts(content, rows),
                _ => rows.data(item),
            }
        }
        b"image" | b"video" | b"audio" => rows.data(item),
        _ => rows.text(Some(value)),
    }
}

fn reasoning(item: Value<'_>, value: Value<'_>, place: Place, rows: &mut Rows) -> Block {
    let open = value.get("reasoningText");
    let sealed = value.get("redactedContent");
    match (open, sealed) {
        (Some(open), None) => rows.text(Some(open.get("text").filter(|t| t.is_string()).unwrap_or(open))),
        (None, Some(sealed)) => rows.data(sealed),
        _ => rows.text(Some(value)),
    }
    let signature = open.and_then(|open| open.get("signature"));
    Block {
        binding: Binding::Next,
        seal: signature.or(sealed).and_then(literal),
        ..block_of(item, BlockKind::Reasoning, place)
    }
}

fn body_mark(body: Value<'_>) -> Option<Mark> {
    const PROOFS: [&str; 8] = [
        "toolConfig",
        "inferenceConfig",
        "additionalModelRequestFields",
        "additionalModelResponseFieldPaths",
        "guardrailConfig",
        "performanceConfig",
        "promptVariables",
        "outputConfig",
    ];
    let mut best: Option<Mark> = None;
    for (key, value) in body.fields() {
        let found = match &*key.key() {
            b"system" => {
                let untyped = |item: Value<'_>| item.get("type").is_none() && item.get("text").is_some();
                let known = value.items().next().is_some_and(untyped);
                known.then(|| Mark::new(Strength::Proof, key, "`system` is a list of texts without `type`"))
            }
            b"modelId" => Some(Mark::new(Strength::Usual, key, "the body has `modelId`")),
            name => PROOFS
                .iter()
                .find(|f| f.as_bytes() == name)
                .map(|f| Mark::new(Strength::Proof, key, format!("the body has `{f}`"))),
        };
        best = Mark::stronger(best, found);
    }
    best
}

fn message_mark(message: Value<'_>, index: usize) -> Option<Mark> {
    let content = message.get("content").filter(|c| c.is_array())?;
    let mut best: Option<Mark> = None;
    for (k, item) in content.items().enumerate() {
        if item.get("type").is_some() {
            continue;
        }
        for (key, value) in item.fields() {
            let strength = match &*key.key() {
                b"toolUse" | b"toolResult" | b"reasoningContent" | b"cachePoint" | b"guardContent"
                | b"citationsContent" | b"searchResult" | b"toolAddition" | b"toolRemoval" => Strength::Proof,
                b"text" | b"image" | b"document" | b"video" | b"audio" => Strength::Usual,
                _ => continue,
            };
            if value.is_null() || best.as_ref().is_some_and(|m| m.strength >= strength) {
                continue;
            }
            let kind = String::from_utf8_lossy(&key.key()).into_owned();
            let text = format!("messages[{index}].content[{k}] has `{kind}` and no `type`");
            best = Some(Mark::new(strength, item, text));
        }
    }
    best
}

/// The demands of the format. What Converse itself checks is an error; what only Claude and its like refuse is a
/// warning, since the model mostly stands in the URL. Error texts are as public reports quote them: agno-agi/agno#6698,
/// Just-Curieous/Curie#16, patriceckhart/zot#18, Amazon-Q-Developer/language-servers#1235, langchain-ai/langchain-aws#130,
/// langgenius/dify#12340, BerriAI/litellm#20049; the form of ids is the service model's (botocore 1.44,
/// run-llama/llama_index#22775), which allows `.` and `:` where Claude's own API does not.
pub static RULES: Rules = Rules {
    result_place: ResultPlace::NextMessage,
    id_scope: IdScope::Request,
    has_messages: refused("AM-19", "a conversation needs at least one message"),
    result_needs_call: refused("AM-1", UNEXPECTED_RESULT),
    call_needs_result: refused("AM-2", UNANSWERED),
    server_call_needs_result: Some(refused("AM-2", "a call of the provider's own tool needs its result")),
    result_in_place: refused("AM-1", UNEXPECTED_RESULT),
    one_result_per_call: refused("AM-17", UNEXPECTED_RESULT),
    distinct_call_ids: refused("AM-13", "`tool_use` ids must be unique"),
    call_needs_id: refused("AM-13", "Missing required parameter: toolUse.toolUseId"),
    result_needs_id: refused("AM-1", "Missing required parameter: toolResult.toolUseId"),
    call_id_form: Some(CallIdDemand {
        least: 1,
        most: 64,
        signs: Some("_.:-"),
        demand: refused(
            "AM-13",
            "toolUseId must be 1 to 64 characters of the pattern [a-zA-Z0-9_.:-]+",
        ),
    }),
    tools_sent: Some(refused(
        "AM-14",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks",
    )),
    results_in_one_message: Some(refused_by_some("AM-3", UNANSWERED)),
    results_first: Some(refused_by_some(
        "AM-4",
        "Messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks",
    )),
    no_text_after_call: Some(refused_by_some("AM-5", UNANSWERED)),
    first_is_user: Some(refused(
        "AM-6",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message",
    )),
    roles_alternate: Some(refused(
        "AM-7",
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates",
    )),
    always_alternate: true,
    no_leading_system: Some(refused("AM-8", SYSTEM_ROLE)),
    // Newer models take instructions between messages; before the first message nothing does.
    system_first: Some(refused_by_some("AM-8", SYSTEM_ROLE)),
    last_not_assistant: Some(refused_by_some(
        "AM-10",
        "This model does not support assistant message prefill. The conversation must end with a user message",
    )),
    last_not_trailing_space: Some(refused_by_some(
        "AM-10",
        "final assistant content cannot end with trailing whitespace",
    )),
    content: Some(ContentDemand {
        assistant_only: false,
        blank_is_empty: true,
        last_assistant_exempt: false,
        demand: refused(
            "AM-9",
            "The content field in the Message object is empty. Add a ContentBlock object",
        ),
    }),
    no_blank_text: Some(refused(
        "AM-9",
        "The text field in the ContentBlock object is blank. Add text to the text field, and try again",
    )),
    // A recorded request to Claude Sonnet 4.5 with a line break as a text of its own was accepted.
    no_white_text: Some(refused_by_some(
        "AM-9",
        "messages: text content blocks must contain non-whitespace text",
    )),
    // The page "Prompt caching for faster model inference": four for each model that caches.
    cache_breakpoints: Some(BreakpointDemand {
        most: 4,
        demand: refused_by_some("AM-15", "a request takes at most 4 cache checkpoints"),
    }),
    not_only_reasoning: Some(refused_by_some(
        "AM-16",
        "The final block in an assistant message cannot be `thinking`",
    )),
    loop_starts_with_reasoning: Some(refused(
        "AM-12",
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    )),
    seals_unchanged: Some(SealDemand {
        free_fields: &[],
        demand: refused(
            "AM-11",
            "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
        ),
    }),
    ..Rules::NONE
};

const UNEXPECTED_RESULT: &str = "The number of toolResult blocks exceeds the number of toolUse blocks of previous turn";
const UNANSWERED: &str = "Expected toolResult blocks for the toolUse blocks of the previous turn";
const SYSTEM_ROLE: &str = "instructions stand in the `system` field beside the messages";
