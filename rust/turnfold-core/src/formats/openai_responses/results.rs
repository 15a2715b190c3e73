//! New results, for calls of every kind.

use super::items::{APPLY_PATCH, APPROVAL, COMPUTER, CUSTOM, FUNCTION, PROGRAM, SHELL, TOOL_SEARCH};
use crate::json;
use crate::transcript::{BlockKind, BlockView};

/// A screenshot of one pixel: a computer's result holds nothing else.
const NO_SCREEN: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

/// The kind that names its call by `id`.
const LOCAL_SHELL_OUTPUT: &str = "local_shell_call_output";

/// Where the id that pairs a call and its result stands.
pub(super) fn id_path(block: &BlockView<'_>) -> &'static [&'static str] {
    match (block.kind(), block.row.family) {
        (BlockKind::ToolCall, APPROVAL) => &["id"],
        (BlockKind::ToolResult, APPROVAL) => &["approval_request_id"],
        (BlockKind::ToolResult, FUNCTION) if block.type_name().is_some_and(|kind| kind == LOCAL_SHELL_OUTPUT) => {
            &["id"]
        }
        (BlockKind::ToolCall | BlockKind::ToolResult, FUNCTION..) => &["call_id"],
        _ => &[],
    }
}

/// A result for `call`, in the kind that answers it.
pub(super) fn result_for(call: &BlockView<'_>, text: &str) -> Vec<u8> {
    let local = call.type_name().is_some_and(|kind| kind == "local_shell_call");
    let (kind, id_field) = match call.row.family {
        CUSTOM => ("custom_tool_call_output", "call_id"),
        COMPUTER => ("computer_call_output", "call_id"),
        SHELL => ("shell_call_output", "call_id"),
        APPLY_PATCH => ("apply_patch_call_output", "call_id"),
        TOOL_SEARCH => ("tool_search_output", "call_id"),
        PROGRAM => ("program_output", "call_id"),
        APPROVAL => ("mcp_approval_response", "approval_request_id"),
        _ if local => (LOCAL_SHELL_OUTPUT, "id"),
        _ => ("function_call_output", "call_id"),
    };
    let id = call.call_id().map(|id| format!(",\"{id_field}\":{}", quoted(&id)));
    let text = quoted(text);
    let rest = match call.row.family {
        COMPUTER => format!(",\"output\":{{\"type\":\"computer_screenshot\",\"image_url\":\"{NO_SCREEN}\"}}"),
        SHELL => format!(",\"output\":[{{\"stdout\":\"\",\"stderr\":{text},\"outcome\":{{\"type\":\"timeout\"}}}}]"),
        APPLY_PATCH => format!(",\"status\":\"failed\",\"output\":{text}"),
        TOOL_SEARCH => ",\"tools\":[]".to_owned(),
        PROGRAM => {
            let id = quoted(&format!("{}_output", call.item_id().unwrap_or_default()));
            format!(",\"id\":{id},\"result\":{text},\"status\":\"incomplete\"")
        }
        APPROVAL => format!(",\"approve\":false,\"reason\":{text}"),
        _ => format!(",\"output\":{text}"),
    };
    let caller = call.part_of().map(|program| {
        format!(
            ",\"caller\":{{\"type\":\"program\",\"caller_id\":{}}}",
            quoted(&program)
        )
    });
    let (id, caller) = (id.unwrap_or_default(), caller.unwrap_or_default());
    format!("{{\"type\":\"{kind}\"{id}{rest}{caller}}}").into_bytes()
}

fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&json::escape(text)).into_owned()
}
