//! A body reads and counts the same whether its messages were counted before or not.

use std::sync::atomic::{AtomicU32, Ordering};

use std::sync::Arc;

use proptest::prelude::*;
use turnfold_core::pairs::check;
use turnfold_core::{ReadError, Source, Transcript};
use turnfold_tokens::Encoding;

use crate::bodies::{self, Body};
use crate::extend::{alone, apply, same, session};

/// The body, with a field in each message that no other call gives.
fn unseen(body: &Body) -> Body {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let marked = |message: &String| message.replacen('{', &format!("{{\"n\":{number},"), 1);
    Body {
        messages: body.messages.iter().map(marked).collect(),
        ..body.clone()
    }
}

/// As any caller reads it, with all that was read before.
fn read(body: &[u8], format: Option<&str>) -> Result<Transcript, ReadError> {
    let source: Source = Arc::new(body.to_vec());
    Transcript::from_json(source, format)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_was_counted_before_changes_no_answer(
        body in bodies::body(),
        other in bodies::body(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        named in any::<bool>(),
        after in prop::sample::select(vec!["", " ", "}", "],\"messages\":[]}", ",7]}", "{"]),
    ) {
        let (body, format) = (unseen(&body), named.then_some(body.format));
        // Some of its messages in other places, between others, and bytes that do not belong there.
        let pool: Vec<&String> = body.messages.iter().chain(&other.messages).collect();
        let mixed = Body {
            messages: order.iter().filter(|_| !pool.is_empty()).map(|at| (*at.get(&pool)).clone()).collect(),
            ..body.clone()
        };
        let mixed = format!("{}{after}", mixed.json());
        let fresh = alone(mixed.as_bytes(), format);
        let fresh_body = alone(body.json().as_bytes(), format);
        for read in [&fresh_body, &fresh].into_iter().flatten() {
            read.tokens(Encoding::O200kBase, None);
        }
        same(&read(mixed.as_bytes(), format), &fresh)?;
        same(&read(body.json().as_bytes(), format), &fresh_body)?;
    }

    /// Runs of messages of two bodies that were counted, in turn, with one edit somewhere: of a byte, of white space, of a
    /// field that stands there twice, or cut off.
    #[test]
    fn an_edit_of_what_was_counted_before_is_seen(
        body in bodies::body(),
        other in bodies::body(),
        runs in prop::collection::vec((any::<prop::sample::Index>(), 1..5_usize), 1..7),
        at in any::<prop::sample::Index>(),
        put in prop::sample::select(vec!["", " ", "\n", "0", "\"", "\\", "}", ",", "é", "{\"role\":\"user\",", "\"id\":\"x\","]),
        taken in 0..3_usize,
        cut in prop::bool::weighted(0.1),
    ) {
        let (body, other) = (unseen(&body), unseen(&other));
        let pool: Vec<&String> = body.messages.iter().chain(&other.messages).collect();
        let run = |(start, length): &(prop::sample::Index, usize)| {
            let start = if pool.is_empty() { 0 } else { start.index(pool.len()) };
            pool.iter().skip(start).take(*length).map(|message| (*message).clone()).collect::<Vec<_>>()
        };
        let mixed = Body { messages: runs.iter().flat_map(run).collect(), ..body.clone() };
        for counted in [&body, &other, &mixed] {
            if let Ok(read) = read(counted.json().as_bytes(), None) {
                read.tokens(Encoding::O200kBase, None);
            }
        }
        let whole = mixed.json();
        same(&read(whole.as_bytes(), None), &alone(whole.as_bytes(), None))?;
        let mut edited = whole.into_bytes();
        let at = at.index(edited.len());
        let end = if cut { edited.len() } else { (at + taken).min(edited.len()) };
        edited.splice(at..end, put.bytes());
        same(&read(&edited, None), &alone(&edited, None))?;
    }

    /// Body after body of one session, and of a neighbour that starts alike, whatever was changed and whoever named the
    /// format: the landmarks of each lead to those before it.
    #[test]
    fn a_session_that_nobody_keeps_reads_as_its_bodies_alone(
        (mut body, changes, named) in session(),
        kilobytes in 1..9_usize,
        every in 1..3_usize,
    ) {
        let long = format!(r#"{{"role":"user","content":"{}"}}"#, "a long start, ".repeat(kilobytes * 80));
        body.messages.insert(0, long);
        body = unseen(&body);
        let whole = alone(body.json().as_bytes(), named.then_some(body.format));
        let Ok(whole) = whole else { return Ok(()) };
        let format = named.then(|| whole.format().name());
        for (turn, change) in changes.iter().enumerate() {
            let bytes = apply(&mut body, change);
            let found = read(&bytes, if turn % every == 0 { format } else { None });
            if let Ok(found) = &found {
                check(found);
            }
            same(&found, &alone(&bytes, if turn % every == 0 { format } else { None }))?;
        }
    }
}
