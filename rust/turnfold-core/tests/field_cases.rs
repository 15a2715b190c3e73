//! The field cases of `tests/vectors/cases`: what public bug reports broke, as far as pairs, cuts and rules go.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where its table or helper is wrong"
)]

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use turnfold_core::Transcript;
use turnfold_core::findings::{Severity, scan};
use turnfold_core::pairs::{BlockRef, ScanOptions, pair};
use turnfold_core::splits::splits;

fn cases() -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/cases");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    let read = |path: &PathBuf| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    paths.iter().map(read).collect()
}

fn format_of(case: &Value) -> Option<&'static str> {
    match case["format"].as_str() {
        Some("openai-chat") => Some("openai.chat"),
        Some("anthropic") => Some("anthropic.messages"),
        Some("gemini") => Some("gemini.contents"),
        Some("openai-responses") => Some("openai.responses"),
        _ => None,
    }
}

fn transcript(messages: &Value, format: &str) -> Transcript {
    Transcript::from_json(Arc::new(messages.to_string().into_bytes()), Some(format)).unwrap()
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn options(input: &Value) -> ScanOptions {
    let params = &input["params"];
    let mut pending_ids = strings(&params["pending_ids"]);
    pending_ids.extend(strings(&params["long_running_ids"]));
    ScanOptions {
        pending_ids,
        thinking: params["thinking"].as_bool(),
        strict_alternation: params["strict_alternation"].as_bool().unwrap_or(false),
        signatures: params["gemini3"].as_bool(),
        reasoning_pairs: params["reasoning_pairs"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(item, reasoning)| (item.clone(), reasoning.as_str().unwrap().to_owned()))
            .collect(),
        ..ScanOptions::default()
    }
}

fn numbers(value: &Value) -> Vec<usize> {
    let items = value.as_array().into_iter().flatten();
    items
        .map(|item| usize::try_from(item.as_u64().unwrap()).unwrap())
        .collect()
}

#[test]
fn every_case_holds() {
    let mut checked = 0;
    for case in cases() {
        let Some(format) = format_of(&case) else { continue };
        let id = case["id"].as_str().unwrap().to_owned();
        let (input, expect) = (&case["input"], &case["expect"]);
        if input["messages"].is_array() {
            let t = transcript(&input["messages"], format);
            checked += check_cuts(&id, &t, &options(input), expect);
            checked += check_pairs(&id, &t, &options(input), &expect["pairs"]);
            let found = scan(&t, &options(input));
            for rule in strings(&expect["input_violates"]) {
                assert!(
                    found.findings.iter().any(|f| f.rule == rule),
                    "{id}: input breaks {rule}"
                );
                checked += 1;
            }
        }
        let lists = input["messages_list"].as_array().into_iter().flatten();
        for (messages, legal) in lists.zip(expect["each_valid_splits"].as_array().into_iter().flatten()) {
            let t = transcript(messages, format);
            let cuts: Vec<usize> = splits(&t, &ScanOptions::default()).iter().collect();
            assert_eq!(cuts, numbers(legal), "{id}");
            checked += 1;
        }
        checked += check_outputs(&id, &expect["outputs"], format);
    }
    assert!(checked >= 60, "only {checked} expectations");
}

fn check_cuts(id: &str, t: &Transcript, options: &ScanOptions, expect: &Value) -> usize {
    if !expect["valid_splits"].is_array() {
        return 0;
    }
    let cuts = splits(t, options);
    assert_eq!(
        cuts.iter().collect::<Vec<_>>(),
        numbers(&expect["valid_splits"]),
        "{id}: legal cuts"
    );
    for index in cuts.lowest()..=cuts.highest() {
        let barred = numbers(&expect["forbidden_splits"]).contains(&index);
        assert_eq!(cuts.contains(index), !barred, "{id}: {index}");
        assert_eq!(cuts.why_not(t, index).is_empty(), !barred, "{id}: {index}");
    }
    for snap in expect["snap"].as_array().into_iter().flatten() {
        let at = |key: &str| snap[key].as_u64().map(|index| usize::try_from(index).unwrap());
        let requested = at("requested").unwrap();
        assert_eq!(cuts.at_or_before(requested), at("down"), "{id}");
        assert_eq!(cuts.at_or_after(requested), at("up"), "{id}");
    }
    1
}

fn check_pairs(id: &str, t: &Transcript, options: &ScanOptions, expect: &Value) -> usize {
    let Some(expect) = expect.as_object() else { return 0 };
    let table = pair(t, options);
    let places = |refs: &[BlockRef]| -> Vec<Value> {
        let one = |&at: &BlockRef| serde_json::json!({"index": at.message, "id": table.call_id(t, at)});
        refs.iter().map(one).collect()
    };
    for (key, value) in expect {
        let got = match key.as_str() {
            "paired" => Value::from(table.pairs.len()),
            "orphan_results" => Value::from(places(&table.orphan_results)),
            "pending" => Value::from(places(&table.pending)),
            "abandoned_calls" => Value::from(places(&table.abandoned)),
            "misplaced" => {
                let misplaced: Vec<BlockRef> = table.pairs.iter().filter(|p| p.misplaced).map(|p| p.result).collect();
                Value::from(places(&misplaced))
            }
            "duplicate_call_ids" => Value::from(table.duplicate_call_ids.clone()),
            "duplicate_result_ids" => Value::from(table.duplicate_result_ids.clone()),
            "pair_indices" => table
                .pairs
                .iter()
                .map(|p| vec![p.call.message, p.result.message])
                .collect(),
            other => panic!("{id}: unknown key {other}"),
        };
        assert_eq!(&got, value, "{id}: {key}");
    }
    expect.len()
}

fn check_outputs(id: &str, outputs: &Value, format: &str) -> usize {
    let mut checked = 0;
    for output in outputs["valid"].as_array().into_iter().flatten() {
        let found = scan(&transcript(&output["messages"], format), &options(output));
        let errors: Vec<_> = found
            .findings
            .iter()
            .filter(|f| f.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{id}: {errors:?}");
        checked += 1;
    }
    for output in outputs["invalid"].as_array().into_iter().flatten() {
        let found = scan(&transcript(&output["messages"], format), &options(output));
        for rule in strings(&output["violates"]) {
            assert!(
                found.findings.iter().any(|f| f.rule == rule),
                "{id}: output breaks {rule}"
            );
            checked += 1;
        }
    }
    checked
}
