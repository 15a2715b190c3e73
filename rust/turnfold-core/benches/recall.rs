//! Metering a 1 MB request body whose messages were all counted in others, in an order that none of those had.

#![expect(clippy::expect_used, reason = "a bench whose input does not read has no answer")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use turnfold_core::meter::TokenCount;
use turnfold_core::{Source, Transcript, pairs};
use turnfold_tokens::Encoding;

const ROUNDS: usize = 200;

fn main() {
    divan::main();
}

/// Rounds of five messages: a question, two calls, both results, an answer.
fn rounds() -> Vec<String> {
    let words = "the file path/to/module.py line def return self \\n\\t \\\"quoted\\\" value None error: in src ";
    let call = |id: &str, k: usize| {
        format!(
            r#"{{"id": "{id}", "type": "function", "function": {{"name": "read_file", "arguments": "{{\"path\": \"src/{k}.py\"}}"}}}}"#
        )
    };
    let result = |id: &str, k: usize| {
        format!(
            r#"{{"role": "tool", "tool_call_id": "{id}", "content": "{k} {id} {}"}}"#,
            words.repeat(23)
        )
    };
    (0..ROUNDS)
        .map(|k| {
            let (first, second) = (format!("call_{k}_a"), format!("call_{k}_b"));
            format!(
                r#"{{"role": "user", "content": "Step {k}: what does this part do?"}}, {{"role": "assistant", "content": null, "tool_calls": [{}, {}]}}, {}, {}, {{"role": "assistant", "content": "{k} {}"}}"#,
                call(&first, k),
                call(&second, k),
                result(&first, k),
                result(&second, k),
                words.repeat(5)
            )
        })
        .collect()
}

/// The rounds from `start` on, then those before it backwards.
fn body(rounds: &[String], start: usize) -> Source {
    let (before, after) = rounds.split_at(start);
    let turned: Vec<&str> = after.iter().chain(before.iter().rev()).map(String::as_str).collect();
    Arc::new(format!(r#"{{"model": "gpt-4o", "messages": [{}]}}"#, turned.join(", ")).into_bytes())
}

fn meter(body: Source) -> (TokenCount, usize) {
    let read = Transcript::from_json(body, None).expect("a transcript");
    let check = pairs::check(&read);
    assert!(check.orphan_results.is_empty() && check.abandoned.is_empty());
    (read.tokens(Encoding::O200kBase, None), check.pairs)
}

#[divan::bench]
fn another_order(bencher: divan::Bencher) {
    let rounds = rounds();
    let answer = meter(body(&rounds, 0));
    let next = AtomicUsize::new(1);
    bencher
        .with_inputs(|| body(&rounds, next.fetch_add(1, Ordering::Relaxed) % ROUNDS))
        .bench_values(|body| assert_eq!(meter(body), answer));
}
