//! Messages of batches of calls in every wire format, for tests of how work grows.

use turnfold_core::formats::ALL;

/// The names of all formats.
pub(crate) fn formats() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|format| format.name())
}

pub(crate) fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

/// The message, or items, with the calls `0..count` of batch `k`.
pub(crate) fn calls(format: &str, k: usize, count: usize) -> String {
    let each = |make: &dyn Fn(usize) -> String| joined((0..count).map(make));
    let message = |role: &str, field: &str, list: String| format!(r#"{{"role":"{role}","{field}":[{list}]}}"#);
    match format {
        "openai.chat" => {
            let list = each(&|c| {
                format!(r#"{{"id":"c{k}_{c}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#)
            });
            format!(r#"{{"role":"assistant","content":null,"tool_calls":[{list}]}}"#)
        }
        "mistral.chat" => {
            let list = each(&|c| {
                let id = nine_digits(k, c);
                format!(r#"{{"id":"{id}","function":{{"name":"f","arguments":"{{}}"}}}}"#)
            });
            format!(r#"{{"role":"assistant","content":"","tool_calls":[{list}]}}"#)
        }
        "openai.responses" => {
            each(&|c| format!(r#"{{"type":"function_call","call_id":"c{k}_{c}","name":"f","arguments":"{{}}"}}"#))
        }
        "anthropic.messages" => {
            let call = |c| format!(r#"{{"type":"tool_use","id":"c{k}_{c}","name":"f","input":{{}}}}"#);
            message("assistant", "content", each(&call))
        }
        "gemini.contents" => {
            let call = |_| String::from(r#"{"functionCall":{"name":"f","args":{}}}"#);
            message("model", "parts", each(&call))
        }
        "bedrock.converse" => {
            let call = |c| format!(r#"{{"toolUse":{{"toolUseId":"c{k}_{c}","name":"f","input":{{}}}}}}"#);
            message("assistant", "content", each(&call))
        }
        other => unreachable!("{other} has no calls"),
    }
}

/// The messages, or items, with the results of the calls `0..count` of batch `k`.
pub(crate) fn results(format: &str, k: usize, count: usize) -> String {
    let each = |make: &dyn Fn(usize) -> String| joined((0..count).map(make));
    let message = |field: &str, list: String| format!(r#"{{"role":"user","{field}":[{list}]}}"#);
    match format {
        "openai.chat" => each(&|c| format!(r#"{{"role":"tool","tool_call_id":"c{k}_{c}","content":"r"}}"#)),
        "mistral.chat" => each(&|c| {
            let id = nine_digits(k, c);
            format!(r#"{{"role":"tool","tool_call_id":"{id}","name":"f","content":"r"}}"#)
        }),
        "openai.responses" => {
            each(&|c| format!(r#"{{"type":"function_call_output","call_id":"c{k}_{c}","output":"r"}}"#))
        }
        "anthropic.messages" => {
            let result = |c| format!(r#"{{"type":"tool_result","tool_use_id":"c{k}_{c}","content":"r"}}"#);
            message("content", each(&result))
        }
        "gemini.contents" => {
            let result = |_| String::from(r#"{"functionResponse":{"name":"f","response":{"a":1}}}"#);
            message("parts", each(&result))
        }
        "bedrock.converse" => {
            let result = |c| format!(r#"{{"toolResult":{{"toolUseId":"c{k}_{c}","content":[{{"text":"r"}}]}}}}"#);
            message("content", each(&result))
        }
        other => unreachable!("{other} has no results"),
    }
}

/// An id that is unique in batches of less than 1,000 calls, and in one batch of any size.
fn nine_digits(k: usize, c: usize) -> String {
    format!("{:09}", k * 1_000 + c)
}

/// A message of the user.
pub(crate) fn user(format: &str) -> &'static str {
    match format {
        "gemini.contents" => r#"{"role":"user","parts":[{"text":"go"}]}"#,
        "bedrock.converse" => r#"{"role":"user","content":[{"text":"go"}]}"#,
        _ => r#"{"role":"user","content":"go"}"#,
    }
}
