//! Every answer against the textbook twin, on text made to be awkward.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where it is wrong"
)]

use std::sync::LazyLock;

use proptest::prelude::*;
use turnfold_tokens::naive::Naive;
use turnfold_tokens::{Encoding, Keep, Tokenizer};

static TWINS: LazyLock<[(&'static Tokenizer, Naive); 2]> =
    LazyLock::new(|| [Encoding::O200kBase, Encoding::Cl100kBase].map(|e| (e.tokenizer(), Naive::new(e))));

/// Pieces that meet at the edges of the patterns: case, marks, every kind of space, contractions, numbers, signs.
const PARTS: &[&str] = &[
    "a",
    "b",
    "Z",
    "Q",
    "the",
    "ing",
    "HTTP",
    "fooBar",
    "don't",
    "straße",
    "É",
    "é",
    "Ω",
    "я",
    "Ж",
    "'s",
    "'t",
    "'re",
    "'VE",
    "'ll",
    "'D",
    "'\u{17F}",
    "\u{17F}",
    "'",
    "\u{212A}",
    "\u{1C5}",
    "\u{2B0}",
    "中",
    "文",
    "あ",
    "한",
    "\u{E01}\u{E33}",
    "\u{915}\u{94D}",
    "\u{301}",
    "\u{345}",
    "\u{FE0F}",
    "\u{200D}",
    "👩",
    "🏽",
    "👩‍👩‍👧",
    "\u{10400}",
    "\u{10428}",
    "\u{E000}",
    "\u{F0000}",
    "\0",
    "\u{1C}",
    "\u{7F}",
    " ",
    "  ",
    "    ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\u{B}",
    "\u{A0}",
    "\u{3000}",
    "\u{85}",
    "\u{2028}",
    "\u{1680}",
    "\u{180E}",
    "\u{FEFF}",
    "1",
    "12",
    "345",
    "6789012",
    "\u{663}",
    "\u{BE7}",
    "\u{2167}",
    "½",
    ".",
    ",",
    "/",
    "//",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "=",
    "==",
    "-",
    "_",
    "*",
    "<|endoftext|>",
    "<|start|>",
    "\\n",
    "https://",
    "xxxxxxxxxxxxxxxxxxxx",
    "==================",
    "                    ",
    "qzxjkvbpwmqzxjkvb",
];

fn awkward() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        12 => proptest::sample::select(PARTS).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => proptest::char::range(' ', '\u{24F}').prop_map(String::from),
        1 => "[a-zA-Z]{1,20}",
        1 => (proptest::sample::select(PARTS), 1..60_usize).prop_map(|(part, times)| part.repeat(times)),
    ];
    proptest::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn ids_and_counts_are_the_twins(text in awkward()) {
        for (tokenizer, twin) in &*TWINS {
            let ids = twin.encode(&text);
            prop_assert_eq!(tokenizer.encode(&text), &ids[..]);
            prop_assert_eq!(tokenizer.count(&text), ids.len());
            // Again, now that the thread remembers the pieces.
            prop_assert_eq!(tokenizer.count(&text), ids.len());
            prop_assert_eq!(tokenizer.decode(&ids).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn a_limit_is_exceeded_or_not(text in awkward(), limit in 0..80_usize) {
        for (tokenizer, _) in &*TWINS {
            let count = tokenizer.count(&text);
            prop_assert_eq!(tokenizer.count_up_to(&text, limit), (count <= limit).then_some(count));
        }
    }

    #[test]
    fn harmony_counts_as_o200k(text in awkward()) {
        prop_assert_eq!(Encoding::O200kHarmony.tokenizer().encode(&text), Encoding::O200kBase.tokenizer().encode(&text));
    }

    #[test]
    fn what_is_kept_fits(text in awkward(), max in 0..60_usize) {
        for (tokenizer, _) in &*TWINS {
            let head = tokenizer.truncate(&text, max, Keep::Head);
            prop_assert!(tokenizer.count(&text[..head.head_bytes]) <= max);
            let tail = tokenizer.truncate(&text, max, Keep::Tail);
            let end = if tail.head_bytes == text.len() { "" } else { &text[tail.tail_start..] };
            prop_assert!(tokenizer.count(end) <= max);
            let both = tokenizer.truncate(&text, max, Keep::Both);
            prop_assert!(both.head_bytes <= both.tail_start);
            let joined = [&text[..both.head_bytes], &text[both.tail_start..]].concat();
            prop_assert!(tokenizer.count(&joined) <= max);
        }
    }
}

#[test]
fn every_character_alone_and_between_others() {
    let (o200k, cl100k) = (&TWINS[0], &TWINS[1]);
    let mut texts = Vec::new();
    for character in (0..0x11_0000)
        .filter_map(char::from_u32)
        .filter(|c| u32::from(*c) < 0x3100 || u32::from(*c).is_multiple_of(97))
    {
        texts.push(format!("{character}"));
        texts.push(format!(
            "a{character}b A{character}B {character}{character}1{character}  {character}\n{character}'s"
        ));
    }
    for (tokenizer, twin) in [o200k, cl100k] {
        for text in &texts {
            assert_eq!(tokenizer.encode(text), twin.encode(text), "{text:?}");
            assert_eq!(tokenizer.count(text), tokenizer.encode(text).len(), "{text:?}");
        }
    }
}

#[test]
fn threads_agree_whatever_each_has_seen() {
    let texts: Vec<String> = (0..400_usize)
        .map(|i| format!("{} {i} wörd{i}ish ", PARTS[i % PARTS.len()].repeat(i % 7)))
        .collect();
    let counts = |order: &[&String]| -> Vec<(String, usize)> {
        let mut counts: Vec<_> = order
            .iter()
            .map(|text| ((*text).clone(), Encoding::O200kBase.tokenizer().count(text)))
            .collect();
        counts.sort();
        counts
    };
    let forward: Vec<&String> = texts.iter().collect();
    let backward: Vec<&String> = texts.iter().rev().collect();
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| counts(&forward));
        let two = scope.spawn(|| counts(&backward));
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_eq!(one, two);
}
