use std::sync::{Arc, Mutex};

use turnfold_tokens::Encoding;

use super::runs::RUN;
use super::worth::SELDOM;
use super::{ALIKE, Adding, Alike, Here, LARGEST_SHARE, SHARDS, START_BYTES, Table, Walk};
use crate::formats::{anthropic_messages::AnthropicMessages, openai_chat::OpenAiChat};
use crate::keyed::Keyed;
use crate::transcript::{Role, Source, SourceBytes, Transcript};

fn read(messages: &[String]) -> Transcript {
    let body = format!(r#"{{"model":"gpt-4o","messages":[{}]}}"#, messages.join(", "));
    let source: Source = Arc::new(body.into_bytes());
    Transcript::from_json(source, Some("openai.chat")).unwrap()
}

fn message(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

fn keep(table: &Table, messages: &[String]) {
    let transcript = read(messages);
    let segment = &transcript.segments()[0];
    let mut adding = Adding::to(table, &OpenAiChat);
    for row in segment.messages() {
        adding.add_to(table, segment, row, |_| ());
    }
    adding.hand_over(table);
}

fn is_kept(table: &Table, text: &str) -> bool {
    table.find(&OpenAiChat, text.as_bytes()).is_some()
}

#[test]
fn a_message_is_found_by_all_of_its_bytes_and_its_format() {
    let table = Table::new(1 << 20);
    let long = message(&"a long text ".repeat(40));
    let messages = [message("short"), long.clone(), message("")];
    keep(&table, &messages);
    keep(&table, &messages);
    for (index, text) in (0_u32..).zip(&messages) {
        let found = table.find(&OpenAiChat, text.as_bytes()).unwrap();
        assert_eq!(found.index, index);
        assert_eq!(found.known().unwrap().len as usize, text.len());
        assert!(table.find(&AnthropicMessages, text.as_bytes()).is_none());
        let mut walk = Walk::new(1 << 20);
        for rest in ["", ", ", "]}", &" ".repeat(200)] {
            let rest = format!("{text}{rest}");
            let place = table.find_first(None, &mut Here::new(rest.as_bytes()), &mut walk);
            assert_eq!(place, Some((index, text.len() as u32)));
            assert!(Arc::ptr_eq(&walk.batches[0], &found.batch) && walk.batches.len() == 1);
            let other = table.find_first(Some(&AnthropicMessages), &mut Here::new(rest.as_bytes()), &mut walk);
            assert!(other.is_none() && walk.batches.len() == 1);
        }
        for at in 0..text.len() {
            let mut other = format!("{text}, ").into_bytes();
            other[at] ^= 1;
            assert!(table.find(&OpenAiChat, &other[..text.len()]).is_none(), "byte {at}");
            assert!(
                table.find_first(None, &mut Here::new(&other), &mut walk).is_none(),
                "byte {at}"
            );
        }
    }
    let other = long.replace("text \"}", "test \"}");
    assert_ne!(other, long);
    assert!(table.find(&OpenAiChat, other.as_bytes()).is_none());
    let mut walk = Walk::new(1 << 20);
    assert!(
        table
            .find_first(None, &mut Here::new(other.as_bytes()), &mut walk)
            .is_none()
    );
    let cut = &long.as_bytes()[..long.len() - 1];
    assert!(table.find_first(None, &mut Here::new(cut), &mut walk).is_none() && walk.batches.is_empty());
}

/// Where each message of a list is found: its batch and its place in that.
fn walked(table: &Table, messages: &[&String], walk: &mut Walk) -> Vec<Option<(usize, u32)>> {
    let find = |text: &&String| {
        let rest = format!("{text}, ");
        let (index, len) = walk.next_in(table, None, rest.as_bytes())?;
        assert_eq!(len as usize, text.len());
        Some((walk.batches.len() - 1, index))
    };
    messages.iter().map(find).collect()
}

#[test]
fn a_walk_finds_what_the_table_has_and_what_stands_behind_it() {
    let table = Table::new(1 << 22);
    let kept: Vec<String> = (0..9)
        .map(|k| message(&format!("{k} {}", "text ".repeat(k * 40))))
        .collect();
    keep(&table, &kept);
    let (first, unknown) = (message("nobody kept this"), message("nor this"));
    for order in [[3, 4, 5, 0, 8], [8, 7, 1, 2, 2], [0, 1, 2, 3, 4]] {
        let mut messages: Vec<&String> = order.iter().map(|&k| &kept[k]).collect();
        messages.insert(2, &unknown);
        messages.insert(0, &first);
        let mut walk = Walk::new(1 << 20);
        let expected: Vec<Option<(usize, u32)>> = messages
            .iter()
            .map(|text| Some((0, table.find(&OpenAiChat, text.as_bytes())?.index)))
            .collect();
        assert_eq!(walked(&table, &messages, &mut walk), expected);
    }
    // Of the first message alone the table says where it is; the others stand in its batch, behind it or elsewhere.
    let mut walk = Walk::new(1 << 20);
    assert_eq!(walked(&table, &[&kept[4]], &mut walk), [Some((0, 4))]);
    let empty = Table::new(1 << 22);
    let others = walked(
        &empty,
        &[&kept[5], &kept[6], &kept[8], &unknown, &kept[7], &kept[0]],
        &mut walk,
    );
    assert_eq!(
        others,
        [
            Some((0, 5)),
            Some((0, 6)),
            Some((0, 8)),
            None,
            Some((0, 7)),
            Some((0, 0))
        ]
    );
}

#[test]
fn a_few_known_messages_between_new_ones_are_kept_with_them_again() {
    let table = Table::new(1 << 22);
    let known: Vec<String> = ["system", "call", "one", "two", "three"].map(message).into();
    keep(&table, &known);
    let new: Vec<String> = ["a", "b", "c", "d"].map(message).into();
    let list = [
        &known[0], &new[0], &known[1], &new[1], &known[2], &known[3], &known[4], &new[2], &known[3], &known[2],
        &new[3], &known[4],
    ];
    let transcript = read(&list.map(Clone::clone));
    let segment = &transcript.segments()[0];
    let mut adding = Adding::new(&OpenAiChat);
    for row in segment.messages() {
        let bytes = row.span.of(segment.source.bytes());
        match table.find(&OpenAiChat, bytes) {
            Some(found) => adding.pass(found, segment, row),
            None => adding.add_to(&table, segment, row, |_| ()),
        }
    }
    adding.hand_over(&table);
    let batch = table.find(&OpenAiChat, new[0].as_bytes()).unwrap().batch;
    let expected = [&new[0], &known[1], &new[1], &new[2], &known[3], &known[2], &new[3]];
    assert_eq!(batch.messages.len(), expected.len());
    for (index, text) in (0_u32..).zip(expected) {
        let found = table.find(&OpenAiChat, text.as_bytes()).unwrap();
        assert!(Arc::ptr_eq(&found.batch, &batch) && found.index == index, "{text}");
    }
    // What leads elsewhere now goes with the batch that it stood in no more.
    let others = table.find(&OpenAiChat, known[0].as_bytes()).unwrap().batch;
    assert!(!Arc::ptr_eq(&others, &batch));
    for &hash in &others.hashes {
        if table.shard(hash).unwrap().get_mut(&hash).unwrap().remove(&others) {
            table.shard(hash).unwrap().remove(&hash);
        }
    }
    let left = known.iter().map(|text| is_kept(&table, text.as_str()));
    assert_eq!(left.collect::<Vec<_>>(), [false, true, true, true, false]);
}

#[test]
fn what_a_walk_digests_in_vain_is_bounded() {
    let table = Table::new(1 << 20);
    let kept = [message("before"), message(&format!("{}a", "long ".repeat(100)))];
    keep(&table, &kept);
    let other = kept[1].replace("a\"}", "b\"}");
    assert_ne!(kept[1], other);
    // It starts as the one that stands there, and that one stood behind the first: it is digested once for both.
    let mut walk = Walk::new(other.len() + kept[0].len());
    let mut left = vec![];
    for _ in 0..5 {
        assert_eq!(walked(&table, &[&kept[0], &other], &mut walk), [Some((0, 0)), None]);
        left.push(walk.spare / other.len());
    }
    assert_eq!(left, [3, 2, 1, 0, 0]);
    assert_eq!(walked(&table, &[&kept[0], &kept[1]], &mut walk), [Some((0, 0)), None]);
}

#[test]
fn the_table_stays_within_its_bound_and_lets_go_of_what_is_not_asked_for() {
    let limit = SHARDS << 14;
    let table = Table::new(limit);
    let wanted = message("wanted");
    keep(&table, std::slice::from_ref(&wanted));
    for k in 0..200 {
        keep(
            &table,
            &(0..40)
                .map(|j| message(&format!("{k} {j} some text")))
                .collect::<Vec<_>>(),
        );
        assert!(is_kept(&table, &wanted), "asked for all the time, and gone");
    }
    let turns = table.turns.lock().unwrap();
    assert!(
        turns.bytes <= limit && turns.bytes > limit / 2,
        "{} of {limit}",
        turns.bytes
    );
    assert_eq!(
        turns.batches.iter().map(|batch| batch.bytes).sum::<usize>(),
        turns.bytes
    );
    let kept: usize = turns.batches.iter().map(|batch| batch.messages.len()).sum();
    let in_shards =
        |shard: &Mutex<Keyed<Alike>>| shard.lock().unwrap().values().map(|a| a.all().count()).sum::<usize>();
    assert_eq!(table.shards.iter().map(in_shards).sum::<usize>(), kept);
    drop(turns);
    assert!(table.find(&OpenAiChat, message("0 0 some text").as_bytes()).is_none());
}

#[test]
fn of_messages_that_start_alike_the_last_few_are_kept() {
    let table = Table::new(1 << 22);
    let alike: Vec<String> = (0..ALIKE + 3)
        .map(|k| message(&format!("{} {k}", "x".repeat(START_BYTES))))
        .collect();
    keep(&table, &alike);
    let found: Vec<bool> = alike.iter().map(|text| is_kept(&table, text)).collect();
    assert_eq!(found, (0..alike.len()).map(|k| k >= 3).collect::<Vec<_>>());
}

#[test]
fn what_is_too_large_is_not_kept() {
    let table = Table::new(LARGEST_SHARE << 12);
    let parts = [r#"{"type":"text","text":"x"}"#; 200].join(",");
    let large = format!(r#"{{"role":"user","content":[{parts}]}}"#);
    let long = message(&"x".repeat(200_000));
    keep(&table, &[large.clone(), long.clone()]);
    assert!(!is_kept(&table, &large), "rows take room");
    assert!(is_kept(&table, &long), "text takes none");
}

#[test]
fn a_body_of_counted_messages_is_recalled_with_its_counts() {
    let messages: Vec<String> = (0..30)
        .map(|k| message(&format!("recalled {k} {}", "words ".repeat(k))))
        .collect();
    let first = read(&messages);
    let counted = first.tokens(Encoding::Cl100kBase, None);
    let turned: Vec<String> = messages.iter().rev().cloned().collect();
    let body = format!(r#"{{"messages":[{}],"model":"gpt-4o","tools":[]}}"#, turned.join("\n,"));
    let source: Source = Arc::new(body.clone().into_bytes());
    let recalled = Transcript::recalled(&SourceBytes(source), None).unwrap();
    assert!(recalled.segments()[0].counts.is_counted(Encoding::Cl100kBase));
    assert_eq!(recalled.len(), messages.len());
    assert_eq!(recalled.first_role(), Some(Role::User));
    assert_eq!(recalled.tokens(Encoding::Cl100kBase, None), counted);
    assert_eq!(recalled.to_json(), body.as_bytes());
    assert_eq!(recalled.model().as_deref(), Some("gpt-4o"));
    assert_eq!(recalled.head().tools.unwrap().of(recalled.head().source.bytes()), b"[]");
}

#[test]
fn threads_that_count_the_same_bodies_agree() {
    let bodies: Vec<Vec<String>> = (0..4)
        .map(|b| {
            (0..60)
                .map(|k| message(&format!("thread {} {}", (b * 7 + k) % 90, "word ".repeat(k % 9))))
                .collect()
        })
        .collect();
    let alone: Vec<_> = bodies
        .iter()
        .map(|body| read(body).tokens(Encoding::O200kBase, None))
        .collect();
    let count = || {
        for _ in 0..20 {
            for (body, expected) in bodies.iter().zip(&alone) {
                assert_eq!(&read(body).tokens(Encoding::O200kBase, None), expected);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(count);
        }
    });
}

/// Transcripts of one source each, whose messages are kept as they are counted.
fn keep_body(table: &Table, body: &str) {
    let source: Source = Arc::new(body.as_bytes().to_vec());
    keep_segments(table, &Transcript::from_json(source, Some("openai.chat")).unwrap());
}

fn keep_segments(table: &Table, transcript: &Transcript) {
    for segment in transcript.segments() {
        let mut adding = Adding::new(&OpenAiChat);
        for row in segment.messages() {
            match table.find(&OpenAiChat, row.span.of(segment.source.bytes())) {
                Some(found) => adding.pass(found, segment, row),
                None => adding.add_to(table, segment, row, |_| ()),
            }
        }
        if !adding.messages.is_empty() {
            adding.hand_over(table);
        }
    }
}

/// How each message of a text is found: in a run with the ones behind it, or alone. `None` behind the last that is.
fn steps(table: &Table, text: &[u8]) -> Vec<usize> {
    let mut walk = Walk::new(text.len());
    let (mut at, mut found) = (0, vec![]);
    while let Some(next) = text[at..].iter().position(|&byte| byte == b'{') {
        at += next;
        if let Some((first, run)) = walk.next_run(&text[at..]) {
            let batch = walk.batches.last().unwrap();
            for (index, span) in (first as usize..).zip(run.messages) {
                assert_eq!(batch.signs[index].len as usize, span.len());
                let own = &text[at + span.start as usize..at + span.end as usize];
                let known = table.find(&OpenAiChat, own).unwrap();
                assert!(known.index as usize == index && Arc::ptr_eq(&known.batch, batch));
            }
            found.push(RUN);
            at += run.messages[RUN - 1].end as usize;
        } else if let Some((_, len)) = walk.next_in(table, None, &text[at..]) {
            found.push(1);
            at += len as usize;
        } else {
            return found;
        }
    }
    found
}

#[test]
fn messages_that_follow_on_each_other_as_they_did_are_found_as_one() {
    let table = Table::new(1 << 22);
    let kept: Vec<String> = (0..3 * RUN + 2)
        .map(|k| message(&format!("{k} {}", "text ".repeat(k * 7))))
        .collect();
    let list = kept.join(" , \n");
    keep_body(&table, &format!("[{list}]"));
    let alone = |count: usize| std::iter::repeat_n(1, count);
    let whole: Vec<usize> = alone(RUN).chain([RUN, RUN, 1, 1]).collect();
    assert_eq!(steps(&table, list.as_bytes()), whole);
    // Where they begin elsewhere, or something else stands between two of them, one by one.
    let from = list.find(&kept[RUN - 2]).unwrap();
    assert_eq!(steps(&table, &list.as_bytes()[from..]), [1, 1, RUN, RUN, 1, 1]);
    let spaced = list.replacen(
        " , \n{\"role\":\"user\",\"content\":\"10 ",
        ", {\"role\":\"user\",\"content\":\"10 ",
        1,
    );
    assert_ne!(spaced, list);
    let split: Vec<usize> = alone(2 * RUN).chain([RUN, 1, 1]).collect();
    assert_eq!(steps(&table, spaced.as_bytes()), split);
    // A byte that is another one, wherever in a run, is seen.
    let (start, end) = (list.find(&kept[RUN]).unwrap(), list.find(&kept[2 * RUN]).unwrap());
    for at in (start..end - 4).step_by(3) {
        let mut other = list.clone().into_bytes();
        other[at] ^= 1;
        assert!(!steps(&table, &other[..end]).contains(&RUN), "byte {at}");
    }
    assert!(!steps(&table, &list.as_bytes()[..end - 5]).contains(&RUN));
}

#[test]
fn messages_that_were_appended_one_by_one_make_no_run() {
    let table = Table::new(1 << 22);
    let kept: Vec<String> = (0..2 * RUN).map(|k| message(&format!("appended {k}"))).collect();
    let mut transcript = read(&kept[..1]);
    for text in &kept[1..] {
        let source: Source = Arc::new(text.clone().into_bytes());
        transcript = transcript.append(source).unwrap();
    }
    assert!(transcript.segments().iter().any(|segment| segment.len() >= RUN));
    keep_segments(&table, &transcript);
    assert!(!steps(&table, kept.concat().as_bytes()).contains(&RUN));
    let body = format!(r#"{{"messages":[{}]}}"#, kept.concat());
    assert!(Transcript::from_json(Arc::new(body.into_bytes()), None).is_err());
}

#[test]
fn known_messages_in_runs_and_alone_are_recalled_as_they_are_read() {
    let messages: Vec<String> = (0..6 * RUN)
        .map(|k| message(&format!("in runs {k} {}", "words ".repeat(k * 5 % 90))))
        .collect();
    read(&messages).tokens(Encoding::O200kBase, None);
    for (from, to) in [(0, 6 * RUN), (3, 5 * RUN + 1), (RUN, 4 * RUN)] {
        let turned = [&messages[from..to], &messages[..from]].concat();
        let body = format!(r#"{{"messages":[{}]}}"#, turned.join(", "));
        let source: Source = Arc::new(body.into_bytes());
        let recalled = Transcript::recalled(&SourceBytes(Arc::clone(&source)), None).unwrap();
        let whole = Transcript::read_whole(source, None).unwrap();
        assert_eq!(recalled.len(), turned.len());
        let tokens = |read: &Transcript| -> Vec<_> {
            (0..read.len())
                .map(|k| read.tokens(Encoding::O200kBase, Some(k..k + 1)))
                .collect()
        };
        assert_eq!(tokens(&recalled), tokens(&whole));
        for (k, text) in turned.iter().enumerate() {
            assert_eq!(recalled.message(k).unwrap().bytes(), text.as_bytes());
        }
        assert_eq!(
            recalled.segments()[0]
                .messages()
                .iter()
                .map(|row| row.gap)
                .collect::<Vec<_>>(),
            whole.segments()[0]
                .messages()
                .iter()
                .map(|row| row.gap)
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn where_no_message_comes_again_few_are_kept_until_one_does() {
    let limit = 1 << 20;
    let table = Table::new(limit);
    let counted = |messages: &[String]| {
        let transcript = read(messages);
        let segment = &transcript.segments()[0];
        let mut adding = Adding::to(&table, &OpenAiChat);
        for row in segment.messages() {
            match table.find(&OpenAiChat, row.span.of(segment.source.bytes())) {
                Some(found) => adding.pass(found, segment, row),
                None => adding.add_to(&table, segment, row, |_| ()),
            }
        }
        adding.finish_in(&table);
        messages.iter().all(|text| is_kept(&table, text))
    };
    let other = |k: usize| [message(&format!("{k} {}", "text ".repeat(2000)))];
    let bytes = other(1000)[0].len();
    let many = limit / bytes + 1;
    for k in 1000..1000 + many {
        assert!(counted(&other(k)), "{k} of {many}");
    }
    let kept: Vec<bool> = (2000..2000 + 4 * SELDOM).map(|k| counted(&other(k))).collect();
    assert_eq!(kept.iter().filter(|&&kept| kept).count(), 4, "{kept:?}");
    // One that is found makes up for some that were not.
    let known = (2000..).zip(&kept).find(|(_, kept)| **kept).unwrap().0;
    assert!(counted(&other(known)));
    for k in 3000..3008 {
        assert!(counted(&other(k)), "{k}");
    }
    // As does a body that is read from what is known.
    for k in 4000..4000 + 4 * many {
        counted(&other(k));
    }
    table.worth.note(0, 4 * bytes);
    for k in 5000..5064 {
        assert!(counted(&other(k)), "{k}");
    }
}
