use std::sync::Arc;

use proptest::prelude::*;
use turnfold_tokens::Encoding;

use super::bounds::Asked;
use super::models::ModelLabel;
use super::{CountSource, TokenCount};
use crate::formats::Section;
use crate::transcript::{Source, Transcript};

const O200K: Encoding = Encoding::O200kBase;

fn read(body: &str) -> Transcript {
    let source: Source = Arc::new(body.as_bytes().to_vec());
    Transcript::from_json(source, None).expect("a transcript")
}

fn text_tokens(text: &str) -> u64 {
    O200K.tokenizer().count(text) as u64
}

/// A transcript of `count` messages, plain text but for a call and its result now and then.
fn conversation(count: usize) -> String {
    let message = |k: usize| match k % 5 {
        3 => format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{k}","type":"function","function":{{"name":"read","arguments":"{{\"k\": {k}}}"}}}}]}}"#
        ),
        4 => format!(r#"{{"role":"tool","tool_call_id":"c{}","content":"line {k}"}}"#, k - 1),
        _ => format!(r#"{{"role":"user","content":"message {k} says a little"}}"#),
    };
    let messages: Vec<String> = (0..count).map(message).collect();
    format!("[{}]", messages.join(", "))
}

#[test]
fn plain_text_is_exact() {
    let read = read(r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi","name":"ann"}]"#);
    let first = 3 + 1 + text_tokens("Be brief.");
    let second = 3 + 1 + text_tokens("Hi") + 1 + text_tokens("ann");
    assert_eq!(read.tokens(O200K, Some(0..1)), TokenCount::exact(first));
    assert_eq!(read.tokens(O200K, Some(1..2)), TokenCount::exact(second));
    assert_eq!(read.tokens(O200K, None), TokenCount::exact(first + second + 3));
    assert_eq!(read.tokens(O200K, Some(1..1)), TokenCount::ZERO);
    assert_eq!(read.tokens(O200K, Some(5..9)), TokenCount::ZERO);
}

#[test]
fn reasoning_models_start_the_reply_with_two() {
    let of = |model: &str| {
        read(&format!(
            r#"{{"model":"{model}","messages":[{{"role":"user","content":"Hi"}}]}}"#
        ))
    };
    assert_eq!(of("gpt-4o").tokens(O200K, None), TokenCount::exact(8));
    assert_eq!(of("o3-mini").tokens(O200K, None), TokenCount::exact(7));
    assert_eq!(of("gpt-5").tokens(O200K, None), TokenCount::exact(7));
    assert_eq!(of("gpt-oss-120b").tokens(O200K, None).source, CountSource::Estimate);
}

#[test]
fn the_model_decides_over_what_is_remembered() {
    let body = r#"{"model":"claude-opus-4-6","tools":[{"name":"f","input_schema":{}}],"max_tokens":9,"messages":[
        {"role":"user","content":"Read the report and say what is late in it."}]}"#;
    let claude = read(body);
    let whole = |model| claude.tokens_for(O200K, ModelLabel::Estimate, model, None);
    let message = |model| claude.tokens_for(O200K, ModelLabel::Estimate, model, Some(0..1));
    assert_eq!(whole(None), whole(Some("claude-opus-4-6")));
    assert!(message(None).n < message(Some("claude-opus-4-7")).n);
    assert!(
        whole(Some("claude-opus-4-7")).n < whole(None).n,
        "the newer prompt of tools is shorter"
    );
    assert_eq!(whole(None), claude.tokens(O200K, None));
}

#[test]
fn nothing_costs_nothing_whatever_the_model() {
    for model in [
        "claude-opus-4-6",
        "claude-opus-4-7",
        "us.anthropic.claude-opus-4-7-v1:0",
        "gpt-5",
    ] {
        for (format, content) in [
            ("anthropic.messages", r#""Hi""#),
            ("bedrock.converse", r#"[{"text":"Hi"}]"#),
        ] {
            let body = format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":{content}}}]}}"#);
            let read = Transcript::from_json(Arc::new(body.into_bytes()), Some(format)).unwrap();
            assert_eq!(read.tokens(O200K, Some(1..9)), TokenCount::ZERO, "{model}");
            assert_eq!(read.section_tokens(O200K, Section::System), TokenCount::ZERO, "{model}");
        }
    }
}

/// The framing of functions and of a schema, beside a system message and without one, from recorded usage.
#[test]
fn functions_are_counted_as_the_provider_reported() {
    let country = r#"[{"type":"function","function":{"name":"get_user_country","description":"","parameters":
        {"type":"object","properties":{},"additionalProperties":false}}}]"#;
    let multiply = r#"[{"type":"function","function":{"name":"multiply","description":"Multiply two numbers.",
        "parameters":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}}}]"#;
    let user = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let system = r#"{"role":"system","content":"You're a helpful assistant."}"#;
    let city = user("What is the largest city in the user country?");
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":
        "get_user_country","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"Mexico"}"#;
    for (tools, messages, reported) in [
        (country, city.clone(), 42),
        (country, format!("{city},{call}"), 63),
        (multiply, user("What is 1231 * 2331?"), 54),
    ] {
        let body = format!(r#"{{"model":"gpt-4o","tools":{tools},"messages":[{messages}]}}"#);
        assert_eq!(read(&body).tokens(O200K, None).n, reported, "{body}");
        let with_system = format!(r#"{{"model":"gpt-4o","tools":{tools},"messages":[{system},{messages}]}}"#);
        let texts = text_tokens("You're a helpful assistant.");
        assert_eq!(
            read(&with_system).tokens(O200K, None).n,
            reported + texts,
            "{with_system}"
        );
    }
}

/// The texts are our own: how they are framed is what tau2's recorded prompts of gpt-4.1-mini show.
#[test]
fn calls_are_read_as_the_provider_renders_them() {
    let call = |name: &str, arguments: &str| {
        format!(r#"{{"id":"{name}","type":"function","function":{{"name":"{name}","arguments":"{arguments}"}}}}"#)
    };
    let result = |id: &str, text: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#);
    let chat = |model: &str, content: &str, calls: &[String]| {
        let results = [result("weather", "rain"), result("clock", "noon")];
        let body = format!(
            r#"{{"model":"{model}","messages":[{{"role":"assistant","content":{content},"tool_calls":[{}]}},{}]}}"#,
            calls.join(","),
            results[..calls.len()].join(",")
        );
        let read = read(&body);
        let messages = read.tokens(O200K, Some(0..read.len()));
        assert!(messages.lo < messages.n && messages.n < messages.hi);
        messages.n
    };
    let (weather, clock) = (call("weather", r#"{\"city\": \"Oslo\"}"#), call("clock", "{}"));
    let one = [weather.clone()];
    let alone = 4 + 2 * text_tokens("weather") + text_tokens(r#"{"city":"Oslo"}"#) + 5 + 4 + text_tokens("rain");
    assert_eq!(chat("gpt-4.1", "null", &one), alone);
    assert_eq!(chat("gpt-4.1", r#""""#, &one), alone);
    assert_eq!(
        chat("gpt-4.1", r#""Let me see.""#, &one),
        alone + 4 + text_tokens("Let me see.")
    );

    let both = [weather, clock];
    let listed = r#"{"tool_uses":[{"recipient_name":"functions.weather","parameters":{"city":"Oslo"}},{"recipient_name":"functions.clock","parameters":{}}]}"#;
    let wrapped = text_tokens(listed) + 20 + 4 + text_tokens("rain") + text_tokens("noon");
    assert_eq!(chat("gpt-4.1", "null", &both), wrapped);
    assert_eq!(chat("gpt-4.1", r#""Both.""#, &both), wrapped + 4 + text_tokens("Both."));
    let other = 4 + 2 * text_tokens("clock") - 4 + text_tokens("{}") + 5 + 4 + text_tokens("noon");
    assert_eq!(
        chat("gpt-5", "null", &both),
        alone + other,
        "reasoning models see calls apart"
    );
}

#[test]
fn calls_of_responses_cost_reasoning_models_more() {
    let items = r#"{"type":"function_call","call_id":"c","name":"weather","arguments":"{\"city\": \"Oslo\"}"},
        {"type":"function_call_output","call_id":"c","output":"rain"}"#;
    let count = |model: &str| {
        let read = read(&format!(r#"{{"model":"{model}","input":[{items}]}}"#));
        read.tokens(O200K, Some(0..2)).n
    };
    let texts = 2 * text_tokens("weather") + text_tokens(r#"{"city":"Oslo"}"#) + text_tokens("rain");
    assert_eq!(count("gpt-4o"), 8 + texts + 3);
    assert_eq!(count("gpt-5.5"), 8 + texts + 12);
}

#[test]
fn what_a_compaction_folded_is_left_out() {
    let said = r#"{"role":"user","content":"Tell me all of the tale."},"#;
    let answered = r#"{"role":"assistant","content":"It was a dark night."},"#;
    let sealed = r#"{"type":"compaction","id":"cmp","encrypted_content":"AAAA"}"#;
    let told = r#"{"role":"assistant","content":[{"type":"compaction","content":"A tale was told."}]}"#;
    for (format, list, folded) in [
        ("openai.responses", "input", sealed),
        ("anthropic.messages", "messages", told),
    ] {
        let read = |before: &str| {
            let body = format!(r#"{{"model":"m","{list}":[{before}{folded},{{"role":"user","content":"And now?"}}]}}"#);
            Transcript::from_json(Arc::new(body.into_bytes()), Some(format)).unwrap()
        };
        let counts = |before: &str| {
            let asked = Asked {
                encoding: O200K,
                label: ModelLabel::Exact,
                model: None,
                range: None,
            };
            let bounded = read(before).bounded_tokens(&asked);
            let estimated = read(before).estimated_tokens(O200K, ModelLabel::Exact, None, None);
            let exact = read(before).tokens(O200K, None);
            // Counted, its messages are known.
            let again = read(before);
            assert_eq!(again.last_barrier(), read(before).last_barrier());
            assert_eq!(again.tokens(O200K, None), exact);
            [exact, bounded, estimated]
        };
        // The Responses API hands out the user's messages before a compaction that it was asked for.
        let handed_back = format == "openai.responses";
        let alone = counts("");
        for before in [said, &format!("{said}{answered}"), answered] {
            let is_kept = handed_back && before == said;
            for (alone, after) in alone.iter().zip(counts(before)) {
                assert_eq!(after.n > alone.n, is_kept, "{format} {before}");
                assert!(after.n == alone.n || is_kept, "{format} {before}");
                assert!(after.lo <= alone.lo, "{format} {before}");
            }
            let after = counts(before)[0];
            assert_eq!(after.lo, alone[0].lo, "{format} {before}");
            assert!(after.hi > alone[0].hi, "{format} {before}");
        }
    }
}

/// Gemini 3 counts a signature of a call by its length, one beside a text not at all.
#[test]
fn signatures_cost_later_models_by_their_length() {
    let seal = |letters: usize| "A".repeat(letters - 2);
    let count = |model: &str, part: &str| {
        let body = format!(r#"{{"contents":[{{"role":"model","parts":[{part}]}}]}}"#);
        let read = Transcript::from_json(Arc::new(body.into_bytes()), Some("gemini.contents")).unwrap();
        read.tokens_for(O200K, ModelLabel::Estimate, Some(model), Some(0..1)).n
    };
    let call = |letters| {
        format!(
            r#"{{"functionCall":{{"name":"now","args":{{}}}},"thoughtSignature":"{}"}}"#,
            seal(letters)
        )
    };
    let bare = r#"{"functionCall":{"name":"now","args":{}}}"#;
    let said = |more: &str| format!(r#"{{"text":"It rains."{more}}}"#);
    for (model, letters, more) in [
        ("gemini-2.5-pro", 580, 20),
        ("gemini-2.5-pro", 5_000, 20),
        ("gemini-3-flash", 580, 100),
        ("gemini-3-flash", 50, 0),
    ] {
        assert_eq!(
            count(model, &call(letters)),
            count(model, bare) + more,
            "{model} {letters}"
        );
        let signed = said(&format!(r#","thoughtSignature":"{}""#, seal(580)));
        assert_eq!(count(model, &signed), count(model, &said("")));
    }
    assert_eq!(count("gemini-3-flash", bare), count("gemini-2.5-pro", bare) + 7);
}

#[test]
fn text_that_is_escaped_or_broken_counts_as_its_text() {
    let read = read(r#"[{"role":"user","content":"caf\u00e9 \ud83d\ude00 \ud83d <|endoftext|>"}]"#);
    let text = "caf\u{e9} \u{1F600} \u{FFFD} <|endoftext|>";
    assert_eq!(read.block_tokens(O200K, 0), [text_tokens(text)]);
    assert!(read.block_tokens(O200K, 1).is_empty());
}

#[test]
fn calls_count_once_and_as_an_interval() {
    let long = "lorem ipsum ".repeat(60);
    let call = read(&format!(
        r#"[{{"role":"assistant","content":null,"tool_calls":[{{"id":"a","function":{{"name":"run","arguments":"{long}"}}}}]}}]"#
    ));
    let plain = read(&format!(r#"[{{"role":"assistant","content":"{long}"}}]"#));
    let (call, plain) = (call.tokens(O200K, None), plain.tokens(O200K, None));
    assert_eq!(call.source, CountSource::Estimate);
    assert!(call.n.abs_diff(plain.n) < 20, "{call:?} {plain:?}");
    assert!(call.lo < call.n && call.n < call.hi);
}

#[test]
fn tools_and_schemas_are_part_of_the_request() {
    let body = |extra: &str| {
        read(&format!(r#"{{"messages":[{{"role":"user","content":"Hi."}}]{extra}}}"#)).tokens(O200K, None)
    };
    let tool = r#"{"type":"function","function":{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}"#;
    let none = body("");
    assert_eq!(none, body(r#","tools":[]"#));
    let one = body(&format!(r#","tools":[{tool}]"#));
    let two = body(&format!(r#","tools":[{tool},{tool}]"#));
    let schema = body(r#","response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{}}}"#);
    assert!(none.n < one.n && one.n < two.n && none.n < schema.n);
}

#[test]
fn anthropic_is_never_exact() {
    let read = read(r#"{"system":"Be brief.","messages":[{"role":"user","content":"Hi"}]}"#);
    assert_eq!(read.format().name(), "anthropic.messages");
    for count in [read.tokens(O200K, None), read.tokens(O200K, Some(0..1))] {
        assert_eq!(count.source, CountSource::Estimate);
        assert!(count.lo < count.n && count.n < count.hi, "{count:?}");
    }
}

#[test]
fn media_adds_its_allowance_and_never_its_letters() {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAIAAAC6s0uzAAAA";
    let data = format!("{png}{}", "A".repeat(400_000));
    let image = read(&format!(
        r#"[{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}]}}]"#
    ));
    let count = image.tokens(O200K, Some(0..1));
    let patches = 640u64.div_ceil(28) * 480u64.div_ceil(28);
    assert!(
        count.lo <= patches && patches <= count.hi && count.hi < 1_000,
        "{count:?}"
    );
    let url = read(&format!(
        r#"[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}]}}]"#
    ));
    assert_eq!(url.block_tokens(O200K, 0), [85 + 170 * 2]);
}

#[test]
fn appended_and_sliced_segments_keep_their_counts() {
    let whole = read(&conversation(20));
    let segment = &whole.segments()[0];
    assert!(!segment.counts.is_counted(O200K));
    let expected = whole.tokens(O200K, Some(5..12));
    assert!(segment.counts.is_counted(O200K));
    let part = segment.slice(5..12);
    assert!(part.counts.is_counted(O200K));
    assert!(!part.counts.is_counted(Encoding::Cl100kBase));
    assert_eq!(part.counts(whole.format(), O200K).range(0..7), expected);
    let mut fresh = segment.slice(5..12);
    fresh.counts = super::CountMemo::default();
    assert_eq!(fresh.counts(whole.format(), O200K).range(0..7), expected);
    assert_eq!(
        fresh.counts(whole.format(), O200K).blocks,
        part.counts(whole.format(), O200K).blocks
    );
}

#[test]
fn slots_of_registered_encodings_take_room_once_they_are_filled() {
    let slots = super::Slots::default();
    let last = Encoding::LIMIT - 1;
    assert_eq!((slots.get(0), slots.get(last)), (None, None));
    for (slot, value) in [
        (0, 'a'),
        (Encoding::ALL.len(), 'b'),
        (last, 'c'),
        (last, 'd'),
        (last + 1, 'e'),
    ] {
        slots.put(slot, value);
    }
    let filled: Vec<_> = slots.filled().collect();
    assert_eq!(filled, [(0, &'a'), (Encoding::ALL.len(), &'b'), (last, &'c')]);
    assert!(slots.place(last + 1).is_none() && slots.get(last + 1).is_none());
}

#[test]
fn a_foreign_vocabulary_makes_an_interval() {
    let count = TokenCount::exact(1_000);
    assert_eq!(count.under(ModelLabel::Exact), count);
    for label in [ModelLabel::Assumed, ModelLabel::Estimate] {
        let read = count.under(label);
        assert_eq!(read.source, CountSource::Estimate);
        assert!(read.lo < 1_000 && 1_000 < read.hi && read.lo <= read.n && read.n <= read.hi);
        assert!(TokenCount::ZERO.under(label).hi > 0);
    }
}

#[test]
fn an_interval_for_a_foreign_vocabulary_is_widened_once() {
    let chat = read(r#"{"model":"claude-3","messages":[{"role":"system","content":"s"}]}"#);
    let foreign = read(r#"{"system":"s","messages":[{"role":"user","content":"Hi"}]}"#);
    let exact = chat.tokens(O200K, None);
    assert_eq!(chat.tokens_for(O200K, ModelLabel::Exact, None, None), exact);
    let all = Some(0..1);
    assert_eq!(
        chat.tokens_for(O200K, ModelLabel::Estimate, None, all.clone()),
        chat.tokens(O200K, all).under(ModelLabel::Estimate)
    );
    assert_eq!(
        foreign.tokens_for(O200K, ModelLabel::Estimate, None, None),
        foreign.tokens(O200K, None)
    );
}

#[test]
fn a_host_may_add_its_own_template() {
    for format in ["messages", "input"] {
        let body = |tools: &str| {
            let message = r#"[{"role":"user","content":"Fetch the file."}]"#;
            read(&format!(
                r#"{{"model":"qwen-3-coder-480b","{format}":{message}{tools}}}"#
            ))
        };
        let function = r#""name":"fetch","parameters":{"type":"object"}"#;
        let tools = match format {
            "input" => format!(r#","tools":[{{"type":"function",{function}}}]"#),
            _ => format!(r#","tools":[{{"type":"function","function":{{{function}}}}}]"#),
        };
        for label in [ModelLabel::Assumed, ModelLabel::Estimate] {
            for (tools, words) in [("", 60), (tools.as_str(), 900)] {
                let request = body(tools);
                let own = request.tokens(O200K, None);
                let asked = Asked {
                    encoding: O200K,
                    label,
                    model: None,
                    range: None,
                };
                let found = [
                    request.tokens_for(O200K, label, None, None),
                    request.bounded_tokens(&asked),
                    request.estimated_tokens(O200K, label, None, None),
                ];
                for count in found {
                    assert!(count.hi >= own.n + words, "{format} {label:?} {count:?}");
                    assert!(count.lo <= own.n, "{format} {label:?} {count:?}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn ranges_add_up(count in 0usize..30, a in 0usize..30, b in 0usize..30, appended in 0usize..6) {
        let mut read = read(&conversation(count));
        for k in 0..appended {
            if k == 3 {
                let _ = read.tokens(O200K, None);
            }
            let message: Source = Arc::new(format!(r#"{{"role":"user","content":"more {k}"}}"#).into_bytes());
            read = read.append(message).expect("a message");
        }
        let length = read.len();
        let (a, b) = (a.min(length), b.min(length));
        let (from, to) = (a.min(b), a.max(b));
        let one_by_one: TokenCount = (from..to).map(|k| read.tokens(O200K, Some(k..k + 1))).sum();
        prop_assert_eq!(read.tokens(O200K, Some(from..to)), one_by_one);
        let parts = read.tokens(O200K, Some(0..from)) + read.tokens(O200K, Some(from..length));
        prop_assert_eq!(read.tokens(O200K, Some(0..length)), parts);
        prop_assert_eq!(read.tokens(O200K, None), parts + TokenCount::exact(3));
    }

    #[test]
    fn blocks_are_counted_as_the_tokenizer_does(texts in prop::collection::vec(any::<String>(), 0..6)) {
        let parts: Vec<String> = texts
            .iter()
            .map(|t| format!(r#"{{"type":"text","text":{}}}"#, String::from_utf8(crate::json::escape(t)).expect("UTF-8")))
            .collect();
        let read = read(&format!(r#"[{{"role":"user","content":[{}]}}]"#, parts.join(",")));
        let expected: Vec<u64> = texts.iter().map(|t| text_tokens(t)).collect();
        prop_assert_eq!(read.block_tokens(O200K, 0), expected);
    }
}
