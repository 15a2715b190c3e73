use std::borrow::Cow;

use proptest::prelude::*;

use super::{Document, Kind, MAX_DEPTH, Node, Unescaping, Value, escape, is_blank, scan, tape, unescape};
use crate::errors::ReadErrorCode;
use crate::simd::Level;

fn fault(bytes: &[u8]) -> (ReadErrorCode, usize) {
    let error = Document::parse(bytes).expect_err("should not be accepted");
    (error.code, error.offset)
}

/// The document as `serde_json` sees it. Strings are compared by text, numbers by their letters.
fn same(ours: Value<'_>, theirs: &serde_json::Value) -> bool {
    match (ours.kind(), theirs) {
        (Kind::Null, serde_json::Value::Null)
        | (Kind::True, serde_json::Value::Bool(true))
        | (Kind::False, serde_json::Value::Bool(false)) => true,
        (Kind::Number, serde_json::Value::Number(number)) => {
            let letters = String::from_utf8_lossy(ours.raw()).replace('E', "e");
            number.to_string().replace("e+", "e") == letters.replace("e+", "e")
        }
        (Kind::String, serde_json::Value::String(text)) => ours.text() == Some(Cow::Borrowed(text.as_str())),
        (Kind::Array, serde_json::Value::Array(items)) => {
            ours.items().count() == items.len() && ours.items().zip(items).all(|(a, b)| same(a, b))
        }
        (Kind::Object, serde_json::Value::Object(fields)) => {
            ours.fields()
                .all(|(key, _)| fields.contains_key(&*key.text().unwrap_or_default()))
                && fields
                    .iter()
                    .all(|(key, value)| ours.get(key).is_some_and(|v| same(v, value)))
        }
        _ => false,
    }
}

/// Whether the tape from places is that of the pass over every byte, for every level of this machine.
fn same_tape(bytes: &[u8]) -> Result<(), String> {
    let spans = |nodes: Vec<Node>| -> Vec<_> { nodes.iter().map(|n| (n.start, n.end, n.next)).collect() };
    let slow = scan::scan(bytes).ok().map(spans);
    let slow_items = scan::scan_items(bytes, 2).ok().map(spans);
    for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
        let (fast, fast_items) = (tape::document_at(level, bytes), tape::items_at(level, bytes, 2));
        if fast.map(spans) != slow || fast_items.map(spans) != slow_items {
            return Err(format!("{level:?}: {:?}", String::from_utf8_lossy(bytes)));
        }
    }
    Ok(())
}

/// Whether both readers agree on `bytes`, wherever in a block they stand; the judge is excused where it refuses a lone surrogate.
fn judged(bytes: &[u8]) -> Result<(), String> {
    for moved in [0, 1, 31, 61, 64] {
        let white = " ".repeat(moved);
        same_tape(&[white.as_bytes(), bytes].concat())?;
        same_tape(&[b",", white.as_bytes(), bytes].concat())?;
        same_tape(&[b"[\"", "\\\\".repeat(moved).as_bytes(), b"\",", bytes, b"]"].concat())?;
    }
    let theirs: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
    match (Document::parse(bytes), theirs) {
        (Ok(ours), Ok(theirs)) if same(ours.root(), &theirs) => Ok(()),
        (Err(_), Err(_)) => Ok(()),
        (Ok(_), Err(e)) if e.to_string().contains("surrogate") || e.to_string().contains("hex escape") => Ok(()),
        (Err(e), Ok(_)) if e.code == ReadErrorCode::TooDeep => Ok(()),
        (ours, theirs) => Err(format!("{:?}: {ours:?} / {theirs:?}", String::from_utf8_lossy(bytes))),
    }
}

#[test]
fn faults_have_their_place() {
    use ReadErrorCode::{InvalidJson, InvalidUtf8};
    for (input, offset) in [
        ("", 0),
        ("  ", 2),
        ("[1, 2", 5),
        ("[1 2]", 3),
        ("[1,]", 3),
        ("[,1]", 1),
        ("{\"a\" 1}", 5),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("[}", 1),
        ("[1}", 2),
        ("{\"a\":1]", 6),
        ("[01]", 2),
        ("[1.]", 3),
        ("[-]", 2),
        ("[1e+]", 4),
        ("[+1]", 1),
        ("[tru]", 4),
        ("[NaN]", 1),
        ("\"a\u{1}\"", 2),
        ("\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\n\"", 53),
        ("\"\\x\"", 2),
        ("\"\\u12G4\"", 5),
        ("\"\\u12", 5),
        ("\"abc", 4),
        ("\"abc\\", 5),
        ("{} {}", 3),
        ("[1]]", 3),
        ("'a'", 0),
    ] {
        assert_eq!(fault(input.as_bytes()), (InvalidJson, offset), "{input:?}");
        assert!(serde_json::from_str::<serde_json::Value>(input).is_err(), "{input:?}");
    }
    assert_eq!(fault(b"[\"ab\xFF\"]"), (InvalidUtf8, 4));
    assert_eq!(fault(b"\"\xED\xA0\x80\""), (InvalidUtf8, 1));
}

#[test]
fn nesting_is_bounded_and_linear() {
    let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
    assert!(Document::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert_eq!(
        fault(nested(MAX_DEPTH + 1).as_bytes()),
        (ReadErrorCode::TooDeep, MAX_DEPTH)
    );
    assert_eq!(
        fault("{\"a\":".repeat(1_000_000).as_bytes()),
        (ReadErrorCode::TooDeep, 5 * MAX_DEPTH)
    );
    let brackets_in_text = format!("\"{}\"", "[".repeat(1_000_000));
    assert!(Document::parse(brackets_in_text.as_bytes()).is_ok());
}

#[test]
fn long_scalars_are_read() {
    let digits = "7".repeat(10_000);
    let number = format!("-{digits}.{digits}e+{digits}");
    let document = Document::parse(number.as_bytes()).expect("a number");
    assert_eq!(document.root().raw().len(), number.len());
    let text = format!("\"{}\"", "\\n".repeat(1_000_000));
    let document = Document::parse(text.as_bytes()).expect("a string");
    assert_eq!(document.root().text().expect("text").len(), 1_000_000);
}

#[test]
fn the_last_of_equal_keys_counts() {
    let document = Document::parse(br#"{"a":1,"b":2,"\u0061":3}"#).expect("an object");
    assert_eq!(document.root().get("a").expect("a").raw(), b"3");
    assert_eq!(document.root().fields().count(), 3);
}

#[test]
fn a_byte_order_mark_is_white_space() {
    let document = Document::parse(b"\xEF\xBB\xBF [1]").expect("an array");
    assert_eq!(document.root().span().start, 4);
    assert_eq!(fault(b"[\xEF\xBB\xBF1]").0, ReadErrorCode::InvalidJson);
}

#[test]
fn surrogates_join_or_are_replaced() {
    for (literal, text) in [
        (r#""\ud83d\ude00""#, "\u{1F600}"),
        (r#""\ud83d""#, "\u{FFFD}"),
        (r#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"),
        (r#""\ud83d\ud83d\ude00""#, "\u{FFFD}\u{1F600}"),
        (r#""\ud83d x\ude00""#, "\u{FFFD} x\u{FFFD}"),
        (r#""a\u0000b""#, "a\0b"),
        (r#""\/\b\f\n\r\t\"\\""#, "/\u{8}\u{C}\n\r\t\"\\"),
    ] {
        assert_eq!(unescape(literal.as_bytes()), text, "{literal}");
        assert!(Document::parse(literal.as_bytes()).is_ok(), "{literal}");
    }
}

#[test]
fn blank_is_what_strips_to_nothing() {
    for (literal, blank) in [
        (r#""""#, true),
        (r#"" \n\t\r ""#, true),
        (r#""\u0020\u00a0\u3000""#, true),
        ("\"\u{3000}\u{a0}\"", true),
        (r#"" .""#, false),
        (r#""\u0041""#, false),
        ("\" \u{e9}\"", false),
    ] {
        assert_eq!(is_blank(literal.as_bytes()), blank, "{literal}");
    }
}

fn json() -> impl Strategy<Value = String> {
    let text = "[ -~\u{e9}\u{4e2d}\u{1F600}\n\u{1}]{0,12}".prop_map(|s| String::from_utf8(escape(&s)).expect("UTF-8"));
    let odd = prop_oneof![
        Just("\"\\ud83d\\ude00\"".to_owned()),
        Just("\"\\u00e9\\/\"".to_owned()),
        Just("-0.50E+10".to_owned()),
        Just("1e5".to_owned()),
    ];
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        text.clone(),
        odd,
    ];
    scalar.prop_recursive(6, 40, 5, move |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..5), "[ \n\t]{0,2}")
                .prop_map(|(items, white)| format!("[{white}{}{white}]", items.join(&format!("{white},")))),
            prop::collection::vec((text.clone(), inner), 0..5).prop_map(|fields| {
                let fields: Vec<_> = fields.into_iter().map(|(k, v)| format!("{k}: {v}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn agrees_with_serde_json_on_valid(text in json()) {
        prop_assert!(Document::parse(text.as_bytes()).is_ok(), "{text}");
        prop_assert_eq!(judged(text.as_bytes()), Ok(()));
    }

    #[test]
    fn agrees_with_serde_json_on_mutated(text in json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut changed = text.clone().into_bytes();
        let at = at.index(changed.len());
        changed[at] = byte;
        prop_assert_eq!(judged(&changed), Ok(()));
        changed.remove(at);
        prop_assert_eq!(judged(&changed), Ok(()));
        prop_assert_eq!(judged(&text.as_bytes()[..at]), Ok(()));
    }

    #[test]
    fn agrees_with_serde_json_on_near_json(text in r#"[\[\]{}:,"\\0-9eE.+\-truefalsn ud]{0,40}"#) {
        prop_assert_eq!(judged(text.as_bytes()), Ok(()));
    }

    #[test]
    fn strings_of_any_bytes(inner in prop::collection::vec(any::<u8>(), 0..80)) {
        let text = [b"\"", inner.as_slice(), b"\""].concat();
        prop_assert_eq!(judged(&text), Ok(()));
    }

    #[test]
    fn items_and_escapes_of_any_length(items in prop::collection::vec(json(), 0..20), cut in any::<prop::sample::Index>()) {
        let text = items.iter().fold(String::new(), |text, item| text + " ," + item);
        prop_assert_eq!(same_tape(text.as_bytes()), Ok(()));
        prop_assert_eq!(same_tape(&text.as_bytes()[..cut.index(text.len() + 1)]), Ok(()));
    }

    #[test]
    fn strings_full_of_escapes(inner in r#"([\\"nu/x]|\\u[0-9a-fA-Fg]{4}|a{0,70}){0,60}"#, end in "[\\\\\"]{0,3}") {
        prop_assert_eq!(judged(format!("\"{inner}{end}").as_bytes()), Ok(()));
    }

    #[test]
    fn escape_comes_back(text in prop_oneof![any::<String>(), "[\u{0}-\u{7f}\u{e9}]{0,20}"]) {
        let literal = escape(&text);
        prop_assert_eq!(unescape(&literal), text.as_str());
        let back: String = serde_json::from_slice(&literal).expect("JSON");
        prop_assert_eq!(&back, &text);
        prop_assert_eq!(&literal, &serde_json::to_vec(&text).expect("JSON"));
        prop_assert_eq!(is_blank(&literal), text.chars().all(char::is_whitespace));
    }

    #[test]
    fn unescape_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = unescape(&bytes);
        let _ = is_blank(&bytes);
    }

    #[test]
    fn shared_room_changes_no_text(
        literals in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..60),
                "\"([a-z \u{e9}\u{4e2d}]{0,20}(\\\\[nrtbf\"\\\\/u]|\\\\u[0-9a-fA-Fd-gD]{4}|\\\\ud[89ab]3d\\\\ud[cdef]00|\\\\\u{e9})?){0,6}\"?"
                    .prop_map(String::into_bytes),
            ],
            1..5,
        ),
        behind in 0_usize..80,
    ) {
        let mut source = literals.concat();
        source.resize(source.len() + behind, b'\\');
        for level in Level::ALL.into_iter().filter(|level| level.is_there()) {
            let mut room = Unescaping::default();
            let mut start = 0;
            for literal in &literals {
                let text = room.text_at(level, &source, start..start + literal.len());
                start += literal.len();
                prop_assert_eq!(text, unescape(literal), "{:?} {:?}", level, String::from_utf8_lossy(literal));
            }
        }
    }
}
