//! What in a body or a message speaks for the format.

use crate::formats::{Mark, Strength};
use crate::json::Value;

pub(super) fn body_mark(body: Value<'_>) -> Option<Mark> {
    const FIELDS: [&str; 12] = [
        "max_completion_tokens",
        "response_format",
        "functions",
        "function_call",
        "parallel_tool_calls",
        "reasoning_effort",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "logprobs",
        "stream_options",
        "seed",
    ];
    const MODELS: [&[u8]; 6] = [b"gpt-", b"chatgpt-", b"o1", b"o3", b"o4", b"openai/"];
    let mut best: Option<Mark> = None;
    for (key, value) in body.fields() {
        let name = key.key();
        let found = match &*name {
            b"tools" => {
                let wrapped = value
                    .items()
                    .any(|tool| tool.get("function").is_some_and(Value::is_object));
                wrapped.then(|| Mark::new(Strength::Proof, value, "tools are wrapped in `function`"))
            }
            b"model" => {
                let known = MODELS.iter().any(|m| value.key().starts_with(m));
                known.then(|| Mark::new(Strength::Hint, value, "the model is one of OpenAI's"))
            }
            field => FIELDS
                .iter()
                .find(|f| f.as_bytes() == field)
                .map(|f| Mark::new(Strength::Usual, key, format!("the body has `{f}`"))),
        };
        best = Mark::stronger(best, found);
    }
    best
}

pub(super) fn message_mark(message: Value<'_>, index: usize) -> Option<Mark> {
    const PARTS: [&str; 4] = ["image_url", "input_audio", "file", "refusal"];
    let mut best: Option<Mark> = None;
    for (key, value) in message.fields() {
        let name = key.key();
        let found = match &*name {
            b"role" => match &*value.key() {
                role @ (b"tool" | b"function") => {
                    let role = String::from_utf8_lossy(role);
                    let text = format!("messages[{index}] has the role `{role}`");
                    Some(Mark::new(Strength::Proof, value, text))
                }
                b"developer" => {
                    let text = format!("messages[{index}] has the role `developer`");
                    Some(Mark::new(Strength::Usual, value, text))
                }
                b"system" => {
                    let text = format!("messages[{index}] has the role `system`");
                    Some(Mark::new(Strength::Hint, value, text))
                }
                _ => None,
            },
            b"tool_calls" | b"function_call" if !value.is_null() => {
                let text = format!("messages[{index}] has `{}`", String::from_utf8_lossy(&name));
                Some(Mark::new(Strength::Proof, key, text))
            }
            b"content" => value.items().enumerate().find_map(|(k, part)| {
                let kind = part.get("type")?;
                let known = PARTS.iter().find(|p| kind.is_text(p))?;
                let text = format!("messages[{index}].content[{k}] is of type `{known}`");
                Some(Mark::new(Strength::Usual, part, text))
            }),
            _ => None,
        };
        best = Mark::stronger(best, found);
    }
    best
}
