//! Any two requests: what they share is what the bytes of their parts share.
//!
//! Input: the two bodies with the byte FF between them, which no UTF-8 has; one body is compared with itself.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use turnfold_core::Transcript;
use turnfold_core::formats::{self, Section};
use turnfold_core::json::Document;
use turnfold_core::prefix::{PrefixReport, compare};
use turnfold_tokens::Encoding;

fuzz_target!(|input: &[u8]| {
    let mut bodies = input.splitn(2, |&byte| byte == 0xFF);
    let before = bodies.next().unwrap_or_default();
    let after = bodies.next().unwrap_or(before);
    for format in formats::ALL {
        let read = |body: &[u8]| Transcript::from_json(Arc::new(body.to_vec()), Some(format.name()));
        if let (Ok(old), Ok(new)) = (read(before), read(after)) {
            compared(&old, &new);
            itself(&old);
            grown(&old, &new);
        }
    }
});

fn report(before: &Transcript, after: &Transcript) -> PrefixReport {
    compare(before, after, Encoding::Cl100kBase)
}

/// The parts in render order; `None` stands for one that is not there.
fn parts(transcript: &Transcript) -> Vec<Option<&[u8]>> {
    let head = transcript.head();
    let mut parts = Vec::new();
    for section in transcript.format().render_order() {
        let span = match section {
            Section::Tools => head.tools,
            Section::System => head.system,
            Section::Messages => {
                parts.extend(transcript.messages().map(|message| Some(message.bytes())));
                continue;
            }
        };
        parts.push(span.map(|span| span.of(head.source.bytes())));
    }
    parts
}

/// Byte by byte: bytes and messages shared, and whether the first is a prefix of the second.
fn naively(before: &Transcript, after: &Transcript) -> (usize, usize, bool) {
    let (old, new) = (parts(before), parts(after));
    let sections = old.len() - before.len();
    let (mut bytes, mut messages) = (0, 0);
    for (k, part) in old.iter().enumerate() {
        let other = new.get(k).copied().flatten();
        let pairs = part.unwrap_or_default().iter().zip(other.unwrap_or_default());
        bytes += pairs.take_while(|(a, b)| a == b).count();
        if *part != other {
            return (bytes, messages, false);
        }
        messages += usize::from(k >= sections);
    }
    (bytes, messages, true)
}

fn compared(before: &Transcript, after: &Transcript) {
    let (there, back) = (report(before, after), report(after, before));
    let (bytes, messages, is_prefix) = naively(before, after);
    assert_eq!(
        (there.bytes, there.messages, there.before_is_prefix),
        (bytes, messages, is_prefix)
    );
    assert_eq!((there.bytes, there.messages), (back.bytes, back.messages));
    // Each side counts what it has by its own model.
    if before.model() == after.model() {
        assert_eq!(there.tokens, back.tokens);
    }
    assert_eq!(there.first_difference.is_none(), is_prefix);
    assert!(there.ignoring_cache_markers || !is_prefix);
    let whole = Encoding::Cl100kBase;
    assert!(there.tokens <= before.tokens(whole, None).hi);
    let Some(difference) = there.first_difference else {
        return;
    };
    assert!(
        difference
            .message
            .is_none_or(|k| k == there.messages && k < before.len())
    );
    let (old, new) = (at_path(before, &difference.path), at_path(after, &difference.path));
    if old != Found::Unclear && new != Found::Unclear {
        assert_ne!(old, new, "{}", difference.path);
    }
}

fn itself(transcript: &Transcript) {
    let got = report(transcript, transcript);
    assert_eq!(got.first_difference, None);
    assert!(got.before_is_prefix && got.ignoring_cache_markers);
    assert_eq!(got.messages, transcript.len());
    let parts: usize = parts(transcript).into_iter().flatten().map(<[u8]>::len).sum();
    assert_eq!(got.bytes, parts);
}

/// A request that went on with the other's messages still starts as it did.
fn grown(before: &Transcript, other: &Transcript) {
    let mut after = before.clone();
    for message in (0..other.len().min(4)).filter_map(|index| other.message_json(index)) {
        after = after
            .append(Arc::new(message.into_owned()))
            .expect("a message that was read before");
    }
    let got = report(before, &after);
    assert!(got.before_is_prefix);
    assert_eq!(got.messages, before.len());
}

/// What stands at a path of a request.
#[derive(Debug, PartialEq)]
enum Found {
    Nothing,
    /// The value, with the white space before it.
    Value(Vec<u8>),
    /// The path has more in it than plain names, or leads through a key that stands twice.
    Unclear,
}

fn at_path(transcript: &Transcript, path: &str) -> Found {
    let body = transcript.to_json();
    let document = Document::parse(&body).expect("a body that was read before");
    let mut value = document.root();
    if path.contains(['"', '\\']) {
        return Found::Unclear;
    }
    let plain = path.replace(']', "").replace('[', ".");
    let mut steps = plain.split('.').collect::<Vec<_>>();
    // A bare list is the messages, and nothing stands beside it.
    if value.is_array() && steps.remove(0) != transcript.list_field() {
        return Found::Nothing;
    }
    // A lone value in the place of the list is its first message.
    if transcript.head().lone && steps.len() > 1 && steps[0] == transcript.list_field() {
        steps.remove(1);
    }
    for step in steps {
        if value.fields().filter(|(key, _)| key.is_text(step)).count() > 1 {
            return Found::Unclear;
        }
        let next = if value.is_array() {
            value.items().nth(step.parse().expect("an index into a list"))
        } else {
            value.get(step)
        };
        let Some(next) = next else {
            return Found::Nothing;
        };
        value = next;
    }
    let (before, own) = body[..value.span().end as usize].split_at(value.span().start as usize);
    let white = before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    Found::Value([&before[before.len() - white..], own].concat())
}
