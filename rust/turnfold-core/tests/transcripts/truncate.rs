//! A shortened text fits, says what went, and keeps both ends.

use proptest::prelude::*;
use turnfold_core::truncate::{notice, truncate_middle};
use turnfold_tokens::Encoding;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(
            prop_oneof![Just("word "), Just("\n"), Just("日本語"), Just("👩‍👩‍👧"), Just("x=1;")],
            0..200
        )
        .prop_map(|parts| parts.concat()),
        "\\PC{0,120}",
        (1..400_usize).prop_map(|n| "=".repeat(n)),
        (1..400_usize).prop_map(|n| "a\n".repeat(n)),
    ]
}

proptest! {
    #[test]
    fn it_fits_and_keeps_ends(text in text(), max in 0..120_usize) {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            let tokenizer = encoding.tokenizer();
            let got = truncate_middle(&text, max, tokenizer, &notice);
            prop_assert!(tokenizer.count(&got.text) <= max);
            let total = tokenizer.count(&text);
            if total <= max {
                prop_assert_eq!(&got.text, &text);
                prop_assert_eq!(got.removed_tokens, 0);
                continue;
            }
            prop_assert!(got.removed_tokens > 0 && got.removed_tokens <= total);
            let line = notice(got.removed_tokens);
            if let Some((head, tail)) = got.text.split_once(&line) {
                prop_assert!(text.starts_with(head.trim_end_matches('\n')));
                prop_assert!(text.ends_with(tail.trim_start_matches('\n')));
                prop_assert!(head.trim_end_matches('\n').len() + tail.trim_start_matches('\n').len() < text.len());
            } else {
                prop_assert_eq!(&got.text, "");
                prop_assert!(tokenizer.count(&line) > max);
            }
        }
    }
}

#[test]
fn most_of_the_room_is_used() {
    let tokenizer = Encoding::O200kBase.tokenizer();
    let lines: Vec<String> = (0..5000).map(|k| format!("line {k}: all is well here\n")).collect();
    let log = lines.concat();
    let got = truncate_middle(&log, 1000, tokenizer, &notice);
    let used = tokenizer.count(&got.text);
    assert!((900..=1000).contains(&used), "{used}");
    assert!(got.text.starts_with("line 0: all is well here\nline 1"));
    assert!(got.text.ends_with("line 4999: all is well here\n"));
    assert!(
        got.text
            .lines()
            .all(|l| l.ends_with("here") || l == notice(got.removed_tokens)),
        "{}",
        got.text
    );
}

#[test]
fn tiny_caps() {
    let tokenizer = Encoding::O200kBase.tokenizer();
    let text = "one two three four five six seven eight nine ten eleven twelve";
    assert_eq!(truncate_middle(text, 0, tokenizer, &notice).text, "");
    let line = tokenizer.count(&notice(12));
    assert_eq!(truncate_middle(text, line, tokenizer, &notice).text, notice(12));
    assert_eq!(notice(1), "[... 1 token removed ...]");
    assert_eq!(notice(1_234_567), "[... 1,234,567 tokens removed ...]");
}
