//! The tables `tests/vectors/scan.json`, `splits.json` and `layout.json`, which pytest reads as well.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where its table or helper is wrong"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use turnfold_core::Transcript;
use turnfold_core::findings::{CHECKS, Finding, Severity, scan_after};
use turnfold_core::layout::layout;
use turnfold_core::pairs::{BlockRef, Pair, PairCheck, ScanOptions, check, pair};
use turnfold_core::splice::{Part, splice};
use turnfold_core::splits::{Blocker, Keep, find_split_by, splits};

fn table(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/vectors")
        .join(name);
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut table: Value = serde_json::from_slice(&text).unwrap();
    serde_json::from_value(table["cases"].take()).unwrap()
}

fn transcript(case: &Value) -> Transcript {
    transcript_in(case, "body")
}

fn transcript_in(case: &Value, field: &str) -> Transcript {
    let text = case[format!("{field}_text")].as_str().map(str::to_owned);
    let body = text.unwrap_or_else(|| case[field].to_string());
    Transcript::from_json(Arc::new(body.into_bytes()), case["format"].as_str()).unwrap()
}

fn named(pair: &Value) -> (String, String) {
    let text = |index: usize| pair[index].as_str().unwrap().to_owned();
    (text(0), text(1))
}

fn options(case: &Value) -> ScanOptions {
    let given = &case["options"];
    let ids = given["pending_ids"].as_array().into_iter().flatten();
    ScanOptions {
        pending_ids: ids.map(|id| id.as_str().unwrap().to_owned()).collect(),
        thinking: given["thinking"].as_bool(),
        strict_alternation: given["strict_alternation"] == true,
        closed: given["closed"] == true,
        signatures: given["signatures"].as_bool(),
        reasoning_pairs: given["reasoning_pairs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(named)
            .collect(),
        window_tokens: given["window_tokens"].as_u64(),
        severities: given["severities"]
            .as_array()
            .into_iter()
            .flatten()
            .map(named)
            .map(|(name, severity)| (name, Severity::by_name(&severity).unwrap()))
            .collect(),
    }
}

fn shown(finding: &Finding) -> Value {
    json!({
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity.as_str(),
        "message": finding.message,
        "block": finding.block,
        "call_id": finding.call_id,
        "path": finding.path,
    })
}

fn places(refs: &[BlockRef]) -> Value {
    refs.iter().map(|at| json!([at.message, at.block])).collect()
}

fn pairs(pairs: &[Pair]) -> Value {
    let one = |pair: &Pair| {
        json!([
            pair.call.message,
            pair.call.block,
            pair.result.message,
            pair.result.block,
            pair.misplaced
        ])
    };
    pairs.iter().map(one).collect()
}

#[test]
fn scans_find_what_the_table_says() {
    for case in table("scan.json") {
        let name = &case["name"];
        let before = case.get("before").map(|_| transcript_in(&case, "before"));
        let found = scan_after(&transcript(&case), before.as_ref(), &options(&case));
        let findings: Vec<Value> = found.findings.iter().map(shown).collect();
        assert_eq!(Value::from(findings), case["findings"], "{name}");
        for finding in &found.findings {
            let answer = [
                "; the provider answers: ",
                "; some models or servers answer: ",
                "; a provider may answer: ",
            ];
            assert!(
                answer.iter().any(|words| finding.text.contains(words)),
                "{name}: {}",
                finding.text
            );
        }
        let got = [
            ("pairs", pairs(&found.pairs.pairs)),
            ("orphan_results", places(&found.pairs.orphan_results)),
            ("pending", places(&found.pairs.pending)),
            ("abandoned", places(&found.pairs.abandoned)),
            ("duplicate_call_ids", json!(found.pairs.duplicate_call_ids)),
            ("duplicate_result_ids", json!(found.pairs.duplicate_result_ids)),
        ];
        for (key, value) in got {
            assert!(case[key].is_null() || case[key] == value, "{name}: {key} is {value}");
        }
    }
}

/// The short check of each case says what the table of pairs says, made at once and message after message.
#[test]
fn checks_say_what_pairs_are() {
    for case in table("scan.json") {
        let whole = transcript(&case);
        let mut grown = splice(&whole, &[Part::Keep(0..0)]).unwrap();
        is_checked(&case["name"], &whole);
        for message in whole.messages() {
            is_checked(&case["name"], &grown);
            // A lone string in the place of the list is no message.
            let Ok(longer) = grown.append(Arc::new(message.bytes().to_vec())) else {
                break;
            };
            grown = longer;
        }
        is_checked(&case["name"], &grown);
    }
}

fn is_checked(name: &Value, read: &Transcript) {
    let (short, table) = (check(read), pair(read, &ScanOptions::default()));
    let misplaced: Vec<Pair> = table.pairs.iter().copied().filter(|pair| pair.misplaced).collect();
    let expected = PairCheck {
        pairs: table.pairs.len(),
        pending: table.pending,
        abandoned: table.abandoned,
        orphan_results: table.orphan_results,
        repeated_results: table.repeated_results,
        misplaced,
    };
    assert_eq!(short, &expected, "{name}, {} messages", read.len());
}

#[test]
fn every_code_has_a_file_of_its_name_and_a_dirty_and_a_clean_vector_in_a_format_that_asks_for_it() {
    let mut dirty: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut clean: BTreeSet<String> = BTreeSet::new();
    for case in table("scan.json") {
        let format = case["format"].as_str().unwrap().to_owned();
        let codes = case["findings"].as_array().unwrap().iter();
        let codes: Vec<String> = codes
            .map(|finding| finding["code"].as_str().unwrap().to_owned())
            .collect();
        if codes.is_empty() {
            clean.insert(format);
        } else {
            for code in codes {
                dirty.entry(code).or_default().insert(format.clone());
            }
        }
    }
    let mut codes: Vec<&str> = CHECKS.iter().map(|check| check.code).collect();
    assert_eq!(codes, dirty.keys().collect::<Vec<_>>());
    assert!(
        dirty
            .values()
            .all(|formats| formats.iter().any(|format| clean.contains(format)))
    );
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/findings");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|stem| stem != "mod")
        .collect();
    files.sort();
    codes.sort_unstable();
    assert_eq!(codes, files);
}

fn codes(blockers: &[Blocker]) -> Value {
    blockers.iter().map(|blocker| blocker.code).collect()
}

#[test]
fn cuts_are_legal_where_the_table_says() {
    for case in table("splits.json") {
        let name = &case["name"];
        let t = transcript(&case);
        let cuts = splits(&t, &options(&case));
        assert_eq!(cuts.iter().map(Value::from).collect::<Value>(), case["legal"], "{name}");
        let mut barred = serde_json::Map::new();
        for index in cuts.lowest()..=cuts.highest() {
            let why = cuts.why_not(&t, index);
            assert_eq!(why.is_empty(), cuts.contains(index), "{name}: {index}");
            for blocker in &why {
                assert!((blocker.start..blocker.stop).contains(&index), "{name}: {blocker:?}");
                assert!(
                    blocker.text.starts_with(&format!("a cut at {index} ")),
                    "{name}: {blocker:?}"
                );
            }
            if !why.is_empty() {
                barred.insert(index.to_string(), codes(&why));
            }
        }
        assert_eq!(Value::from(barred), case["barred"], "{name}");
        for choice in case["choices"].as_array().into_iter().flatten() {
            let count = |unit: &str| choice["keep"][unit].as_u64().map(|n| usize::try_from(n).unwrap());
            let keep = count("messages")
                .map(Keep::Messages)
                .or(count("turns").map(Keep::Turns))
                .unwrap();
            let chosen = find_split_by(&t, &cuts, keep, |_| unreachable!()).unwrap();
            let got = json!({
                "keep": choice["keep"],
                "index": chosen.index,
                "requested": chosen.requested,
                "moved_by": codes(&chosen.moved_by),
            });
            assert_eq!(&got, choice, "{name}");
        }
    }
}

#[test]
fn a_cut_outside_says_so() {
    let body = br#"[{"role":"system","content":"s"},{"role":"user","content":"u"}]"#;
    let t = Transcript::from_json(Arc::new(body.to_vec()), Some("openai.chat")).unwrap();
    let cuts = splits(&t, &ScanOptions::default());
    for (index, start, stop) in [(0, 0, 1), (3, 3, 4), (9, 3, 10)] {
        let why = cuts.why_not(&t, index);
        assert_eq!(why.len(), 1);
        assert_eq!((why[0].code, why[0].start, why[0].stop), ("outside", start, stop));
    }
    assert!(cuts.why_not(&t, 2).is_empty());
    assert_eq!(cuts.at_or_before(0), None);
    assert_eq!(cuts.at_or_after(3), None);
}

#[test]
fn parts_are_where_the_table_says() {
    for case in table("layout.json") {
        let name = &case["name"];
        let found = layout(&transcript(&case), &options(&case));
        let ends = |range: &Range<usize>| json!([range.start, range.end]);
        let part = |range: &Range<usize>| if range.is_empty() { Value::Null } else { ends(range) };
        assert_eq!(json!(found.turns), case["turns"], "{name}");
        assert_eq!(part(&found.folded), case["folded"], "{name}");
        assert_eq!(part(&found.barrier), case["barrier"], "{name}");
        assert_eq!(part(&found.reasoned_loop), case["reasoned_loop"], "{name}");
        let lasting: Vec<Value> = found.lasting.iter().map(ends).collect();
        let expected = case["lasting"].as_array().cloned().unwrap_or_default();
        assert_eq!(lasting, expected, "{name}");
    }
}
