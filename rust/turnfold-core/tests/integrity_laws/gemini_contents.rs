//! Transcripts of `gemini.contents`: clean ones by construction, damaged ones by random surgery, and arbitrary ones.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use turnfold_core::pairs::ScanOptions;

use crate::generate::Sample;

const FORMAT: &str = "gemini.contents";

#[derive(Clone, Debug)]
enum Step {
    /// The user speaks, and the model answers, with thoughts before it or without.
    Answer(bool),
    /// A batch of calls: how many, and whether they have ids, what names them is alike, thoughts and a text stand before
    /// them, and the first is signed.
    Tools(usize, [bool; 5]),
    /// Code that the provider runs, with its output in the model's message.
    Hosted,
    /// A call whose result comes some other day; the options name it.
    Waiting,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<bool>().prop_map(Step::Answer),
        6 => (1..4_usize, any::<[bool; 5]>()).prop_map(|(count, with)| Step::Tools(count, with)),
        1 => Just(Step::Hosted),
        1 => Just(Step::Waiting),
    ]
}

struct Writer {
    /// The spelling of the SDKs.
    snake: bool,
    /// Whether the first call of every batch is signed, as models that check it want.
    signed: bool,
    next_id: usize,
    messages: Vec<Value>,
    pending_ids: Vec<String>,
}

impl Writer {
    fn says(&mut self, role: &str, parts: Vec<Value>) {
        let parts = Value::from(parts);
        self.messages.push(json!({"role": role, "parts": parts}));
    }

    fn user(&mut self) {
        self.says("user", vec![json!({"text": "go on"})]);
    }

    fn part(&self, camel: &str, snake: &str, value: &Value) -> Value {
        let field = if self.snake { snake } else { camel };
        json!({field: value})
    }

    /// A call and its result.
    fn pair(&mut self, has_id: bool, alike: bool) -> (Value, Value) {
        self.next_id += 1;
        let name = if alike {
            "f".to_owned()
        } else {
            format!("f{}", self.next_id)
        };
        let mut call = json!({"name": name, "args": {}});
        let mut result = json!({"name": name, "response": {"output": "ok"}});
        if has_id {
            let id = format!("c{}", self.next_id);
            call["id"] = json!(id);
            result["id"] = json!(id);
        }
        (
            self.part("functionCall", "function_call", &call),
            self.part("functionResponse", "function_response", &result),
        )
    }

    fn step(&mut self, step: &Step, may_wait: bool) {
        match *step {
            Step::Answer(thinks) => {
                self.user();
                let mut parts = vec![json!({"text": "answer"})];
                if thinks {
                    parts.insert(0, json!({"text": "hm", "thought": true}));
                }
                self.says("model", parts);
            }
            Step::Tools(count, with) => {
                self.user();
                self.tools(count, with, count);
                self.says("model", vec![json!({"text": "done"})]);
            }
            Step::Hosted => {
                self.user();
                let code = self.part(
                    "executableCode",
                    "executable_code",
                    &json!({"language": "PYTHON", "code": "1"}),
                );
                let output = self.part(
                    "codeExecutionResult",
                    "code_execution_result",
                    &json!({"outcome": "OUTCOME_OK", "output": "1"}),
                );
                self.says("model", vec![code, output, json!({"text": "one"})]);
            }
            Step::Waiting if may_wait => {
                self.user();
                let (mut call, _) = self.pair(true, false);
                if self.signed {
                    call["thoughtSignature"] = json!("QUJD");
                }
                self.pending_ids.push(format!("c{}", self.next_id));
                self.says("model", vec![call]);
            }
            Step::Waiting => self.step(&Step::Answer(false), false),
        }
    }

    fn tools(&mut self, count: usize, [ids, alike, thinks, says, signs]: [bool; 5], answered: usize) {
        let mut parts = Vec::new();
        if thinks {
            parts.push(json!({"text": "hm", "thought": true}));
        }
        if says {
            parts.push(json!({"text": "text"}));
        }
        let mut results = Vec::new();
        for k in 0..count {
            let (mut call, result) = self.pair(ids, alike);
            if (signs || self.signed) && k == 0 {
                call["thoughtSignature"] = json!("QUJD");
            }
            parts.push(call);
            results.push(result);
        }
        self.says("model", parts);
        results.truncate(answered);
        if !results.is_empty() {
            self.says("user", results);
        }
    }
}

/// Clean transcripts: every call answered in its place, awaited in the open tail, or named as pending.
pub(crate) fn clean() -> impl Strategy<Value = Sample> {
    let tail = prop::option::of((1..4_usize, 0..4_usize, any::<[bool; 5]>()));
    (
        any::<[bool; 2]>(),
        prop::collection::vec(step(), 0..6),
        tail,
        prop::bool::weighted(0.2),
    )
        .prop_map(|([snake, signed], steps, tail, may_wait)| {
            let mut writer = Writer {
                snake,
                signed,
                next_id: 0,
                messages: Vec::new(),
                pending_ids: Vec::new(),
            };
            for step in steps {
                writer.step(&step, may_wait);
            }
            writer.user();
            if let Some((count, answered, with)) = tail {
                writer.tools(count, with, answered.min(count));
            }
            Sample {
                format: FORMAT,
                options: ScanOptions {
                    pending_ids: writer.pending_ids,
                    thinking: Some(false),
                    signatures: Some(signed),
                    ..ScanOptions::default()
                },
                messages: writer.messages,
            }
        })
}

/// Clean transcripts after some accidents: lost, doubled, swapped and emptied messages and parts, changed roles, names
/// and ids, parts of other kinds, in one part of the samples with signatures asked for.
pub(crate) fn damaged() -> impl Strategy<Value = Sample> {
    let injuries = prop::collection::vec((0..12_u8, any::<Index>(), any::<Index>()), 1..6);
    (clean(), injuries, any::<bool>()).prop_map(|(mut sample, injuries, signatures)| {
        for (what, here, there) in injuries {
            if !sample.messages.is_empty() {
                let (i, j) = (here.index(sample.messages.len()), there.index(sample.messages.len()));
                if what == 10 {
                    sample
                        .options
                        .pending_ids
                        .push(["f#0", "f#1", "f#2", "c1"][there.index(4)].to_owned());
                }
                injure(&mut sample.messages, what, i, j, there);
            }
        }
        sample.options.signatures = Some(signatures);
        sample
    })
}

fn strange() -> [Value; 14] {
    [
        json!({"hologram": 1}),
        json!({"text": "hm", "thought": true}),
        json!({"text": " "}),
        json!({"text": "", "thoughtSignature": "QUJD"}),
        json!({"text": "x", "functionCall": {}}),
        json!({"functionCall": {"name": "f", "args": {}}}),
        json!({"functionCall": {"id": "c1", "name": "f", "args": {}}}),
        json!({"functionResponse": {"name": "f", "response": {}}}),
        json!({"functionResponse": {"id": "c1", "name": "f", "response": {}}}),
        json!({"functionResponse": {"id": "c1", "name": "f", "response": {}, "willContinue": true}}),
        json!({"functionResponse": {"name": "f", "response": {}, "willContinue": true}}),
        json!({"executableCode": {"language": "PYTHON", "code": "1"}}),
        json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
        json!("loose"),
    ]
}

fn injure(messages: &mut Vec<Value>, what: u8, i: usize, j: usize, there: Index) {
    let strange = strange();
    match what {
        0 => drop(messages.remove(i)),
        1 => {
            let copy = messages[i].clone();
            messages.insert(j, copy);
        }
        2 => messages.swap(i, j),
        3 => {
            let roles = ["user", "model", "system", "function", "critic"];
            messages[i]["role"] = json!(roles[there.index(roles.len())]);
        }
        4 => {
            let forms = [
                json!(null),
                json!(""),
                json!([]),
                json!(7),
                json!({"text": "lone"}),
                strange[5].clone(),
            ];
            messages[i]["parts"] = forms[there.index(forms.len())].clone();
        }
        5 => messages.truncate(i + 1),
        11 => split(messages, i),
        _ => {
            let Some(parts) = messages[i]["parts"].as_array_mut() else {
                return;
            };
            let k = there.index(parts.len() + 1);
            match what {
                6 => parts.insert(k, strange[there.index(strange.len())].clone()),
                7 if k < parts.len() => drop(parts.remove(k)),
                8 if k < parts.len() => rename(&mut parts[k], "id", there),
                9 if k < parts.len() => rename(&mut parts[k], "name", there),
                _ => {}
            }
        }
    }
}

/// Puts each part of a content into one of its own.
fn split(messages: &mut Vec<Value>, i: usize) {
    let content = messages[i].clone();
    if let Some(parts) = content["parts"].as_array().filter(|parts| parts.len() > 1) {
        let alone = parts
            .iter()
            .map(|part| json!({"role": content["role"], "parts": [part]}));
        messages.splice(i..=i, alone);
    }
}

fn rename(part: &mut Value, field: &str, there: Index) {
    let names = [json!("c1"), json!("c2"), json!("f"), json!(""), json!(null), json!(5)];
    for kind in ["functionCall", "function_call", "functionResponse", "function_response"] {
        if part.get(kind).is_some() {
            part[kind][field] = names[there.index(names.len())].clone();
        }
    }
}

/// Any JSON in any field a content may have.
pub(crate) fn arbitrary() -> impl Strategy<Value = Sample> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["c1", "f", "OUTCOME_OK", "error"]).prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "function_response",
        "functionResponse",
        "id",
        "name",
        "args",
        "response",
        "parts",
        "inlineData",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
        "willContinue",
    ]);
    let value = leaf.prop_recursive(4, 24, 4, move |inner| {
        let fields = prop::collection::vec((key.clone(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Value>()),
        ]
    });
    let role = prop::sample::select(vec!["user", "model", "function", "system", "critic"]);
    let message = (role, value).prop_map(|(role, parts)| json!({"role": role, "parts": parts}));
    (prop::collection::vec(message, 0..8), any::<[bool; 3]>()).prop_map(
        |(messages, [signatures, strict_alternation, closed])| Sample {
            format: FORMAT,
            messages,
            options: ScanOptions {
                pending_ids: vec!["c1".to_owned(), "f#1".to_owned()],
                signatures: Some(signatures),
                strict_alternation,
                closed,
                ..ScanOptions::default()
            },
        },
    )
}
