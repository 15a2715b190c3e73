//! Any text, any cap, several notices: the result fits, says that it was cut, and keeps only what stood there.
//!
//! Input: a byte that is the cap, a byte that chooses the notice, then the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use turnfold_core::truncate::{notice, truncate_middle};
use turnfold_tokens::Encoding;

type Notice = fn(usize) -> String;

/// The project's own, and others that a caller may bring: none, one that ends a line, one that merges with its ends.
const NOTICES: [Notice; 4] = [
    notice,
    |_| String::new(),
    |removed| format!("\n\n{removed} weg\r\n"),
    |removed| "=".repeat(removed % 40),
];

fuzz_target!(|input: &[u8]| {
    let [cap, choice, text @ ..] = input else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let notice = NOTICES[usize::from(*choice) % NOTICES.len()];
    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        shortened(&text, usize::from(*cap), encoding, notice);
    }
});

fn shortened(text: &str, cap: usize, encoding: Encoding, notice: Notice) {
    let tokenizer = encoding.tokenizer();
    let total = tokenizer.count(text);
    let got = truncate_middle(text, cap, tokenizer, &notice);
    assert!(tokenizer.count(&got.text) <= cap);
    assert_eq!(got, truncate_middle(text, cap, tokenizer, &notice));
    if total <= cap {
        assert_eq!((got.text.as_str(), got.removed_tokens), (text, 0));
        return;
    }
    assert!((1..=total).contains(&got.removed_tokens));
    let line = notice(got.removed_tokens);
    let is_cut_at = |at: usize| {
        let (head, tail) = (&got.text[..at], &got.text[at + line.len()..]);
        let starts = text.starts_with(head) || head.strip_suffix('\n').is_some_and(|head| text.starts_with(head));
        let ends = text.ends_with(tail) || tail.strip_prefix('\n').is_some_and(|tail| text.ends_with(tail));
        starts && ends && head.trim_end_matches('\n').len() + tail.trim_start_matches('\n').len() < text.len()
    };
    let edges = (0..=got.text.len()).filter(|at| got.text.is_char_boundary(*at));
    let cut = edges.filter(|at| got.text[*at..].starts_with(&line)).any(is_cut_at);
    assert!(cut || got.text.is_empty() && tokenizer.count(&line) > cap, "{got:?}");
}
