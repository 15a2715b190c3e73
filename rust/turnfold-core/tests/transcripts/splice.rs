//! Cutting and joining: kept bytes stay, rows agree with a fresh reading.

use std::ops::Range;
use std::sync::Arc;

use crate::bodies::{body, message, read};
use proptest::prelude::*;
use serde_json::{Value, json};
use turnfold_core::findings::scan;
use turnfold_core::fingerprint::fingerprint;
use turnfold_core::meter::bounds::Asked;
use turnfold_core::meter::models::ModelLabel;
use turnfold_core::pairs::{ScanOptions, check};
use turnfold_core::splice::{Part, SpliceError, edit, remove_blocks, rewrite_blocks, splice};
use turnfold_core::{BlockKind, BlockView, Transcript};
use turnfold_tokens::Encoding;

fn table() -> Value {
    serde_json::from_str(include_str!("../../../../tests/vectors/splice.json")).unwrap()
}

fn part(value: &Value) -> Part {
    match value {
        Value::String(message) => Part::Insert(message.as_bytes().to_vec()),
        range => {
            let edge = |k: usize| usize::try_from(range[k].as_u64().unwrap()).unwrap();
            Part::Keep(edge(0)..edge(1))
        }
    }
}

fn outcome(result: Result<Vec<u8>, SpliceError>) -> Value {
    match result {
        Ok(bytes) => json!({"json": String::from_utf8(bytes).unwrap()}),
        Err(SpliceError::Argument(_)) => json!({"error": "argument"}),
        Err(SpliceError::Read(error)) => json!({"error": error.code.as_str(), "path": error.path}),
    }
}

#[test]
fn the_table_of_splices() {
    for case in table()["splice"].as_array().unwrap() {
        let transcript = read(
            case["body"].as_str().unwrap().as_bytes().to_vec(),
            case["format"].as_str().unwrap(),
        );
        let parts: Vec<Part> = case["parts"].as_array().unwrap().iter().map(part).collect();
        let got = outcome(splice(&transcript, &parts).map(|t| t.to_json()));
        assert_eq!(got, case["expect"], "{}", case["name"]);
    }
}

#[test]
fn the_table_of_rewrites() {
    for case in table()["rewrite"].as_array().unwrap() {
        let transcript = read(
            case["body"].as_str().unwrap().as_bytes().to_vec(),
            case["format"].as_str().unwrap(),
        );
        let number = |v: &Value| usize::try_from(v.as_u64().unwrap()).unwrap();
        let texts = case["texts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| (number(&t[0]), t[1].as_str().unwrap().to_owned()));
        let got = outcome(rewrite_blocks(
            &transcript,
            number(&case["message"]),
            &texts.collect::<Vec<_>>(),
        ));
        assert_eq!(got, case["expect"], "{}", case["name"]);
    }
}

#[test]
fn the_table_of_removals() {
    let number = |v: &Value| usize::try_from(v.as_u64().unwrap()).unwrap();
    for case in table()["remove"].as_array().unwrap() {
        let body = case["body"].as_str().unwrap().as_bytes().to_vec();
        let transcript = read(body, case["format"].as_str().unwrap());
        let blocks: Vec<usize> = case["blocks"].as_array().unwrap().iter().map(number).collect();
        let got = match remove_blocks(&transcript, number(&case["message"]), &blocks) {
            Ok(None) => json!({"json": null}),
            Ok(Some(bytes)) => outcome(Ok(bytes)),
            Err(error) => outcome(Err(error)),
        };
        assert_eq!(got, case["expect"], "{}", case["name"]);
    }
}

#[test]
fn fingerprints_are_those_of_the_table() {
    for case in table()["fingerprint"].as_array().unwrap() {
        let transcript = read(
            case["body"].as_str().unwrap().as_bytes().to_vec(),
            case["format"].as_str().unwrap(),
        );
        assert_eq!(
            format!("{:032x}", fingerprint(&transcript)),
            case["hex"],
            "{}",
            case["body"]
        );
    }
}

/// Everything that the columns say, as text.
fn rows(transcript: &Transcript) -> Vec<String> {
    let spelled = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    transcript
        .messages()
        .map(|m| {
            let blocks: Vec<_> = m
                .blocks()
                .map(|b| {
                    (
                        b.kind(),
                        b.path("messages"),
                        b.call_id(),
                        b.name(),
                        spelled(b.bytes()),
                        b.texts().collect::<Vec<_>>(),
                        b.row.body.map(|body| spelled(body.of(b.segment.source.bytes()))),
                        (b.row.blank, b.row.is_error, b.row.by_name, b.row.family),
                        (b.part_of(), b.item_id(), b.seal(), b.type_name()),
                    )
                })
                .map(|b| format!("{b:?}"))
                .collect();
            let labels =
                [m.row.role_text, m.row.name].map(|label| label.map(|l| spelled(l.of(m.segment.source.bytes()))));
            format!(
                "{:?} {:?} {labels:?} {} {blocks:?}",
                m.role(),
                m.row.content,
                spelled(m.bytes())
            )
        })
        .collect()
}

fn reread(transcript: &Transcript) -> Transcript {
    read(transcript.to_json(), transcript.format().name())
}

/// Cut points turned into the ranges between them.
fn ranges(cuts: &[prop::sample::Index], len: usize) -> Vec<Range<usize>> {
    let mut at: Vec<usize> = cuts.iter().map(|c| c.index(len + 1)).collect();
    at.extend([0, len]);
    at.sort_unstable();
    at.windows(2).map(|w| w[0]..w[1]).collect()
}

fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..5)
}

/// Ranges of a body's messages to keep or leave out, with new messages between them.
type Piece = (bool, Vec<String>);

fn spliced() -> impl Strategy<Value = (crate::bodies::Body, Vec<prop::sample::Index>, Vec<Piece>)> {
    body().prop_flat_map(|b| {
        let pieces = prop::collection::vec((any::<bool>(), prop::collection::vec(message(b.format), 0..2)), 6);
        (Just(b), cuts(), pieces)
    })
}

proptest! {
    #[test]
    fn keeping_all_changes_no_byte(body in body(), cuts in cuts()) {
        let transcript = body.read();
        let parts: Vec<Part> = ranges(&cuts, transcript.len()).into_iter().map(Part::Keep).collect();
        let same = splice(&transcript, &parts).unwrap();
        prop_assert_eq!(same.to_json(), body.json().into_bytes());
        prop_assert_eq!(fingerprint(&same), fingerprint(&transcript));
        prop_assert_eq!(rows(&same), rows(&transcript));
    }

    #[test]
    fn a_splice_is_what_its_bytes_say((body, cuts, pieces) in spliced(), count_first in any::<bool>()) {
        let transcript = body.read();
        if count_first {
            transcript.tokens(Encoding::O200kBase, None);
        }
        let mut parts = Vec::new();
        let mut messages = Vec::new();
        for (range, (keep, new)) in ranges(&cuts, transcript.len()).into_iter().zip(&pieces) {
            if *keep {
                messages.extend_from_slice(&body.messages[range.clone()]);
                parts.push(Part::Keep(range));
            }
            for message in new {
                messages.push(message.clone());
                parts.push(Part::Insert(message.clone().into_bytes()));
            }
        }
        let got = splice(&transcript, &parts).unwrap();
        let kept: Vec<String> = got.messages().map(|m| String::from_utf8(m.bytes().to_vec()).unwrap()).collect();
        prop_assert_eq!(&kept, &messages);
        let fresh = reread(&got);
        prop_assert_eq!(rows(&got), rows(&fresh));
        prop_assert_eq!(fingerprint(&got), fingerprint(&fresh));
        for encoding in Encoding::ALL {
            prop_assert_eq!(got.tokens(encoding, None), fresh.tokens(encoding, None));
            for k in 0..got.len() {
                prop_assert_eq!(got.tokens(encoding, Some(k..k + 1)), fresh.tokens(encoding, Some(k..k + 1)));
                prop_assert_eq!(got.block_tokens(encoding, k), fresh.block_tokens(encoding, k));
            }
        }
    }

    #[test]
    fn a_name_is_the_content_not_its_history(body in body()) {
        let mut grown = {
            let mut head = body.clone();
            head.messages.clear();
            head.gaps.clear();
            head.read()
        };
        for message in &body.messages {
            grown = grown.append(Arc::new(message.clone().into_bytes())).unwrap();
        }
        let mut plain = body.clone();
        plain.gaps.clear();
        prop_assert_eq!(fingerprint(&grown), fingerprint(&plain.read()));
        prop_assert_eq!(fingerprint(&grown) == fingerprint(&body.read()), body.json() == plain.json());
    }

    #[test]
    fn a_rewrite_changes_its_bodies_and_nothing_else(body in body(), text in "\\PC{0,12}") {
        let transcript = body.read();
        for message in transcript.messages() {
            for block in message.blocks().filter(|b| b.row.body.is_some()) {
                let span = block.row.body.unwrap();
                let own = message.bytes();
                let (start, end) = (
                    (span.start - message.row.span.start) as usize,
                    (span.end - message.row.span.start) as usize,
                );
                let got = rewrite_blocks(&transcript, message.index, &[(block.index, text.clone())]).unwrap();
                prop_assert!(got.starts_with(&own[..start]));
                prop_assert!(got.ends_with(&own[end..]));
                let middle = &got[start..got.len() - (own.len() - end)];
                prop_assert_eq!(serde_json::from_slice::<String>(middle).unwrap(), text.clone());
            }
        }
    }

    #[test]
    fn edits_are_what_their_bytes_say(
        body in body(),
        texts in prop::collection::vec("\\PC{0,12}", 8),
        counted in prop::collection::vec(0_u8..3, 8),
        look_first in any::<bool>(),
        results_alone in any::<bool>(),
    ) {
        let transcript = body.read();
        if look_first {
            scan(&transcript, &ScanOptions::default());
            check(&transcript);
        }
        let mut edits: Vec<(usize, Vec<(usize, String)>)> = Vec::new();
        let mut others = Vec::new();
        let mut parts = Vec::new();
        for message in transcript.messages() {
            let text = &texts[message.index % texts.len()];
            let asked = |block: &BlockView<'_>| !results_alone || block.kind() == BlockKind::ToolResult;
            let bodies = message.blocks().filter(|block| block.row.body.is_some() && asked(block));
            let own: Vec<_> = bodies.map(|block| (block.index, text.clone())).collect();
            let now = counted[message.index % counted.len()];
            if own.is_empty() || (now == 0 && message.index % 2 == 0) {
                parts.push(Part::Keep(message.index..message.index + 1));
                continue;
            }
            match now {
                0 => {}
                1 => others.push((message.index, own.clone())),
                _ => others.push((message.index, vec![(own[0].0, String::from("another text"))])),
            }
            parts.push(Part::Insert(rewrite_blocks(&transcript, message.index, &own).unwrap()));
            edits.push((message.index, own));
        }
        let asked = Asked { encoding: Encoding::O200kBase, label: ModelLabel::Exact, model: None, range: None };
        let counts = transcript.edited_tokens(&asked, &others).unwrap();
        let got = edit(&transcript, &edits).unwrap();
        let twin = reread(&splice(&transcript, &parts).unwrap());
        prop_assert_eq!(got.to_json(), splice(&transcript, &parts).unwrap().to_json());
        prop_assert_eq!(rows(&got), rows(&twin));
        prop_assert_eq!(scan(&got, &ScanOptions::default()), scan(&twin, &ScanOptions::default()));
        prop_assert_eq!(check(&got), check(&twin));
        for encoding in Encoding::ALL {
            prop_assert_eq!(got.tokens(encoding, None), twin.tokens(encoding, None));
        }
        let each = got.each_tokens(&asked);
        for ((message, texts), count) in others.iter().zip(&counts) {
            if edits.iter().any(|(edited, same)| edited == message && same == texts) {
                prop_assert_eq!(*count, each[*message]);
            }
        }
        if edits.len() > 1 {
            edits.reverse();
            prop_assert!(matches!(edit(&transcript, &edits), Err(SpliceError::Argument(_))));
        }
    }

    /// What a message without some blocks reads as: the other blocks, byte for byte and in their order.
    #[test]
    fn a_removal_leaves_the_other_blocks(body in body(), gone in prop::collection::vec(any::<bool>(), 8)) {
        let transcript = body.read();
        for message in transcript.messages() {
            let is_gone = |k: usize| gone[k % gone.len()];
            let out: Vec<usize> = (0..message.blocks().len()).filter(|&k| is_gone(k)).collect();
            let left: Vec<_> = message.blocks().filter(|b| !is_gone(b.index)).collect();
            let got = remove_blocks(&transcript, message.index, &out).unwrap();
            let holds = |b: &turnfold_core::BlockView<'_>| !(b.kind() == BlockKind::Text && b.row.blank);
            prop_assert_eq!(got.is_none(), !out.is_empty() && !left.iter().any(holds));
            if let Some(bytes) = got {
                let mut list = b"[".to_vec();
                list.extend_from_slice(&bytes);
                list.push(b']');
                let fresh = read(list, body.format);
                let spelled = |b: turnfold_core::BlockView<'_>| String::from_utf8(b.bytes().to_vec()).unwrap();
                let same: Vec<_> = fresh.message(0).unwrap().blocks().map(spelled).collect();
                prop_assert_eq!(same, left.into_iter().map(spelled).collect::<Vec<_>>());
            }
        }
    }
}
