//! The field cases of whole requests: which of two variants costs more, and by how much at least.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a table that does not read is a failed test"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use turnfold_core::Transcript;
use turnfold_core::meter::TokenCount;
use turnfold_tokens::Encoding;

fn meter(variant: &Value, format: &str, encoding: Encoding) -> TokenCount {
    let body = serde_json::to_vec(variant).unwrap();
    let read = Transcript::from_json(Arc::new(body), Some(format)).unwrap();
    read.tokens(encoding, None)
}

/// The likeliest counts stand in the relation; so do the upper bounds, which decide whether a request fits.
fn holds(relation: &Value, counts: &BTreeMap<&str, TokenCount>) -> bool {
    let side = |key: &str| counts[relation[key].as_str().unwrap()];
    let (left, right) = (side("left"), side("right"));
    let plus = relation["plus"].as_u64().unwrap_or(0);
    match relation["op"].as_str().unwrap() {
        "gt" => left.n > right.n && left.hi > right.hi,
        "ge" => left.n >= right.n + plus && left.hi >= right.hi + plus,
        "near" => left.n.abs_diff(right.n) <= relation["tolerance"].as_u64().unwrap(),
        other => panic!("unknown relation {other}"),
    }
}

#[test]
fn variants_of_a_request_cost_what_they_add() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/cases");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let relations = case["expect"]["variant_tokens"].as_array().cloned().unwrap_or_default();
        let format = case["format"].as_str().unwrap_or_default();
        if relations.is_empty() || turnfold_core::formats::by_name(format).is_none() {
            continue;
        }
        for encoding in Encoding::ALL {
            let variants = case["input"]["variants"].as_object().unwrap();
            let counts = variants
                .iter()
                .map(|(k, v)| (k.as_str(), meter(v, format, encoding)))
                .collect();
            for relation in &relations {
                assert!(holds(relation, &counts), "{}: {relation} of {counts:?}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 21, "{seen} relations: the cases are not where they should be");
}
