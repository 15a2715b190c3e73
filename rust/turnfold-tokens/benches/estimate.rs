//! The estimate over a megabyte of text, of code, and of several scripts; each checked against the exact count.

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
fn megabyte(bencher: divan::Bencher, line: &str) {
    let text = line.repeat(1_000_000 / line.len());
    let exact = Encoding::O200kBase.tokenizer().count(&text) as u64;
    assert!(estimate(&text, Encoding::O200kBase).tokens.abs_diff(exact) * 4 < exact);
    bencher
        .counter(divan::counter::BytesCount::of_str(&text))
        .bench(|| estimate(divan::black_box(&text), Encoding::O200kBase));
}
