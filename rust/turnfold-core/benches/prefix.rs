//! Comparing and splicing 1 MB request bodies. Each bench checks its answer.

#![allow(clippy::panic, reason = "a bench stops where it is wrong")]

use std::fmt::Write as _;
use std::iter::once;
use std::sync::Arc;

use turnfold_core::fingerprint::fingerprint;
use turnfold_core::identifiers::{extract_messages, occurring};
use turnfold_core::prefix::compare;
use turnfold_core::splice::{Part, splice};
use turnfold_core::{Source, Transcript};
use turnfold_tokens::Encoding;

fn main() {
    divan::main();
}

const CALLS: usize = 900;

/// A request of about 1 MB: calls and results in turn, then one more message.
fn body(last: &str) -> Vec<u8> {
    let words = "the file path/to/module.py line def return self \\n\\t \\\"quoted\\\" value None error: in src ";
    let mut body = String::from(r#"{"model":"gpt-4o","messages":[{"role":"system","content":"You are an agent."}"#);
    for k in 0..CALLS {
        let _ = write!(
            body,
            r#", {{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{k}","type":"function","function":{{"name":"read_file","arguments":"{{\"path\": \"/src/{k}.py\"}}"}}}}]}}, {{"role":"tool","tool_call_id":"call_{k}","content":"{}"}}"#,
            words.repeat(9)
        );
    }
    let _ = write!(body, r#", {{"role":"user","content":"{last}"}}]}}"#);
    body.into_bytes()
}

fn read(bytes: Vec<u8>) -> Transcript {
    let source: Source = Arc::new(bytes);
    Transcript::from_json(source, Some("openai.chat")).unwrap_or_else(|error| panic!("{error}"))
}

/// Two readings that differ in the last message; both counted before.
#[divan::bench]
fn compare_bodies_that_differ_at_the_end(bencher: divan::Bencher) {
    let bytes = body("one thing");
    let (before, after) = (read(bytes.clone()), read(body("one other")));
    before.tokens(Encoding::O200kBase, None);
    bencher.counter(divan::counter::BytesCount::of_slice(&bytes)).bench(|| {
        let report = compare(&before, &after, Encoding::O200kBase);
        assert_eq!(report.messages, 2 * CALLS + 1);
        assert_eq!(
            report.first_difference.map(|d| d.path).as_deref(),
            Some("messages[1801].content")
        );
    });
}

/// A transcript and the same with a message appended: the messages are shared, not compared.
#[divan::bench]
fn compare_with_an_appended_message(bencher: divan::Bencher) {
    let before = read(body("one"));
    let message: Source = Arc::new(br#"{"role":"assistant","content":"two"}"#.to_vec());
    let after = before.append(message).unwrap_or_else(|error| panic!("{error}"));
    before.tokens(Encoding::O200kBase, None);
    bencher.bench(|| assert!(compare(&before, &after, Encoding::O200kBase).before_is_prefix));
}

#[divan::bench]
fn splice_the_second_half(bencher: divan::Bencher) {
    let whole = read(body("one"));
    whole.tokens(Encoding::O200kBase, None);
    let summary = whole
        .format()
        .text_message(turnfold_core::Role::User, "What happened so far.");
    let parts = [
        Part::Keep(0..1),
        Part::Insert(summary),
        Part::Keep(CALLS + 1..whole.len()),
    ];
    bencher.bench(|| {
        let half = splice(&whole, &parts).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(half.len(), CALLS + 3);
        half
    });
}

#[divan::bench]
fn fingerprint_of_a_body(bencher: divan::Bencher) {
    let bytes = body("one");
    let transcript = read(bytes.clone());
    bencher
        .counter(divan::counter::BytesCount::of_slice(&bytes))
        .bench(|| assert_ne!(fingerprint(&transcript), 0));
}

#[divan::bench]
fn identifiers_of_a_body(bencher: divan::Bencher) {
    let bytes = body("one");
    let transcript = read(bytes.clone());
    bencher
        .counter(divan::counter::BytesCount::of_slice(&bytes))
        .bench(|| assert!(extract_messages(&transcript, once(0..transcript.len())).len() > CALLS));
}

/// 5,000 identifiers looked for in 1 MB.
#[divan::bench]
fn survival_of_identifiers(bencher: divan::Bencher) {
    let text = String::from_utf8_lossy(&body("one")).into_owned();
    let ids: Vec<String> = (0..5000).map(|k| format!("/src/{k}.py")).collect();
    bencher
        .counter(divan::counter::BytesCount::of_str(&text))
        .bench(|| assert_eq!(occurring(&ids, &text).iter().filter(|&&found| found).count(), CALLS));
}
