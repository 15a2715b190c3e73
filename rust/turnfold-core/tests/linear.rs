//! Scanning, cutting and grouping grow with the messages and no faster: four times the messages, compared.
//!
//! What is compared is the ratio of the shortest of several runs, in time that the thread itself ran where the system
//! tells. Linear work gives four, quadratic work sixteen; the bound lies between, far from both.

#![allow(clippy::unwrap_used, reason = "a test stops where its table or helper is wrong")]

use std::sync::Arc;
use std::sync::LazyLock;
use std::time::Instant;

use turnfold_core::Transcript;
use turnfold_core::findings::scan;
use turnfold_core::formats::ALL;
use turnfold_core::groups::groups;
use turnfold_core::pairs::{ScanOptions, pair};
use turnfold_core::splits::splits;

/// Parallel calls of one step of the model.
const CALLS: usize = 10;

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

fn each_call(make: impl Fn(usize) -> String) -> String {
    joined((0..CALLS).map(make))
}

/// One step: the messages, or items, of a batch of calls and of its results. `k` tells the steps apart.
fn step(format: &str, k: usize) -> String {
    match format {
        "openai.chat" => {
            let calls = each_call(|c| {
                format!(r#"{{"id":"c{k}_{c}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#)
            });
            let results = each_call(|c| format!(r#"{{"role":"tool","tool_call_id":"c{k}_{c}","content":"r"}}"#));
            format!(r#"{{"role":"assistant","content":null,"tool_calls":[{calls}]}},{results}"#)
        }
        "mistral.chat" => {
            let id = |c: usize| format!("{:09}", k * CALLS + c);
            let calls = each_call(|c| format!(r#"{{"id":"{}","function":{{"name":"f","arguments":"{{}}"}}}}"#, id(c)));
            let results = each_call(|c| {
                format!(
                    r#"{{"role":"tool","tool_call_id":"{}","name":"f","content":"r"}}"#,
                    id(c)
                )
            });
            format!(r#"{{"role":"assistant","content":"","tool_calls":[{calls}]}},{results}"#)
        }
        "openai.responses" => {
            let calls = each_call(|c| {
                format!(r#"{{"type":"function_call","call_id":"c{k}_{c}","name":"f","arguments":"{{}}"}}"#)
            });
            let results =
                each_call(|c| format!(r#"{{"type":"function_call_output","call_id":"c{k}_{c}","output":"r"}}"#));
            format!("{calls},{results}")
        }
        "anthropic.messages" => {
            let calls = each_call(|c| format!(r#"{{"type":"tool_use","id":"c{k}_{c}","name":"f","input":{{}}}}"#));
            let results = each_call(|c| format!(r#"{{"type":"tool_result","tool_use_id":"c{k}_{c}","content":"r"}}"#));
            format!(r#"{{"role":"assistant","content":[{calls}]}},{{"role":"user","content":[{results}]}}"#)
        }
        "gemini.contents" => {
            let calls = each_call(|_| String::from(r#"{"functionCall":{"name":"f","args":{}}}"#));
            let results = each_call(|_| String::from(r#"{"functionResponse":{"name":"f","response":{"a":1}}}"#));
            format!(r#"{{"role":"model","parts":[{calls}]}},{{"role":"user","parts":[{results}]}}"#)
        }
        "bedrock.converse" => {
            let calls = each_call(|c| format!(r#"{{"toolUse":{{"toolUseId":"c{k}_{c}","name":"f","input":{{}}}}}}"#));
            let results =
                each_call(|c| format!(r#"{{"toolResult":{{"toolUseId":"c{k}_{c}","content":[{{"text":"r"}}]}}}}"#));
            format!(r#"{{"role":"assistant","content":[{calls}]}},{{"role":"user","content":[{results}]}}"#)
        }
        other => unreachable!("{other} has no step"),
    }
}

fn user(format: &str) -> &'static str {
    match format {
        "gemini.contents" => r#"{"role":"user","parts":[{"text":"go"}]}"#,
        "bedrock.converse" => r#"{"role":"user","content":[{"text":"go"}]}"#,
        _ => r#"{"role":"user","content":"go"}"#,
    }
}

fn body(format: &str, steps: usize) -> Arc<Vec<u8>> {
    let steps = joined((0..steps).map(|k| step(format, k)));
    Arc::new(format!("[{},{steps}]", user(format)).into_bytes())
}

fn read(format: &str, body: &Arc<Vec<u8>>) -> Transcript {
    Transcript::from_json(Arc::<Vec<u8>>::clone(body), Some(format)).unwrap()
}

/// All that is asked of a transcript: read, scanned, cut, grouped. Returns the pairs and the legal cuts.
fn work(format: &str, body: &Arc<Vec<u8>>) -> (usize, usize) {
    let transcript = read(format, body);
    let options = ScanOptions::default();
    let found = scan(&transcript, &options);
    assert!(found.ok(), "{format}: {:?}", found.findings.first());
    let table = pair(&transcript, &options);
    assert!(!groups(&transcript, &table).is_empty());
    (table.pairs.len(), splits(&transcript, &options).iter().len())
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds that this thread ran: not those that it waited for a processor. Elsewhere than on Linux the time of day.
fn ran() -> u128 {
    let own = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let first = own.and_then(|text| text.split_whitespace().next()?.parse().ok());
    first.unwrap_or_else(|| START.elapsed().as_nanos())
}

/// The shortest runs on both bodies, which take turns.
fn shortest(format: &str, small: &Arc<Vec<u8>>, large: &Arc<Vec<u8>>) -> [u128; 2] {
    let run = |body| {
        let start = ran();
        work(format, body);
        ran() - start
    };
    let runs = (0..9).map(|_| [run(small), run(large)]);
    runs.reduce(|[a, b], [c, d]| [a.min(c), b.min(d)]).unwrap()
}

#[test]
fn four_times_the_messages_is_four_times_the_work() {
    for format in ALL.iter().map(|format| format.name()) {
        let (small, large) = (body(format, 300), body(format, 1_200));
        let [short, long] = shortest(format, &small, &large);
        assert!(
            long < 10 * short,
            "{format}: four times the messages took {long} ns, not {short}"
        );
    }
}

#[test]
fn a_hundred_thousand_messages_with_ten_parallel_calls_each() {
    for format in ALL.iter().map(|format| format.name()) {
        // Formats with a message a result have eleven messages, or twenty items, a step; the others two.
        let steps = match format {
            "openai.chat" | "mistral.chat" => 9_091,
            "openai.responses" => 5_000,
            _ => 50_000,
        };
        let body = body(format, steps);
        assert!(read(format, &body).len() >= 100_000);
        let (pairs, cuts) = work(format, &body);
        assert_eq!(pairs, steps * CALLS, "{format}");
        assert_eq!(cuts, steps + 2, "{format}: before each step, and at both ends");
    }
}
