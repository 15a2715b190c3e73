//! Random request bodies in both formats, with white space where JSON allows it.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use turnfold_core::{Source, Transcript};

/// A body as its pieces: changing one of them gives a neighbour of the body.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) format: &'static str,
    pub(crate) tools: Option<String>,
    pub(crate) system: Option<String>,
    pub(crate) messages: Vec<String>,
    /// White space before each message, after its comma, and before the closing bracket.
    pub(crate) gaps: Vec<String>,
    pub(crate) bare: bool,
}

impl Body {
    pub(crate) fn json(&self) -> String {
        let mut out = String::new();
        if !self.bare {
            out.push_str("{ \"model\":\"m\"");
            if let Some(tools) = &self.tools {
                let _ = write!(out, ", \"tools\": {tools}");
            }
            if let Some(system) = &self.system {
                let _ = write!(out, ",\"system\":{system}");
            }
            out.push_str(",\"messages\" :");
        }
        out.push('[');
        for (k, message) in self.messages.iter().enumerate() {
            if k > 0 {
                out.push_str(self.gap(2 * k));
                out.push(',');
            }
            out.push_str(self.gap(2 * k + 1));
            out.push_str(message);
        }
        out.push_str(self.gap(2 * self.messages.len()));
        out.push(']');
        if !self.bare {
            out.push_str(", \"x\":[1] }\n");
        }
        out
    }

    fn gap(&self, k: usize) -> &str {
        if self.gaps.is_empty() {
            ""
        } else {
            &self.gaps[k % self.gaps.len()]
        }
    }

    pub(crate) fn read(&self) -> Transcript {
        read(self.json().into_bytes(), self.format)
    }

    /// What `compare` compares, in order.
    pub(crate) fn parts(&self) -> Vec<String> {
        let head = |part: &Option<String>| {
            if self.bare {
                String::new()
            } else {
                part.clone().unwrap_or_default()
            }
        };
        let mut parts = vec![head(&self.tools)];
        if self.format == "anthropic.messages" {
            parts.push(head(&self.system));
        }
        parts.extend(self.messages.iter().cloned());
        parts
    }
}

pub(crate) fn read(bytes: Vec<u8>, format: &str) -> Transcript {
    let source: Source = Arc::new(bytes);
    Transcript::from_json(source, Some(format)).unwrap()
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c ]{0,6}",
        Just("caf\u{e9} \\u00e9 \\\"q\\\" \\n".to_owned()),
        Just("\u{4e2d}\u{6587}".to_owned()),
    ]
}

fn marker() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just(""),
        1 => Just(",\"cache_control\":{\"type\":\"ephemeral\"}"),
    ]
}

fn chat_message() -> impl Strategy<Value = String> {
    prop_oneof![
        (prop_oneof![Just("user"), Just("system"), Just("assistant")], text())
            .prop_map(|(role, text)| format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}")),
        (text(), marker()).prop_map(|(text, marker)| format!(
            "{{ \"role\": \"user\", \"content\": [ {{\"type\":\"text\",\"text\":\"{text}\"{marker}}} ] }}"
        )),
        (0..3_u8, text()).prop_map(|(id, name)| format!(
            "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{id}\",\"type\":\"function\",\"function\":{{\"name\":\"{name}\",\"arguments\":\"{{\\\"a\\\":1}}\"}}}}]}}"
        )),
        (0..3_u8, text())
            .prop_map(|(id, text)| format!("{{\"role\":\"tool\",\"tool_call_id\":\"c{id}\",\"content\":\"{text}\"}}")),
    ]
}

fn messages_message() -> impl Strategy<Value = String> {
    prop_oneof![
        (prop_oneof![Just("user"), Just("assistant")], text())
            .prop_map(|(role, text)| format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}")),
        (text(), marker()).prop_map(|(text, marker)| format!(
            "{{\"content\":[{{\"type\":\"text\"{marker},\"text\":\"{text}\"}}],\"role\":\"user\"}}"
        )),
        (0..3_u8, text()).prop_map(|(id, text)| format!(
            "{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{id}\",\"name\":\"run\",\"input\":{{\"a\":\"{text}\"}}}}]}}"
        )),
        (0..3_u8, text(), marker()).prop_map(|(id, text, marker)| format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{id}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]{marker}}}]}}"
        )),
        (0..3_u8, prop::collection::vec(text(), 0..3), text(), any::<bool>()).prop_map(|(id, list, text, is_error)| {
            let list: Vec<_> = list.iter().map(|text| format!("{{\"type\":\"text\",\"text\":\"{text}\"}}")).collect();
            let (id, list) = (format!("\"tool_use_id\":\"t{id}\""), list.join(", "));
            let results = format!("{{\"type\":\"tool_result\",\"content\":[{list}],\"is_error\":{is_error},{id}}},{{\"type\":\"tool_result\",{id},\"content\":\"{text}\"}}");
            format!("{{\"content\":[{results},{{\"type\":\"text\",\"text\":\"{text}\"}}],\"role\":\"user\"}}")
        }),
    ]
}

pub(crate) fn message(format: &'static str) -> BoxedStrategy<String> {
    if format == "openai.chat" {
        chat_message().boxed()
    } else {
        messages_message().boxed()
    }
}

pub(crate) fn format() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("openai.chat"), Just("anthropic.messages")]
}

pub(crate) fn body() -> impl Strategy<Value = Body> {
    let tools = prop_oneof![
        Just(None),
        text().prop_map(|t| Some(format!("[{{\"name\":\"run\",\"description\":\"{t}\"}}]"))),
    ];
    let system = prop_oneof![Just(None), text().prop_map(|t| Some(format!("\"{t}\"")))];
    (
        format(),
        tools,
        system,
        any::<bool>(),
        prop::collection::vec("[ \n\t]{0,2}", 0..4),
    )
        .prop_flat_map(|(format, tools, system, bare, gaps)| {
            prop::collection::vec(message(format), 0..8).prop_map(move |messages| Body {
                format,
                tools: tools.clone(),
                system: system.clone(),
                messages,
                gaps: gaps.clone(),
                bare,
            })
        })
}
