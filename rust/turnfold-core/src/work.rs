//! How much is parsed and counted: told to tests, which hold the cost of going on to what is new.

use std::cell::Cell;
use std::sync::Arc;

use turnfold_tokens::Encoding;

use crate::formats::{self, WireFormat};
use crate::pairs;
use crate::transcript::{Source, Transcript};

thread_local! {
    static DONE: Cell<Work> = const { Cell::new(Work { parsed: 0, counted: 0 }) };
}

/// Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    /// Read as JSON.
    parsed: usize,
    /// Of texts whose tokens were counted.
    counted: usize,
}

/// Takes note of bytes that are read as JSON on this thread.
pub(crate) fn parsed(bytes: usize) {
    DONE.with(|done| {
        let before = done.get();
        done.set(Work {
            parsed: before.parsed + bytes,
            ..before
        });
    });
}

/// Takes note of bytes of text that are counted on this thread.
pub(crate) fn counted(bytes: usize) {
    DONE.with(|done| {
        let before = done.get();
        done.set(Work {
            counted: before.counted + bytes,
            ..before
        });
    });
}

/// What one call needs.
fn of<T>(call: impl FnOnce() -> T) -> (T, Work) {
    DONE.take();
    let given = call();
    (given, DONE.take())
}

/// Steps of a call, its result and a text, each as long as any other and with a number that no other has.
fn steps(format: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    let text = "some words, a path/to/file.rs and (code) ".repeat(6);
    let chat = |k: usize| {
        [
            format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{k}","type":"function","function":{{"name":"read","arguments":"{{}}"}}}}]}}"#
            ),
            format!(r#"{{"role":"tool","tool_call_id":"c{k}","content":"{k} {text}"}}"#),
            format!(r#"{{"role":"user","content":"{k} and {text}"}}"#),
        ]
    };
    let blocks = |k: usize| {
        [
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"c{k}","name":"read","input":{{}}}}]}}"#
            ),
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{k}","content":"{k} {text}"}}]}}"#
            ),
            format!(r#"{{"role":"assistant","content":"{k} and {text}"}}"#),
        ]
    };
    match format {
        "openai.chat" => numbers.flat_map(chat).collect(),
        _ => numbers.flat_map(blocks).collect(),
    }
}

fn body(messages: &[String]) -> Source {
    let first = r#"{"role":"user","content":"go"}"#;
    Arc::new(format!(r#"{{"model":"gpt-4o","messages":[{first},{}]}}"#, messages.join(",")).into_bytes())
}

fn meter(read: &Transcript) {
    assert_eq!(pairs::check(read).orphan_results, []);
    assert!(read.tokens(Encoding::O200kBase, None).n > 0);
}

/// What it takes to go on, by `go_on`, from `old` steps that were metered with `new` ones that nobody has seen.
fn going_on(
    format: &dyn WireFormat,
    numbers: std::ops::Range<usize>,
    new: usize,
    go_on: impl Fn(&Transcript, &[String], &[String]) -> Transcript,
) -> Work {
    let old = steps(format.name(), numbers.start..numbers.end - new);
    let fresh = steps(format.name(), numbers.end - new..numbers.end);
    let (before, whole) = of(|| {
        let read = Transcript::read_whole(body(&old), Some(format.name())).unwrap();
        meter(&read);
        read
    });
    let bytes: usize = old.iter().map(String::len).sum();
    assert!(
        whole.parsed > bytes && whole.counted > bytes / 2,
        "what is new is parsed and counted"
    );
    let ((), work) = of(|| meter(&go_on(&before, &old, &fresh)));
    work
}

fn extended(before: &Transcript, old: &[String], fresh: &[String]) -> Transcript {
    Transcript::extend_from(before, body(&[old, fresh].concat())).unwrap()
}

fn turned(before: &Transcript, old: &[String], fresh: &[String]) -> Transcript {
    // Whole steps, the last first.
    let old: Vec<String> = old.chunks(3).rev().flatten().cloned().collect();
    Transcript::from_json(body(&[&old, fresh].concat()), Some(before.format().name())).unwrap()
}

#[test]
fn going_on_is_parsed_and_counted_by_what_is_new_alone() {
    let mut next = 1_000_000;
    let mut numbers = |count: usize| {
        next += count;
        next - count..next
    };
    for format in ["openai.chat", "anthropic.messages"].map(|name| formats::by_name(name).unwrap()) {
        for go_on in [extended, turned] {
            let [short, long, longest] = [50, 100, 800].map(|old| going_on(format, numbers(old + 2), 2, go_on));
            assert_eq!(short, long, "{}", format.name());
            assert_eq!(long, longest, "{}", format.name());
            let fresh: usize = steps(format.name(), 1_000_000..1_000_002).iter().map(String::len).sum();
            assert!(
                short.counted > fresh / 2 && short.parsed >= fresh,
                "{short:?} of {fresh}"
            );
            assert!(
                short.counted <= fresh && short.parsed <= 4 * fresh,
                "{short:?} of {fresh}"
            );
            let twice = going_on(format, numbers(104), 4, go_on);
            assert!(
                twice.counted == 2 * short.counted && twice.parsed > short.parsed + fresh / 2,
                "{twice:?}"
            );
        }
    }
}
