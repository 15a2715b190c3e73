//! Pairs, findings and legal cuts of a request body of 1,001 messages, and of one twice as long. Each bench checks its
//! answer; that the second costs twice the first, not four times, is read from the two lines.

#![allow(clippy::expect_used, reason = "a bench stops where its input is wrong")]

use std::fmt::Write as _;
use std::sync::Arc;

use turnfold_core::Transcript;
use turnfold_core::findings::scan;
use turnfold_core::pairs::{ScanOptions, pair};
use turnfold_core::splits::{Keep, find_split_by, splits};

fn main() {
    divan::main();
}

/// Rounds of a question, two parallel calls, their results out of order, and an answer: five messages each, after one
/// message of instructions.
fn transcript(rounds: usize) -> Transcript {
    let filler = "the quick result of a longer tool run, line after line ".repeat(16);
    let mut body = String::from(r#"{"model":"gpt-4o","messages":[{"role":"system","content":"You are an agent."}"#);
    for k in 0..rounds {
        let _ = write!(
            body,
            r#",{{"role":"user","content":"Question {k}?"}},{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{k}_a","type":"function","function":{{"name":"read_file","arguments":"{{}}"}}}},{{"id":"call_{k}_b","type":"function","function":{{"name":"shell","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{k}_b","content":"{filler}"}},{{"role":"tool","tool_call_id":"call_{k}_a","content":"{filler}"}},{{"role":"assistant","content":"Answer {k}: {filler}"}}"#
        );
    }
    body.push_str("]}");
    Transcript::from_json(Arc::new(body.into_bytes()), None).expect("a transcript")
}

#[divan::bench(args = [200, 400])]
fn pairs(bencher: divan::Bencher, rounds: usize) {
    let (transcript, options) = (transcript(rounds), ScanOptions::default());
    bencher.bench(|| assert_eq!(pair(&transcript, &options).pairs.len(), 2 * rounds));
}

#[divan::bench(args = [200, 400])]
fn findings(bencher: divan::Bencher, rounds: usize) {
    let (transcript, options) = (transcript(rounds), ScanOptions::default());
    bencher.bench(|| {
        let found = scan(&transcript, &options);
        assert!(found.ok());
        assert_eq!(found.findings.len(), 1, "the model speaks last");
    });
}

#[divan::bench(args = [200, 400])]
fn cuts(bencher: divan::Bencher, rounds: usize) {
    let (transcript, options) = (transcript(rounds), ScanOptions::default());
    bencher.bench(|| {
        let cuts = splits(&transcript, &options);
        assert_eq!(cuts.iter().len(), 3 * rounds + 1);
        let chosen = find_split_by(&transcript, &cuts, Keep::Messages(7), |_| 0).expect("a cut");
        assert_eq!((chosen.requested, chosen.index), (5 * rounds - 6, 5 * rounds - 8));
    });
}
