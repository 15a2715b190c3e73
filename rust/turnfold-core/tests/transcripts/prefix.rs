//! What two requests share from the start: the shared table, and the byte-by-byte twin.

use crate::bodies::{Body, body, message, read};
use proptest::prelude::*;
use serde_json::{Value, json};
use turnfold_core::json::Document;
use turnfold_core::prefix::{PrefixReport, compare};
use turnfold_tokens::Encoding;

fn table() -> Value {
    serde_json::from_str(include_str!("../../../../tests/vectors/prefix.json")).unwrap()
}

fn report(before: &turnfold_core::Transcript, after: &turnfold_core::Transcript) -> PrefixReport {
    compare(before, after, Encoding::O200kBase)
}

#[test]
fn the_table() {
    for case in table()["cases"].as_array().unwrap() {
        let format = case["format"].as_str().unwrap();
        let text = |key: &str| read(case[key].as_str().unwrap().as_bytes().to_vec(), format);
        let got = report(&text("before"), &text("after"));
        let difference = got.first_difference.as_ref().map_or(
            Value::Null,
            |d| json!({"section": d.section.as_str(), "message": d.message, "path": d.path}),
        );
        let mut all = json!({
            "bytes": got.bytes, "messages": got.messages, "tokens": got.tokens, "first_difference": difference,
            "before_is_prefix": got.before_is_prefix, "ignoring_cache_markers": got.ignoring_cache_markers,
        });
        if case["expect"].get("tokens").is_none() {
            all.as_object_mut().unwrap().remove("tokens");
        }
        assert_eq!(all, case["expect"], "{}", case["name"]);
    }
}

/// The field cases of layer prefix. Where the format has no instructions beside the messages, they are the first one.
#[test]
fn the_field_cases() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/cases");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let case: Value = match serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()) {
            Ok(case) => case,
            Err(_) => continue,
        };
        if case["layer"] != "prefix" {
            continue;
        }
        let beside = case["format"] == "anthropic";
        let format = if beside { "anthropic.messages" } else { "openai.chat" };
        let requests: Vec<_> = case["input"]["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|request| {
                let mut messages: Vec<String> = request["messages"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|m| m.as_str().unwrap().to_owned())
                    .collect();
                if !beside {
                    messages.insert(0, json!({"role": "system", "content": request["system"]}).to_string());
                }
                let body = Body {
                    format,
                    tools: request["tools"].as_str().map(str::to_owned),
                    system: beside.then(|| request["system"].to_string()),
                    messages,
                    gaps: Vec::new(),
                    bare: false,
                };
                body.read()
            })
            .collect();
        let got = report(&requests[0], &requests[1]);
        let expect = &case["expect"]["prefix"];
        let divergence = got.first_difference.map_or(Value::Null, |d| {
            let index = d.message.map_or(0, |k| k - usize::from(!beside));
            json!({"segment": d.section.as_str(), "index": index})
        });
        assert_eq!(
            json!(got.before_is_prefix),
            expect["first_is_prefix_of_second"],
            "{}",
            case["title"]
        );
        assert_eq!(divergence, expect["first_divergence"], "{}", case["title"]);
        if let Some(ignoring) = expect.get("ignoring_cache_markers") {
            assert_eq!(
                json!(got.ignoring_cache_markers),
                ignoring["first_is_prefix_of_second"],
                "{}",
                case["title"]
            );
        }
        seen += 1;
    }
    assert!(seen >= 5, "{seen} cases in {folder}");
}

/// Byte by byte over the parts, as the documentation says it.
fn naively(before: &Body, after: &Body) -> (usize, usize, bool) {
    let (old, new) = (before.parts(), after.parts());
    let head = old.len() - before.messages.len();
    let (mut bytes, mut whole) = (0, 0);
    for (k, part) in old.iter().enumerate() {
        let other = new.get(k).map_or("", String::as_str);
        let mut at = 0;
        while at < part.len() && at < other.len() && part.as_bytes()[at] == other.as_bytes()[at] {
            at += 1;
        }
        bytes += at;
        if k >= new.len() || at < part.len() || at < other.len() {
            return (bytes, whole, false);
        }
        whole += usize::from(k >= head);
    }
    (bytes, whole, true)
}

/// The raw bytes at a path of a body; a bare array's path starts with `messages`.
fn at_path(json: &str, path: &str) -> Option<String> {
    let document = Document::parse(json.as_bytes()).unwrap();
    let mut value = document.root();
    let mut steps = path
        .replace(']', "")
        .replace('[', ".")
        .split('.')
        .map(str::to_owned)
        .collect::<Vec<_>>();
    if value.is_array() {
        steps.remove(0);
    }
    for step in steps {
        value = match step.parse::<usize>() {
            Ok(k) => value.items().nth(k)?,
            Err(_) => value.get(&step)?,
        };
    }
    Some(String::from_utf8(value.raw().to_vec()).unwrap())
}

/// A body that starts as another one does, and goes on differently.
fn pair() -> impl Strategy<Value = (Body, Body)> {
    body().prop_flat_map(|before| {
        let (format, n) = (before.format, before.messages.len());
        (
            Just(before),
            0..=n,
            prop::collection::vec(message(format), 0..4),
            0..4_u8,
            body(),
        )
            .prop_map(|(before, keep, tail, twist, other)| {
                let mut after = before.clone();
                match twist {
                    0 => after.messages.truncate(keep),
                    1 => {}
                    2 => after.tools.clone_from(&other.tools),
                    _ => after.system.clone_from(&other.system),
                }
                after.messages.extend(tail);
                after.gaps.clone_from(&other.gaps);
                (before, after)
            })
    })
}

proptest! {
    #[test]
    fn bytes_and_messages_are_those_of_the_twin((before, after) in pair()) {
        let got = report(&before.read(), &after.read());
        let (bytes, messages, is_prefix) = naively(&before, &after);
        prop_assert_eq!((got.bytes, got.messages, got.before_is_prefix), (bytes, messages, is_prefix));
        prop_assert_eq!(got.first_difference.is_none(), is_prefix);
        prop_assert!(got.ignoring_cache_markers || !is_prefix);
    }

    #[test]
    fn the_path_names_a_value_that_differs((before, after) in pair()) {
        if let Some(difference) = report(&before.read(), &after.read()).first_difference {
            let (old, new) = (at_path(&before.json(), &difference.path), at_path(&after.json(), &difference.path));
            prop_assert!(old.is_some() || new.is_some(), "{}", difference.path);
            prop_assert_ne!(old, new, "{}", difference.path);
            if let Some(k) = difference.message {
                let start = format!("messages[{k}]");
                prop_assert!(difference.path.starts_with(&start));
            }
        }
    }

    #[test]
    fn markers_make_no_difference_where_they_are_ignored(before in body()) {
        let mut after = before.clone();
        for message in &mut after.messages {
            *message = message.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
        }
        let got = report(&before.read(), &after.read());
        prop_assert!(got.ignoring_cache_markers);
        prop_assert!(report(&after.read(), &before.read()).ignoring_cache_markers);
        prop_assert_eq!(got.before_is_prefix, before.messages == after.messages);
    }

    #[test]
    fn an_appended_request_starts_with_the_old_one(before in body(), seed in any::<prop::sample::Index>()) {
        let all = before.read();
        let cut = seed.index(before.messages.len() + 1);
        let mut head = before.clone();
        head.messages.truncate(cut);
        let mut grown = head.read();
        for message in &before.messages[cut..] {
            grown = grown.append(std::sync::Arc::new(message.clone().into_bytes())).unwrap();
        }
        let got = report(&head.read(), &grown);
        prop_assert!(got.before_is_prefix);
        prop_assert_eq!(got.messages, cut);
        prop_assert_eq!(report(&grown, &all), report(&all, &grown));
        prop_assert!(report(&grown, &all).before_is_prefix);
    }
}
