//! Reading: the shared table of inputs, and laws over random bodies and random bytes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's own input that does not read is its failure"
)]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use turnfold_core::transcript::{Binding, ContentForm, Span};
use turnfold_core::{Block, BlockView, MessageView, ReadError, Role, Source, Transcript};

/// The formats that keep their messages in `messages`.
const WITH_MESSAGES: [&str; 4] = ["openai.chat", "anthropic.messages", "bedrock.converse", "mistral.chat"];

fn source(bytes: impl Into<Vec<u8>>) -> Source {
    Arc::new(bytes.into())
}

fn read(bytes: impl Into<Vec<u8>>, format: Option<&str>) -> Result<Transcript, ReadError> {
    Transcript::from_json(source(bytes), format)
}

fn table(part: &str) -> Vec<Value> {
    let table: Value = serde_json::from_str(include_str!("../../../tests/vectors/read.json")).unwrap();
    table[part].as_array().unwrap().clone()
}

fn input(case: &Value) -> Vec<u8> {
    if let Some(text) = case["input"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(hex) = case["hex"].as_str() {
        let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).unwrap() as u8).collect();
        return digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    }
    let pieces = case["pieces"].as_array().unwrap();
    let piece = |p: &Value| p[0].as_str().unwrap().repeat(p[1].as_u64().unwrap() as usize);
    pieces.iter().map(piece).collect::<String>().into_bytes()
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::Other => "other",
    }
}

fn content(form: ContentForm) -> &'static str {
    match form {
        ContentForm::Missing => "missing",
        ContentForm::Null => "null",
        ContentForm::Text { .. } => "text",
        ContentForm::List(_) => "list",
        ContentForm::Other => "other",
    }
}

/// A block as the table writes it, with the keys that the table may leave out where they say nothing.
fn block(view: BlockView<'_>, list: &str) -> Map<String, Value> {
    let binding = match view.row.binding {
        Binding::Free => Value::Null,
        bound => json!(bound.as_str()),
    };
    let flag = |on: bool| if on { json!(true) } else { Value::Null };
    let bytes = view.segment.source.bytes();
    let type_name = view
        .row
        .type_name
        .map(|s| turnfold_core::json::unescape(s.of(bytes)).into_owned());
    let fields = [
        ("kind", json!(view.kind().as_str())),
        ("path", json!(view.path(list))),
        ("texts", json!(view.texts().collect::<Vec<_>>())),
        ("call_id", json!(view.call_id())),
        ("name", json!(view.name())),
        ("binding", binding),
        ("type_name", json!(type_name)),
        ("by_name", flag(view.row.by_name)),
        ("non_blocking", flag(view.row.non_blocking)),
        ("server_side", flag(view.row.server_side)),
        ("blank", flag(view.row.blank)),
        ("is_error", flag(view.row.is_error)),
        ("whole", flag(view.row.whole)),
        ("part_of", json!(view.part_of())),
    ];
    fields
        .into_iter()
        .filter(|(_, v)| !v.is_null())
        .map(|(k, v)| (k.to_owned(), v))
        .collect()
}

fn message(view: MessageView<'_>, list: &str, expected: &Value) -> Value {
    let mut blocks = Vec::new();
    for (k, view) in view.blocks().enumerate() {
        let mut block = block(view, list);
        // The table names the seal and the item's id only where they matter, and so the body.
        for (key, value) in [("seal", view.seal()), ("item_id", view.item_id())] {
            if !expected["blocks"][k][key].is_null() {
                block.insert(key.to_owned(), json!(value));
            }
        }
        if !expected["blocks"][k]["body"].is_null() {
            let body = view
                .row
                .body
                .map(|s| String::from_utf8_lossy(s.of(view.segment.source.bytes())).into_owned());
            block.insert("body".to_owned(), json!(body));
        }
        blocks.push(Value::Object(block));
    }
    let mut row = json!({"role": role(view.role()), "content": content(view.row.content), "blocks": blocks});
    if let Some(name) = view.row.name {
        row["name"] = json!(turnfold_core::json::unescape(name.of(view.segment.source.bytes())));
    }
    row
}

#[test]
fn good_inputs_become_their_rows() {
    let mut failures = Vec::new();
    for case in table("good") {
        let name = case["name"].as_str().unwrap();
        let bytes = input(&case);
        let read = match read(bytes.clone(), case["format"].as_str()) {
            Ok(read) => read,
            Err(error) => {
                failures.push(format!("{name}: {error}"));
                continue;
            }
        };
        let expected = case["messages"].as_array().unwrap();
        let got: Vec<Value> = read
            .messages()
            .map(|m| message(m, read.list_field(), expected.get(m.index).unwrap_or(&Value::Null)))
            .collect();
        let mut check = |what: &str, got: &Value, expected: &Value| {
            if got != expected {
                failures.push(format!("{name}: {what}\n  got      {got}\n  expected {expected}"));
            }
        };
        check("messages", &Value::Array(got), &case["messages"]);
        check("format", &json!(read.format().name()), &case["reads_as"]);
        if !case["reason"].is_null() {
            check("reason", &json!(read.format_reason()), &case["reason"]);
        }
        let head = read.head();
        let text = |span: Option<Span>| span.map(|s| String::from_utf8_lossy(s.of(head.source.bytes())).into_owned());
        for (key, value) in case["head"].as_object().into_iter().flatten() {
            let got = match key.as_str() {
                "bare" => json!(head.bare),
                "model" => json!(read.model()),
                "system" => json!(text(head.system)),
                "tools" => json!(text(head.tools)),
                "thinking" => json!(head.thinking),
                other => panic!("unknown key {other}"),
            };
            check(key, &got, value);
        }
        assert_eq!(read.to_json(), bytes, "{name}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn bad_inputs_have_a_code_and_a_place() {
    let mut failures = Vec::new();
    for case in table("bad") {
        let name = case["name"].as_str().unwrap();
        let error = read(input(&case), case["format"].as_str()).expect_err(name);
        let got = json!([error.code.as_str(), error.offset, error.path]);
        let expected = json!([case["code"], case["offset"], case["path"]]);
        if got != expected {
            failures.push(format!("{name}: {error}\n  got      {got}\n  expected {expected}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn texts_of(read: &Transcript) -> Vec<String> {
    let texts = |m: MessageView<'_>| m.blocks().flat_map(|b| b.texts().map(String::from)).collect::<Vec<_>>();
    read.messages().flat_map(texts).collect()
}

#[test]
fn a_long_string_is_read_in_one_piece() {
    let body = format!(r#"[{{"role":"user","content":"{}"}}]"#, "a\\n".repeat(5_000_000));
    let read = read(body.clone(), None).unwrap();
    assert_eq!(texts_of(&read)[0].len(), 10_000_000);
    assert!(read.to_json() == body.as_bytes());
}

#[test]
fn numbers_of_any_length_are_kept() {
    let digits = "9".repeat(10_000);
    let body = format!(r#"{{"seed":-{digits}.{digits}e{digits},"messages":[{{"role":"user","content":{digits}}}]}}"#);
    let read = read(body.clone(), None).unwrap();
    assert_eq!(texts_of(&read), [digits]);
    assert!(read.to_json() == body.as_bytes());
}

#[test]
fn append_shares_what_stands_before() {
    let messages: Vec<String> = (0..100)
        .map(|k| format!(r#"{{"role":"user","content":"m{k}"}}"#))
        .collect();
    let first = read(format!("[{}]", messages.join(",")), None).unwrap();
    let second = first
        .append(source(&b"{\"role\":\"assistant\",\"content\":\"x\"}"[..]))
        .unwrap();
    assert_eq!((first.len(), second.len()), (100, 101));
    assert!(Arc::ptr_eq(&first.segments()[0], &second.segments()[0]));
    let third = second
        .append(source(&b" {\"role\":\"user\",\"content\":\"y\"} "[..]))
        .unwrap();
    assert!(Arc::ptr_eq(&first.segments()[0], &third.segments()[0]));
    assert_eq!(second.len(), 101);
    assert!(third.to_json().ends_with(
        br#"{"role":"user","content":"m99"},{"role":"assistant","content":"x"},{"role":"user","content":"y"}]"#
    ));
}

#[test]
fn many_appends_leave_few_segments() {
    let mut read = read("[]", None).unwrap();
    let mut most = 0;
    for k in 0..3_000 {
        read = read
            .append(source(format!(r#"{{"role":"user","content":"m{k}"}}"#)))
            .unwrap();
        most = most.max(read.segments().len());
    }
    assert_eq!(read.len(), 3_000);
    assert!(most <= 13, "{most}");
    let expected: Vec<String> = (0..3_000).map(|k| format!("m{k}")).collect();
    assert_eq!(texts_of(&read), expected);
    assert_eq!(
        read.message(1_234)
            .unwrap()
            .blocks()
            .next()
            .unwrap()
            .texts()
            .next()
            .unwrap(),
        "m1234"
    );
    assert!(read.message(3_000).is_none());
}

#[test]
fn an_appended_message_takes_the_style_of_the_array() {
    for (body, expected) in [
        ("[]", "[M]"),
        ("[ ]", "[M ]"),
        ("{\"messages\": [\n], \"n\": 1}", "{\"messages\": [M\n], \"n\": 1}"),
        ("[U]", "[U,M]"),
        ("[U, U]", "[U, U, M]"),
        ("[\n  U\n]", "[\n  U,\n  M\n]"),
        ("[\n  U ,\n  U\n]", "[\n  U ,\n  U,\n  M\n]"),
    ] {
        let user = r#"{"role":"user","content":"u"}"#;
        let more = r#"{"role":"assistant","content":"m"}"#;
        let fill = |text: &str| text.replace('U', user).replace('M', more);
        let read = read(fill(body), None).unwrap().append(source(more)).unwrap();
        assert_eq!(String::from_utf8(read.to_json()).unwrap(), fill(expected), "{body}");
    }
}

#[test]
fn an_appended_message_is_held_to_the_same_rules() {
    let read = read(r#"[{"role":"user","content":"u"}]"#, None).unwrap();
    for (message, code, offset, path) in [
        (" 7", "invalid_message", 1, "messages[1]"),
        (r#"{"role":null}"#, "invalid_message", 8, "messages[1].role"),
        (r#"{"content":"x"}"#, "invalid_message", 0, "messages[1]"),
        ("{", "invalid_json", 1, ""),
        ("{} {}", "invalid_json", 3, ""),
    ] {
        let error = read.append(source(message)).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.offset, error.path.as_str()),
            (code, offset, path),
            "{message}"
        );
    }
}

#[test]
fn new_messages_come_back_as_what_they_say() {
    let text = "a \"quote\" \\ \n \u{1} \u{4e2d}";
    for format in turnfold_core::formats::ALL {
        for asked in [
            Role::System,
            Role::Developer,
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::Other,
        ] {
            let message = format.text_message(asked, text);
            let read = read([b"[", message.as_slice(), b"]"].concat(), Some(format.name())).unwrap();
            let view = read.message(0).unwrap();
            let expected = match (format.name(), asked) {
                (_, Role::Assistant | Role::User)
                | ("openai.chat" | "openai.responses", Role::System | Role::Developer) => asked,
                ("mistral.chat", Role::System | Role::Developer) => Role::System,
                _ => Role::User,
            };
            assert_eq!(view.role(), expected);
            assert_eq!(texts_of(&read), [text]);
        }
    }
}

/// A block's row with its spans relative to its message.
fn relative(view: BlockView<'_>, message: Span) -> String {
    let moved = |s: Span| (s.start - message.start, s.end - message.start);
    let Block {
        span,
        call_id,
        name,
        body,
        type_name,
        part_of,
        item_id,
        seal,
        ..
    } = view.row.clone();
    let spans = [Some(span), call_id, name, body, type_name, part_of, item_id, seal].map(|s| s.map(moved));
    let texts: Vec<_> = view.segment.texts()[view.row.texts.start as usize..view.row.texts.end as usize]
        .iter()
        .map(|t| (moved(t.span), t.form))
        .collect();
    format!("{spans:?} {texts:?} {:?}", block(view, "messages"))
}

fn rows(read: &Transcript) -> Vec<String> {
    let row = |m: MessageView<'_>| {
        let blocks: Vec<_> = m.blocks().map(|b| relative(b, m.row.span)).collect();
        format!(
            "{:?} {:?} {} {blocks:?}",
            m.role(),
            m.row.content,
            String::from_utf8_lossy(m.bytes())
        )
    };
    read.messages().map(row).collect()
}

fn some_message() -> impl Strategy<Value = String> {
    let chat = [
        r#"{"role":"user","content":"W"}"#,
        r#"{ "role" : "system" , "content" : "W" }"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"W","type":"function","function":{"name":"f","arguments":"{\"a\":\"W\"}"}}]}"#,
        r#"{"role":"tool","tool_call_id":"W","content":"W"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"W"},{"type":"image_url","image_url":{"url":"W"}},{"odd":"W"}],"x":{"y":[1,2]}}"#,
        r#"{"role":"assistant","reasoning_content":"W","content":"W","refusal":"W"}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"W","content":[{"type":"text","text":"W"}]}]}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"W"},{"type":"tool_use","id":"W","name":"f","input":{"a":["W"]}}]}"#,
    ];
    (
        prop::sample::select(chat.to_vec()),
        r"[a-z ]{0,3}([a-z\u{4e2d}]|\\n|\\u00e9|\\ud83d){0,6}",
    )
        .prop_map(|(message, word)| message.replace('W', &word))
}

fn body() -> impl Strategy<Value = (Vec<String>, String)> {
    let white = || "[ \n\r\t]{0,3}";
    (
        prop::collection::vec((some_message(), white(), white()), 0..7),
        white(),
        any::<bool>(),
    )
        .prop_map(|(messages, edge, bare)| {
            let joined: Vec<String> = messages.iter().map(|(m, a, b)| format!("{a}{m}{b}")).collect();
            let array = format!("[{}{edge}]", joined.join(","));
            let whole = if bare {
                format!("{edge}{array}{edge}")
            } else {
                format!(r#"{edge}{{"model":"m",{edge}"messages":{edge}{array},"x":[{{}}]}}{edge}"#)
            };
            (messages.into_iter().map(|(m, ..)| m).collect(), whole)
        })
}

proptest! {
    #[test]
    fn untouched_is_identical((_, whole) in body(), format in prop::sample::select(WITH_MESSAGES.to_vec())) {
        let read = read(whole.clone(), Some(format)).unwrap();
        prop_assert_eq!(String::from_utf8(read.to_json()).unwrap(), whole);
    }

    #[test]
    fn prefix_and_appends_read_as_the_whole(
        (messages, whole) in body(),
        at in any::<prop::sample::Index>(),
        format in prop::sample::select(WITH_MESSAGES.to_vec()),
        counted in any::<bool>(),
    ) {
        let whole = read(whole, Some(format)).unwrap();
        let cut = at.index(messages.len() + 1);
        let mut grown = read(format!("[{}]", messages[..cut].join(", ")), Some(format)).unwrap();
        for message in &messages[cut..] {
            if counted {
                let _ = grown.tokens(turnfold_tokens::Encoding::Cl100kBase, Some(0..1));
            }
            let before = grown.to_json();
            grown = grown.append(source(message.as_str())).unwrap();
            let after = grown.to_json();
            prop_assert!(after.starts_with(&before[..before.len() - 1]));
        }
        prop_assert_eq!(rows(&grown), rows(&whole));
        let again = read(grown.to_json(), Some(format)).unwrap();
        prop_assert_eq!(rows(&again), rows(&whole));
        let encoding = turnfold_tokens::Encoding::Cl100kBase;
        let all = 0..messages.len();
        prop_assert_eq!(grown.tokens(encoding, Some(all.clone())), whole.tokens(encoding, Some(all)));
    }

    #[test]
    fn slices_read_as_their_part((messages, whole) in body(), a in 0usize..8, b in 0usize..8) {
        let whole = read(whole, Some("openai.chat")).unwrap();
        for segment in whole.segments() {
            let part = segment.slice(a..b);
            let (start, end) = (a.min(messages.len()), b.min(messages.len()));
            prop_assert_eq!(part.len(), end.saturating_sub(start));
            for (k, row) in part.messages().iter().enumerate() {
                let bytes = row.span.of(part.source.bytes());
                prop_assert_eq!(bytes, messages[start + k].as_bytes());
                let view = MessageView { index: start + k, segment: &part, row };
                let other = whole.message(start + k).unwrap();
                let blocks = |m: MessageView<'_>| m.blocks().map(|b| relative(b, m.row.span)).collect::<Vec<_>>();
                prop_assert_eq!(blocks(view), blocks(other));
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(bytes, None);
    }

    #[test]
    fn mutated_bodies_are_read_or_refused(
        (_, whole) in body(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"\"\\{}[],:0x\xFF \n".to_vec()),
        format in prop::option::of(prop::sample::select(WITH_MESSAGES.to_vec())),
    ) {
        let mut bytes = whole.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        for bytes in [bytes.clone(), bytes[..at].to_vec(), [&bytes[..at], &bytes[at + 1..]].concat()] {
            match read(bytes.clone(), format) {
                Ok(read) => {
                    prop_assert_eq!(read.to_json(), bytes);
                    let _ = read.tokens(turnfold_tokens::Encoding::O200kBase, None);
                }
                Err(error) => prop_assert!(error.offset <= bytes.len()),
            }
        }
    }
}
