//! The estimate over a megabyte of text, of code, and of several scripts, as one string and in messages of a kilobyte;
//! each checked against the exact count.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use turnfold_tokens::{Encoding, estimate};

fn main() {
    divan::main();
}

const PROSE: &str = "The committee met on Thursday and put off the vote, since two of the reports had not come in. ";
const CODE: &str = "    def read(self, path: str) -> bytes:\n        return self._store.get(path, b\"\")[:4096]\n\n";
const MIXED: &str = "Встреча перенесена на четверг, потому что два отчёта ещё не пришли. \
    会議は木曜日に延期されました。報告書がまだ二通届いていないからです。 \
    The meeting is on Thursday, since two of the reports have not come in.\n";

#[divan::bench(args = [PROSE, CODE, MIXED], sample_count = 60)]
fn megabyte(bencher: Bencher, line: &str) {
    measured(bencher, &[line.repeat(1_000_000 / line.len())]);
}

#[divan::bench(args = [PROSE, CODE, MIXED], sample_count = 60)]
fn messages(bencher: Bencher, line: &str) {
    measured(bencher, &vec![line.repeat(1_000 / line.len()); 1_000]);
}

fn measured(bencher: Bencher, texts: &[String]) {
    let tokenizer = Encoding::O200kBase.tokenizer();
    let all = |texts: &[String]| -> u64 {
        texts
            .iter()
            .map(|text| estimate(text, Encoding::O200kBase).tokens)
            .sum()
    };
    let exact: u64 = texts.iter().map(|text| tokenizer.count(text) as u64).sum();
    assert!(all(texts).abs_diff(exact) * 10 < exact);
    let bytes: usize = texts.iter().map(String::len).sum();
    bencher.counter(BytesCount::new(bytes)).bench(|| all(black_box(texts)));
}
