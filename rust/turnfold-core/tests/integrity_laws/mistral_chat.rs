//! Transcripts of `mistral.chat`: clean ones by construction, and damaged ones by random surgery.

use proptest::prelude::*;
use serde_json::{Value, json};
use turnfold_core::pairs::ScanOptions;

use crate::generate::Sample;

const FORMAT: &str = "mistral.chat";

#[derive(Clone, Debug)]
enum Step {
    User,
    Answer,
    /// A batch of calls: how many, how their results are turned, and whether a text and thinking stand before them.
    Tools(usize, usize, [bool; 2]),
    /// A call whose result comes some other day; the options name it.
    Waiting,
}

fn step() -> impl Strategy<Value = Step> {
    let tools = (1..4_usize, any::<usize>(), any::<[bool; 2]>()).prop_map(|(n, turn, with)| Step::Tools(n, turn, with));
    prop_oneof![
        4 => Just(Step::User),
        3 => Just(Step::Answer),
        6 => tools,
        1 => Just(Step::Waiting),
    ]
}

#[derive(Default)]
struct Writer {
    next_id: usize,
    messages: Vec<Value>,
    pending_ids: Vec<String>,
}

impl Writer {
    /// Nine characters; a chat may start again with the same ids once their calls are answered.
    fn id(&mut self) -> String {
        self.next_id += 1;
        format!("call0000{}", self.next_id % 4)
    }

    fn user(&mut self) {
        self.messages.push(json!({"role": "user", "content": "go on"}));
    }

    fn calls(&mut self, ids: &[String], [says, thinks]: [bool; 2]) {
        let mut content = Vec::new();
        if thinks {
            content.push(json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}));
        }
        if says {
            content.push(json!({"type": "text", "text": "text"}));
        }
        let call = |id: &String| json!({"id": id, "function": {"name": "f", "arguments": "{}"}});
        let calls: Vec<Value> = ids.iter().map(call).collect();
        self.messages
            .push(json!({"role": "assistant", "content": content, "prefix": false, "tool_calls": calls}));
    }

    fn tools(&mut self, count: usize, turn: usize, with: [bool; 2], answered: usize) {
        let mut ids: Vec<String> = (0..count).map(|_| self.id()).collect();
        self.calls(&ids, with);
        ids.rotate_left(turn % count);
        ids.truncate(answered);
        for id in ids {
            self.messages
                .push(json!({"role": "tool", "tool_call_id": id, "name": "f", "content": "ok"}));
        }
    }
}

/// Clean transcripts: every call answered in its place, awaited in the open tail, or named as pending.
pub(crate) fn clean() -> impl Strategy<Value = Sample> {
    (
        0..3_usize,
        prop::collection::vec(step(), 0..9),
        prop::option::of((1..4_usize, 0..4_usize)),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(leading, steps, tail, may_wait)| {
            let mut writer = Writer::default();
            for _ in 0..leading {
                writer.messages.push(json!({"role": "system", "content": "s"}));
            }
            for step in steps {
                match step {
                    Step::Waiting if may_wait => {
                        let id = format!("wait{:05}", writer.next_id);
                        writer.next_id += 1;
                        writer.calls(std::slice::from_ref(&id), [false; 2]);
                        writer.pending_ids.push(id);
                        writer.user();
                    }
                    Step::User | Step::Waiting => writer.user(),
                    Step::Answer => writer.messages.push(json!({"role": "assistant", "content": "answer"})),
                    Step::Tools(count, turn, with) => writer.tools(count, turn, with, count),
                }
            }
            if let Some((count, answered)) = tail {
                writer.tools(count, 0, [false; 2], answered.min(count - 1));
            }
            Sample {
                format: FORMAT,
                options: ScanOptions {
                    pending_ids: writer.pending_ids,
                    ..ScanOptions::default()
                },
                messages: writer.messages,
            }
        })
}

/// Clean transcripts after some accidents: lost, doubled and swapped messages, changed roles, ids and contents.
pub(crate) fn damaged() -> impl Strategy<Value = Sample> {
    let place = any::<prop::sample::Index>;
    let injuries = prop::collection::vec((0..8_u8, place(), place()), 1..6);
    (clean(), injuries).prop_map(|(mut sample, injuries)| {
        for (what, here, there) in injuries {
            if !sample.messages.is_empty() {
                let (i, j) = (here.index(sample.messages.len()), there.index(sample.messages.len()));
                injure(&mut sample.messages, what, i, j, there);
            }
        }
        sample
    })
}

fn injure(messages: &mut Vec<Value>, what: u8, i: usize, j: usize, there: prop::sample::Index) {
    let pick = |values: &[Value]| values[there.index(values.len())].clone();
    match what {
        0 => drop(messages.remove(i)),
        1 => {
            let copy = messages[i].clone();
            messages.insert(j, copy);
        }
        2 => messages.swap(i, j),
        3 => messages[i]["role"] = pick(&[json!("user"), json!("assistant"), json!("tool"), json!("system")]),
        4 => {
            messages[i]["content"] = pick(&[
                json!(null),
                json!(""),
                json!(7),
                json!([{"type": "hologram"}, "loose"]),
                json!([{"type": "text", "text": "x"}, {"type": "reference", "reference_ids": [1]}]),
                json!([{"type": "file", "file_id": "f"}, {"type": "hologram"}]),
            ]);
        }
        5 => messages[i]["tool_call_id"] = pick(&[json!("call00001"), json!("call00002"), json!("gone"), json!(5)]),
        6 => {
            messages[i]["tool_calls"] = pick(&[
                json!([]),
                json!({}),
                json!(["zap"]),
                json!([{"id": "call00001"}, {"id": "call00001", "function": {"name": "f"}}]),
                json!([{"id": "call_1", "function": {"name": "f"}}, {"id": "", "function": {"name": "f"}}]),
            ]);
        }
        _ => messages[i]["prefix"] = json!(true),
    }
}
