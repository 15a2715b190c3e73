//! How fast texts are counted: `cargo bench -p turnfold-tokens`. Every count is checked before it is timed.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a bench stops where it is wrong")]

use std::fmt;
use std::sync::LazyLock;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::Value;
use turnfold_tokens::naive::Naive;
use turnfold_tokens::{Encoding, Keep};

/// A text and what it counts with `o200k_base` and `cl100k_base`.
struct Sample {
    name: String,
    text: String,
    counts: [usize; 2],
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

const ENCODINGS: [Encoding; 2] = [Encoding::O200kBase, Encoding::Cl100kBase];
const VECTORS: &str = include_str!("../../../tests/vectors/tokens.json");

/// This crate's own sources, judged by the textbook twin, and the long one-part texts of the vectors, counted by tiktoken.
static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let sources = [
        include_str!("../src/merge.rs"),
        include_str!("../src/tables.rs"),
        include_str!("../src/truncate.rs"),
        include_str!("../src/tokenizer.rs"),
        include_str!("../src/scan/mod.rs"),
        include_str!("../data/README.md"),
        include_str!("../data/pack.py"),
        VECTORS,
    ];
    let text = sources.concat();
    let counts = ENCODINGS.map(|encoding| Naive::new(encoding).encode(&text).len());
    let mut samples = vec![Sample {
        name: "own sources".into(),
        text,
        counts,
    }];
    let table: Value = serde_json::from_str(VECTORS).unwrap();
    for case in table["cases"].as_array().unwrap() {
        let Some(repeat) = case["text"].get("repeat") else {
            continue;
        };
        let times = usize::try_from(repeat[1].as_u64().unwrap()).unwrap();
        let counts = ENCODINGS.map(|e| usize::try_from(case["counts"][e.name()].as_u64().unwrap()).unwrap());
        let text = repeat[0].as_str().unwrap().repeat(times);
        samples.push(Sample {
            name: case["name"].as_str().unwrap().into(),
            text,
            counts,
        });
    }
    for (sample, (encoding, place)) in samples
        .iter()
        .flat_map(|s| ENCODINGS.iter().zip(0..).map(move |e| (s, e)))
    {
        assert_eq!(
            encoding.tokenizer().count(&sample.text),
            sample.counts[place],
            "{sample}"
        );
    }
    samples
});

fn samples() -> impl Iterator<Item = &'static Sample> {
    SAMPLES.iter()
}

/// Text this thread has counted before.
#[divan::bench(args = samples())]
fn warm(bencher: Bencher<'_, '_>, sample: &Sample) {
    let tokenizer = Encoding::O200kBase.tokenizer();
    bencher
        .counter(BytesCount::of_str(&sample.text))
        .bench_local(|| tokenizer.count(black_box(&sample.text)));
}

/// A thread that has counted nothing before.
#[divan::bench(args = samples().take(1))]
fn fresh_thread(bencher: Bencher<'_, '_>, sample: &Sample) {
    let tokenizer = Encoding::O200kBase.tokenizer();
    bencher.counter(BytesCount::of_str(&sample.text)).bench_local(|| {
        std::thread::scope(|scope| scope.spawn(|| tokenizer.count(black_box(&sample.text))).join().unwrap())
    });
}

/// One tokenizer, several threads.
#[divan::bench(args = samples().take(1), threads = [1, 2])]
fn threads(bencher: Bencher<'_, '_>, sample: &Sample) {
    let tokenizer = Encoding::O200kBase.tokenizer();
    bencher
        .counter(BytesCount::of_str(&sample.text))
        .bench(|| tokenizer.count(black_box(&sample.text)));
}

#[divan::bench(args = samples().take(1))]
fn ids(bencher: Bencher<'_, '_>, sample: &Sample) {
    let tokenizer = Encoding::O200kBase.tokenizer();
    assert_eq!(tokenizer.encode(&sample.text).len(), sample.counts[0]);
    bencher
        .counter(BytesCount::of_str(&sample.text))
        .bench_local(|| tokenizer.encode(black_box(&sample.text)));
}

#[divan::bench(args = samples().take(1))]
fn keep_half(bencher: Bencher<'_, '_>, sample: &Sample) {
    let tokenizer = Encoding::O200kBase.tokenizer();
    let max_tokens = sample.counts[0] / 2;
    let cut = tokenizer.truncate(&sample.text, max_tokens, Keep::Both);
    let joined = [&sample.text[..cut.head_bytes], &sample.text[cut.tail_start..]].concat();
    assert!((max_tokens - 16..=max_tokens).contains(&tokenizer.count(&joined)));
    bencher
        .counter(BytesCount::of_str(&sample.text))
        .bench_local(|| tokenizer.truncate(black_box(&sample.text), max_tokens, Keep::Both));
}

fn main() {
    divan::main();
}
