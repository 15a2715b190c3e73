//! The items of `input`, by kind.

use crate::formats::{self, Rows, block_of, content_form, literal, only_text, role_of};
use crate::json::{Value, is_blank};
use crate::transcript::{Binding, Block, BlockKind, ContentForm, Message, Place, Role, Span};

/// Families of calls: a result answers a call of its own family only, as the provider's errors name the kind that they
/// miss ("No tool call found for custom tool call output"). A local shell call may be answered by a function's result:
/// clients replay it so.
pub(super) const FUNCTION: u8 = 1;
pub(super) const CUSTOM: u8 = 2;
pub(super) const COMPUTER: u8 = 3;
pub(super) const SHELL: u8 = 4;
pub(super) const APPLY_PATCH: u8 = 5;
pub(super) const TOOL_SEARCH: u8 = 6;
pub(super) const PROGRAM: u8 = 7;
pub(super) const APPROVAL: u8 = 8;

/// Every kind but `message`.
const KINDS: [&str; 31] = [
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "computer_call",
    "computer_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "tool_search_call",
    "tool_search_output",
    "program",
    "program_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "file_search_call",
    "web_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "reasoning",
    "compaction",
    "compaction_summary",
    "compaction_trigger",
    "additional_tools",
    "configuration_update",
    "item_reference",
];

/// Whether items of this type exist in no other format.
pub(super) fn is_own_kind(kind: &[u8]) -> bool {
    KINDS.iter().any(|known| known.as_bytes() == kind)
}

/// The arguments of a call, of whatever kind.
pub(super) fn arguments(call: Value<'_>) -> Option<Value<'_>> {
    const FIELDS: [&str; 7] = [
        "arguments",
        "input",
        "action",
        "operation",
        "actions",
        "code",
        "queries",
    ];
    FIELDS.iter().find_map(|field| call.get(field).filter(|v| !v.is_null()))
}

#[derive(Default)]
struct Fields<'d> {
    kind: Option<Value<'d>>,
    role: Option<Value<'d>>,
    content: Option<Value<'d>>,
    id: Option<Value<'d>>,
    call_id: Option<Value<'d>>,
    approval_request_id: Option<Value<'d>>,
    caller: Option<Value<'d>>,
    name: Option<Value<'d>>,
    namespace: Option<Value<'d>>,
    arguments: Option<Value<'d>>,
    output: Option<Value<'d>>,
    outputs: Option<Value<'d>>,
    error: Option<Value<'d>>,
    status: Option<Value<'d>>,
    execution: Option<Value<'d>>,
    summary: Option<Value<'d>>,
    encrypted_content: Option<Value<'d>>,
    tools: Option<Value<'d>>,
    reason: Option<Value<'d>>,
    prompt: Option<Value<'d>>,
}

impl<'d> Fields<'d> {
    fn of(item: Value<'d>) -> Self {
        let mut fields = Self::default();
        for (key, value) in item.fields() {
            let slot = match &*key.key() {
                b"type" => &mut fields.kind,
                b"role" => &mut fields.role,
                b"content" => &mut fields.content,
                b"id" => &mut fields.id,
                b"call_id" => &mut fields.call_id,
                b"approval_request_id" => &mut fields.approval_request_id,
                b"caller" => &mut fields.caller,
                b"name" => &mut fields.name,
                b"namespace" => &mut fields.namespace,
                b"output" | b"result" => &mut fields.output,
                b"outputs" | b"results" => &mut fields.outputs,
                b"error" => &mut fields.error,
                b"status" => &mut fields.status,
                b"execution" => &mut fields.execution,
                b"summary" => &mut fields.summary,
                b"encrypted_content" => &mut fields.encrypted_content,
                b"tools" => &mut fields.tools,
                b"reason" => &mut fields.reason,
                b"revised_prompt" => &mut fields.prompt,
                _ => continue,
            };
            *slot = Some(value).filter(|v| !v.is_null() || key.is_text("content"));
        }
        // An empty id is none, also where none is a form of its own.
        fields.call_id = fields.call_id.filter(|id| id.raw() != b"\"\"");
        fields.arguments = arguments(item);
        fields
    }

    /// The call that an item inside a program belongs to.
    fn program(&self) -> Option<Span> {
        let caller = self.caller?;
        caller.get("type").filter(|t| t.is_text("program"))?;
        caller.get("caller_id").and_then(literal)
    }

    fn has_status(&self, status: &str) -> bool {
        self.status.is_some_and(|value| value.is_text(status))
    }

    fn is_of_kind(&self, kind: &str) -> bool {
        self.kind.is_some_and(|value| value.is_text(kind))
    }
}

/// Reads one item. A string is what the body may have in place of all items.
pub(super) fn read(item: Value<'_>, rows: &mut Rows) -> Message {
    let fields = Fields::of(item);
    let first = rows.block_count();
    let kind = fields.kind.filter(|k| k.is_string());
    let role_value = fields.role.filter(|r| r.is_string());
    let mut message = Message {
        span: item.span(),
        gap: Span::default(),
        role: Role::Other,
        role_text: None,
        name: None,
        content: ContentForm::Missing,
        blocks: first..first,
    };
    let named = kind.map(Value::key).unwrap_or_default();
    if item.is_string() {
        message.role = Role::User;
        message.content = content_form(Some(item));
        text_block(item, item, Place::Message, None, rows);
    } else if &*named == b"message" || (kind.is_none() && role_value.is_some()) {
        message.role = role_of(role_value);
        message.role_text = role_value.map(Value::span);
        message.content = content_form(fields.content);
        read_content(&fields, rows);
    } else if kind.is_none() && fields.kind.is_none() && fields.id.is_some_and(Value::is_string) {
        // The type of a reference may be left out.
        message.role = Role::Assistant;
        pointer(item, &fields, rows);
    } else {
        message.role = read_kind(item, &named, &fields, rows);
        if message.role == Role::Other || &*named == b"additional_tools" {
            message.role_text = role_value.map(Value::span);
        }
        if message.role == Role::Other && role_value.is_some() {
            message.role = role_of(role_value);
        }
    }
    message.blocks = first..rows.block_count();
    message
}

/// Reads an item that is no message; returns who speaks in it.
fn read_kind(item: Value<'_>, kind: &[u8], fields: &Fields<'_>, rows: &mut Rows) -> Role {
    match kind {
        b"function_call" | b"local_shell_call" => call(item, fields, FUNCTION, rows),
        b"custom_tool_call" => call(item, fields, CUSTOM, rows),
        b"computer_call" => call(item, fields, COMPUTER, rows),
        b"shell_call" => call(item, fields, SHELL, rows),
        b"apply_patch_call" => call(item, fields, APPLY_PATCH, rows),
        b"tool_search_call" => call(item, fields, TOOL_SEARCH, rows),
        b"program" => call(item, fields, PROGRAM, rows),
        b"mcp_approval_request" => call(item, fields, APPROVAL, rows),
        b"function_call_output" | b"local_shell_call_output" => result(item, fields, FUNCTION, rows),
        b"custom_tool_call_output" => result(item, fields, CUSTOM, rows),
        b"computer_call_output" => result(item, fields, COMPUTER, rows),
        b"shell_call_output" => shell_result(item, fields, rows),
        b"apply_patch_call_output" => result(item, fields, APPLY_PATCH, rows),
        b"tool_search_output" => result(item, fields, TOOL_SEARCH, rows),
        b"program_output" => result(item, fields, PROGRAM, rows),
        b"mcp_approval_response" => result(item, fields, APPROVAL, rows),
        b"mcp_call"
        | b"file_search_call"
        | b"web_search_call"
        | b"code_interpreter_call"
        | b"image_generation_call" => whole_call(item, fields, rows),
        b"reasoning" => reasoning(item, fields, rows),
        b"compaction" | b"compaction_summary" => {
            let texts = rows.text_count();
            match fields.encrypted_content {
                Some(sealed) => rows.data(sealed),
                None => rows.text(Some(item)),
            }
            let block = Block {
                binding: Binding::Barrier,
                seal: fields.encrypted_content.and_then(literal),
                ..state(item, fields)
            };
            rows.block(texts, block);
            Role::Assistant
        }
        b"compaction_trigger" => {
            let texts = rows.text_count();
            rows.block(texts, state(item, fields));
            Role::Other
        }
        b"mcp_list_tools" | b"additional_tools" | b"configuration_update" => {
            let texts = rows.text_count();
            rows.text(fields.tools.or(Some(item)));
            let block = Block {
                binding: Binding::Sticky,
                // What a server lists later takes the place of what it listed before.
                name: item.get("server_label").and_then(literal),
                ..state(item, fields)
            };
            rows.block(texts, block);
            if kind == b"mcp_list_tools" {
                Role::Assistant
            } else {
                Role::Developer
            }
        }
        b"item_reference" => {
            pointer(item, fields, rows);
            Role::Assistant
        }
        _ => {
            rows.opaque(item, Place::Message);
            Role::Other
        }
    }
}

/// An item of a kind that is known and is neither text, call nor result.
fn state(item: Value<'_>, fields: &Fields<'_>) -> Block {
    Block {
        item_id: fields.id.and_then(literal),
        type_name: fields.kind.and_then(literal),
        ..block_of(item, BlockKind::Opaque, Place::Message)
    }
}

fn pointer(item: Value<'_>, fields: &Fields<'_>, rows: &mut Rows) {
    let texts = rows.text_count();
    rows.data(item);
    let block = Block {
        binding: Binding::Pointer,
        ..state(item, fields)
    };
    rows.block(texts, block);
}

fn text_block(value: Value<'_>, text: Value<'_>, place: Place, item_id: Option<Span>, rows: &mut Rows) {
    let texts = rows.text_count();
    rows.text(Some(text));
    let block = Block {
        // A message that is one string has no place for another.
        body: (place != Place::Message).then(|| text.span()),
        item_id,
        ..formats::text_block(value, text, place)
    };
    rows.block(texts, block);
}

fn read_content(fields: &Fields<'_>, rows: &mut Rows) {
    let Some(content) = fields.content else { return };
    let item_id = fields.id.and_then(literal);
    match content_form(Some(content)) {
        ContentForm::Missing | ContentForm::Null => {}
        ContentForm::Text { .. } => text_block(content, content, Place::Field("content"), item_id, rows),
        ContentForm::List(_) => {
            for (k, part) in content.items().enumerate() {
                read_part(part, Place::Item("content", k as u32), item_id, rows);
            }
        }
        ContentForm::Other => rows.opaque(content, Place::Field("content")),
    }
}

fn read_part(part: Value<'_>, place: Place, item_id: Option<Span>, rows: &mut Rows) {
    if let Some(text) = part_text(part) {
        text_block(part, text, place, item_id, rows);
    } else if is_media(part) {
        let texts = rows.text_count();
        rows.data(part);
        let block = Block {
            type_name: part.get("type").and_then(literal),
            item_id,
            ..block_of(part, BlockKind::Media, place)
        };
        rows.block(texts, block);
    } else {
        rows.opaque(part, place);
    }
}

fn part_text(part: Value<'_>) -> Option<Value<'_>> {
    let kind = part.get("type")?;
    let is = |name: &str| kind.is_text(name);
    let field = if is("refusal") { "refusal" } else { "text" };
    let known = ["input_text", "output_text", "text", "refusal", "summary_text"];
    let text = part.get(field).filter(|t| t.is_string())?;
    known.into_iter().any(is).then_some(text)
}

fn is_media(part: Value<'_>) -> bool {
    let kinds = ["input_image", "input_file", "input_audio", "computer_screenshot"];
    part.get("type")
        .is_some_and(|kind| kinds.iter().any(|known| kind.is_text(known)))
}

/// What a call says beside its arguments, by whatever name these have.
const CALL_FIELDS: [&str; 10] = [
    "type",
    "id",
    "call_id",
    "name",
    "namespace",
    "status",
    "execution",
    "server_label",
    "created_by",
    "caller",
];

/// A call that awaits its result. Kinds without a name of the tool are named by their type.
fn call(item: Value<'_>, fields: &Fields<'_>, family: u8, rows: &mut Rows) -> Role {
    let texts = rows.text_count();
    let name = fields.name.filter(|n| n.is_string()).or(fields.kind);
    rows.text(name);
    rows.arguments(fields.arguments, item, &CALL_FIELDS);
    rows.text(fields.namespace);
    let call_id = match family {
        APPROVAL => fields.id,
        _ => fields.call_id,
    };
    let block = Block {
        call_id: call_id.and_then(formats::call_id),
        name: name.and_then(literal),
        family,
        by_name: family == TOOL_SEARCH && fields.call_id.is_none(),
        server_side: family == PROGRAM
            || (family == TOOL_SEARCH && fields.execution.is_some_and(|e| e.is_text("server"))),
        part_of: fields.program(),
        item_id: fields.id.and_then(literal),
        type_name: fields.kind.and_then(literal),
        ..block_of(item, BlockKind::ToolCall, Place::Message)
    };
    rows.block(texts, block);
    Role::Assistant
}

/// A call whose result stands in the same item.
fn whole_call(item: Value<'_>, fields: &Fields<'_>, rows: &mut Rows) -> Role {
    let texts = rows.text_count();
    let name = fields.name.filter(|n| n.is_string()).or(fields.kind);
    rows.text(name);
    rows.text(fields.arguments);
    rows.text(fields.prompt);
    match fields.output {
        Some(image) if fields.is_of_kind("image_generation_call") => rows.data(image),
        output => rows.text(output),
    }
    for output in fields.outputs.into_iter().flat_map(Value::items) {
        match output
            .get("logs")
            .or_else(|| output.get("text"))
            .filter(|t| t.is_string())
        {
            Some(text) => rows.text(Some(text)),
            None if output.get("url").is_some() => rows.data(output),
            None => rows.text(Some(output)),
        }
    }
    rows.text(fields.error);
    let block = Block {
        name: name.and_then(literal),
        whole: true,
        part_of: fields.approval_request_id.and_then(literal),
        item_id: fields.id.and_then(literal),
        type_name: fields.kind.and_then(literal),
        is_error: fields.error.is_some() || fields.has_status("failed"),
        ..block_of(item, BlockKind::ToolCall, Place::Message)
    };
    rows.block(texts, block);
    Role::Assistant
}

/// The row of a result, without its texts.
fn result_block(item: Value<'_>, fields: &Fields<'_>, family: u8) -> Block {
    let call_id = match family {
        APPROVAL => fields.approval_request_id,
        // The output of a local shell call has the call's `call_id` as its own `id`.
        FUNCTION if fields.is_of_kind("local_shell_call_output") => {
            fields.call_id.filter(|id| id.is_string()).or(fields.id)
        }
        _ => fields.call_id,
    };
    Block {
        call_id: call_id.and_then(formats::call_id),
        family,
        by_name: family == TOOL_SEARCH && fields.call_id.is_none(),
        binding: if family == TOOL_SEARCH {
            Binding::Sticky
        } else {
            Binding::Free
        },
        part_of: fields.program(),
        item_id: fields.id.and_then(literal),
        type_name: fields.kind.and_then(literal),
        is_error: fields.has_status("failed"),
        ..block_of(item, BlockKind::ToolResult, Place::Message)
    }
}

fn result(item: Value<'_>, fields: &Fields<'_>, family: u8, rows: &mut Rows) -> Role {
    let texts = rows.text_count();
    let output = match family {
        TOOL_SEARCH => fields.tools,
        APPROVAL => fields.reason,
        _ => fields.output,
    };
    let mut blank = true;
    match output {
        Some(list) if list.is_array() && family != TOOL_SEARCH => {
            for part in list.items() {
                match part_text(part) {
                    Some(text) => {
                        rows.text(Some(text));
                        blank &= is_blank(text.raw());
                    }
                    None if is_media(part) => {
                        rows.data(part);
                        blank = false;
                    }
                    None => {
                        rows.text(Some(part));
                        blank = false;
                    }
                }
            }
        }
        Some(shot) if is_media(shot) => {
            rows.data(shot);
            blank = false;
        }
        output => {
            rows.text(output);
            blank = output.is_none_or(|o| o.is_string() && is_blank(o.raw()));
        }
    }
    let rewritable = matches!(family, FUNCTION | CUSTOM | APPLY_PATCH);
    let text_only = |o: &Value<'_>| o.is_string() || (o.is_array() && only_text(*o));
    let block = Block {
        body: output.filter(|o| rewritable && text_only(o)).map(Value::span),
        blank,
        ..result_block(item, fields, family)
    };
    rows.block(texts, block);
    Role::Tool
}

/// The output of a shell: pieces with `stdout`, `stderr` and how each command ended.
fn shell_result(item: Value<'_>, fields: &Fields<'_>, rows: &mut Rows) -> Role {
    let texts = rows.text_count();
    let (mut pieces, mut failed, mut blank) = (0, false, true);
    let mut body = None;
    for piece in fields.output.into_iter().flat_map(Value::items) {
        pieces += 1;
        let streams = ["stdout", "stderr"].map(|stream| piece.get(stream).filter(|t| t.is_string()));
        if streams.iter().all(Option::is_none) {
            rows.text(Some(piece));
            blank = false;
            continue;
        }
        for text in streams.into_iter().flatten() {
            rows.text(Some(text));
            blank &= is_blank(text.raw());
        }
        let [stdout, stderr] = streams;
        body = stdout.filter(|_| stderr.is_none_or(|e| is_blank(e.raw())));
        let outcome = piece.get("outcome");
        let exit = outcome.and_then(|o| o.get("exit_code"));
        failed |= exit.is_some_and(|code| code.raw() != b"0");
        failed |= outcome
            .and_then(|o| o.get("type"))
            .is_some_and(|t| t.is_text("timeout"));
    }
    if let Some(text) = fields.output.filter(|o| !o.is_array()) {
        rows.text(Some(text));
        blank = text.is_string() && is_blank(text.raw());
        body = Some(text).filter(|t| t.is_string());
        pieces = 1;
    }
    let block = Block {
        body: body.filter(|_| pieces == 1).map(Value::span),
        blank,
        is_error: failed || fields.has_status("failed"),
        ..result_block(item, fields, SHELL)
    };
    rows.block(texts, block);
    Role::Tool
}

fn reasoning(item: Value<'_>, fields: &Fields<'_>, rows: &mut Rows) -> Role {
    let texts = rows.text_count();
    for list in [fields.summary, fields.content].into_iter().flatten() {
        if list.is_string() {
            rows.text(Some(list));
        }
        for part in list.items() {
            let text = part.get("text").filter(|t| t.is_string());
            rows.text(text.or(Some(part)));
        }
    }
    if let Some(sealed) = fields.encrypted_content {
        rows.data(sealed);
    }
    let block = Block {
        binding: Binding::Next,
        seal: fields.encrypted_content.and_then(literal),
        item_id: fields.id.and_then(literal),
        type_name: fields.kind.and_then(literal),
        ..block_of(item, BlockKind::Reasoning, Place::Message)
    };
    rows.block(texts, block);
    Role::Assistant
}
