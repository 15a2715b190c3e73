//! The table `tests/vectors/repair.json`, which pytest reads as well.

#![allow(clippy::unwrap_used, reason = "a test stops where its table is wrong")]

use std::sync::Arc;

use serde_json::{Value, json};
use turnfold_core::Transcript;
use turnfold_core::findings::Severity;
use turnfold_core::pairs::ScanOptions;
use turnfold_core::repair::{RepairOptions, Unanswered, repair};

fn options(given: &Value) -> RepairOptions {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |field: &str| given[field].as_array().into_iter().flatten();
    RepairOptions {
        scan: ScanOptions {
            pending_ids: list("pending_ids").map(text).collect(),
            thinking: given["thinking"].as_bool(),
            strict_alternation: given["strict_alternation"] == true,
            severities: list("severities")
                .map(|pair| (text(&pair[0]), Severity::by_name(&text(&pair[1])).unwrap()))
                .collect(),
            ..ScanOptions::default()
        },
        unanswered: Unanswered::by_name(given["unanswered"].as_str().unwrap_or("synthesize")).unwrap(),
    }
}

#[test]
fn repairs_are_those_of_the_table() {
    let table: Value = serde_json::from_str(include_str!("../../../tests/vectors/repair.json")).unwrap();
    for case in table["cases"].as_array().unwrap() {
        let name = &case["name"];
        let body = case["messages"].as_str().unwrap().as_bytes().to_vec();
        let transcript = Transcript::from_json(Arc::new(body), case["format"].as_str()).unwrap();
        let repaired = repair(&transcript, &options(&case["options"])).unwrap();
        let out = String::from_utf8(repaired.transcript.to_json()).unwrap();
        assert_eq!(out, case["expect"].as_str().unwrap(), "{name}");
        let done = repaired.repairs.iter().map(|r| {
            json!([
                r.code,
                r.action.as_str(),
                r.message,
                r.message_after,
                r.block,
                r.call_id
            ])
        });
        assert_eq!(json!(done.collect::<Vec<_>>()), case["repairs"], "{name}");
    }
}
