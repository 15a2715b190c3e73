//! Transcripts to test on: clean ones by construction, damaged ones by random surgery, and arbitrary ones.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use turnfold_core::Transcript;
use turnfold_core::pairs::ScanOptions;

/// Messages with the options of their scan.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) format: &'static str,
    pub(crate) messages: Vec<Value>,
    pub(crate) options: ScanOptions,
}

impl Sample {
    pub(crate) fn transcript(&self) -> Transcript {
        read(self.format, &self.messages)
    }

    /// The same with another text in each result.
    pub(crate) fn told_apart(mut self) -> Self {
        let mut count = 0;
        self.messages.iter_mut().for_each(|message| number(message, &mut count));
        self
    }
}

/// Puts a number behind each text that the generators give results.
fn number(value: &mut Value, count: &mut usize) {
    match value {
        Value::String(text) if text == "ok" => {
            *count += 1;
            *text = format!("ok {count}");
        }
        Value::Array(items) => items.iter_mut().for_each(|item| number(item, count)),
        Value::Object(fields) => fields.values_mut().for_each(|item| number(item, count)),
        _ => {}
    }
}

pub(crate) fn read(format: &str, messages: &[Value]) -> Transcript {
    let body = Arc::new(Value::from(messages.to_vec()).to_string().into_bytes());
    Transcript::from_json(body, Some(format)).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    User,
    Answer,
    /// A batch of calls. `order` shuffles the results, `apart` puts each in its own message, `said` adds text before
    /// the calls, `remark` adds text after the results where the format has room for it.
    Tools {
        calls: usize,
        order: usize,
        apart: bool,
        said: bool,
        remark: bool,
        reasoned: bool,
    },
    /// A call form without ids, or a call that the provider runs itself.
    Other,
    /// A call whose result comes some other day; the options name it.
    Waiting,
}

fn step() -> impl Strategy<Value = Step> {
    let tools =
        (1..4_usize, any::<usize>(), any::<[bool; 4]>()).prop_map(|(calls, order, [apart, said, remark, reasoned])| {
            Step::Tools {
                calls,
                order,
                apart,
                said,
                remark,
                reasoned,
            }
        });
    prop_oneof![
        4 => Just(Step::User),
        3 => Just(Step::Answer),
        6 => tools,
        1 => Just(Step::Other),
        1 => Just(Step::Waiting),
    ]
}

/// Clean transcripts: every call answered in its place, awaited in the open tail, or named as pending.
pub(crate) fn clean() -> impl Strategy<Value = Sample> {
    (
        any::<bool>(),
        0..3_usize,
        prop::collection::vec(step(), 0..9),
        any::<bool>(),
        prop::option::of((1..4_usize, 0..4_usize)),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(chat, leading, steps, thinking, tail, may_wait)| {
            let mut writer = Writer {
                chat,
                thinking: thinking && !chat,
                next_id: 0,
                messages: Vec::new(),
                pending_ids: Vec::new(),
            };
            for k in 0..leading {
                if chat {
                    writer
                        .messages
                        .push(json!({"role": (["system", "developer"][k % 2]), "content": "s"}));
                }
            }
            for step in steps {
                match step {
                    Step::Waiting if !may_wait => writer.user(),
                    step => writer.step(&step),
                }
            }
            if let Some((calls, answered)) = tail {
                writer.tools(calls, 0, false, false, false, false, answered.min(calls - 1));
            }
            if writer.thinking {
                writer.reason_in_open_loop();
            }
            Sample {
                format: if chat { "openai.chat" } else { "anthropic.messages" },
                options: ScanOptions {
                    pending_ids: writer.pending_ids,
                    thinking: Some(writer.thinking),
                    ..ScanOptions::default()
                },
                messages: writer.messages,
            }
        })
}

struct Writer {
    chat: bool,
    thinking: bool,
    next_id: usize,
    messages: Vec<Value>,
    pending_ids: Vec<String>,
}

impl Writer {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::User => self.user(),
            Step::Answer => {
                let content = if self.chat {
                    json!("answer")
                } else {
                    Value::from(Self::assistant_blocks(false, true))
                };
                self.messages.push(json!({"role": "assistant", "content": content}));
            }
            Step::Tools {
                calls,
                order,
                apart,
                said,
                remark,
                reasoned,
            } => self.tools_answered(calls, order, [apart, said, remark, reasoned]),
            Step::Other => self.other(),
            Step::Waiting => {
                let id = format!("wait{}", self.next_id);
                self.next_id += 1;
                self.pending_ids.push(id.clone());
                self.calls(&[id], false, false);
                self.user();
            }
        }
    }

    /// The forms that few clients use, in turn.
    fn other(&mut self) {
        let (form, id, further) = (self.next_id % 3, self.id(), self.id());
        let (mut model, mut after) = (Vec::new(), Vec::new());
        match (self.chat, form) {
            (true, 0) => {
                self.messages
                    .push(json!({"role": "assistant", "function_call": {"name": "clock", "arguments": "{}"}}));
                after.push(json!({"role": "function", "name": "clock", "content": "10:00"}));
            }
            (true, 1) => {
                model.push(json!({"type": "reasoning", "value": "hm"}));
                model.push(json!({"type": "tool_call", "value": "{}"}));
                after.push(json!({"role": "tool", "content": [{"type": "text", "value": "ok"}]}));
            }
            (true, _) => {
                self.calls(&[id.clone(), further.clone()], true, false);
                after.push(json!({"role": "tool", "tool_call_ids": [id, further], "content": "ok"}));
            }
            (false, 0) => {
                model.push(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}));
                model.push(json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []}));
                model.push(json!({"type": "text", "text": "found"}));
            }
            (false, 1) => {
                model.push(json!({"type": "mcp_tool_use", "id": id, "name": "f", "server_name": "m", "input": {}}));
                model.push(json!({"type": "mcp_tool_result", "tool_use_id": id, "content": "ok"}));
                model.push(json!({"type": "text", "text": "found"}));
            }
            (false, _) => {
                let caller = json!({"type": "code_execution_20250825", "tool_id": id});
                model.push(json!({"type": "server_tool_use", "id": id, "name": "code_execution", "input": {}}));
                model.push(json!({"type": "tool_use", "id": further, "name": "f", "input": {}, "caller": caller}));
                after.push(json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": further, "content": "ok"}]}));
                after.push(json!({"role": "assistant", "content": [
                    {"type": "code_execution_tool_result", "tool_use_id": id, "content": []},
                    {"type": "text", "text": "done"}]}));
            }
        }
        if !model.is_empty() {
            self.messages.push(json!({"role": "assistant", "content": model}));
        }
        self.messages.append(&mut after);
    }

    fn id(&mut self) -> String {
        self.next_id += 1;
        // A chat may start again with the same ids once their calls are answered.
        if self.chat {
            format!("c{}", self.next_id % 4)
        } else {
            format!("c{}", self.next_id)
        }
    }

    /// Puts reasoning at the start of the model's part of the last turn, if that still calls tools. Finished turns may
    /// go without.
    fn reason_in_open_loop(&mut self) {
        let is = |block: &Value, kind: &str| block["type"] == kind;
        let speaks = |message: &Value| match message["content"].as_array() {
            Some(blocks) => blocks.iter().any(|block| !is(block, "tool_result")),
            None => true,
        };
        let turn = self
            .messages
            .iter()
            .rposition(|message| message["role"] == "user" && speaks(message));
        let part = &mut self.messages[turn.map_or(0, |k| k + 1)..];
        let calls = |message: &Value| {
            message["content"]
                .as_array()
                .is_some_and(|b| b.iter().any(|b| is(b, "tool_use")))
        };
        let last = part.iter().rfind(|message| message["role"] == "assistant");
        if !last.is_some_and(calls) {
            return;
        }
        let first = part.iter_mut().find(|message| message["role"] == "assistant");
        if let Some(blocks) = first.and_then(|message| message["content"].as_array_mut())
            && !is(&blocks[0], "thinking")
        {
            blocks.insert(0, json!({"type": "thinking", "thinking": "hm", "signature": "s"}));
        }
    }

    fn user(&mut self) {
        self.messages.push(json!({"role": "user", "content": "go on"}));
    }

    fn assistant_blocks(reasoned: bool, said: bool) -> Vec<Value> {
        let mut blocks = Vec::new();
        if reasoned {
            blocks.push(json!({"type": "thinking", "thinking": "hm", "signature": "s"}));
        }
        if said {
            blocks.push(json!({"type": "text", "text": "text"}));
        }
        blocks
    }

    fn calls(&mut self, ids: &[String], said: bool, reasoned: bool) {
        if self.chat {
            let calls: Vec<Value> = ids
                .iter()
                .map(|id| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}))
                .collect();
            let content = said.then_some("text");
            self.messages
                .push(json!({"role": "assistant", "content": content, "tool_calls": calls}));
        } else {
            let mut blocks = Self::assistant_blocks(reasoned, said);
            blocks.extend(
                ids.iter()
                    .map(|id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}})),
            );
            self.messages.push(json!({"role": "assistant", "content": blocks}));
        }
    }

    fn tools_answered(&mut self, calls: usize, order: usize, [apart, said, remark, reasoned]: [bool; 4]) {
        self.tools(calls, order, apart, said, remark, reasoned, calls);
    }

    #[expect(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "the fields of a step"
    )]
    fn tools(
        &mut self,
        calls: usize,
        order: usize,
        apart: bool,
        said: bool,
        remark: bool,
        reasoned: bool,
        answered: usize,
    ) {
        let ids: Vec<String> = (0..calls).map(|_| self.id()).collect();
        self.calls(&ids, said, reasoned);
        let mut results = ids;
        results.rotate_left(order % calls);
        results.truncate(answered);
        if results.is_empty() {
            return;
        }
        if self.chat {
            for id in results {
                self.messages
                    .push(json!({"role": "tool", "tool_call_id": id, "content": "ok"}));
            }
            return;
        }
        let mut blocks: Vec<Value> = results
            .into_iter()
            .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "ok"}))
            .collect();
        if apart {
            for block in blocks.drain(..blocks.len() - 1) {
                self.messages.push(json!({"role": "user", "content": [block]}));
            }
        }
        if remark {
            blocks.push(json!({"type": "text", "text": "and hurry"}));
        }
        self.messages.push(json!({"role": "user", "content": blocks}));
    }
}

/// What is done to a clean transcript: which operation, and two positions.
type Injury = (u8, prop::sample::Index, prop::sample::Index);

/// Clean transcripts after some accidents: lost, doubled, swapped and emptied messages and blocks, changed roles and ids.
pub(crate) fn damaged() -> impl Strategy<Value = Sample> {
    let injuries = prop::collection::vec(
        (0..16_u8, any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        1..6,
    );
    (clean(), injuries, prop::option::of(any::<bool>())).prop_map(|(mut sample, injuries, alternation)| {
        for injury in &injuries {
            injure(&mut sample, injury);
        }
        sample.options.strict_alternation = alternation == Some(true);
        sample
    })
}

fn injure(sample: &mut Sample, (what, here, there): &Injury) {
    let messages = &mut sample.messages;
    if messages.is_empty() {
        return;
    }
    let (i, j) = (here.index(messages.len()), there.index(messages.len()));
    let roles = ["user", "assistant", "tool", "system", "function", "critic"];
    match what {
        0 => drop(messages.remove(i)),
        1 => {
            let copy = messages[i].clone();
            messages.insert(j, copy);
        }
        2 => messages.swap(i, j),
        3 => messages[i]["role"] = json!(roles[there.index(roles.len())]),
        4 => {
            let forms = [json!(null), json!(""), json!([]), json!(7), json!({"a": 1})];
            messages[i]["content"] = forms[there.index(5)].clone();
        }
        5 => {
            let block = [
                json!({"type": "hologram", "id": "c1"}),
                json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
                json!({"type": "compaction", "content": "earlier"}),
                json!({"type": "text", "text": " "}),
                json!({"type": "tool_use", "id": "c1", "name": "f", "input": {}}),
                json!({"type": "tool_result", "tool_use_id": "c1", "content": "ok"}),
                json!({"type": "server_tool_use", "id": "c2", "name": "f", "input": {}}),
                json!("loose"),
            ][there.index(8)]
            .clone();
            match messages[i]["content"].as_array_mut() {
                Some(blocks) => blocks.insert(here.index(blocks.len() + 1), block),
                None => messages[i]["content"] = json!([block]),
            }
        }
        6 | 7 => {
            if let Some(blocks) = messages[i]["content"]
                .as_array_mut()
                .filter(|blocks| !blocks.is_empty())
            {
                let k = there.index(blocks.len());
                if *what == 6 {
                    blocks.remove(k);
                } else {
                    let copy = blocks[k].clone();
                    blocks.push(copy);
                }
            }
        }
        8 => {
            if let Some(calls) = messages[i]["tool_calls"]
                .as_array_mut()
                .filter(|calls| !calls.is_empty())
            {
                calls.remove(there.index(calls.len()));
            }
        }
        9 => {
            if let Some(fields) = messages[i].as_object_mut() {
                fields.remove(["tool_call_id", "content", "name", "tool_calls"][there.index(4)]);
            }
        }
        10 => {
            if messages[i].get("tool_call_id").is_some() {
                messages[i]["tool_call_id"] = strange_ids()[there.index(7)].clone();
            }
        }
        11 => {
            for key in ["tool_calls", "content"] {
                if let Some(block) = messages[i][key].as_array_mut().and_then(|blocks| blocks.first_mut()) {
                    let id = strange_ids()[there.index(7)].clone();
                    for field in ["id", "tool_use_id"] {
                        if block.get(field).is_some() {
                            block[field] = id.clone();
                        }
                    }
                }
            }
        }
        12 => messages.truncate(i + 1),
        13 => messages.iter_mut().for_each(collapse_ids),
        14 => messages.iter_mut().for_each(foreign_ids),
        _ => sample
            .options
            .pending_ids
            .push(["c1", "c2", "fn:clock", "gone"][there.index(4)].to_owned()),
    }
}

/// Ids that are taken, missing, and of forms that some provider refuses.
fn strange_ids() -> [Value; 7] {
    let long = "c1".repeat(40);
    [
        json!("c1"),
        json!("c2"),
        json!(null),
        json!(5),
        json!(""),
        json!("c:1"),
        json!(long),
    ]
}

fn foreign_id(id: &str) -> String {
    format!("{id}:{}", "x".repeat(40))
}

/// Gives all calls and results ids that some provider refuses.
fn foreign_ids(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(id) if key.ends_with("id") => *id = foreign_id(id),
                    Value::Array(ids) if key.ends_with("ids") => {
                        for id in ids {
                            *id = json!(foreign_id(id.as_str().unwrap_or_default()));
                        }
                    }
                    value => foreign_ids(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(foreign_ids),
        _ => {}
    }
}

/// Clean transcripts but for their ids, which came from elsewhere.
pub(crate) fn from_elsewhere() -> impl Strategy<Value = Sample> {
    clean().prop_map(|mut sample| {
        sample.messages.iter_mut().for_each(foreign_ids);
        sample
            .options
            .pending_ids
            .iter_mut()
            .for_each(|id| *id = foreign_id(id));
        sample
    })
}

/// Leaves two ids for everything.
fn collapse_ids(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(id) if key.ends_with("id") => {
                        *id = format!("c{}", id.bytes().last().unwrap_or(0) % 2);
                    }
                    value => collapse_ids(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(collapse_ids),
        _ => {}
    }
}

/// Any JSON in any field a message may have.
pub(crate) fn arbitrary() -> impl Strategy<Value = Sample> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        prop::sample::select(vec![
            "text",
            "tool_use",
            "tool_result",
            "thinking",
            "compaction",
            "c1",
            "user"
        ])
        .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "type",
        "text",
        "id",
        "tool_use_id",
        "content",
        "name",
        "function",
        "thinking",
        "tool_call_id",
        "input",
    ]);
    let value = leaf.prop_recursive(3, 24, 4, move |inner| {
        let fields = prop::collection::vec((key.clone(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Value>()),
        ]
    });
    let field = prop::sample::select(vec![
        "content",
        "name",
        "tool_calls",
        "function_call",
        "tool_call_id",
        "refusal",
        "audio",
        "reasoning_content",
    ]);
    let role = prop::sample::select(vec![
        "system",
        "developer",
        "user",
        "assistant",
        "tool",
        "function",
        "critic",
    ]);
    let message = (role, prop::collection::vec((field, value), 0..4)).prop_map(|(role, fields)| {
        let mut message = json!({"role": role});
        for (key, value) in fields {
            message[key] = value;
        }
        message
    });
    let flags = any::<[bool; 4]>();
    (prop::collection::vec(message, 0..8), flags).prop_map(
        |(messages, [chat, thinking, strict_alternation, closed])| Sample {
            format: if chat { "openai.chat" } else { "anthropic.messages" },
            messages,
            options: ScanOptions {
                pending_ids: vec!["c1".to_owned()],
                thinking: Some(thinking),
                strict_alternation,
                closed,
                ..ScanOptions::default()
            },
        },
    )
}
