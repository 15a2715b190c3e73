//! `openai.responses`: OpenAI's Responses API, whose conversation is a list of items.
//!
//! Source of the shapes: every member of `ResponseInputItemParam` in the generated types of `openai` (Python) 3.57.
//! An item is a message here, whatever its kind: a call, a result, reasoning. Items have no role of their own; who
//! speaks in them follows from the kind.

use super::{Mark, Rows, Section, Strength, WireFormat, plain_message};
use crate::findings::Severity;
use crate::json::Value;
use crate::meter::envelope::{self, Envelope};
use crate::rules::{
    Demand, Folding, IdScope, ResultPlace, Rules, SealDemand, ServerIdDemand, refused, refused_by_some, unconfirmed,
};
use crate::transcript::{BlockView, Head, Message, Role, TextForm, TextSpan, Transcript};

mod items;
mod results;

/// The format.
#[derive(Debug)]
pub struct OpenAiResponses;

impl WireFormat for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai.responses"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["responses"]
    }

    fn list_field(&self) -> &'static str {
        "input"
    }

    fn section_field(&self, section: Section) -> &'static str {
        match section {
            Section::Messages => self.list_field(),
            Section::System => "instructions",
            Section::Tools => "tools",
        }
    }

    fn needs_role(&self) -> bool {
        false
    }

    fn lone_message(&self, value: Value<'_>) -> Option<Vec<u8>> {
        value.is_string().then(|| {
            let mut out = b"{\"role\":\"user\",\"content\":".to_vec();
            out.extend_from_slice(value.raw());
            out.push(b'}');
            out
        })
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn render_order(&self) -> &'static [Section] {
        &[Section::Tools, Section::System, Section::Messages]
    }

    fn envelope(&self) -> &'static dyn Envelope {
        &envelope::openai_responses::OpenAiResponsesEnvelope
    }

    fn cache_markers(&self) -> &'static [&'static str] {
        &["prompt_cache_breakpoint"]
    }

    fn foreign_fields(&self) -> &'static [&'static str] {
        &[
            "arguments",
            "parameters",
            "input_schema",
            "schema",
            "action",
            "operation",
        ]
    }

    fn arguments<'d>(&self, call: Value<'d>) -> Option<Value<'d>> {
        items::arguments(call)
    }

    fn body_mark(&self, _body: Value<'_>, _messages: Value<'_>) -> Option<Mark> {
        None
    }

    fn message_mark(&self, message: Value<'_>, index: usize, _own_model: bool) -> Option<Mark> {
        item_mark(message, index)
    }

    fn read_message(&self, message: Value<'_>, rows: &mut Rows) -> Message {
        items::read(message, rows)
    }

    fn read_head(&self, body: Value<'_>, head: &mut Head) {
        let given = |key: &str| body.get(key).filter(|v| !v.is_null());
        head.tools = given("tools").map(Value::span);
        let format = given("text").and_then(|text| text.get("format"));
        let schema = format.filter(|f| f.is_object() && !f.get("type").is_some_and(|t| t.is_text("text")));
        head.schema = schema.map(Value::span);
        let effort = given("reasoning").map(|r| r.get("effort"));
        head.thinking = effort.is_some_and(|effort| !effort.is_some_and(|e| e.is_text("none")));
        head.continued = given("previous_response_id").is_some() || given("conversation").is_some();
        head.unstored = given("store").is_some_and(|store| store.raw() == b"false");
        let mut texts = Rows::default();
        if let Some(instructions) = given("instructions") {
            head.system = Some(instructions.span());
            texts.text(Some(instructions));
        }
        // A prompt that the server holds: its text is not in the body.
        if let Some(prompt) = given("prompt") {
            texts.texts.push(TextSpan {
                span: prompt.span(),
                form: TextForm::Data,
            });
        }
        head.system_texts = texts.texts;
    }

    fn remote(&self, transcript: &Transcript) -> bool {
        transcript.head().continued || transcript.has_pointer()
    }

    fn text_message(&self, role: Role, text: &str) -> Vec<u8> {
        let role = match role {
            Role::System => "system",
            Role::Developer => "developer",
            Role::Assistant => "assistant",
            Role::User | Role::Tool | Role::Other => "user",
        };
        let message = plain_message(role, text);
        let mut out = b"{\"type\":\"message\",".to_vec();
        out.extend_from_slice(message.strip_prefix(b"{").unwrap_or_default());
        out
    }

    fn id_path(&self, block: &BlockView<'_>) -> &'static [&'static str] {
        results::id_path(block)
    }

    fn result_for(&self, call: &BlockView<'_>, text: &str) -> Vec<u8> {
        results::result_for(call, text)
    }
}

/// Kinds of item, and of part, that no other format has.
const OWN_PARTS: [&str; 5] = [
    "input_text",
    "output_text",
    "input_image",
    "input_file",
    "reasoning_text",
];

fn item_mark(item: Value<'_>, index: usize) -> Option<Mark> {
    let kind = item.get("type").filter(|k| k.is_string());
    let name = kind.map(Value::key).unwrap_or_default();
    let described = || format!("input[{index}] is of type `{}`", String::from_utf8_lossy(&name));
    match kind {
        // A message that Anthropic's API returned is of this type, too, and names its model.
        Some(kind) if kind.is_text("message") && item.get("model").is_none() => {
            return Some(Mark::new(Strength::Proof, kind, described()));
        }
        Some(kind) if items::is_own_kind(&name) => return Some(Mark::new(Strength::Proof, kind, described())),
        _ => {}
    }
    let parts = item.get("content")?;
    parts.items().enumerate().find_map(|(k, part)| {
        let kind = part.get("type")?;
        let known = OWN_PARTS.iter().find(|p| kind.is_text(p))?;
        let text = format!("input[{index}].content[{k}] is of type `{known}`");
        Some(Mark::new(Strength::Proof, part, text))
    })
}

/// The demands of the format. Error texts are as public reports quote them: OpenMinis/OpenMinis#222, openai/codex#5385,
/// lukacf/meerkat#25, vercel/ai#11036, newo-ether/Agora#141, NousResearch/hermes-agent#10217, looplj/axonhub#1657;
/// which fields are required is as the generated types of `openai` (Python) say.
pub static RULES: Rules = Rules {
    result_place: ResultPlace::Later,
    id_scope: IdScope::WhileOpen,
    folding: Folding::AllButUser,
    has_messages: unconfirmed("OR-9", "the input is empty"),
    result_needs_call: refused("OR-1", "No tool call found for function call output with call_id"),
    call_needs_result: refused("OR-2", "No tool output found for function call"),
    one_result_per_call: unconfirmed("OR-1", "No tool call found for function call output with call_id"),
    distinct_call_ids: unconfirmed("OR-10", "of two open calls with one call_id only one can be answered"),
    call_needs_id: refused("OR-10", "Missing required parameter: 'input[..].call_id'"),
    // Newer types allow null.
    result_needs_id: refused_by_some("OR-10", "Missing required parameter: 'input[..].call_id'"),
    reasoning_needs_item: Some(refused(
        "OR-4",
        "Item 'rs_..' of type 'reasoning' was provided without its required following item",
    )),
    item_keeps_reasoning: Some(refused(
        "OR-5",
        "Item was provided without its required 'reasoning' item",
    )),
    reasoning_field: Some((
        "summary",
        refused("OR-6", "Missing required parameter: 'input[..].summary'"),
    )),
    ids_resolve: Some(refused(
        "OR-7",
        "Item with id 'rs_..' not found. Items are not persisted when `store` is set to false",
    )),
    whole_ids: Some(ServerIdDemand {
        // Of messages, and of calls by kind; what the reports quote.
        prefixes: &["msg_", "fc_", "ctc_"],
        demand: refused_by_some(
            "OR-7",
            "Item with id 'msg_..' not found. Items are not persisted when `store` is set to false",
        ),
    }),
    seals_whole: Some(refused("OR-8", "The encrypted content could not be verified")),
    only_last: Some((
        "compaction_trigger",
        refused("OR-8", "compaction_trigger must be the final input item"),
    )),
    call_id_pairs: Some(refused(
        "OR-10",
        "No tool call found for function call output with call_id",
    )),
    server_holds: Some(unconfirmed(
        "OR-11",
        "all that the server holds is input still, whatever is cut here",
    )),
    no_reasoning: Some(Demand {
        rule: "OR-12",
        severity: Severity::Off,
        answer: "reasoning input items are not supported",
    }),
    loop_keeps_reasoning: Some(unconfirmed("OR-13", "a weaker next step, nothing worse")),
    part_needs_call: Some(unconfirmed(
        "OR-3",
        "neither the program nor the request for approval that it belongs to was found",
    )),
    seals_unchanged: Some(SealDemand {
        free_fields: &["id", "status"],
        demand: refused("OR-8", "The encrypted content could not be verified"),
    }),
    ..Rules::NONE
};
