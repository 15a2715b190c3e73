//! What OpenAI's models read in the place of calls.
//!
//! Arguments stand without white space. Models before the reasoning ones see several calls of one message as one call of
//! `multi_tool_use.parallel`, whose arguments list the calls, and their results as one result that lists the contents; a
//! text beside calls is a message of its own. Read off the completion tokens of such calls and the prompts of the requests
//! that followed (gpt-4o-mini and gpt-4.1-mini), and checked on other recordings of both.

use std::borrow::Cow;

use super::Reading;
use crate::meter::models;

/// A call: its tool's name and its arguments.
pub(crate) type Call<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The arguments of a call without the white space between their parts; as they are where they are no JSON object.
pub(super) fn compact(arguments: &str) -> Cow<'_, str> {
    if !arguments.trim_ascii_start().starts_with('{') {
        return Cow::Borrowed(arguments);
    }
    let (mut out, mut from) = (String::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in arguments.bytes().enumerate() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte == b'"' {
            quoted = true;
        } else if byte.is_ascii_whitespace() {
            if from == 0 {
                out.reserve(arguments.len());
            }
            out.push_str(arguments.get(from..at).unwrap_or_default());
            from = at + 1;
        }
    }
    if from == 0 {
        return Cow::Borrowed(arguments);
    }
    out.push_str(arguments.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// How counts are read as those of a model, where the reasoning ones are the later ones.
pub(super) fn reading(model: &str) -> Reading {
    if models::is_openai_reasoning(model) {
        Reading::Later
    } else {
        Reading::AsCounted
    }
}

/// How many tokens several calls of one message and their results take beyond what [`super::Envelope::block`] and
/// [`super::Envelope::message`] say of each.
pub(super) fn parallel(calls: &[Call<'_>], count: &dyn Fn(&str) -> u64) -> i64 {
    let count = |text: &str| count(text).cast_signed();
    let bytes: usize = calls.iter().map(|(name, arguments)| name.len() + arguments.len()).sum();
    let mut listed = String::with_capacity(bytes + 64 * calls.len());
    listed.push_str("{\"tool_uses\":[");
    let mut alone = 0;
    for (place, (name, arguments)) in calls.iter().enumerate() {
        let arguments = compact(arguments);
        alone += 2 * count(name) + count(&arguments) + SINGLE.cast_signed();
        for part in [
            if place == 0 { "" } else { "," },
            "{\"recipient_name\":\"functions.",
            name,
            "\",\"parameters\":",
            &arguments,
            "}",
        ] {
            listed.push_str(part);
        }
    }
    listed.push_str("]}");
    // The call and its result are framed by 20 tokens. Brackets, commas and quotes around the contents take two more than
    // there are; the frames of 4 of the message with the calls and of each result go.
    let results = (calls.len() as u64).cast_signed();
    count(&listed) + 20 + (results + 2) - 4 * (results + 1) - alone
}

/// What frames a call beyond its name, twice, and its arguments.
pub(super) const SINGLE: u64 = 5;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use turnfold_tokens::Encoding;

    use super::*;

    #[test]
    fn white_space_goes_where_it_stands_outside_of_strings() {
        for (given, sent) in [
            (r#"{"a": 1, "b": [true, null]}"#, r#"{"a":1,"b":[true,null]}"#),
            ("{\n  \"q\" : \"x \\\" y\" }\n", r#"{"q":"x \" y"}"#),
            (r#"{"q":"x  y \\"}"#, r#"{"q":"x  y \\"}"#),
            ("plain text stays", "plain text stays"),
            ("[1, 2]", "[1, 2]"),
            ("", ""),
        ] {
            assert_eq!(compact(given), sent);
        }
    }

    #[test]
    fn parallel_calls_are_one_call_of_a_wrapper() {
        let tokenizer = Encoding::O200kBase.tokenizer();
        let calls: Vec<Call<'_>> = ["Oslo", "Rome"]
            .map(|city| (Cow::Borrowed("weather"), Cow::Owned(format!(r#"{{"city": "{city}"}}"#))))
            .into();
        let listed = r#"{"tool_uses":[{"recipient_name":"functions.weather","parameters":{"city":"Oslo"}},{"recipient_name":"functions.weather","parameters":{"city":"Rome"}}]}"#;
        let counted = |text: &str| tokenizer.count(text) as u64;
        let count = |text: &str| counted(text).cast_signed();
        let alone: i64 = calls
            .iter()
            .map(|(name, sent)| 2 * count(name) + count(&compact(sent)) + 5)
            .sum();
        assert_eq!(parallel(&calls, &counted), count(listed) + 20 + 4 - 12 - alone);
    }

    proptest! {
        #[test]
        fn what_is_sent_says_the_same(value in prop::collection::btree_map(".{0,9}", any::<(i32, bool)>(), 0..5)) {
            let spaced: Vec<String> = value
                .iter()
                .map(|(key, (number, flag))| {
                    format!("{} : [ {number},\t{flag} ]", String::from_utf8_lossy(&crate::json::escape(key)))
                })
                .collect();
            let plain: Vec<String> = value
                .iter()
                .map(|(key, (number, flag))| format!("{}:[{number},{flag}]", String::from_utf8_lossy(&crate::json::escape(key))))
                .collect();
            let (spaced, plain) = (format!("{{ {} }}", spaced.join(" ,\n")), format!("{{{}}}", plain.join(",")));
            prop_assert_eq!(&compact(&spaced), &plain);
            prop_assert!(matches!(compact(&plain), Cow::Borrowed(same) if same == plain));
        }
    }
}
