use std::sync::Arc;

use super::{FIRST_BYTES, Table, landmarks};
use crate::transcript::{Source, Transcript};

fn body(start: &str, bytes: usize) -> Vec<u8> {
    let mut body = format!(r#"{{"messages":[{{"role":"user","content":"{start}"}}"#);
    while body.len() < bytes {
        body.push_str(r#",{"role":"user","content":"and so on, and on"}"#);
    }
    body.push_str("]}");
    body.into_bytes()
}

fn read(body: &[u8]) -> Transcript {
    let source: Source = Arc::new(body.to_vec());
    Transcript {
        landmarks: landmarks(body),
        ..Transcript::read_whole(source, None).unwrap()
    }
}

#[test]
fn a_landmark_tells_all_landmarks_before_it() {
    let body = body("one", 5_000);
    let own = landmarks(&body);
    assert_eq!(own.len(), 3);
    assert_eq!(landmarks(&body[..FIRST_BYTES - 1]).len(), 0);
    assert_eq!(landmarks(&body[..4_096])[..], own[..]);
    let mut other = body.clone();
    other[40] ^= 1;
    assert!(landmarks(&other).iter().zip(own.iter()).all(|(a, b)| a != b));
    let mut later = body;
    later[2_000] ^= 1;
    let later = landmarks(&later);
    assert_eq!(later[0], own[0]);
    assert!(later[1] != own[1] && later[2] != own[2]);
}

#[test]
fn the_last_body_that_shares_most_is_found() {
    let table = Table::new(1 << 20);
    let (short, long, other) = (body("one", 3_000), body("one", 9_000), body("two", 3_000));
    for body in [&short, &long, &other] {
        table.add(&read(body));
    }
    let found = |body: &[u8]| table.find(&landmarks(body)).map(|entry| entry.transcript.to_json());
    // The longer one has every landmark of the shorter.
    assert_eq!(found(&short), Some(long.clone()));
    assert_eq!(found(&body("one", 70_000)), Some(long));
    assert_eq!(found(&other), Some(other));
    assert_eq!(found(&body("three", 3_000)), None);
    let live = table.inner.read().unwrap();
    assert_eq!(live.turns.iter().filter(|turn| turn.upgrade().is_some()).count(), 2);
}

#[test]
fn a_body_that_is_there_already_stays_as_it_is() {
    let table = Table::new(1 << 20);
    let first = read(&body("one", 9_000));
    table.add(&first);
    let grown = |end: &str| {
        let mut longer = body("one", 9_000);
        longer.truncate(longer.len() - 2);
        longer.extend_from_slice(format!(r#",{{"role":"user","content":"{end}"}}]}}"#).as_bytes());
        Transcript::extend_from(&first, Arc::new(longer)).unwrap()
    };
    let found = || table.find(&first.landmarks).unwrap();
    table.add(&grown("more"));
    let kept = found();
    table.add(&grown("more"));
    assert!(Arc::ptr_eq(&kept, &found()));
    // As long, but another one; and one that was read in another way.
    table.add(&grown("MORE"));
    assert!(!Arc::ptr_eq(&kept, &found()));
    let kept = found();
    table.add(&Transcript {
        named: true,
        ..grown("MORE")
    });
    assert!(!Arc::ptr_eq(&kept, &found()));
}

#[test]
fn the_table_stays_within_its_bound_and_keeps_what_is_asked_for() {
    let table = Table::new(1 << 20);
    let wanted = body("wanted", 4_000);
    table.add(&read(&wanted));
    for k in 0..600 {
        table.add(&read(&body(&format!("body {k}"), 8_000)));
        assert!(table.find(&landmarks(&wanted)).is_some());
        let inner = table.inner.read().unwrap();
        assert!(inner.bytes <= 1 << 20);
        let mut live: Vec<_> = inner.by_landmark.values().collect();
        live.sort_by_key(|entry| Arc::as_ptr(entry));
        live.dedup_by(|a, b| Arc::ptr_eq(a, b));
        assert_eq!(live.iter().map(|entry| entry.size).sum::<usize>(), inner.bytes);
    }
    assert!(table.find(&landmarks(&body("body 1", 8_000))).is_none());
    // One that grows, too, leaves nothing behind.
    for k in 0..2_000 {
        table.add(&read(&body("grows", 1_100 + 40 * k)));
    }
    assert!(table.inner.read().unwrap().turns.len() < 400);
    table.add(&read(&body("too large", 1 << 19)));
    assert!(table.find(&landmarks(&body("too large", 1 << 19))).is_none());
}
