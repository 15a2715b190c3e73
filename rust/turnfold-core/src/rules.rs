//! What a provider demands of a transcript, as neutral flags. Each wire format fills one table; nothing above this file
//! asks which provider it is.

use crate::findings::Severity;
use crate::transcript::Role;

/// One demand: the rule it comes from, how bad breaking it is, and what the provider answers then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The rule's id: letters of the wire format and a number.
    pub rule: &'static str,
    /// `Error` where the provider always refuses, `Warning` where only some receivers or models do, `Hint` where no
    /// answer is on record.
    pub severity: Severity,
    /// The answer: the error text where one is on record, else one clause in plain words.
    pub answer: &'static str,
}

/// A demand whose breach every receiver refuses.
pub(crate) const fn refused(rule: &'static str, answer: &'static str) -> Demand {
    Demand {
        rule,
        severity: Severity::Error,
        answer,
    }
}

/// A demand whose breach only some models, gateways or compatible servers refuse.
pub(crate) const fn refused_by_some(rule: &'static str, answer: &'static str) -> Demand {
    Demand {
        rule,
        severity: Severity::Warning,
        answer,
    }
}

/// A demand that no provider's answer is on record for.
pub(crate) const fn unconfirmed(rule: &'static str, answer: &'static str) -> Demand {
    Demand {
        rule,
        severity: Severity::Hint,
        answer,
    }
}

/// Where results belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultPlace {
    /// In messages of their own, in one run directly after the message with the calls.
    SameRun,
    /// In the next message, after neighbours of one role are joined.
    NextMessage,
    /// In items of their own, anywhere after the call.
    Later,
}

/// How far call ids must be distinct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdScope {
    /// In the whole request.
    Request,
    /// Among calls that are open at the same time.
    WhileOpen,
}

/// What precedes a summary that the provider made itself, and the provider leaves out in its favour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folding {
    /// The provider makes none.
    None,
    /// All messages.
    All,
    /// All, unless they are the user's alone: those it hands back before its summary, as the conversation to go on with.
    AllButUser,
}

/// When a message counts as empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentDemand {
    /// Only messages of the model are held to it, and calls stand for content.
    pub assistant_only: bool,
    /// A blank string and an empty list count as empty, like a missing field and `null`.
    pub blank_is_empty: bool,
    /// The last message, if the model's, may be empty.
    pub last_assistant_exempt: bool,
    /// The demand.
    pub demand: Demand,
}

/// What a call's id must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallIdDemand {
    /// Fewest characters.
    pub least: usize,
    /// Most characters.
    pub most: usize,
    /// What may stand in it beside ASCII letters and digits; `None` where any character may.
    pub signs: Option<&'static str>,
    /// The demand.
    pub demand: Demand,
}

/// Which roles a message may have. Those of instructions are other rules' business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleDemand {
    /// The roles, as the format spells them.
    pub known: &'static [&'static str],
    /// The demand.
    pub demand: Demand,
}

/// A message of the model that asks it to go on with its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefillDemand {
    /// The field of the message that is then `true`.
    pub field: &'static str,
    /// Such a message is the last.
    pub demand: Demand,
}

/// Two roles that may not follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedStep {
    /// The role of a message.
    pub before: Role,
    /// The role that the next message may not have.
    pub role: Role,
    /// The demand.
    pub demand: Demand,
}

/// What came signed or sealed goes back as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealDemand {
    /// Fields of a sealed block that the client may set or leave out.
    pub free_fields: &'static [&'static str],
    /// The demand.
    pub demand: Demand,
}

/// How long a reply may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputDemand {
    /// Fewest tokens.
    pub least: u64,
    /// Most tokens.
    pub most: u64,
    /// The demand.
    pub demand: Demand,
}

/// Items without ids of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerIdDemand {
    /// What ids of the server start with.
    pub prefixes: &'static [&'static str],
    /// The demand.
    pub demand: Demand,
}

/// A role whose messages say their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRoleDemand {
    /// The role, as the format spells it.
    pub role: &'static str,
    /// The demand.
    pub demand: Demand,
}

/// How many places of a request may mark where the prompt cache may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakpointDemand {
    /// Most places.
    pub most: usize,
    /// The demand.
    pub demand: Demand,
}

/// What must fit the model's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowDemand {
    /// The request alone.
    pub request: Demand,
    /// The request with the longest reply that it asks for.
    pub with_reply: Demand,
    /// The same of models that are known to refuse it ([`AtWindow::Refused`](crate::formats::AtWindow)).
    pub refused: Option<Demand>,
    /// The same of models that are known to stop the reply there ([`AtWindow::Cut`](crate::formats::AtWindow)).
    pub cut: Option<Demand>,
}

/// Where compactions of the provider stand, and what one is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionDemand {
    /// A sealed one is the first block of the conversation, and none stands among instructions.
    pub first: Demand,
    /// No other compaction with content stands beside a sealed one.
    pub alone: Demand,
    /// Where the request asks for one, no call of the model's last turn waits for its result.
    pub finished: Demand,
}

/// The demands of one wire format. `None` where the provider makes no such demand.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Where results belong.
    pub result_place: ResultPlace,
    /// How far call ids must be distinct.
    pub id_scope: IdScope,
    /// The field of a message that lists its calls, if the format has one.
    pub call_list: Option<&'static str>,
    /// Ids of calls are optional: without one, calls and results pair by the tool's name and their order.
    pub names_pair: bool,
    /// What a provider's own summary of earlier messages does to these.
    pub folding: Folding,

    /// There is at least one message.
    pub has_messages: Demand,
    /// A result answers an open call before it.
    pub result_needs_call: Demand,
    /// A call is answered.
    pub call_needs_result: Demand,
    /// A call that the provider ran itself has its result.
    pub server_call_needs_result: Option<Demand>,
    /// A result stands where `result_place` says.
    pub result_in_place: Demand,
    /// A call has one result, not more.
    pub one_result_per_call: Demand,
    /// Call ids are distinct within `id_scope`.
    pub distinct_call_ids: Demand,
    /// A call has an id.
    pub call_needs_id: Demand,
    /// A result names the call it answers.
    pub result_needs_id: Demand,
    /// A call's id has this form.
    pub call_id_form: Option<CallIdDemand>,
    /// A request whose messages hold calls or results sends tools.
    pub tools_sent: Option<Demand>,
    /// In a message with results, the results come first.
    pub results_first: Option<Demand>,
    /// No text stands after a call in a message of the model.
    pub no_text_after_call: Option<Demand>,
    /// The first message after the instructions is the user's.
    pub first_is_user: Option<Demand>,
    /// User and assistant take turns. Asked only with `ScanOptions::strict_alternation`, or where `always_alternate`.
    pub roles_alternate: Option<Demand>,
    /// Whether the provider refuses neighbours of one role from everyone.
    pub always_alternate: bool,
    /// The messages do not start with instructions: those stand beside the messages.
    pub no_leading_system: Option<Demand>,
    /// Instructions stand only at the start.
    pub system_first: Option<Demand>,
    /// There is at most one message of instructions.
    pub one_system: Option<Demand>,
    /// Roles that may not follow each other.
    pub refused_steps: &'static [RefusedStep],
    /// How a message asks the model to go on with it, if the format has a word for that.
    pub prefill: Option<PrefillDemand>,
    /// The last message is not the model's, unless it asks the model to go on.
    pub last_not_assistant: Option<Demand>,
    /// The last message, if the model's, does not end in white space.
    pub last_not_trailing_space: Option<Demand>,
    /// Messages are not empty.
    pub content: Option<ContentDemand>,
    /// No text block is blank.
    pub no_blank_text: Option<Demand>,
    /// No text block is white space only; `None` where such a block is like an empty one.
    pub no_white_text: Option<Demand>,
    /// A message of the model is not only reasoning.
    pub not_only_reasoning: Option<Demand>,
    /// With thinking on, the model's part of an open tool loop starts with reasoning.
    pub loop_starts_with_reasoning: Option<Demand>,
    /// The list of calls, where present, is not empty.
    pub call_list_not_empty: Option<Demand>,
    /// The message after one with calls has as many results as that has calls.
    pub result_per_call_count: Option<Demand>,
    /// A message with calls stands directly after one of the user.
    pub call_after_user: Option<Demand>,
    /// Calls and results of one batch are not mixed.
    pub calls_together: Option<Demand>,
    /// Results stand in the message directly after the one with their calls, not behind a further one of the model.
    pub result_next: Option<Demand>,
    /// The results of the calls of one message stand in one message.
    pub results_in_one_message: Option<Demand>,
    /// Roles are some of a list.
    pub roles: Option<RoleDemand>,
    /// In the current turn the first call of each of the model's messages carries its signature.
    pub first_call_signed: Option<Demand>,
    /// Calls and results name their tool.
    pub name_needed: Option<Demand>,
    /// A result repeats the id of its call, where that has one.
    pub result_repeats_id: Option<Demand>,
    /// The reply's length is capped within a range.
    pub output_tokens: Option<OutputDemand>,
    /// Reasoning in a message of its own is followed by what it was produced with.
    pub reasoning_needs_item: Option<Demand>,
    /// An item keeps the reasoning that the caller says it was produced with.
    pub item_keeps_reasoning: Option<Demand>,
    /// The list that every piece of reasoning has, and the demand.
    pub reasoning_field: Option<(&'static str, Demand)>,
    /// With thinking on, an open tool loop keeps its reasoning, for the sake of the answer.
    pub loop_keeps_reasoning: Option<Demand>,
    /// There is no reasoning at all.
    pub no_reasoning: Option<Demand>,
    /// Sealed texts are there and whole.
    pub seals_whole: Option<Demand>,
    /// Where the server keeps nothing, nothing names what only it could hold.
    pub ids_resolve: Option<Demand>,
    /// Where the server keeps nothing, items that stand whole in the request have no id of the server, except beside
    /// sealed reasoning.
    pub whole_ids: Option<ServerIdDemand>,
    /// Results name the call's id, not that of its item.
    pub call_id_pairs: Option<Demand>,
    /// What belongs to a call stands after it.
    pub part_needs_call: Option<Demand>,
    /// The kind of item that is the last, and the demand.
    pub only_last: Option<(&'static str, Demand)>,
    /// All that is sent as input stands in the request.
    pub server_holds: Option<Demand>,
    /// Sealed blocks are what they are in an earlier transcript.
    pub seals_unchanged: Option<SealDemand>,
    /// Messages of this role say their name.
    pub role_needs_name: Option<NamedRoleDemand>,
    /// The arguments of a call are JSON in a string.
    pub arguments_are_text: Option<Demand>,
    /// No string holds half of a surrogate pair.
    pub whole_characters: Option<Demand>,
    /// So many places mark where the prompt cache may end.
    pub cache_breakpoints: Option<BreakpointDemand>,
    /// The request fits the window. Asked only with `ScanOptions::window_tokens`.
    pub fits_window: Option<WindowDemand>,
    /// Compactions of the provider stand where it takes them.
    pub compaction: Option<CompactionDemand>,
}

impl Rules {
    /// No demand at all. Tables start from it and name what they demand; what is not an `Option` they all must.
    pub(crate) const NONE: Self = {
        const UNSET: Demand = Demand {
            rule: "",
            severity: Severity::Off,
            answer: "",
        };
        Self {
            result_place: ResultPlace::Later,
            id_scope: IdScope::WhileOpen,
            call_list: None,
            names_pair: false,
            folding: Folding::None,
            has_messages: UNSET,
            result_needs_call: UNSET,
            call_needs_result: UNSET,
            server_call_needs_result: None,
            result_in_place: UNSET,
            one_result_per_call: UNSET,
            distinct_call_ids: UNSET,
            call_needs_id: UNSET,
            result_needs_id: UNSET,
            call_id_form: None,
            tools_sent: None,
            results_first: None,
            no_text_after_call: None,
            first_is_user: None,
            roles_alternate: None,
            always_alternate: false,
            no_leading_system: None,
            system_first: None,
            one_system: None,
            refused_steps: &[],
            prefill: None,
            last_not_assistant: None,
            last_not_trailing_space: None,
            content: None,
            no_blank_text: None,
            no_white_text: None,
            not_only_reasoning: None,
            loop_starts_with_reasoning: None,
            call_list_not_empty: None,
            result_per_call_count: None,
            call_after_user: None,
            calls_together: None,
            result_next: None,
            results_in_one_message: None,
            roles: None,
            first_call_signed: None,
            name_needed: None,
            result_repeats_id: None,
            output_tokens: None,
            reasoning_needs_item: None,
            item_keeps_reasoning: None,
            reasoning_field: None,
            loop_keeps_reasoning: None,
            no_reasoning: None,
            seals_whole: None,
            ids_resolve: None,
            whole_ids: None,
            call_id_pairs: None,
            part_needs_call: None,
            only_last: None,
            server_holds: None,
            seals_unchanged: None,
            role_needs_name: None,
            arguments_are_text: None,
            whole_characters: None,
            cache_breakpoints: None,
            fits_window: None,
            compaction: None,
        }
    };
}
