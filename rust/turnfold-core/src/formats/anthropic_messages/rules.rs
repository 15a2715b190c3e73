//! What the Messages API demands.

use crate::rules::{
    BreakpointDemand, CallIdDemand, CompactionDemand, ContentDemand, Folding, IdScope, ResultPlace, Rules, SealDemand,
    WindowDemand, refused, refused_by_some, unconfirmed,
};

/// The demands of the format. Error texts are as public reports quote them: openclaw/openclaw#8525, cline/cline#7225,
/// langchain-ai/langchain#34794, vellum-ai/vellum-assistant#2654, vercel/ai#13430, hua-bang/pulse-agent#346,
/// tailcallhq/forgecode#1872, aws/amazon-q-developer-cli#695, coder/coder#22819, anthropics/claude-code#3277,
/// tghamm/Anthropic.SDK#50, continuedev/continue#6080; names of errors for compactions are those of the generated types,
/// and what they are asked of is as the page "Compaction" says; the order of blocks is as the page "Handle tool calls"
/// says; what happens at the window as the page "Context windows" does.
pub static RULES: Rules = Rules {
    result_place: ResultPlace::NextMessage,
    id_scope: IdScope::Request,
    folding: Folding::All,
    has_messages: refused("AM-19", "messages: at least one message is required"),
    result_needs_call: refused("AM-1", UNEXPECTED_RESULT),
    call_needs_result: refused("AM-2", UNANSWERED),
    server_call_needs_result: Some(refused(
        "AM-2",
        "tool use was found without a corresponding tool result block",
    )),
    result_in_place: refused("AM-1", UNEXPECTED_RESULT),
    one_result_per_call: refused("AM-17", "each tool_use must have a single result"),
    distinct_call_ids: refused("AM-13", "`tool_use` ids must be unique"),
    call_needs_id: refused("AM-13", "tool_use.id: Field required"),
    result_needs_id: refused("AM-1", "tool_result.tool_use_id: Field required"),
    call_id_form: Some(CallIdDemand {
        least: 1,
        most: usize::MAX,
        signs: Some("_-"),
        demand: refused("AM-13", "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
    }),
    tools_sent: Some(refused_by_some(
        "AM-14",
        "tools must be sent where messages hold tool_use or tool_result blocks",
    )),
    results_in_one_message: Some(refused_by_some("AM-3", UNANSWERED)),
    results_first: Some(refused("AM-4", UNANSWERED)),
    no_text_after_call: Some(refused("AM-5", UNANSWERED)),
    first_is_user: Some(refused("AM-6", "first message must use the \"user\" role")),
    roles_alternate: Some(refused(
        "AM-7",
        "roles must alternate between \"user\" and \"assistant\"",
    )),
    no_leading_system: Some(refused("AM-8", SYSTEM_ROLE)),
    // Newer models take instructions between messages; before the first message nothing does.
    system_first: Some(refused_by_some("AM-8", SYSTEM_ROLE)),
    last_not_assistant: Some(refused_by_some(
        "AM-10",
        "This model does not support assistant message prefill. The conversation must end with a user message",
    )),
    last_not_trailing_space: Some(refused(
        "AM-10",
        "final assistant content cannot end with trailing whitespace",
    )),
    content: Some(ContentDemand {
        assistant_only: false,
        blank_is_empty: true,
        last_assistant_exempt: true,
        demand: refused(
            "AM-9",
            "all messages must have non-empty content except for the optional final assistant message",
        ),
    }),
    no_blank_text: Some(refused("AM-9", "text content blocks must be non-empty")),
    not_only_reasoning: Some(refused(
        "AM-16",
        "The final block in an assistant message cannot be `thinking`",
    )),
    loop_starts_with_reasoning: Some(refused(
        "AM-12",
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    )),
    seals_unchanged: Some(SealDemand {
        free_fields: &["cache_control"],
        demand: refused(
            "AM-11",
            "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
        ),
    }),
    // The rule that chat has for it; the answer is this provider's own.
    whole_characters: Some(refused_by_some(
        "OC-14",
        "The request body is not valid JSON: no low surrogate in string",
    )),
    cache_breakpoints: Some(BreakpointDemand {
        most: 4,
        demand: refused("AM-15", "A maximum of 4 blocks with cache_control may be provided"),
    }),
    fits_window: Some(WindowDemand {
        request: refused("AM-18", "prompt is too long"),
        with_reply: refused_by_some("AM-18", REPLY_OVER_WINDOW),
        refused: Some(refused("AM-18", REPLY_OVER_WINDOW)),
        cut: Some(unconfirmed(
            "AM-18",
            "the reply stops at the window, with the reason `model_context_window_exceeded`",
        )),
    }),
    compaction: Some(CompactionDemand {
        first: refused("compaction_block_misplaced", "compaction_block_misplaced"),
        alone: refused("compaction_block_ambiguous", "compaction_block_ambiguous"),
        finished: refused("compaction_incomplete_turn", "compaction_incomplete_turn"),
    }),
    ..Rules::NONE
};

const UNEXPECTED_RESULT: &str = "unexpected tool_use_id found in tool_result blocks. Each tool_result block must have \
     a corresponding tool_use block in the previous message";
const UNANSWERED: &str = "tool_use ids were found without tool_result blocks immediately after";
const REPLY_OVER_WINDOW: &str =
    "input length and `max_tokens` exceed context limit, decrease input length or `max_tokens` and try again";
const SYSTEM_ROLE: &str = "Unexpected role \"system\". The Messages API accepts a top-level `system` parameter";
