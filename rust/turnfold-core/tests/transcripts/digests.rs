//! Digests: the shared table, and laws over random calls.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use turnfold_core::digests::{Digest, DigestKind, digest};
use turnfold_core::pairs::{ScanOptions, pair};
use turnfold_core::{BlockKind, Transcript};

use crate::bodies::{body, read};

fn all(transcript: &Transcript) -> Vec<Digest> {
    digest(
        transcript,
        0..transcript.len(),
        &pair(transcript, &ScanOptions::default()),
    )
}

#[test]
fn the_table() {
    let table: Value = serde_json::from_str(include_str!("../../../../tests/vectors/digests.json")).unwrap();
    for case in table["cases"].as_array().unwrap() {
        let transcript = read(
            case["messages"].to_string().into_bytes(),
            case["format"].as_str().unwrap(),
        );
        let got: Vec<Value> = all(&transcript)
            .into_iter()
            .map(|d| {
                json!({
                    "message": d.call.message, "kind": d.kind.as_str(), "tool": d.tool, "target": d.target,
                    "outcome": d.outcome, "text": d.text, "is_error": d.is_error,
                })
            })
            .collect();
        for (got, expected) in got.iter().zip(case["expect"].as_array().unwrap()) {
            assert_eq!(got, expected, "{}", case["name"]);
        }
        assert_eq!(got.len(), case["expect"].as_array().unwrap().len(), "{}", case["name"]);
    }
}

#[test]
fn a_result_behind_the_range_is_found() {
    let transcript = read(
        br#"[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},
            {"role":"tool","tool_call_id":"a","content":"x"}]"#
            .to_vec(),
        "openai.chat",
    );
    let pairs = pair(&transcript, &ScanOptions::default());
    assert_eq!(digest(&transcript, 0..1, &pairs)[0].text, "ran ls: 1 line of output");
    assert_eq!(digest(&transcript, 1..2, &pairs), []);
    assert_eq!(digest(&transcript, 7..9, &pairs), []);
}

#[test]
fn large_arguments_and_results_stay_short_and_quick() {
    let line = "x".repeat(1 << 20);
    for (name, arguments) in [
        ("bash", json!({"command": line})),
        ("Write", json!({"file_path": line, "content": line})),
        ("grep", json!({"pattern": line, "path": line})),
        ("anything", json!({"a": line, "b": [line]})),
        ("apply_patch", json!({"patch": "+++ b/x\n".repeat(1 << 17)})),
    ] {
        let messages = json!([
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": name, "input": arguments}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "word\n".repeat(1 << 18)}]},
        ]);
        let transcript = read(messages.to_string().into_bytes(), "anthropic.messages");
        let text = &all(&transcript)[0].text;
        assert!(text.chars().count() < 600, "{name}: {}", text.len());
    }
}

proptest! {
    #[test]
    fn one_line_a_call_in_order(body in body()) {
        let transcript = body.read();
        let calls: Vec<_> = transcript
            .messages()
            .flat_map(|m| m.blocks().filter(|b| b.kind() == BlockKind::ToolCall).map(|b| (b.message, b.index)).collect::<Vec<_>>())
            .collect();
        let digests = all(&transcript);
        prop_assert_eq!(digests.iter().map(|d| (d.call.message, d.call.block)).collect::<Vec<_>>(), calls);
        for digest in digests {
            prop_assert_eq!(digest.text.lines().count(), 1);
        }
    }

    #[test]
    fn any_arguments_and_any_result(name in "[a-z_]{0,8}|bash|read|edit|grep|apply_patch", arguments in "\\PC{0,40}", result in "\\PC{0,40}") {
        let messages = json!([
            {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": name, "arguments": arguments}}]},
            {"role": "tool", "tool_call_id": "a", "content": result},
        ]);
        let source = Arc::new(messages.to_string().into_bytes());
        let digests = all(&Transcript::from_json(source, Some("openai.chat")).unwrap());
        prop_assert_eq!(digests.len(), 1);
        prop_assert!(DigestKind::ALL.contains(&digests[0].kind));
        prop_assert!(!digests[0].text.contains('\n'));
    }
}
