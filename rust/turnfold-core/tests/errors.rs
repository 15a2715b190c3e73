//! The shared table of unreadable and of odd input.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it is wrong")]

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use turnfold_core::{ReadErrorCode, Transcript};

fn table() -> Value {
    serde_json::from_str(include_str!("../../../tests/vectors/errors.json")).unwrap()
}

fn body(vector: &Value) -> Vec<u8> {
    if let Some(zeros) = vector["zeros"].as_u64() {
        return vec![0; zeros as usize];
    }
    if let Some(hex) = vector["hex"].as_str() {
        let bytes = (0..hex.len()).step_by(2);
        return bytes.map(|k| u8::from_str_radix(&hex[k..k + 2], 16).unwrap()).collect();
    }
    let parts = vector["input"].as_array().unwrap().iter();
    parts
        .flat_map(|part| {
            part[0]
                .as_str()
                .unwrap()
                .repeat(part[1].as_u64().unwrap() as usize)
                .into_bytes()
        })
        .collect()
}

#[test]
fn what_is_refused_and_where() {
    for vector in table()["refused"].as_array().unwrap() {
        let error = Transcript::from_json(Arc::new(body(vector)), None).expect_err(vector["name"].as_str().unwrap());
        let got = serde_json::json!([error.code.as_str(), error.offset, error.path]);
        let expected = serde_json::json!([vector["code"], vector["offset"], vector["path"]]);
        assert_eq!(got, expected, "{}", vector["name"]);
    }
}

#[test]
fn each_code_has_a_vector() {
    let table = table();
    let seen: BTreeSet<&str> = table["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|vector| vector["code"].as_str().unwrap())
        .collect();
    let all: BTreeSet<&str> = ReadErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(seen, all);
}

#[test]
fn what_is_kept_is_kept_to_the_byte() {
    for vector in table()["kept"].as_array().unwrap() {
        let body = body(vector);
        let transcript = Transcript::from_json(Arc::new(body.clone()), None)
            .unwrap_or_else(|error| panic!("{}: {error}", vector["name"]));
        assert_eq!(transcript.to_json(), body, "{}", vector["name"]);
    }
}
