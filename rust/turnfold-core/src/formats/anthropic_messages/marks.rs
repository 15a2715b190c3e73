//! What in a body or a message speaks for the format.

use crate::formats::{Mark, Strength};
use crate::json::Value;

pub(super) fn body_mark(body: Value<'_>) -> Option<Mark> {
    const PROOFS: [&str; 2] = ["anthropic_version", "anthropic_beta"];
    const USUAL: [&str; 7] = [
        "stop_sequences",
        "context_management",
        "mcp_servers",
        "container",
        "output_config",
        "output_format",
        "compaction",
    ];
    const HINTS: [&str; 2] = ["thinking", "top_k"];
    let mut best: Option<Mark> = None;
    for (key, value) in body.fields() {
        let name = key.key();
        let one_of = |names: &[&'static str]| names.iter().copied().find(|n| n.as_bytes() == &*name);
        let found = match &*name {
            b"system" if !value.is_null() => {
                // Another provider's list has texts without a `type`.
                let typed = !value.is_array() || value.items().any(|item| item.get("type").is_some());
                let strength = if typed { Strength::Proof } else { Strength::Hint };
                Some(Mark::new(strength, key, "the body has `system` beside the messages"))
            }
            b"tools" => tools_mark(value),
            b"tool_choice" => {
                let kind = value.get("type");
                let own = ["auto", "any", "tool", "none"];
                let known = kind.is_some_and(|kind| own.iter().any(|name| kind.is_text(name)));
                known.then(|| Mark::new(Strength::Usual, key, "`tool_choice` is an object that names its type"))
            }
            b"model" => {
                let id = value.key();
                // Behind a vendor's name and a slash it is a gateway's spelling, and gateways speak chat.
                let known = memchr::memmem::find(&id, b"claude").is_some() && !id.contains(&b'/');
                known.then(|| Mark::new(Strength::Hint, value, "the model is one of Anthropic's"))
            }
            _ => one_of(&PROOFS)
                .map(|f| (Strength::Proof, f))
                .or_else(|| one_of(&USUAL).map(|f| (Strength::Usual, f)))
                .or_else(|| one_of(&HINTS).map(|f| (Strength::Hint, f)))
                .map(|(strength, f)| Mark::new(strength, key, format!("the body has `{f}`"))),
        };
        best = Mark::stronger(best, found);
    }
    best
}

/// Tools of the client have a schema of this name; those of the provider a kind that ends in a date.
fn tools_mark(tools: Value<'_>) -> Option<Mark> {
    tools.items().find_map(|tool| {
        if tool.get("input_schema").is_some() {
            return Some(Mark::new(Strength::Proof, tools, "tools have `input_schema`"));
        }
        let kind = tool.get("type")?.key();
        let (name, date) = kind.split_at_checked(kind.len().checked_sub(8)?)?;
        let dated = name.ends_with(b"_") && date.iter().all(u8::is_ascii_digit);
        dated.then(|| Mark::new(Strength::Proof, tools, "the type of a tool ends in a date"))
    })
}

pub(super) fn message_mark(message: Value<'_>, index: usize) -> Option<Mark> {
    let content = message.get("content").filter(|c| c.is_array())?;
    let mut best = returned_mark(message, index);
    for (k, item) in content.items().enumerate() {
        let Some(kind) = item.get("type") else { continue };
        let strength = match &*kind.key() {
            b"tool_use" | b"tool_result" | b"server_tool_use" | b"redacted_thinking" | b"mcp_tool_use" => {
                Strength::Proof
            }
            b"tool_addition" | b"tool_removal" | b"mcp_tool_listing" => Strength::Proof,
            b"container_upload" | b"compaction" => Strength::Usual,
            b"thinking" | b"search_result" => Strength::Passed,
            b"image" | b"document" if item.get("source").is_some_and(Value::is_object) => Strength::Passed,
            other if other.ends_with(b"_tool_result") => Strength::Proof,
            _ => continue,
        };
        if best.as_ref().is_none_or(|m| m.strength < strength) {
            let kind = String::from_utf8_lossy(&kind.key()).into_owned();
            let text = format!("messages[{index}].content[{k}] is of type `{kind}`");
            best = Some(Mark::new(strength, item, text));
        }
    }
    best
}

/// A message that the provider returned, kept as it came: it says its type and why it stopped.
fn returned_mark(message: Value<'_>, index: usize) -> Option<Mark> {
    let returned = message.get("type").is_some_and(|kind| kind.is_text("message"));
    let stopped = message.get("stop_reason")?;
    returned.then(|| Mark::new(Strength::Usual, stopped, format!("messages[{index}] has `stop_reason`")))
}
