//! The shared table of identifiers, and laws over random text.

#![allow(clippy::unwrap_used, reason = "a test stops where it is wrong")]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;
use turnfold_core::Transcript;
use turnfold_core::identifiers::{
    Extractor, Identifier, IdentifierKind, MAX_URL_BYTES, around_tail, extract, occurring,
};

fn table() -> Value {
    serde_json::from_str(include_str!("../../../tests/vectors/identifiers.json")).unwrap()
}

#[test]
fn the_table_of_texts() {
    let mut failures = Vec::new();
    for case in table()["extract"].as_array().unwrap() {
        let got: Vec<Value> = extract(case["text"].as_str().unwrap())
            .into_iter()
            .map(|i| serde_json::json!([i.kind.as_str(), i.text]))
            .collect();
        if Value::Array(got.clone()) != case["identifiers"] {
            failures.push(format!(
                "{}\n  got      {}\n  expected {}",
                case["name"],
                Value::Array(got),
                case["identifiers"]
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_table_of_survival() {
    for case in table()["survival"].as_array().unwrap() {
        let ids: Vec<&str> = case["identifiers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_str().unwrap())
            .collect();
        let got = occurring(&ids, case["text"].as_str().unwrap());
        assert_eq!(serde_json::json!(got), case["found"], "{}", case["text"]);
    }
}

#[test]
fn data_gives_nothing_and_costs_little() {
    for unit in [
        "a",
        "A1",
        "a_",
        "a/",
        "::",
        "a.b",
        "@a",
        "(",
        "http://",
        "\\",
        "#1",
        "é",
        "exit code 1 ",
    ] {
        let text = unit.repeat(400_000 / unit.len());
        let found = extract(&text);
        assert!(found.iter().all(|i| i.text.len() <= MAX_URL_BYTES), "{unit:?}");
    }
    let blob = format!("data:image/png;base64,{}", "iVBORw0KGgoAAAANSUhEUgAA+/".repeat(4000));
    assert_eq!(extract(&blob), []);
}

#[test]
fn kinds_have_distinct_names() {
    let names: std::collections::HashSet<_> = IdentifierKind::ALL.iter().map(|k| k.as_str()).collect();
    assert_eq!(names.len(), IdentifierKind::ALL.len());
}

/// The obvious way: look for each identifier at each place.
fn occurring_naively(identifiers: &[String], text: &str) -> Vec<bool> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    identifiers
        .iter()
        .map(|id| {
            !id.is_empty()
                && text
                    .char_indices()
                    .filter(|&(at, _)| text[at..].starts_with(id.as_str()))
                    .any(|(at, _)| {
                        let left: Vec<char> = text[..at].chars().rev().collect();
                        let right: Vec<char> = text[at + id.len()..].chars().collect();
                        let url = id.contains("://");
                        let joined = |side: &[char], signs: &str| {
                            if url && side.first() == Some(&'_') {
                                return side.iter().find(|&&c| c != '_').is_some_and(|&c| word(c));
                            }
                            side.first().is_some_and(|&c| word(c))
                                || side.first().is_some_and(|&c| signs.contains(c))
                                    && side.get(1).is_some_and(|&c| word(c))
                        };
                        let number = id.starts_with(|c: char| c.is_ascii_digit());
                        let dotted =
                            number && left.first() == Some(&'.') && left.get(1).is_some_and(char::is_ascii_digit);
                        (!id.starts_with(word) || !joined(&left, "-") && !dotted)
                            && (!id.ends_with(word) || !joined(&right, "-."))
                    })
        })
        .collect()
}

proptest! {
    #[test]
    fn any_text_is_scanned(text in "\\PC{0,200}") {
        for found in extract(&text) {
            let name = found.text.trim_end_matches("()");
            prop_assert!(text.contains(name));
        }
    }

    #[test]
    fn dense_text_is_scanned(text in "[a-cA-C0-2_./:@#$%+~()\\\\ \n-]{0,120}") {
        for found in extract(&text) {
            prop_assert!(text.contains(found.text.trim_end_matches("()")));
        }
    }

    #[test]
    fn what_is_extracted_survives_in_its_own_text(text in "([a-z]{1,6}[_/.]?[a-zA-Z0-9]{1,8}[ ,:]){0,20}") {
        let ids: Vec<String> = extract(&text).into_iter().map(|i| i.text).collect();
        prop_assert!(occurring(&ids, &text).into_iter().all(|found| found), "{ids:?}");
    }

    #[test]
    fn what_dense_text_gives_survives_in_it(text in "[a-cA-C0-2_./:@#$%+~() \n-]{0,80}") {
        let ids: Vec<String> = extract(&text).into_iter().map(|i| i.text).collect();
        let lost: Vec<_> = ids.iter().zip(occurring(&ids, &text)).filter(|(_, found)| !found).collect();
        prop_assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn around_a_tail_is_before_it_and_behind_it(
        texts in prop::collection::vec("[a-c_/.0-2 é—]{0,30}", 0..6),
        names in prop::collection::vec("[a-c_/.0-2é]{0,5}", 0..6),
        tail in 0_usize..7,
    ) {
        let read = |texts: &[String]| {
            let messages: Vec<_> =
                texts.iter().map(|text| serde_json::json!({"role": "user", "content": text})).collect();
            let body = serde_json::to_vec(&messages).unwrap();
            Transcript::from_json(Arc::new(body), Some("openai.chat")).unwrap()
        };
        let (before, behind) = texts.split_at(tail.min(texts.len()));
        let alone = |texts: &[String]| around_tail(&names, &read(texts), texts.len()).0;
        let (before, behind) = (alone(before), alone(behind));
        let only_behind = before.iter().zip(behind).map(|(before, behind)| behind && !before).collect();
        prop_assert_eq!(around_tail(&names, &read(&texts), tail), (before, only_behind));
        let joined = |texts: &[String]| {
            let each: Vec<_> = texts.iter().map(|text| occurring_naively(&names, text)).collect();
            (0..names.len()).map(|k| each.iter().any(|found| found[k])).collect::<Vec<bool>>()
        };
        prop_assert_eq!(alone(&texts), joined(&texts));
    }

    #[test]
    fn texts_one_by_one_are_one_list(texts in prop::collection::vec("[a-z_/.0-9 ]{0,40}", 0..5)) {
        let mut extractor = Extractor::new();
        for text in &texts {
            extractor.feed(text);
        }
        prop_assert_eq!(extractor.finish(), extract(&texts.join("\n")));
    }

    #[test]
    fn texts_one_by_one_give_what_each_gives_alone(
        texts in prop::collection::vec("[a-cA-C0-2_./:@#$%+~() \n-]{0,40}", 0..6),
    ) {
        let mut extractor = Extractor::new();
        let mut alone = Vec::new();
        for text in &texts {
            extractor.feed(text);
            for found in extract(text) {
                if !alone.iter().any(|known: &Identifier| known.text == found.text) {
                    alone.push(found);
                }
            }
        }
        prop_assert_eq!(extractor.finish(), alone);
    }

    #[test]
    fn many_identifiers_of_one_word_are_found(
        ids in prop::collection::vec("(ab|é)?[._/#-]{0,3}(ab|1)?", 0..40), text in "((ab|é|1)[._/# -]{0,2}){0,20}",
    ) {
        prop_assert_eq!(occurring(&ids, &text), occurring_naively(&ids, &text));
    }

    #[test]
    fn survival_is_what_the_obvious_search_finds(
        ids in prop::collection::vec("[ab1._/#-]{0,4}", 0..8), text in "[ab1._/# -]{0,40}",
    ) {
        prop_assert_eq!(occurring(&ids, &text), occurring_naively(&ids, &text));
    }
}
