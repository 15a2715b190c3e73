//! Transcripts of `openai.responses` to test on.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use turnfold_core::pairs::ScanOptions;

use crate::generate::Sample;

const FORMAT: &str = "openai.responses";

#[derive(Clone, Debug)]
enum Step {
    User,
    /// A message of the model, with reasoning before it or without.
    Answer(bool),
    /// A batch of calls, each of a kind by number. `order` shuffles the results; `apart` puts each directly after its
    /// call; `reasoned` puts reasoning first, which the options then name for each call.
    Calls {
        kinds: Vec<usize>,
        order: usize,
        apart: bool,
        reasoned: bool,
    },
    /// A call whose result stands inside.
    Whole,
    /// A program whose inner calls are of these kinds.
    Program(Vec<usize>),
    /// A request for approval, the answer, and the call if it is allowed.
    Approval(bool),
    /// A search for tools that the server runs, without an id.
    ToolSearch,
    /// Something that sets state.
    State(bool),
    /// A call whose result comes some other day; the options name it.
    Waiting,
}

fn step() -> impl Strategy<Value = Step> {
    let kinds = || prop::collection::vec(0..CALLS.len(), 1..4);
    prop_oneof![
        2 => Just(Step::User),
        1 => any::<bool>().prop_map(Step::Answer),
        4 => (kinds(), any::<usize>(), any::<bool>(), any::<bool>())
            .prop_map(|(kinds, order, apart, reasoned)| Step::Calls { kinds, order, apart, reasoned }),
        1 => Just(Step::Whole),
        1 => kinds().prop_map(Step::Program),
        1 => any::<bool>().prop_map(Step::Approval),
        1 => Just(Step::ToolSearch),
        1 => any::<bool>().prop_map(Step::State),
        1 => Just(Step::Waiting),
    ]
}

/// Kinds of call, with what answers them.
const CALLS: [(&str, &str); 7] = [
    ("function_call", "function_call_output"),
    ("custom_tool_call", "custom_tool_call_output"),
    ("local_shell_call", "local_shell_call_output"),
    ("shell_call", "shell_call_output"),
    ("apply_patch_call", "apply_patch_call_output"),
    ("computer_call", "computer_call_output"),
    ("tool_search_call", "tool_search_output"),
];

/// Clean transcripts.
pub(crate) fn clean() -> impl Strategy<Value = Sample> {
    let tail = prop::option::of((prop::collection::vec(0..CALLS.len(), 1..4), 0..4_usize));
    let steps = prop::collection::vec(step(), 0..8);
    (0..3_usize, steps, tail, any::<bool>(), any::<bool>()).prop_map(|(leading, steps, tail, thinking, trigger)| {
        let mut writer = Writer::default();
        for role in ["system", "developer"].iter().take(leading) {
            writer
                .items
                .push(json!({"type": "message", "role": role, "content": "s"}));
        }
        for step in steps {
            writer.step(step);
        }
        match tail {
            Some((kinds, answered)) => {
                let calls = writer.calls(&kinds, None);
                for (kind, id) in calls.iter().take(answered.min(calls.len() - 1)) {
                    writer.result(*kind, id, None);
                }
            }
            None if trigger => writer.items.push(json!({"type": "compaction_trigger"})),
            None => {}
        }
        Sample {
            format: FORMAT,
            messages: writer.items,
            options: ScanOptions {
                pending_ids: writer.pending_ids,
                thinking: Some(thinking),
                reasoning_pairs: writer.reasoning_pairs,
                ..ScanOptions::default()
            },
        }
    })
}

#[derive(Default)]
struct Writer {
    next_id: usize,
    items: Vec<Value>,
    pending_ids: Vec<String>,
    reasoning_pairs: Vec<(String, String)>,
}

impl Writer {
    fn step(&mut self, step: Step) {
        match step {
            Step::User => self.items.push(json!({"role": "user", "content": "go on"})),
            Step::Answer(reasoned) => {
                let id = format!("msg_{}", self.number());
                if reasoned {
                    let own = self.reason();
                    self.reasoning_pairs.push((id.clone(), own));
                }
                let part = json!({"type": "output_text", "text": "done"});
                self.items
                    .push(json!({"type": "message", "id": id, "role": "assistant", "content": [part]}));
            }
            Step::Calls {
                kinds,
                order,
                apart,
                reasoned,
            } => {
                let own = reasoned.then(|| self.reason());
                if apart {
                    for kind in kinds {
                        for (kind, id) in self.calls_of(&[kind], None, own.as_deref()) {
                            self.result(kind, &id, None);
                        }
                    }
                } else {
                    let mut calls = self.calls_of(&kinds, None, own.as_deref());
                    let count = calls.len();
                    calls.rotate_left(order % count);
                    for (kind, id) in calls {
                        self.result(kind, &id, None);
                    }
                }
            }
            Step::Whole => {
                let action = json!({"type": "search", "query": "x"});
                self.items
                    .push(json!({"type": "web_search_call", "id": "ws", "action": action}));
            }
            Step::Program(kinds) => {
                let program = format!("p{}", self.number());
                self.items
                    .push(json!({"type": "program", "id": "prog", "call_id": program, "code": "", "fingerprint": "f"}));
                for (kind, id) in self.calls(&kinds, Some(&program)) {
                    self.result(kind, &id, Some(&program));
                }
                self.items
                    .push(json!({"type": "program_output", "id": "out", "call_id": program, "result": "ok"}));
            }
            Step::Approval(allowed) => {
                let id = format!("mcpr_{}", self.number());
                self.items
                    .push(json!({"type": "mcp_approval_request", "id": id, "name": "f", "arguments": "{}"}));
                self.items
                    .push(json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": allowed}));
                if allowed {
                    self.items
                        .push(json!({"type": "mcp_call", "approval_request_id": id, "name": "f", "output": "ok"}));
                }
            }
            Step::ToolSearch => {
                self.items
                    .push(json!({"type": "tool_search_call", "execution": "server", "arguments": {}}));
                self.items.push(json!({"type": "tool_search_output", "tools": []}));
            }
            Step::State(tools) => self.items.push(if tools {
                json!({"type": "additional_tools", "role": "developer", "tools": []})
            } else {
                json!({"type": "mcp_list_tools", "server_label": "port", "tools": []})
            }),
            Step::Waiting => {
                let calls = self.calls(&[0], None);
                self.pending_ids.extend(calls.into_iter().map(|(_, id)| id));
                self.step(Step::User);
            }
        }
    }

    fn number(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }

    fn reason(&mut self) -> String {
        let id = format!("rs_{}", self.number());
        self.items
            .push(json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "QUJD"}));
        id
    }

    fn calls(&mut self, kinds: &[usize], program: Option<&str>) -> Vec<(usize, String)> {
        self.calls_of(kinds, program, None)
    }

    fn calls_of(&mut self, kinds: &[usize], program: Option<&str>, own: Option<&str>) -> Vec<(usize, String)> {
        let mut calls = Vec::new();
        for &kind in kinds {
            let number = self.number();
            let id = format!("c{number}");
            let mut call = json!({"type": CALLS[kind].0, "call_id": id, "name": "f", "arguments": "{}"});
            if let Some(program) = program {
                call["caller"] = json!({"type": "program", "caller_id": program});
            }
            if let Some(own) = own {
                let item = format!("fc_{number}");
                call["id"] = json!(item);
                self.reasoning_pairs.push((item, own.to_owned()));
            }
            self.items.push(call);
            calls.push((kind, id));
        }
        calls
    }

    fn result(&mut self, kind: usize, id: &str, program: Option<&str>) {
        let name = CALLS[kind].1;
        let field = if name == "local_shell_call_output" {
            "id"
        } else {
            "call_id"
        };
        let mut result = json!({"type": name, field: id, "output": "ok"});
        if let Some(program) = program {
            result["caller"] = json!({"type": "program", "caller_id": program});
        }
        self.items.push(result);
    }
}

/// Clean transcripts after some accidents: lost, doubled, swapped and alien items, changed kinds and ids.
pub(crate) fn damaged() -> impl Strategy<Value = Sample> {
    let injuries = prop::collection::vec((0..11_u8, any::<Index>(), any::<Index>()), 1..6);
    (clean(), injuries).prop_map(|(mut sample, injuries)| {
        for (what, here, there) in &injuries {
            injure(&mut sample, *what, *here, *there);
        }
        sample
    })
}

fn injure(sample: &mut Sample, what: u8, here: Index, there: Index) {
    let items = &mut sample.messages;
    if items.is_empty() {
        return;
    }
    let (i, j) = (here.index(items.len()), there.index(items.len()));
    match what {
        0 => drop(items.remove(i)),
        1 => {
            let copy = items[i].clone();
            items.insert(j, copy);
        }
        2 => items.swap(i, j),
        3 => items[i]["type"] = json!(KINDS[there.index(KINDS.len())]),
        4 => {
            let alien = [
                json!({"type": "hologram", "call_id": "c1"}),
                json!({"type": "compaction", "encrypted_content": "QUJD"}),
                json!({"type": "item_reference", "id": "rs_1"}),
                json!({"type": "reasoning", "summary": []}),
                json!({"role": "user", "content": [{"type": "hologram"}]}),
                json!({"type": "function_call_output", "call_id": "gone", "output": ""}),
                json!({"type": "tool_search_output", "tools": []}),
            ];
            items.insert(i, alien[there.index(alien.len())].clone());
        }
        5 => {
            if let Some(fields) = items[i].as_object_mut() {
                fields.remove(["call_id", "id", "type", "summary", "caller"][there.index(5)]);
            }
        }
        6 => {
            for field in ["call_id", "id", "approval_request_id"] {
                if items[i].get(field).is_some() {
                    items[i][field] =
                        [json!("c1"), json!("c2"), json!(null), json!(5), json!("")][there.index(5)].clone();
                }
            }
        }
        7 => items.truncate(i + 1),
        8 => items.iter_mut().for_each(name_items),
        9 => {
            if items[i]["type"] == "reasoning" {
                items[i]["summary"] =
                    [json!(null), json!("hm"), json!({"type": "summary_text"})][there.index(3)].clone();
            }
        }
        _ => sample
            .options
            .pending_ids
            .push(["c1", "c2", "gone"][there.index(3)].to_owned()),
    }
}

/// Gives every call an item id, and lets every result name its call by that.
fn name_items(item: &mut Value) {
    let kind = item["type"].as_str().unwrap_or_default().to_owned();
    let field = if kind == "local_shell_call_output" {
        "id"
    } else {
        "call_id"
    };
    let Some(id) = item[field].as_str().map(|id| format!("item_{id}")) else {
        return;
    };
    if kind.ends_with("_output") {
        item[field] = json!(id);
    } else if kind.ends_with("_call") || kind == "program" {
        item["id"] = json!(id);
    }
}

/// Clean transcripts whose results all name the items of their calls.
pub(crate) fn by_items() -> impl Strategy<Value = Sample> {
    clean().prop_map(|mut sample| {
        sample.messages.iter_mut().for_each(name_items);
        // The items have other ids now.
        sample.options.reasoning_pairs.clear();
        sample
    })
}

const KINDS: [&str; 22] = [
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "program",
    "program_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "web_search_call",
    "reasoning",
    "compaction",
    "compaction_trigger",
    "additional_tools",
    "item_reference",
    "hologram",
];

/// Items with any value in any field.
pub(crate) fn arbitrary() -> impl Strategy<Value = Sample> {
    let value = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        select(vec!["c1", "c2", "c3", ""]).prop_map(Value::from),
        Just(json!([])),
        Just(json!({"type": "program", "caller_id": "c1"})),
        Just(json!([{"type": "input_text", "text": "x"}, {"type": "input_image"}, 7])),
        Just(json!([{"stdout": "x", "outcome": {"exit_code": 1}}, "y"])),
    ];
    let field = select(vec![
        "id",
        "call_id",
        "approval_request_id",
        "caller",
        "name",
        "arguments",
        "input",
        "action",
        "output",
        "outputs",
        "summary",
        "content",
        "encrypted_content",
        "role",
        "tools",
        "execution",
        "status",
    ]);
    let kind = prop::option::weighted(0.9, select(KINDS.to_vec()));
    let item = (kind, prop::collection::vec((field, value), 0..6)).prop_map(|(kind, fields)| {
        let mut item = json!({});
        if let Some(kind) = kind {
            item["type"] = json!(kind);
        }
        for (key, value) in fields {
            item[key] = value;
        }
        item
    });
    let flags = any::<[bool; 3]>();
    (prop::collection::vec(item, 0..10), flags).prop_map(|(messages, [thinking, strict_alternation, closed])| Sample {
        format: FORMAT,
        messages,
        options: ScanOptions {
            pending_ids: vec!["c1".to_owned()],
            reasoning_pairs: vec![("c2".to_owned(), "c3".to_owned())],
            thinking: Some(thinking),
            strict_alternation,
            closed,
            ..ScanOptions::default()
        },
    })
}
