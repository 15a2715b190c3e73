//! What in a body or a message speaks for the format.

use crate::formats::{Mark, Strength};
use crate::json::Value;

pub(super) fn body_mark(body: Value<'_>) -> Option<Mark> {
    const PROOFS: [&str; 2] = ["anthropic_version", "anthropic_beta"];
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
            b"tools" => {
                let schema = value.items().any(|tool| tool.get("input_schema").is_some());
                schema.then(|| Mark::new(Strength::Proof, value, "tools have `input_schema`"))
            }
            b"model" => {
                let id = value.key();
                // Behind a vendor's name and a slash it is a gateway's spelling, and gateways speak chat.
                let known = memchr::memmem::find(&id, b"claude").is_some() && !id.contains(&b'/');
                known.then(|| Mark::new(Strength::Hint, value, "the model is one of Anthropic's"))
            }
            b"stop_sequences" => Some(Mark::new(Strength::Usual, key, "the body has `stop_sequences`")),
            _ => one_of(&PROOFS)
                .map(|f| (Strength::Proof, f))
                .or_else(|| one_of(&HINTS).map(|f| (Strength::Hint, f)))
                .map(|(strength, f)| Mark::new(strength, key, format!("the body has `{f}`"))),
        };
        best = Mark::stronger(best, found);
    }
    best
}

pub(super) fn message_mark(message: Value<'_>, index: usize) -> Option<Mark> {
    let content = message.get("content").filter(|c| c.is_array())?;
    let mut best: Option<Mark> = None;
    for (k, item) in content.items().enumerate() {
        let Some(kind) = item.get("type") else { continue };
        let strength = match &*kind.key() {
            b"tool_use" | b"tool_result" | b"server_tool_use" | b"redacted_thinking" | b"mcp_tool_use" => {
                Strength::Proof
            }
            b"tool_addition" | b"tool_removal" | b"mcp_tool_listing" => Strength::Proof,
            b"thinking" | b"search_result" | b"container_upload" | b"compaction" => Strength::Usual,
            b"image" | b"document" if item.get("source").is_some_and(Value::is_object) => Strength::Usual,
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
