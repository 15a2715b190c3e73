//! Reading a 1 MB request body, and metering it. Each bench checks its answer.

#![expect(clippy::expect_used, reason = "a bench whose input does not read has no answer")]

use std::fmt::Write as _;
use std::sync::Arc;

use turnfold_core::json::Document;
use turnfold_core::{Source, Transcript};
use turnfold_tokens::Encoding;

fn main() {
    divan::main();
}

/// A request of about 1 MB: a system message, then calls and results in turn, text in JSON in JSON.
fn body() -> Vec<u8> {
    let words = "the file path/to/module.py line def return self \\n\\t \\\"quoted\\\" value None error: in src ";
    let mut body = String::from(r#"{"model":"gpt-4o","messages":[{"role":"system","content":"You are an agent."}"#);
    for k in 0..900 {
        let _ = write!(
            body,
            r#", {{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{k}","type":"function","function":{{"name":"read_file","arguments":"{{\"path\": \"/src/{k}.py\"}}"}}}}]}}"#
        );
        let _ = write!(
            body,
            r#", {{"role":"tool","tool_call_id":"call_{k}","content":"{}"}}"#,
            words.repeat(9)
        );
    }
    body.push_str("]}");
    body.into_bytes()
}

#[divan::bench]
fn tape(bencher: divan::Bencher) {
    let body = body();
    bencher
        .counter(divan::counter::BytesCount::of_slice(&body))
        .bench(|| assert!(Document::parse(&body).is_ok()));
}

#[divan::bench(args = [Some("openai.chat"), None])]
fn transcript(bencher: divan::Bencher, format: Option<&str>) {
    let body: Source = Arc::new(body());
    bencher
        .counter(divan::counter::BytesCount::of_slice((*body).as_ref()))
        .bench(|| {
            let read = Transcript::from_json(Arc::clone(&body), format).expect("a transcript");
            assert_eq!(read.len(), 1801);
            read
        });
}

#[divan::bench]
fn to_json(bencher: divan::Bencher) {
    let body: Source = Arc::new(body());
    let read = Transcript::from_json(Arc::clone(&body), None).expect("a transcript");
    bencher.bench(|| assert_eq!(read.to_json(), (*body).as_ref()));
}

#[divan::bench]
fn read_and_meter(bencher: divan::Bencher) {
    let body: Source = Arc::new(body());
    let expected = Transcript::from_json(Arc::clone(&body), None)
        .expect("a transcript")
        .tokens(Encoding::O200kBase, None);
    bencher
        .counter(divan::counter::BytesCount::of_slice((*body).as_ref()))
        .bench(|| {
            let read = Transcript::from_json(Arc::clone(&body), None).expect("a transcript");
            assert_eq!(read.tokens(Encoding::O200kBase, None), expected);
        });
}

#[divan::bench]
fn append_and_meter(bencher: divan::Bencher) {
    let body: Source = Arc::new(body());
    let read = Transcript::from_json(Arc::clone(&body), None).expect("a transcript");
    let before = read.tokens(Encoding::O200kBase, None);
    let message: Source = Arc::new(br#"{"role":"user","content":"And now?"}"#.to_vec());
    bencher.bench(|| {
        let longer = read.append(Arc::clone(&message)).expect("a message");
        assert_eq!(longer.tokens(Encoding::O200kBase, None).n, before.n + 7);
    });
}
