use proptest::prelude::*;

use super::*;

fn text() -> impl Strategy<Value = String> {
    let kinds = prop_oneof![
        any::<String>(),
        "[a-zA-Z0-9 _./:\n\t\"'{},=-]{0,1400}",
        "[\u{400}-\u{45F} \u{4E00}-\u{4EFF}\u{3040}-\u{30FF}\u{AC00}-\u{ACFF}\u{900}-\u{97F}]{0,400}",
        "(=|-| |a|7|\u{1F600}){0,900}",
    ];
    prop::collection::vec(kinds, 0..6).prop_map(|parts| parts.concat())
}

#[test]
fn nothing_is_nothing_and_something_is_something() {
    for encoding in Encoding::ALL {
        assert_eq!(
            estimate("", encoding),
            Estimate {
                tokens: 0,
                lo: 0,
                hi: 0
            }
        );
        for text in ["a", " ", "\n", "\0", "\u{E9}", "\u{10FFFF}"] {
            let found = estimate(text, encoding);
            assert!(
                1 <= found.lo && found.lo <= found.tokens && found.tokens <= found.hi,
                "{found:?}"
            );
            assert!(found.hi <= text.len() as u64);
        }
    }
}

/// A block's letters in a row, told apart by a sequence without end.
fn script(start: u32, length: usize) -> String {
    let letters: Vec<char> = (start..start + 128)
        .filter_map(char::from_u32)
        .filter(|c| c.is_alphabetic())
        .collect();
    if letters.len() < 8 {
        return String::new();
    }
    let mut state = u64::from(start) + 1;
    let mut out = String::new();
    for k in 0..length {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        out.push(letters[(state >> 33) as usize % letters.len()]);
        if k % 6 == 5 {
            out.push(' ');
        }
    }
    out
}

/// Letters in no order cost up to ten times what words of the same letters do.
#[test]
fn no_script_is_forgotten() {
    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        for start in (0..0x30_000).step_by(128) {
            let text = script(start, 300);
            if text.is_empty() {
                continue;
            }
            let exact = encoding.tokenizer().count(&text) as u64;
            let found = estimate(&text, encoding).tokens;
            assert!(
                exact <= found * 2 && found * 10 <= exact * 13,
                "U+{start:04X}: {found} estimated, {exact} counted by {encoding:?}"
            );
        }
    }
}

#[test]
fn a_short_text_is_counted() {
    let text = "The meeting is moved to Thursday. ".repeat(4);
    for encoding in Encoding::ALL {
        let text = &text[..LEAST];
        let tokens = encoding.tokenizer().count(text) as u64;
        let exact = Estimate {
            tokens,
            lo: tokens,
            hi: tokens,
        };
        assert_eq!(estimate(text, encoding), exact);
        for text in [text, "", "a"] {
            let counted = encoding.tokenizer().count(text) as u64;
            assert_eq!(sampled(text, encoding.tokenizer(), &weights::O200K, TRUST), counted);
        }
    }
}

/// A sample is what tells one text of unusual words from another: the same pairs of letters, in words and in none.
#[test]
fn the_sample_tells() {
    for text in [
        script(0x380, 20_000),
        script(0x4E00, 20_000),
        "QZXJ kqzv ".repeat(2_000),
    ] {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            let exact = encoding.tokenizer().count(&text) as u64;
            let found = estimate(&text, encoding).tokens;
            assert!(
                exact.abs_diff(found) * 12 <= exact,
                "{found} estimated, {exact} counted"
            );
        }
    }
}

/// What doubled letters weigh in words says little of runs: of a sign that is doubled often, up to four times too much.
#[test]
fn runs_are_not_free() {
    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        for character in (1..128).map(char::from) {
            let text = character.to_string().repeat(40_000);
            let exact = encoding.tokenizer().count(&text) as u64;
            let found = estimate(&text, encoding).tokens;
            assert!(
                exact <= found * 4 && found <= exact * 4,
                "{character:?}: {found} estimated, {exact} counted by {encoding:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn windows_are_some_of_the_text(text in text()) {
        if text.len() <= LEAST {
            return Ok(());
        }
        let found: Vec<_> = windows(&text).collect();
        prop_assert_eq!(found.len(), (text.len() / EVERY).max(1));
        let mut last = 0;
        for window in found {
            prop_assert!(last <= window.start && window.start < window.end, "{:?}", window);
            prop_assert!(text.get(window.clone()).is_some());
            // As wide as it should be, give or take the way to the end of a word, or the end of the text.
            prop_assert!(window.len() + REACH >= LEAST.min(text.len() - window.start), "{:?}", window);
            prop_assert!(window.len() <= MOST + REACH + 3, "{:?}", window);
            last = window.end;
        }
    }

    #[test]
    fn weights_add_up(text in text(), repeats in 1_usize..12) {
        let text = text.repeat(repeats);
        for table in [&weights::O200K, &weights::CL100K] {
            let mut before = 0;
            let mut sum = 0;
            for byte in text.bytes() {
                sum += i64::from(table[usize::from(u16::from_le_bytes([before, byte]))]);
                before = byte;
            }
            prop_assert_eq!(pairs(table, 0, text.as_bytes()), sum);
        }
    }

    #[test]
    fn cuts_part_the_count(text in text(), at in any::<prop::sample::Index>()) {
        let at = cut(&text, at.index(text.len() + 1));
        let (left, right) = text.split_at(at);
        let word = left.ends_with(|c: char| c.is_ascii_alphabetic());
        let ends = match right.chars().next() {
            Some(' ') => !left.ends_with(char::is_whitespace),
            Some(c) => word && c.is_ascii() && !c.is_ascii_alphabetic() && c != '\'',
            None => true,
        };
        if ends {
            for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
                let tokenizer = encoding.tokenizer();
                prop_assert_eq!(tokenizer.count(left) + tokenizer.count(right), tokenizer.count(&text));
            }
        }
    }
}
