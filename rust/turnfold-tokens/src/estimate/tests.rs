use proptest::prelude::*;

use super::lanes::Level;
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

/// Wide registers sum up to 64 bits of each condition in 32 bits.
#[test]
fn sums_of_a_block_fit() {
    for weights in [&weights::O200K, &weights::CL100K] {
        let sizes: i64 = weights.iter().map(|&weight| i64::from(weight).abs()).sum();
        assert!(sizes * 64 < i64::from(i32::MAX), "{sizes}");
    }
}

#[test]
fn each_condition_holds_somewhere() {
    let text = "Some wordsOf EVERYTHINGs LOWer extraordinary, 12345678901234567; \u{E9}\u{4E2D}\u{1F600}\n   x  =";
    let foreign = "\u{AC1D}\u{AC11}\u{AC12} \u{4E3F} \u{915}\u{91F} \u{43F}\u{440}\u{438}\u{432}\u{435}\u{442}\u{44B} \u{B7}\u{B7}\u{B7}";
    let lines = "=".repeat(40) + &"\u{2501}".repeat(40);
    let counts = condition_counts([text, foreign, &lines].concat().as_bytes());
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
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
                exact <= found * 4 && found * 10 <= exact * 16,
                "U+{start:04X}: {found} estimated, {exact} counted by {encoding:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn all_processors_agree(text in text()) {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            let judge = at_level(Level::Portable, &[text.as_bytes()], encoding);
            for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
                prop_assert_eq!(at_level(level, &[text.as_bytes()], encoding), judge, "{:?}", level);
            }
        }
    }

    #[test]
    fn pieces_add_up(text in text(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        at.sort_unstable();
        at.push(text.len());
        let mut pieces = Vec::new();
        let mut from = 0;
        for to in at {
            pieces.push(&text[from..to]);
            from = to;
        }
        for encoding in Encoding::ALL {
            prop_assert_eq!(estimate_pieces(&pieces, encoding), estimate(&text, encoding));
        }
    }

    #[test]
    fn the_weighed_sum_is_that_of_the_counts(text in text()) {
        let counts = condition_counts(text.as_bytes());
        let mut sum: i64 = counts.iter().zip(&weights::O200K).map(|(&n, &w)| i64::from(n) * i64::from(w)).sum();
        let mut before = 0;
        for byte in text.bytes() {
            sum += i64::from(weights::O200K_PAIRS[usize::from(u16::from_le_bytes([before, byte]))]);
            before = byte;
        }
        let expected = Estimate::new(sum, text.len() as u64);
        prop_assert_eq!(estimate(&text, Encoding::O200kBase), expected);
    }
}
