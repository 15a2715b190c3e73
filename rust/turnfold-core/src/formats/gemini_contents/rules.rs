//! What generateContent demands.

use crate::rules::{
    ContentDemand, IdScope, OutputDemand, ResultPlace, RoleDemand, Rules, SealDemand, refused, refused_by_some,
};

/// The demands of the format. Error texts are as public reports and recordings quote them: google-gemini/gemini-cli#3814,
/// #4029, #5443, #7784 and #13467, LionSR/TeXRA#2511, and the recordings of OpenTelemetry's test suite; signatures and
/// the order of parallel calls are as the page "Thought signatures" says, whose questions and answers name two values
/// that skip the check (Vertex AI's page only the first).
pub static RULES: Rules = Rules {
    result_place: ResultPlace::NextMessage,
    id_scope: IdScope::WhileOpen,
    names_pair: true,
    has_messages: refused("GM-8", "GenerateContentRequest.contents: contents is not specified"),
    result_needs_call: refused("GM-3", RESPONSE_TURN),
    call_needs_result: refused("GM-1", COUNTS),
    result_in_place: refused("GM-3", RESPONSE_TURN),
    one_result_per_call: refused("GM-1", COUNTS),
    distinct_call_ids: refused_by_some("GM-7", "two open calls of one id cannot be told apart"),
    result_per_call_count: Some(refused("GM-1", COUNTS)),
    result_next: Some(refused("GM-3", RESPONSE_TURN)),
    call_after_user: Some(refused(
        "GM-2",
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn",
    )),
    first_is_user: Some(refused("GM-4", TURNS)),
    roles: Some(RoleDemand {
        known: &["user", "model", "function"],
        demand: refused("GM-4", "Please use a valid role: user, model"),
    }),
    roles_alternate: Some(refused("GM-4b", TURNS)),
    first_call_signed: Some(refused(
        "GM-5",
        "Function call is missing a thought_signature in functionCall parts. For calls that came from elsewhere the \
         page names values that skip the check, `skip_thought_signature_validator` or \
         `context_engineering_is_the_way_to_go`; else leave the calls out",
    )),
    name_needed: Some(refused("GM-7", "function_response.name: Name cannot be empty")),
    result_repeats_id: Some(refused_by_some("GM-7", "the response must repeat the id of its call")),
    content: Some(ContentDemand {
        assistant_only: false,
        blank_is_empty: true,
        last_assistant_exempt: false,
        demand: refused_by_some("GM-8", "contents.parts must not be empty"),
    }),
    no_blank_text: Some(refused_by_some("GM-8", "contents.parts must not be empty")),
    no_leading_system: Some(refused("GM-9", SYSTEM_ROLE)),
    system_first: Some(refused("GM-9", SYSTEM_ROLE)),
    calls_together: Some(refused(
        "GM-11",
        "parallel calls come first and their responses after them; interleaved, the answer is a 400",
    )),
    output_tokens: Some(OutputDemand {
        least: 1,
        most: 65_536,
        demand: refused(
            "GM-13",
            "the supported range is from 1 (inclusive) to 65537 (exclusive)",
        ),
    }),
    seals_unchanged: Some(SealDemand {
        free_fields: &[],
        demand: refused("GM-6", "Corrupted thought signature"),
    }),
    ..Rules::NONE
};

const COUNTS: &str = "Please ensure that the number of function response parts is equal to the number of function call \
     parts of the function call turn";
/// Of conversations that the model opens as well: NousResearch/hermes-agent#55427.
const TURNS: &str = "Please ensure that multiturn requests alternate between user and model";
const RESPONSE_TURN: &str = "Please ensure that function response turn comes immediately after a function call turn";
const SYSTEM_ROLE: &str = "Please use a valid role: user, model. Instructions stand in `systemInstruction`";
