//! Scanning, cutting and grouping grow with the messages and no faster: four times the messages, compared.
//!
//! What is compared is how often the bytes of the transcript are asked for: each id, name and text that is looked at is
//! one, the same count on every machine. Work that looks at none of them shows in the largest transcript, on which anything
//! quadratic in its half a million calls would not end.

#![allow(clippy::unwrap_used, reason = "a test stops where its table or helper is wrong")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use turnfold_core::findings::scan;
use turnfold_core::groups::groups;
use turnfold_core::pairs::{ScanOptions, pair};
use turnfold_core::splits::splits;
use turnfold_core::{Source, Transcript};

mod steps;

use steps::{calls, formats, joined, results, user};

/// Parallel calls of one step of the model.
const CALLS: usize = 10;

/// One step: the messages, or items, of a batch of calls and of its results. `k` tells the steps apart.
fn step(format: &str, k: usize) -> String {
    format!("{},{}", calls(format, k, CALLS), results(format, k, CALLS))
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
    all_of(format, &read(format, body))
}

fn all_of(format: &str, transcript: &Transcript) -> (usize, usize) {
    let options = ScanOptions::default();
    let found = scan(transcript, &options);
    assert!(found.ok(), "{format}: {:?}", found.findings.first());
    let table = pair(transcript, &options);
    assert!(!groups(transcript, &table).is_empty());
    (table.pairs.len(), splits(transcript, &options).iter().len())
}

/// Bytes that count how often they are asked for.
struct Counted {
    bytes: Arc<Vec<u8>>,
    asked: AtomicUsize,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        self.asked.fetch_add(1, Ordering::Relaxed);
        &self.bytes
    }
}

/// How often `work` asks for the bytes of `body`.
fn asked(format: &str, body: &Arc<Vec<u8>>, work: impl Fn(&Transcript)) -> usize {
    let counted = Arc::new(Counted {
        bytes: Arc::clone(body),
        asked: AtomicUsize::new(0),
    });
    let source: Source = Arc::<Counted>::clone(&counted);
    work(&Transcript::from_json(source, Some(format)).unwrap());
    counted.asked.load(Ordering::Relaxed)
}

/// Whether four times the body takes so much more than four times as much that some of the work is quadratic: that alone
/// gives sixteen.
fn grows_faster(small: usize, large: usize) -> bool {
    large > 5 * small
}

const STEPS: [usize; 2] = [300, 1_200];

#[test]
fn four_times_the_messages_is_four_times_the_work() {
    for format in formats() {
        let [small, large] = STEPS.map(|steps| body(format, steps));
        let [few, many] = [&small, &large].map(|body| {
            asked(format, body, |t| {
                all_of(format, t);
            })
        });
        assert!(
            few > STEPS[0] * CALLS,
            "{format}: every call has an id that is looked at"
        );
        assert!(
            !grows_faster(few, many),
            "{format}: bytes asked for {few} and {many} times"
        );
    }
}

/// The count tells work that grows with the square: each message compared with all behind it.
#[test]
fn quadratic_work_is_told() {
    let [small, large] = STEPS.map(|steps| body("anthropic.messages", steps));
    let by_bytes = |t: &Transcript| {
        let seen = t.messages().map(|message| {
            t.messages_from(message.index)
                .filter(|other| other.bytes() == message.bytes())
                .count()
        });
        assert_eq!(seen.sum::<usize>(), t.len());
    };
    let [few, many] = [&small, &large].map(|body| asked("anthropic.messages", body, by_bytes));
    assert!(grows_faster(few, many), "{few} and {many}");
}

#[test]
fn a_hundred_thousand_messages_with_ten_parallel_calls_each() {
    for format in formats() {
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
