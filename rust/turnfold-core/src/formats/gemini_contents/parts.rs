//! The parts of a content, in both spellings.

use crate::formats::{Rows, block_of, literal, text_block};
use crate::json::{Kind, Value, is_blank};
use crate::transcript::{Binding, Block, BlockKind, Place, TextForm, TextSpan};

/// What a part holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload {
    Text,
    InlineData,
    FileData,
    FunctionCall,
    FunctionResponse,
    ExecutableCode,
    CodeExecutionResult,
    ToolCall,
    ToolResponse,
}

impl Payload {
    pub(super) fn of(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"text" => Self::Text,
            b"inlineData" | b"inline_data" => Self::InlineData,
            b"fileData" | b"file_data" => Self::FileData,
            b"functionCall" | b"function_call" => Self::FunctionCall,
            b"functionResponse" | b"function_response" => Self::FunctionResponse,
            b"executableCode" | b"executable_code" => Self::ExecutableCode,
            b"codeExecutionResult" | b"code_execution_result" => Self::CodeExecutionResult,
            b"toolCall" | b"tool_call" => Self::ToolCall,
            b"toolResponse" | b"tool_response" => Self::ToolResponse,
            _ => return None,
        })
    }
}

/// Whether a field of a part only describes what the part holds.
fn describes(key: &[u8]) -> bool {
    matches!(
        key,
        b"thought"
            | b"thoughtSignature"
            | b"thought_signature"
            | b"videoMetadata"
            | b"video_metadata"
            | b"mediaResolution"
            | b"media_resolution"
            | b"partMetadata"
            | b"part_metadata"
            | b"mediaProcessing"
            | b"media_processing"
            | b"speechMetadata"
            | b"speech_metadata"
            | b"documentMetadata"
            | b"document_metadata"
            | b"spreadsheetMetadata"
            | b"spreadsheet_metadata"
            | b"audioMetadata"
            | b"audio_metadata"
    )
}

pub(super) fn read_part(part: Value<'_>, place: Place, rows: &mut Rows) {
    let mut payload: Option<(Payload, Value<'_>, Value<'_>)> = None;
    let (mut thought, mut seal, mut unknown) = (false, None, None);
    for (key, value) in part.fields() {
        let name = key.key();
        match Payload::of(&name) {
            // SDKs that write every field leave the others null.
            Some(_) if value.is_null() => {}
            // Two payloads in one part are nothing that the API takes.
            Some(_) if payload.is_some() => unknown = Some(key),
            Some(kind) => payload = Some((kind, key, value)),
            None => match &*name {
                b"thought" => thought = value.kind() == Kind::True,
                b"thoughtSignature" | b"thought_signature" => seal = literal(value),
                other if describes(other) || value.is_null() => {}
                _ => unknown = unknown.or(Some(key)),
            },
        }
    }
    let texts = rows.text_count();
    let read = match (payload, unknown) {
        (Some((kind, key, value)), None) => read_payload(kind, key, part, value, place, rows),
        // A signature may come alone, at the end of a stream.
        (None, None) if seal.is_some() => Some(Block {
            blank: true,
            ..block_of(part, BlockKind::Text, place)
        }),
        _ => None,
    };
    let Some(mut block) = read else {
        rows.texts.truncate(texts as usize);
        let kind = unknown.or(payload.map(|(_, key, _)| key));
        return opaque(part, kind, place, rows);
    };
    if thought && block.kind == BlockKind::Text {
        block.kind = BlockKind::Reasoning;
        block.binding = Binding::Next;
        block.body = None;
    }
    if let Some(span) = seal {
        let signature = TextSpan {
            span,
            form: TextForm::Data,
        };
        rows.texts.push(signature);
        block.seal = seal;
        // Only unchanged is it accepted, and it may have come on an empty text.
        block.body = None;
        block.blank = false;
    }
    rows.block(texts, block);
}

/// Counts the texts of what a part holds; `None` where it does not have the shape of its kind.
fn read_payload(
    kind: Payload,
    key: Value<'_>,
    part: Value<'_>,
    value: Value<'_>,
    place: Place,
    rows: &mut Rows,
) -> Option<Block> {
    if kind == Payload::Text {
        if !value.is_string() {
            return None;
        }
        rows.text(Some(value));
        return Some(text_block(part, value, place));
    }
    if !value.is_object() {
        return None;
    }
    Some(match kind {
        Payload::Text | Payload::InlineData | Payload::FileData => {
            rows.data(value);
            Block {
                type_name: Some(key.span()),
                ..block_of(part, BlockKind::Media, place)
            }
        }
        Payload::FunctionCall => {
            let fields = Fields::of(value);
            rows.text(fields.name);
            rows.arguments(fields.args, value, &CALL_FIELDS);
            paired(block_of(part, BlockKind::ToolCall, place), &fields)
        }
        Payload::FunctionResponse => response(part, value, place, rows),
        Payload::ExecutableCode => {
            let fields = Fields::of(value);
            rows.text(fields.code);
            Block {
                server_side: true,
                by_name: fields.id.is_none(),
                name: Some(key.span()),
                ..paired(block_of(part, BlockKind::ToolCall, place), &fields)
            }
        }
        Payload::CodeExecutionResult => {
            let fields = Fields::of(value);
            rows.text(fields.output);
            let fine = |outcome: Value<'_>| outcome.is_text("OUTCOME_OK") || outcome.raw() == b"1";
            Block {
                server_side: true,
                by_name: fields.id.is_none(),
                body: fields.output.and_then(literal),
                blank: fields.output.is_none_or(|output| is_blank(output.raw())),
                is_error: fields.outcome.is_some_and(|outcome| !fine(outcome)),
                ..paired(block_of(part, BlockKind::ToolResult, place), &fields)
            }
        }
        Payload::ToolCall => {
            let fields = Fields::of(value);
            rows.text(fields.name);
            rows.arguments(fields.args, value, &CALL_FIELDS);
            Block {
                server_side: true,
                by_name: fields.id.is_none(),
                ..paired(block_of(part, BlockKind::ToolCall, place), &fields)
            }
        }
        Payload::ToolResponse => {
            let fields = Fields::of(value);
            // What a search found: largely for the server, so its letters say little about its tokens.
            if let Some(found) = fields.response {
                rows.data(found);
            }
            Block {
                server_side: true,
                by_name: fields.id.is_none(),
                ..paired(block_of(part, BlockKind::ToolResult, place), &fields)
            }
        }
    })
}

/// The fields that calls and results have, each where its kind has it.
#[derive(Default)]
struct Fields<'d> {
    id: Option<Value<'d>>,
    /// The function's name, or the type of the tool that the provider runs.
    name: Option<Value<'d>>,
    args: Option<Value<'d>>,
    response: Option<Value<'d>>,
    parts: Option<Value<'d>>,
    code: Option<Value<'d>>,
    outcome: Option<Value<'d>>,
    output: Option<Value<'d>>,
    non_blocking: bool,
}

/// What a call says beside its arguments.
const CALL_FIELDS: [&str; 8] = [
    "id",
    "name",
    "toolType",
    "tool_type",
    "args",
    "willContinue",
    "will_continue",
    "scheduling",
];

impl<'d> Fields<'d> {
    fn of(value: Value<'d>) -> Self {
        let mut fields = Self::default();
        for (key, value) in value.fields().filter(|(_, value)| !value.is_null()) {
            let slot = match &*key.key() {
                b"id" => &mut fields.id,
                b"name" | b"toolType" | b"tool_type" => &mut fields.name,
                b"args" => &mut fields.args,
                b"response" => &mut fields.response,
                b"parts" => &mut fields.parts,
                b"code" => &mut fields.code,
                b"outcome" => &mut fields.outcome,
                b"output" => &mut fields.output,
                b"willContinue" | b"will_continue" | b"scheduling" => {
                    fields.non_blocking = true;
                    continue;
                }
                _ => continue,
            };
            *slot = Some(value);
        }
        // An empty id is how some SDKs write that there is none.
        let filled = |value: &Value<'_>| value.is_string() && value.raw() != b"\"\"";
        fields.id = fields.id.filter(filled);
        fields.name = fields.name.filter(filled);
        fields
    }
}

/// A call or result with what it pairs by.
fn paired(block: Block, fields: &Fields<'_>) -> Block {
    Block {
        call_id: fields.id.map(Value::span),
        name: fields.name.map(Value::span),
        by_name: fields.id.is_none() && fields.name.is_some(),
        ..block
    }
}

fn response(part: Value<'_>, value: Value<'_>, place: Place, rows: &mut Rows) -> Block {
    let fields = Fields::of(value);
    let mut inside = fields.response.into_iter().flat_map(Value::fields);
    let only = inside
        .next()
        .map(|(_, value)| value)
        .filter(|_| inside.next().is_none());
    let text = only.filter(|value| value.is_string());
    rows.text(text.or(fields.response));
    let mut media = false;
    for item in fields.parts.into_iter().flat_map(Value::items) {
        media = true;
        let held = |(key, value): (Value<'_>, _)| Payload::of(&key.key()).map(|_| value);
        match item.fields().find_map(held) {
            Some(data) => rows.data(data),
            None => rows.text(Some(item)),
        }
    }
    let body = text.or(fields.response.filter(|response| response.is_object()));
    let failed = fields.response.and_then(|response| response.get("error"));
    Block {
        non_blocking: fields.non_blocking,
        body: body.filter(|_| !media).map(Value::span),
        blank: !media && text.is_some_and(|text| is_blank(text.raw())),
        is_error: failed.is_some_and(|error| !error.is_null()),
        ..paired(block_of(part, BlockKind::ToolResult, place), &fields)
    }
}

/// A part of an unknown kind, named by its field, counted by its JSON and bound to both neighbours.
pub(super) fn opaque(part: Value<'_>, kind: Option<Value<'_>>, place: Place, rows: &mut Rows) {
    let texts = rows.text_count();
    rows.text(Some(part));
    let block = Block {
        binding: Binding::Both,
        type_name: kind.map(Value::span),
        ..block_of(part, BlockKind::Opaque, place)
    };
    rows.block(texts, block);
}
