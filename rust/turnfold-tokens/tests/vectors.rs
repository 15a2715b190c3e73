//! The table that pytest reads too: `tests/vectors/tokens.json` at the root of the repository, counted by tiktoken.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where it is wrong"
)]

use serde_json::Value;
use turnfold_tokens::{Encoding, Keep};

const VECTORS: &str = include_str!("../../../tests/vectors/tokens.json");

fn spell(text: &Value) -> String {
    if let Some(text) = text.as_str() {
        return text.to_owned();
    }
    let (kind, value) = text
        .as_object()
        .and_then(|form| form.iter().next())
        .expect("a form of text");
    let items = value.as_array().expect("a list");
    match kind.as_str() {
        "repeat" => items[0]
            .as_str()
            .unwrap()
            .repeat(usize::try_from(items[1].as_u64().unwrap()).unwrap()),
        "join" => items.iter().map(spell).collect(),
        "utf16" => {
            let units: Vec<u16> = items
                .iter()
                .map(|unit| u16::try_from(unit.as_u64().unwrap()).unwrap())
                .collect();
            String::from_utf16_lossy(&units)
        }
        _ => panic!("unknown form {kind}"),
    }
}

fn cases() -> Vec<(String, String, Value)> {
    let table: Value = serde_json::from_str(VECTORS).unwrap();
    let cases = table["cases"].as_array().unwrap();
    assert!(cases.len() > 80);
    cases
        .iter()
        .map(|case| {
            (
                case["name"].as_str().unwrap().to_owned(),
                spell(&case["text"]),
                case.clone(),
            )
        })
        .collect()
}

#[test]
fn counts_and_ids_are_those_of_tiktoken() {
    for (name, text, case) in cases() {
        for encoding in Encoding::ALL {
            let tokenizer = encoding.tokenizer();
            let wanted = usize::try_from(case["counts"][encoding.name()].as_u64().unwrap()).unwrap();
            assert_eq!(tokenizer.count(&text), wanted, "{name} with {}", encoding.name());
            let ids = tokenizer.encode(&text);
            assert_eq!(ids.len(), wanted, "ids of {name} with {}", encoding.name());
            if let Some(known) = case["ids"][encoding.name()].as_array() {
                let known: Vec<u32> = known
                    .iter()
                    .map(|id| u32::try_from(id.as_u64().unwrap()).unwrap())
                    .collect();
                assert_eq!(ids, known, "ids of {name} with {}", encoding.name());
            }
            assert_eq!(
                tokenizer.decode(&ids).unwrap(),
                text.as_bytes(),
                "{name} there and back"
            );
        }
    }
}

#[test]
fn a_limit_cuts_exactly() {
    for (name, text, case) in cases() {
        for encoding in Encoding::ALL {
            let tokenizer = encoding.tokenizer();
            let count = usize::try_from(case["counts"][encoding.name()].as_u64().unwrap()).unwrap();
            assert_eq!(tokenizer.count_up_to(&text, count), Some(count), "{name}");
            assert_eq!(tokenizer.count_up_to(&text, usize::MAX), Some(count), "{name}");
            if let Some(less) = count.checked_sub(1) {
                assert_eq!(tokenizer.count_up_to(&text, less), None, "{name}");
                assert_eq!(tokenizer.count_up_to(&text, 0), None, "{name}");
            }
        }
    }
}

#[test]
fn long_texts_are_cut_close_to_the_limit() {
    for (name, text, case) in cases().into_iter().filter(|(_, text, _)| text.len() <= 200_000) {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            let tokenizer = encoding.tokenizer();
            let count = usize::try_from(case["counts"][encoding.name()].as_u64().unwrap()).unwrap();
            for max in [count / 3, 100].into_iter().filter(|max| *max < count) {
                let head = &text[..tokenizer.truncate(&text, max, Keep::Head).head_bytes];
                let tail = &text[tokenizer.truncate(&text, max, Keep::Tail).tail_start..];
                // One character may be four tokens, so a cut may leave as many less one.
                for kept in [head, tail] {
                    assert!(
                        (max.saturating_sub(4)..=max).contains(&tokenizer.count(kept)),
                        "{name} to {max}"
                    );
                }
                let both = tokenizer.truncate(&text, max, Keep::Both);
                let joined = [&text[..both.head_bytes], &text[both.tail_start..]].concat();
                assert!(
                    (max.saturating_sub(12)..=max).contains(&tokenizer.count(&joined)),
                    "{name} to {max} joined"
                );
            }
        }
    }
}

#[test]
fn special_tokens_are_decoded_and_never_encoded() {
    let decode = |encoding: Encoding, id: u32| {
        encoding
            .tokenizer()
            .decode(&[id])
            .map(|b| String::from_utf8(b).unwrap())
    };
    assert_eq!(decode(Encoding::Cl100kBase, 100_257).unwrap(), "<|endoftext|>");
    assert_eq!(decode(Encoding::O200kBase, 199_999).unwrap(), "<|endoftext|>");
    assert_eq!(decode(Encoding::O200kHarmony, 200_005).unwrap(), "<|channel|>");
    assert_eq!(decode(Encoding::O200kHarmony, 201_087).unwrap(), "<|reserved_201087|>");
    for (encoding, id) in [
        (Encoding::Cl100kBase, 100_256),
        (Encoding::O200kBase, 199_998),
        (Encoding::O200kBase, 200_005),
        (Encoding::O200kHarmony, 201_088),
        (Encoding::O200kHarmony, u32::MAX),
    ] {
        let error = encoding.tokenizer().decode(&[0, id]).unwrap_err();
        assert_eq!((error.encoding, error.index, error.id), (encoding, 1, id));
        assert_eq!(
            error.to_string(),
            format!("id {id} at index 1 is no token of {}", encoding.name())
        );
    }
}

const BOUNDS: &str = include_str!("../../../tests/vectors/bounds.json");

#[test]
fn bounds_are_those_of_the_table_and_hold_the_count() {
    let table: Value = serde_json::from_str(BOUNDS).unwrap();
    let bounded = table["cases"].as_array().unwrap();
    assert!(bounded.len() > 20);
    for case in bounded {
        let name = case["name"].as_str().unwrap();
        let times = usize::try_from(case["times"].as_u64().unwrap()).unwrap();
        let text = case["text"].as_str().unwrap().repeat(times);
        for encoding in Encoding::ALL {
            let bounds = encoding.tokenizer().bounds(&text);
            let wanted = case["bounds"][encoding.name()].as_array().unwrap();
            let found = [bounds.lo, bounds.hi].map(|bound| bound as u64);
            let wanted: Vec<u64> = wanted.iter().map(|bound| bound.as_u64().unwrap()).collect();
            assert_eq!(found[..], wanted[..], "{name} with {}", encoding.name());
            let count = encoding.tokenizer().count(&text);
            assert!(
                bounds.lo <= count && count <= bounds.hi,
                "{name} with {}",
                encoding.name()
            );
        }
    }
    for (name, text, case) in cases() {
        for encoding in Encoding::ALL {
            let wanted = usize::try_from(case["counts"][encoding.name()].as_u64().unwrap()).unwrap();
            let bounds = encoding.tokenizer().bounds(&text);
            assert!(
                bounds.lo <= wanted && wanted <= bounds.hi,
                "{name} with {}",
                encoding.name()
            );
            for limit in [bounds.lo.saturating_sub(1), bounds.lo, wanted, wanted + 1, bounds.hi] {
                assert_eq!(
                    encoding.tokenizer().fits(&text, limit),
                    wanted <= limit,
                    "{name} in {limit}"
                );
            }
        }
    }
}
