//! Inputs on which work that grows faster than the input would not end: each test makes the worst case of one structure
//! large, and checks the answer.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where its table or helper is wrong"
)]

use std::fmt::Write as _;
use std::sync::Arc;

use turnfold_core::Transcript;
use turnfold_core::findings::scan;
use turnfold_core::groups::groups;
use turnfold_core::pairs::{ScanOptions, pair};
use turnfold_core::repair::{RepairOptions, Repaired, Unanswered, repair};
use turnfold_core::splits::{Keep, find_split, splits};
use turnfold_tokens::Encoding;

const MANY: usize = 60_000;

fn read(format: &str, body: String) -> Transcript {
    Transcript::from_json(Arc::new(body.into_bytes()), Some(format)).unwrap()
}

fn chat(messages: impl Iterator<Item = String>) -> Transcript {
    let list: Vec<String> = messages.collect();
    read("openai.chat", format!("[{}]", list.join(",")))
}

fn call(id: &str) -> String {
    format!(r#"{{"role":"assistant","tool_calls":[{{"id":"{id}","function":{{"name":"f","arguments":""}}}}]}}"#)
}

fn result(id: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{id}","content":""}}"#)
}

#[test]
fn one_id_open_many_times_answers_backwards() {
    let t = chat((0..MANY).map(|_| call("x")).chain((0..MANY).map(|_| result("x"))));
    let table = pair(&t, &ScanOptions::default());
    assert_eq!(table.pairs.len(), MANY);
    let nested = |k: usize| table.pairs[k].call.message == MANY - 1 - k && table.pairs[k].result.message == MANY + k;
    assert!((0..MANY).all(nested));
    let cuts = splits(&t, &ScanOptions::default());
    assert_eq!(cuts.iter().collect::<Vec<_>>(), [0, 2 * MANY]);
    assert_eq!(cuts.why_not(&t, MANY).len(), MANY);
    assert_eq!(groups(&t, &table), vec![0..2 * MANY]);
}

#[test]
fn one_id_many_times_in_one_message_answers_in_order() {
    let mut body = String::from(r#"[{"role":"user","content":"go"},{"role":"assistant","content":["#);
    for part in [
        r#"{"type":"tool_use","id":"x","name":"f","input":{}}"#,
        r#"{"type":"tool_result","tool_use_id":"x","content":""}"#,
    ] {
        let items = vec![part; MANY].join(",");
        let _ = write!(body, "{items}");
        if part.contains("tool_use\"") {
            body.push_str(r#"]},{"role":"user","content":["#);
        }
    }
    body.push_str("]}]");
    let t = read("anthropic.messages", body);
    let found = scan(&t, &ScanOptions::default());
    assert_eq!(found.pairs.pairs.len(), MANY);
    assert!(
        found
            .pairs
            .pairs
            .iter()
            .enumerate()
            .all(|(k, p)| p.call.block == k && p.result.block == k && !p.misplaced)
    );
    assert_eq!(found.findings.len(), MANY - 1, "each id but the first is taken");
}

#[test]
fn every_result_an_orphan_and_every_call_abandoned() {
    let t = chat((0..MANY).flat_map(|k| [result(&format!("r{k}")), call(&format!("c{k}"))]));
    let found = scan(
        &t,
        &ScanOptions {
            closed: true,
            ..ScanOptions::default()
        },
    );
    assert_eq!(found.pairs.orphan_results.len(), MANY);
    assert_eq!(found.pairs.abandoned.len(), MANY);
    assert!(found.findings.len() >= 2 * MANY);
    assert_eq!(
        splits(&t, &ScanOptions::default()).iter().len(),
        2 * MANY,
        "the last call is awaited"
    );
}

#[test]
fn every_call_named_as_pending() {
    let pending_ids = (0..MANY).map(|k| format!("c{k}")).collect();
    let t = chat((0..MANY).map(|k| call(&format!("c{k}"))));
    let options = ScanOptions {
        pending_ids,
        ..ScanOptions::default()
    };
    assert_eq!(pair(&t, &options).pending.len(), MANY);
    let cuts = splits(&t, &options);
    assert_eq!(cuts.iter().collect::<Vec<_>>(), [0]);
    assert_eq!(cuts.why_not(&t, 1).len(), 1);
}

#[test]
fn a_question_about_every_index_of_a_long_transcript() {
    let t = chat((0..MANY).flat_map(|k| [call(&format!("c{k}")), result(&format!("c{k}"))]));
    let cuts = splits(&t, &ScanOptions::default());
    for index in 0..=2 * MANY {
        assert_eq!(cuts.why_not(&t, index).len(), index % 2);
        assert_eq!(cuts.at_or_before(index), Some(index - index % 2));
        assert_eq!(cuts.at_or_after(index), Some(index + index % 2));
    }
}

#[test]
fn messages_appended_one_by_one() {
    let mut t = read("openai.chat", String::from(r#"[{"role":"user","content":"go"}]"#));
    for k in 0..1_000 {
        for message in [call(&format!("c{k}")), result(&format!("c{k}"))] {
            t = t.append(Arc::new(message.into_bytes())).unwrap();
        }
    }
    let cuts = splits(&t, &ScanOptions::default());
    assert_eq!(cuts.iter().len(), 1_002);
    let all = t.tokens(Encoding::O200kBase, Some(0..t.len())).hi;
    let each = t.tokens(Encoding::O200kBase, Some(1_999..2_001)).hi;
    for (limit, index) in [(0, 2_001), (each - 1, 2_001), (each, 1_999), (all, 0)] {
        let chosen = find_split(&t, &cuts, Keep::Tokens(limit), Encoding::O200kBase).unwrap();
        assert_eq!(chosen.index, index, "{limit}");
        assert!(t.tokens(Encoding::O200kBase, Some(chosen.index..t.len())).hi <= limit);
    }
}

fn repaired(t: &Transcript) -> Repaired {
    let repaired = repair(t, &RepairOptions::default()).unwrap();
    let again = repair(&repaired.transcript, &RepairOptions::default()).unwrap();
    assert_eq!(again.repairs, [], "twice is once");
    repaired
}

#[test]
fn repairs_of_everything_at_once() {
    let user = || r#"{"role":"user","content":"and?"}"#.to_owned();
    // A result without a call, a call without a result, and a call whose result comes after the user's next word.
    let steps = (0..MANY).flat_map(|k| {
        [
            result(&format!("gone{k}")),
            call(&format!("lost{k}")),
            user(),
            call(&format!("c{k}")),
            user(),
            result(&format!("c{k}")),
        ]
    });
    let t = chat(std::iter::once(user()).chain(steps));
    let repaired = repaired(&t);
    assert_eq!(repaired.repairs.len(), 3 * MANY);
    assert_eq!(repaired.transcript.len(), 1 + 6 * MANY);
    assert!(scan(&repaired.transcript, &ScanOptions::default()).ok());
}

#[test]
fn repairs_of_results_that_all_come_at_the_end() {
    let user = || r#"{"role":"user","content":"and?"}"#.to_owned();
    let calls = (0..MANY).flat_map(|k| [call(&format!("c{k}")), user()]);
    let t = chat(
        std::iter::once(user())
            .chain(calls)
            .chain((0..MANY).map(|k| result(&format!("c{k}")))),
    );
    let repaired = repaired(&t);
    assert_eq!(repaired.repairs.len(), MANY);
    assert_eq!(repaired.kept.iter().filter(|kept| kept.is_some()).count(), t.len());
    assert!(scan(&repaired.transcript, &ScanOptions::default()).ok());
}

#[test]
fn repairs_of_one_id_for_all_calls() {
    let call = r#"{"type":"tool_use","id":"x","name":"f","input":{}}"#;
    let result = r#"{"type":"tool_result","tool_use_id":"x","content":"ok"}"#;
    let list = |part: &str| vec![part; MANY].join(",");
    let t = read(
        "anthropic.messages",
        format!(
            r#"[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{}]}},{{"role":"user","content":[{},{}]}}]"#,
            list(call),
            list(r#"{"type":"text","text":" "}"#),
            list(result)
        ),
    );
    let repaired = repaired(&t);
    assert_eq!(
        repaired.repairs.len(),
        2 * (MANY - 1) + 2 * MANY,
        "ids, blank texts, results behind them"
    );
    assert!(scan(&repaired.transcript, &ScanOptions::default()).ok());
}

#[test]
fn repairs_of_a_message_of_nothing_but_calls_that_nobody_answered() {
    let calls: Vec<String> = (0..MANY)
        .map(|k| format!(r#"{{"type":"tool_use","id":"c{k}","name":"f","input":{{}}}}"#))
        .collect();
    let t = read(
        "anthropic.messages",
        format!(
            r#"[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{}]}},{{"role":"user","content":"well?"}}]"#,
            calls.join(",")
        ),
    );
    let made_up = repaired(&t);
    assert_eq!(made_up.repairs.len(), MANY);
    assert_eq!(made_up.transcript.message(2).unwrap().blocks().len(), MANY + 1);
    let options = RepairOptions {
        unanswered: Unanswered::Drop,
        ..RepairOptions::default()
    };
    let dropped = repair(&t, &options).unwrap();
    assert_eq!(dropped.transcript.len(), 2);
    assert_eq!(dropped.kept, [Some(0), Some(2)]);
}
