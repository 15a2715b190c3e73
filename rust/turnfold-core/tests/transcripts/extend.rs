//! A body read as the continuation of another is the body read alone.

use std::sync::Arc;

use proptest::prelude::*;
use turnfold_core::pairs::{ScanOptions, check, pair};
use turnfold_core::{ReadError, Source, Transcript};
use turnfold_tokens::Encoding;

use crate::bodies::{self, Body};

pub(crate) fn alone(body: &[u8], format: Option<&str>) -> Result<Transcript, ReadError> {
    let source: Source = Arc::new(body.to_vec());
    Transcript::read_whole(source, format)
}

fn extended(previous: &Transcript, body: &[u8]) -> Result<Transcript, ReadError> {
    let source: Source = Arc::new(body.to_vec());
    Transcript::extend_from(previous, source)
}

/// Everything that can be asked of a transcript and takes no other.
pub(crate) fn seen(t: &Transcript) -> String {
    let head = t.head();
    let outside = head.source.bytes();
    let part = |span: Option<turnfold_core::Span>| span.map(|s| String::from_utf8_lossy(s.of(outside)).into_owned());
    let messages: Vec<_> = t
        .messages()
        .map(|m| {
            let blocks = m.blocks().map(|b| {
                let texts: Vec<String> = b.texts().map(Into::into).collect();
                (
                    b.bytes().to_vec(),
                    b.path(t.list_field()),
                    b.kind(),
                    b.call_id(),
                    b.name(),
                    texts,
                    b.row.is_error,
                )
            });
            let gap = m.row.gap.of(m.segment.source.bytes());
            (
                m.index,
                m.bytes(),
                gap,
                m.role(),
                m.row.content,
                format!("{:?}", blocks.collect::<Vec<_>>()),
            )
        })
        .collect();
    let counts: Vec<_> = (0..=t.len())
        .map(|k| t.tokens(Encoding::O200kBase, Some(0..k)))
        .collect();
    let blocks: Vec<_> = (0..t.len()).map(|k| t.block_tokens(Encoding::Cl100kBase, k)).collect();
    format!(
        "{} {} {messages:?} {counts:?} {:?} {blocks:?} {:?} {:?} {:?} {:?} {:?} {} {} {} {}",
        t.format().name(),
        t.format_reason(),
        t.tokens(Encoding::O200kBase, None),
        t.to_json(),
        part(head.model),
        part(head.system),
        part(head.tools),
        pair(t, &ScanOptions::default()),
        t.leading(),
        t.len(),
        turnfold_core::fingerprint::fingerprint(t),
        head.bare,
    )
}

/// The same answer in full, or the same refusal.
pub(crate) fn same(
    extended: &Result<Transcript, ReadError>,
    alone: &Result<Transcript, ReadError>,
) -> Result<(), TestCaseError> {
    match (extended, alone) {
        (Ok(extended), Ok(alone)) => {
            prop_assert_eq!(seen(extended), seen(alone));
            prop_assert_eq!(check(extended), check(alone));
            prop_assert_eq!(check(alone), &check_of(alone));
        }
        (extended, alone) => prop_assert_eq!(extended.as_ref().err(), alone.as_ref().err()),
    }
    Ok(())
}

/// What a client does to a body before it sends the next one, and what none should.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Grow(Vec<String>),
    EditLast(String),
    DropLast,
    Tools(Option<String>),
    System(Option<String>),
    Gaps(Vec<String>),
    Bare,
    /// A cut at a share of the bytes, in 256ths.
    CutBytes(u8),
    /// A byte changed at a share of the bytes.
    Byte(u8, u8),
    After(&'static str),
}

fn change(format: &'static str) -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => prop::collection::vec(bodies::message(format), 0..4).prop_map(Change::Grow),
        2 => bodies::message(format).prop_map(Change::EditLast),
        1 => Just(Change::DropLast),
        1 => Just(Change::Tools(Some("[{\"name\":\"new\"}]".to_owned()))),
        1 => Just(Change::Tools(None)),
        1 => Just(Change::System(Some("\"other\"".to_owned()))),
        1 => prop::collection::vec("[ \n\t]{0,2}", 0..3).prop_map(Change::Gaps),
        1 => Just(Change::Bare),
        1 => any::<u8>().prop_map(Change::CutBytes),
        1 => any::<(u8, u8)>().prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => prop_oneof![
            Just(" ]}"),
            Just("],\"model\":\"gpt-4o\"}"),
            Just("],\"messages\":[]}"),
            Just(",{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]}]}"),
            Just(",{\"from\":\"human\",\"value\":\"x\"}]}"),
            Just(",7]}"),
            Just(",]}"),
            Just("]} x"),
        ]
        .prop_map(Change::After),
    ]
}

pub(crate) fn apply(body: &mut Body, change: &Change) -> Vec<u8> {
    match change {
        Change::Grow(more) => body.messages.extend(more.iter().cloned()),
        Change::EditLast(message) => {
            body.messages.pop();
            body.messages.push(message.clone());
        }
        Change::DropLast => drop(body.messages.pop()),
        Change::Tools(tools) => body.tools.clone_from(tools),
        Change::System(system) => body.system.clone_from(system),
        Change::Gaps(gaps) => body.gaps.clone_from(gaps),
        Change::Bare => body.bare = !body.bare,
        Change::CutBytes(_) | Change::Byte(..) | Change::After(_) => {}
    }
    let mut bytes = body.json().into_bytes();
    match change {
        Change::CutBytes(share) => bytes.truncate(bytes.len() * usize::from(*share) / 256),
        Change::Byte(share, byte) => {
            let at = bytes.len() * usize::from(*share) / 256;
            bytes[at] = *byte;
        }
        Change::After(after) => {
            let end = bytes.iter().rposition(|&b| b == b']').unwrap_or(0);
            let end = bytes[..end].iter().rposition(|&b| b == b']').unwrap_or(end);
            bytes.truncate(end);
            bytes.extend_from_slice(after.as_bytes());
        }
        _ => {}
    }
    bytes
}

pub(crate) fn session() -> impl Strategy<Value = (Body, Vec<Change>, bool)> {
    bodies::body().prop_flat_map(|body| {
        let changes = prop::collection::vec(change(body.format), 1..6);
        (Just(body), changes, any::<bool>())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Body after body of one session, each read as the continuation of the one before it, whatever was changed.
    #[test]
    fn a_continuation_is_the_body_read_alone((mut body, changes, named) in session()) {
        let format = named.then_some(body.format);
        let first = alone(body.json().as_bytes(), format);
        let Ok(mut previous) = first else { return Ok(()) };
        // A body of a bare array stands for any format, and so may one be in another format than it was made in.
        let format = named.then(|| previous.format().name());
        check(&previous);
        for change in &changes {
            let bytes = apply(&mut body, change);
            let next = extended(&previous, &bytes);
            same(&next, &alone(&bytes, format))?;
            if let Ok(next) = next {
                previous = next;
            }
        }
    }

    /// Of a transcript that was put together, too.
    #[test]
    fn so_is_one_of_a_transcript_that_was_appended_to(body in bodies::body(), more in prop::collection::vec(any::<u8>(), 1..4)) {
        let Ok(mut previous) = alone(body.json().as_bytes(), None) else { return Ok(()) };
        let mut grown = body.clone();
        for byte in more {
            let message = match byte % 3 {
                0 => r#"{"role":"user","content":"more"}"#,
                1 => r#"{"role":"assistant","content":"less"}"#,
                _ => r#"{"role":"tool","tool_call_id":"c0","content":"x"}"#,
            };
            let source: Source = Arc::new(message.as_bytes().to_vec());
            previous = previous.append(source).expect("a message");
            prop_assert_eq!(check(&previous), &check_of(&previous));
            grown.messages.push(message.to_owned());
            let bytes = grown.json().into_bytes();
            same(&extended(&previous, &bytes), &alone(&bytes, None))?;
            let written = previous.to_json();
            same(&extended(&previous, &written), &alone(&written, None))?;
        }
    }
}

/// The check as the full table has it.
fn check_of(transcript: &Transcript) -> turnfold_core::pairs::PairCheck {
    let table = pair(transcript, &ScanOptions::default());
    turnfold_core::pairs::PairCheck {
        pairs: table.pairs.len(),
        misplaced: table.pairs.iter().copied().filter(|pair| pair.misplaced).collect(),
        pending: table.pending,
        abandoned: table.abandoned,
        orphan_results: table.orphan_results,
        repeated_results: table.repeated_results,
    }
}

fn chat(rounds: usize) -> Body {
    let round = |k: usize| {
        [
            format!(r#"{{"role":"user","content":"question {k}"}}"#),
            format!(
                r#"{{"role":"assistant","tool_calls":[{{"id":"c{k}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
            ),
            format!(r#"{{"role":"tool","tool_call_id":"c{k}","content":"answer {k}"}}"#),
        ]
    };
    Body {
        format: "openai.chat",
        tools: None,
        system: None,
        messages: (0..rounds).flat_map(round).collect(),
        gaps: vec![],
        bare: false,
    }
}

#[test]
fn a_continuation_shares_the_rows_and_counts_of_what_came_before() {
    let (before, after) = (chat(40), chat(41));
    let previous = alone(before.json().as_bytes(), None).unwrap();
    let counted = previous.tokens(Encoding::O200kBase, Some(0..120));
    let body: Source = Arc::new(after.json().into_bytes());
    let next = Transcript::extend_from(&previous, Arc::clone(&body)).unwrap();
    assert!(Arc::ptr_eq(&previous.segments()[0], &next.segments()[0]));
    assert_eq!(next.tokens(Encoding::O200kBase, Some(0..120)), counted);
    assert_eq!(next.to_json(), (*body).as_ref());
    assert_eq!(
        Arc::strong_count(&body),
        1,
        "no more of the body is kept than its new messages"
    );
    assert_eq!(next.segments()[1].len(), 3);
}

#[test]
fn a_long_session_keeps_few_segments() {
    let mut previous = alone(chat(2).json().as_bytes(), None).unwrap();
    for rounds in 3..300 {
        previous = extended(&previous, chat(rounds).json().as_bytes()).unwrap();
        check(&previous);
        assert!(
            previous.segments().len() <= 12,
            "{} segments",
            previous.segments().len()
        );
    }
    assert_eq!(check(&previous), &check_of(&previous));
    assert_eq!(check(&previous).pairs, 299);
}
