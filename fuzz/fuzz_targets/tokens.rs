//! Any text: every answer is the textbook twin's, what is cut fits, and an estimate lies in its interval.
//!
//! Input: a byte that is the limit, then the text; what is no UTF-8 in it becomes U+FFFD.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use turnfold_tokens::naive::Naive;
use turnfold_tokens::{Encoding, Keep, Tokenizer, estimate};

static TWINS: LazyLock<[(&'static Tokenizer, Naive); 2]> =
    LazyLock::new(|| [Encoding::O200kBase, Encoding::Cl100kBase].map(|e| (e.tokenizer(), Naive::new(e))));

fuzz_target!(|input: &[u8]| {
    let Some((&limit, text)) = input.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    for (tokenizer, twin) in &*TWINS {
        counts(tokenizer, twin, &text, usize::from(limit));
        cuts(tokenizer, &text, usize::from(limit));
        estimates(tokenizer, &text);
        // Long enough for several windows.
        estimates(tokenizer, &text.repeat(10_000 / text.len().max(1)));
    }
});

fn estimates(tokenizer: &Tokenizer, text: &str) {
    let found = estimate(text, tokenizer.encoding());
    let interval = found.lo..=found.hi;
    assert!(
        interval.contains(&found.tokens) && found.hi <= text.len() as u64,
        "{found:?}"
    );
    if text.len() <= 128 {
        assert_eq!([found.lo, found.tokens, found.hi], [tokenizer.count(text) as u64; 3]);
    }
}

fn counts(tokenizer: &Tokenizer, twin: &Naive, text: &str, limit: usize) {
    let ids = twin.encode(text);
    assert_eq!(tokenizer.encode(text), ids);
    // The second time the thread remembers the pieces.
    assert_eq!([tokenizer.count(text), tokenizer.count(text)], [ids.len(); 2]);
    assert_eq!(tokenizer.decode(&ids).as_deref(), Ok(text.as_bytes()));
    for limit in [0, limit, ids.len().saturating_sub(1), ids.len(), usize::MAX] {
        assert_eq!(
            tokenizer.count_up_to(text, limit),
            (ids.len() <= limit).then_some(ids.len())
        );
    }
}

fn cuts(tokenizer: &Tokenizer, text: &str, limit: usize) {
    let total = tokenizer.count(text);
    for keep in [Keep::Head, Keep::Tail, Keep::Both] {
        let cut = tokenizer.truncate(text, limit, keep);
        let (head, tail) = (&text[..cut.head_bytes], &text[cut.tail_start..]);
        assert!(cut.head_bytes <= cut.tail_start);
        assert_eq!(cut.head_bytes == cut.tail_start, total <= limit);
        if total <= limit {
            continue;
        }
        assert!(tokenizer.count(head) + tokenizer.count(tail) <= limit);
        assert!(tokenizer.count(&[head, tail].concat()) <= limit);
        match keep {
            Keep::Head => assert!(tail.is_empty()),
            Keep::Tail => assert!(head.is_empty()),
            Keep::Both => {}
        }
    }
}
