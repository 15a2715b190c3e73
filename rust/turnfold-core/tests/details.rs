//! The shared table of details.

#![allow(clippy::unwrap_used, reason = "a test stops where it is wrong")]

use serde_json::{Value, json};
use turnfold_core::details::extract;

#[test]
fn the_table_of_texts() {
    let table: Value = serde_json::from_str(include_str!("../../../tests/vectors/details.json")).unwrap();
    let cases = table["extract"].as_array().unwrap();
    assert!(cases.len() > 10);
    for case in cases {
        let found = extract(case["text"].as_str().unwrap());
        let got: Vec<Value> = found.iter().map(|one| json!([one.kind.as_str(), one.text])).collect();
        assert_eq!(Value::Array(got), case["details"], "{}", case["name"]);
    }
}
