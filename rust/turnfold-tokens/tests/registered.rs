//! Registering vocabularies: names, limits and the twin of merging.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test stops where it is wrong")]

use std::collections::HashMap;

use turnfold_tokens::{Cut, Definition, Dialect, Encoding, REGISTERED_LIMIT, Split, VocabularyError, register};

const LLAMA3: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

fn bytes() -> Vec<(Vec<u8>, u32)> {
    (0..=255_u8).map(|byte| (vec![byte], u32::from(byte))).collect()
}

fn definition(more: &[(&str, u32)], merges: Option<Vec<(u32, u32)>>, pattern: &str) -> Definition {
    let more = more.iter().map(|(token, id)| (token.as_bytes().to_vec(), *id));
    Definition {
        tokens: bytes().into_iter().chain(more).collect(),
        merges,
        whole_pieces: false,
        cuts: vec![Cut {
            pattern: pattern.to_owned(),
            dialect: Dialect::Tiktoken,
            split: Split::Removed,
            inverted: true,
        }],
        ..Definition::default()
    }
}

/// The definition of merging, as it is written.
fn twin(ranks: &HashMap<Vec<u8>, u32>, piece: &[u8]) -> Vec<u32> {
    let mut parts: Vec<Vec<u8>> = piece.iter().map(|byte| vec![*byte]).collect();
    loop {
        let pairs = parts.windows(2).zip(0..);
        let found = pairs
            .filter_map(|(pair, at)| Some((*ranks.get(&pair.concat())?, at)))
            .min();
        let Some((_, at)) = found else { break };
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
    parts.iter().map(|part| ranks[part]).collect()
}

#[test]
fn names_are_taken_once_and_there_is_a_limit() {
    let small = definition(&[("ab", 300)], None, LLAMA3);
    let first = register("first", &small).unwrap();
    assert_eq!(register("first", &small), Ok(first));
    assert_eq!(Encoding::from_name("first"), Some(first));
    assert_eq!(first.name(), "first");
    assert_eq!(first.tokenizer().encoding(), first);
    let other = definition(&[("abc", 300)], None, LLAMA3);
    assert_eq!(
        register("first", &other),
        Err(VocabularyError::NameTaken("first".into()))
    );
    assert_eq!(
        register("cl100k_base", &other),
        Err(VocabularyError::NameTaken("cl100k_base".into()))
    );
    assert_eq!(register("", &other), Err(VocabularyError::Name));
    assert_eq!(
        register("broken", &definition(&[("ab", 97)], None, LLAMA3)),
        Err(VocabularyError::Twice("the id 97".into()))
    );
    assert_eq!(
        register("broken", &definition(&[("", 300)], None, LLAMA3)),
        Err(VocabularyError::EmptyToken(300))
    );
    assert_eq!(
        register("broken", &definition(&[], Some(vec![(97, 98)]), LLAMA3)),
        Err(VocabularyError::Merge(0))
    );
    assert!(matches!(
        register("broken", &definition(&[], None, "a(?=b)")),
        Err(VocabularyError::Pattern(_))
    ));
    assert_eq!(Encoding::from_name("broken"), None);

    // Any small vocabulary merges as its definition says, few parts and many.
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for place in 1..REGISTERED_LIMIT {
        let mut tokens = bytes();
        let mut ranks: HashMap<Vec<u8>, u32> = tokens.iter().cloned().collect();
        for _ in 0..40 {
            let length = 2 + random(5);
            let token: Vec<u8> = (0..length).map(|_| b"abcd"[random(4) as usize]).collect();
            let rank = 256 + random(1 << 20) as u32;
            if ranks.values().all(|known| *known != rank) && !ranks.contains_key(&token) {
                ranks.insert(token.clone(), rank);
                tokens.push((token, rank));
            }
        }
        let definition = Definition {
            tokens,
            ..Definition::default()
        };
        let encoding = register(&format!("random {place}"), &definition).unwrap();
        for length in [1, 2, 7, 30, 47, 48, 49, 200] {
            let text: String = (0..length).map(|_| char::from(b"abcd"[random(4) as usize])).collect();
            let expected = twin(&ranks, text.as_bytes());
            assert_eq!(encoding.tokenizer().encode(&text), expected, "{text}");
            assert_eq!(encoding.tokenizer().count(&text), expected.len());
            let bounds = encoding.tokenizer().bounds(&text);
            assert!(bounds.lo <= expected.len() && expected.len() <= bounds.hi && bounds.hi <= text.len());
            for limit in [0, bounds.lo, expected.len() - 1, expected.len(), bounds.hi] {
                assert_eq!(encoding.tokenizer().fits(&text, limit), expected.len() <= limit);
            }
        }
    }
    assert_eq!(register("one more", &other), Err(VocabularyError::TooMany));
    assert_eq!(register("first", &small), Ok(first));
}
