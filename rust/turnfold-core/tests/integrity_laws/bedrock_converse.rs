//! Transcripts of `bedrock.converse`: clean ones by construction, damaged ones by random surgery, and arbitrary ones.

use proptest::prelude::*;
use serde_json::{Value, json};
use turnfold_core::pairs::ScanOptions;

use crate::generate::Sample;

const FORMAT: &str = "bedrock.converse";

#[derive(Clone, Debug)]
enum Step {
    User,
    Answer,
    /// A batch of calls: how many, how their results are turned, and whether reasoning, text, markers and a remark of
    /// the user stand around them.
    Tools(usize, usize, [bool; 4]),
    /// A tool that the provider runs, with its result in the model's message.
    Hosted,
    /// A call whose result comes some other day; the options name it.
    Waiting,
}

fn step() -> impl Strategy<Value = Step> {
    let tools = (1..4_usize, any::<usize>(), any::<[bool; 4]>()).prop_map(|(n, turn, with)| Step::Tools(n, turn, with));
    prop_oneof![
        4 => Just(Step::User),
        3 => Just(Step::Answer),
        6 => tools,
        1 => Just(Step::Hosted),
        1 => Just(Step::Waiting),
    ]
}

fn marker() -> Value {
    json!({"cachePoint": {"type": "default"}})
}

fn call(id: &str) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": "f", "input": {}}})
}

fn result(id: &str) -> Value {
    json!({"toolResult": {"toolUseId": id, "content": [{"text": "ok"}], "status": "success"}})
}

#[derive(Default)]
struct Writer {
    next_id: usize,
    messages: Vec<Value>,
    pending_ids: Vec<String>,
}

impl Writer {
    fn says(&mut self, role: &str, blocks: &[Value]) {
        self.messages.push(json!({"role": role, "content": blocks}));
    }

    fn id(&mut self) -> String {
        self.next_id += 1;
        format!("c{}", self.next_id)
    }

    fn step(&mut self, step: &Step, may_wait: bool) {
        match *step {
            Step::Waiting if may_wait => {
                let id = format!("wait{}", self.next_id);
                self.next_id += 1;
                self.says("assistant", &[call(&id), marker()]);
                self.pending_ids.push(id);
                self.says("user", &[json!({"text": "go on"})]);
            }
            Step::User | Step::Waiting => self.says("user", &[json!({"text": "go on"}), marker()]),
            Step::Answer => self.says("assistant", &[json!({"text": "answer"})]),
            Step::Tools(count, turn, with) => self.tools(count, turn, with, count),
            Step::Hosted => {
                let id = self.id();
                let mut asked = call(&id);
                asked["toolUse"]["type"] = json!("server_tool_use");
                let mut found = result(&id);
                found["toolResult"]["type"] = json!("f_result");
                self.says("assistant", &[asked, found, json!({"text": "found"})]);
            }
        }
    }

    fn tools(&mut self, count: usize, turn: usize, [reasons, says, marks, remarks]: [bool; 4], answered: usize) {
        let mut ids: Vec<String> = (0..count).map(|_| self.id()).collect();
        let mut blocks = Vec::new();
        if reasons {
            blocks.push(json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}));
        }
        if says {
            blocks.push(json!({"text": "text"}));
        }
        blocks.extend(ids.iter().map(|id| call(id)));
        blocks.extend(marks.then(marker));
        self.says("assistant", &blocks);
        ids.rotate_left(turn % count);
        ids.truncate(answered);
        if ids.is_empty() {
            return;
        }
        let mut blocks: Vec<Value> = ids.iter().map(|id| result(id)).collect();
        blocks.extend(marks.then(marker));
        blocks.extend(remarks.then(|| json!({"text": "and hurry"})));
        self.says("user", &blocks);
    }
}

/// Clean transcripts: every call answered in its place, awaited in the open tail, or named as pending.
pub(crate) fn clean() -> impl Strategy<Value = Sample> {
    (
        prop::collection::vec(step(), 0..9),
        prop::option::of((1..4_usize, 0..4_usize)),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(steps, tail, may_wait)| {
            let mut writer = Writer::default();
            for step in steps {
                writer.step(&step, may_wait);
            }
            if let Some((count, answered)) = tail {
                writer.tools(count, 0, [false; 4], answered.min(count - 1));
            }
            Sample {
                format: FORMAT,
                options: ScanOptions {
                    pending_ids: writer.pending_ids,
                    thinking: Some(false),
                    ..ScanOptions::default()
                },
                messages: writer.messages,
            }
        })
}

/// Clean transcripts after some accidents: lost, doubled, swapped and emptied messages and blocks, changed roles and
/// ids, blocks of other kinds.
pub(crate) fn damaged() -> impl Strategy<Value = Sample> {
    let place = any::<prop::sample::Index>;
    let injuries = prop::collection::vec((0..9_u8, place(), place()), 1..6);
    (clean(), injuries, any::<bool>()).prop_map(|(mut sample, injuries, thinking)| {
        for (what, here, there) in injuries {
            if !sample.messages.is_empty() {
                let (i, j) = (here.index(sample.messages.len()), there.index(sample.messages.len()));
                injure(&mut sample.messages, what, i, j, there);
            }
        }
        sample.options.thinking = Some(thinking);
        sample
    })
}

fn injure(messages: &mut Vec<Value>, what: u8, i: usize, j: usize, there: prop::sample::Index) {
    let strange = [
        json!({"hologram": 1}),
        json!({"reasoningContent": {"redactedContent": {"__bytes__": "AA"}}}),
        json!({"toolAddition": {"tool": {"name": "f"}}}),
        json!({"text": " "}),
        json!({"text": "x", "toolUse": {}}),
        call("c1"),
        result("c1"),
        json!({"toolUse": {"toolUseId": "c2", "type": "server_tool_use"}}),
        marker(),
        json!("loose"),
    ];
    match what {
        0 => drop(messages.remove(i)),
        1 => {
            let copy = messages[i].clone();
            messages.insert(j, copy);
        }
        2 => messages.swap(i, j),
        3 => {
            let roles = ["user", "assistant", "system", "critic"];
            messages[i]["role"] = json!(roles[there.index(roles.len())]);
        }
        4 => {
            let forms = [json!(null), json!(""), json!([]), json!(7), json!([marker()])];
            messages[i]["content"] = forms[there.index(forms.len())].clone();
        }
        5 => messages.truncate(i + 1),
        _ => {
            let Some(blocks) = messages[i]["content"].as_array_mut() else {
                return;
            };
            let k = there.index(blocks.len() + 1);
            match what {
                6 => blocks.insert(k, strange[there.index(strange.len())].clone()),
                7 if k < blocks.len() => drop(blocks.remove(k)),
                _ if k < blocks.len() => {
                    let ids = [json!("c1"), json!("c2"), json!(null), json!(5)];
                    for kind in ["toolUse", "toolResult"] {
                        if blocks[k].get(kind).is_some() {
                            blocks[k][kind]["toolUseId"] = ids[there.index(ids.len())].clone();
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// Any JSON in any field a message may have.
pub(crate) fn arbitrary() -> impl Strategy<Value = Sample> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["default", "error", "c1", "server_tool_use"]).prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "type",
        "text",
        "toolUse",
        "toolResult",
        "toolUseId",
        "content",
        "name",
        "reasoningContent",
        "cachePoint",
        "document",
        "source",
        "json",
    ]);
    let value = leaf.prop_recursive(4, 24, 4, move |inner| {
        let fields = prop::collection::vec((key.clone(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Value>()),
        ]
    });
    let role = prop::sample::select(vec!["system", "user", "assistant", "critic"]);
    let message = (role, value).prop_map(|(role, content)| json!({"role": role, "content": content}));
    (prop::collection::vec(message, 0..8), any::<[bool; 2]>()).prop_map(|(messages, [thinking, closed])| Sample {
        format: FORMAT,
        messages,
        options: ScanOptions {
            pending_ids: vec!["c1".to_owned()],
            thinking: Some(thinking),
            closed,
            ..ScanOptions::default()
        },
    })
}
