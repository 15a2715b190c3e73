//! How much is parsed and counted: told to tests, which hold the cost of going on to what is new.

use std::cell::Cell;
use std::sync::Arc;

use turnfold_tokens::Encoding;

use crate::formats::{self, WireFormat};
use crate::pairs;
use crate::splice;
use crate::transcript::{Source, Transcript};

thread_local! {
    static DONE: Cell<Work> = const { Cell::new(Work { parsed: 0, counted: 0, paired: 0 }) };
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    /// Bytes read as JSON.
    parsed: usize,
    /// Bytes of texts whose tokens were counted.
    counted: usize,
    /// Blocks, and calls that were open before, that a check of pairs went over.
    paired: usize,
}

fn note(add: impl FnOnce(&mut Work)) {
    let mut work = DONE.get();
    add(&mut work);
    DONE.set(work);
}

/// Takes note of bytes that are read as JSON on this thread.
pub(crate) fn parsed(bytes: usize) {
    note(|work| work.parsed += bytes);
}

/// Takes note of bytes of text that are counted on this thread.
pub(crate) fn counted(bytes: usize) {
    note(|work| work.counted += bytes);
}

/// Takes note of blocks that a check of pairs goes over on this thread.
pub(crate) fn paired(blocks: usize) {
    note(|work| work.paired += blocks);
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
    // In another order all are new to the check of pairs.
    Work { paired: 0, ..work }
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

/// What it takes to read a body that goes on from a transcript of which two results were cut.
fn going_on_from_edited(name: &str, numbers: std::ops::Range<usize>, named: bool) -> Work {
    let old = steps(name, numbers.start..numbers.end - 2);
    let before = Transcript::read_whole(body(&old), named.then_some(name)).unwrap();
    let edits = [2, 8].map(|message| (message, vec![(0, "cut")]));
    let edited = splice::edit(&before, &edits).unwrap();
    meter(&edited);
    let append = |read: Transcript, message: String| read.append(Arc::new(message.into_bytes())).unwrap();
    let grown = steps(name, numbers.end - 2..numbers.end)
        .into_iter()
        .fold(edited.clone(), append);
    of(|| meter(&Transcript::extend_from(&edited, Arc::new(grown.to_json())).unwrap())).1
}

#[test]
fn going_on_from_what_was_edited_is_parsed_and_counted_by_what_is_new_alone() {
    for name in ["openai.chat", "anthropic.messages"] {
        let fresh: usize = steps(name, 2_000_000..2_000_002).iter().map(String::len).sum();
        for (named, start) in [(true, 2_000_000), (false, 3_000_000)] {
            let [short, long] =
                [50, 100].map(|old| going_on_from_edited(name, start + old..start + 2 * old + 2, named));
            assert_eq!((short.parsed, short.counted), (long.parsed, long.counted), "{name}");
            assert!(
                short.counted <= fresh && short.parsed <= 4 * fresh,
                "{short:?} of {fresh}"
            );
        }
    }
}

#[test]
fn a_tail_is_counted_with_little_before_it() {
    for name in ["openai.chat", "anthropic.messages"] {
        let messages = steps(name, 4_000_000..4_000_800);
        let read = |named| Transcript::read_whole(body(&messages), Some(named)).unwrap();
        let limit = read(name).tokens(Encoding::O200kBase, None).n / 4;
        // Of another number, each as long as before.
        let messages = steps(name, 5_000_000..5_000_800);
        let read = Transcript::read_whole(body(&messages), Some(name)).unwrap();
        let (start, work) = of(|| read.tail_within(Encoding::O200kBase, limit));
        let tail: usize = messages.iter().skip(start - 1).map(String::len).sum();
        let before: usize = messages.iter().skip(start - 40).take(40).map(String::len).sum();
        assert!(start > messages.len() / 2);
        assert!(work.counted <= tail + before, "{work:?} of {tail}");
        let (again, work) = of(|| read.tail_within(Encoding::O200kBase, limit));
        assert_eq!((again, work.counted), (start, 0));
        // A longer one: what was counted is not counted again.
        let (first, longer) = of(|| read.tail_within(Encoding::O200kBase, 2 * limit));
        let all: usize = messages.iter().map(String::len).sum();
        assert!(
            first < start && longer.counted <= all - tail + before,
            "{longer:?} of {all}"
        );
    }
}

/// The messages of one step of a session.
type Step = fn(usize) -> Vec<String>;

/// Sessions in which something is out of the ordinary at each step.
const ODD: [(&str, Step); 4] = [
    ("gemini.contents", |_| {
        let content = |role: &str, part: &str| format!(r#"{{"role":"{role}","parts":[{part}]}}"#);
        vec![
            content("model", r#"{"functionCall":{"name":"read","args":{}}}"#),
            content(
                "user",
                r#"{"functionResponse":{"name":"read","response":{"output":"ok"}}}"#,
            ),
        ]
    }),
    ("gemini.contents", |k| {
        let content = |role: &str, part: String| format!(r#"{{"role":"{role}","parts":[{part}]}}"#);
        vec![
            content(
                "model",
                format!(r#"{{"functionCall":{{"id":"c{k}","name":"read","args":{{}}}}}}"#),
            ),
            content(
                "user",
                format!(r#"{{"functionResponse":{{"id":"c{k}","name":"read","response":{{"output":"ok"}}}}}}"#),
            ),
        ]
    }),
    // The same id in each step.
    ("openai.chat", |_| steps("openai.chat", 0..1)),
    // A result that answers nothing, and one too many.
    ("openai.chat", |k| {
        let result = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}{k}","content":"ok"}}"#);
        let mut odd = steps("openai.chat", k..k + 1);
        odd.splice(2..2, [result("c"), result("gone")]);
        odd
    }),
];

/// What it takes to append step `count` to as many and to check after each message.
fn appending(format: &str, step: Step, count: usize) -> usize {
    let append = |read: Transcript, message: String| {
        let read = read.append(Arc::new(message.into_bytes())).unwrap();
        pairs::check(&read);
        read
    };
    let empty = Transcript::read_whole(Arc::new(b"[]".to_vec()), Some(format)).unwrap();
    let before = (0..count).flat_map(step).fold(empty, append);
    let (read, work) = of(|| step(count).into_iter().fold(before, append));
    let found = pairs::check(&read);
    assert_eq!((found.pairs, found.abandoned.len()), (count + 1, 0));
    work.paired
}

#[test]
fn a_check_of_pairs_goes_over_what_was_appended_alone() {
    for (format, step) in ODD {
        let [short, long, longest] = [8, 16, 256].map(|count| appending(format, step, count));
        assert_eq!((short, long), (long, longest), "{format}");
        // Each block, the open call beside its result, and those that the short way met in vain.
        assert!((2..=3 * step(0).len()).contains(&short), "{short} in {format}");
    }
}
