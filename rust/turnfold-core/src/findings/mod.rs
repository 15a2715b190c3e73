//! What is wrong with a transcript: one rule a file, whose doc comment is the rule's page.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::json::{Document, Kind};
use crate::pairs::{self, BlockRef, PairTable, ScanOptions};
use crate::rules::{Demand, PrefillDemand, Rules};
use crate::seen::Seen;
use crate::transcript::{Binding, BlockKind, BlockView, MessageView, Transcript};

pub mod arguments_not_text;
pub mod blank_text;
pub mod broken_seal;
pub mod call_id_form;
pub mod call_out_of_turn;
pub mod call_without_id;
pub mod changed_seal;
pub mod compaction_block_ambiguous;
pub mod compaction_block_misplaced;
pub mod compaction_incomplete_turn;
pub mod duplicate_call_id;
pub mod duplicate_result;
pub mod early_prefill;
pub mod empty_call_list;
pub mod empty_content;
pub mod first_not_user;
pub mod interleaved_calls;
pub mod item_id_as_call_id;
pub mod late_system;
pub mod leading_system;
pub mod lone_surrogate;
pub mod loop_without_reasoning;
pub mod loose_reasoning;
pub mod lost_reasoning;
pub mod misplaced_result;
pub mod misplaced_trigger;
pub mod missing_name;
pub mod missing_reasoning;
pub mod missing_signature;
pub mod no_messages;
pub mod omitted_call_id;
pub mod only_reasoning;
pub mod orphan_part;
pub mod orphan_result;
pub mod output_limit;
pub mod over_window;
pub mod reasoning_without_summary;
pub mod refused_reasoning;
pub mod repeated_role;
pub mod result_count;
pub mod result_not_first;
pub mod result_not_next;
pub mod result_without_id;
pub mod server_held;
pub mod several_system;
pub mod split_results;
pub mod text_after_call;
pub mod too_many_cache_breakpoints;
pub mod tools_not_sent;
pub mod trailing_assistant;
pub mod trailing_space;
pub mod unanswered_call;
pub mod unexpected_role;
pub mod unknown_role;
pub mod unresolvable_id;

/// How sure it is that a provider refuses the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Not asked for.
    Off,
    /// No answer of a provider is on record.
    Hint,
    /// Some models or compatible servers refuse it.
    Warning,
    /// The provider refuses it.
    Error,
}

impl Severity {
    /// `off`, `hint`, `warning` or `error`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Hint => "hint",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// The severity of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::Off, Self::Hint, Self::Warning, Self::Error];
        all.into_iter().find(|severity| severity.as_str() == name)
    }

    fn who_answers(self) -> &'static str {
        match self {
            Self::Off | Self::Hint => "a provider may answer",
            Self::Warning => "some models or servers answer",
            Self::Error => "the provider answers",
        }
    }
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// Calls, results and reasoning are whole. A cut at a split point keeps this.
    Integrity,
    /// Roles and blocks stand in the order that is asked for.
    Order,
    /// Messages hold something.
    Content,
}

impl Category {
    /// `integrity`, `order` or `content`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Integrity => "integrity",
            Self::Order => "order",
            Self::Content => "content",
        }
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The stable code: the name of the rule's file.
    pub code: &'static str,
    /// The id of the provider's rule.
    pub rule: &'static str,
    /// How sure it is that a provider refuses the transcript.
    pub severity: Severity,
    /// What the rule is about.
    pub category: Category,
    /// Index of the message; `None` where the whole transcript is meant.
    pub message: Option<usize>,
    /// Index of the block in its message, where one block is meant.
    pub block: Option<usize>,
    /// The id of the call, where a call or result is meant that has one.
    pub call_id: Option<String>,
    /// JSON path of the place in the request body.
    pub path: String,
    /// What is wrong, and what the provider answers.
    pub text: String,
}

/// The pairs and the findings of one transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// All calls and results, sorted out.
    pub pairs: Arc<PairTable>,
    /// All broken rules, by place.
    pub findings: Vec<Finding>,
    /// Kinds of block that this version does not know, as the input spells them, with how often each occurs, in the
    /// order first seen. A block without a kind is counted under the empty name.
    pub unknown_kinds: Vec<(String, usize)>,
}

impl Scan {
    /// Whether no finding is an error.
    pub fn ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}

/// One rule: its code, what it is about, and how it is checked.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// The stable code.
    pub code: &'static str,
    /// What the rule is about.
    pub category: Category,
    /// The demands of a table that the rule is checked for; none where the table makes no such demand.
    demands: fn(&Rules) -> Vec<Demand>,
    run: fn(&mut Scene<'_>),
}

impl Check {
    /// What this rule holds transcripts of a format with these demands to, each rule id and severity once.
    pub fn demands(&self, rules: &Rules) -> Vec<(&'static str, Severity)> {
        let mut found = Vec::new();
        for demand in (self.demands)(rules) {
            // A table leaves unset what its format has no place for.
            if !demand.rule.is_empty() && !found.contains(&(demand.rule, demand.severity)) {
                found.push((demand.rule, demand.severity));
            }
        }
        found
    }
}

/// Every check, by code.
pub static CHECKS: &[Check] = &[
    arguments_not_text::CHECK,
    blank_text::CHECK,
    broken_seal::CHECK,
    call_id_form::CHECK,
    call_out_of_turn::CHECK,
    call_without_id::CHECK,
    changed_seal::CHECK,
    compaction_block_ambiguous::CHECK,
    compaction_block_misplaced::CHECK,
    compaction_incomplete_turn::CHECK,
    duplicate_call_id::CHECK,
    duplicate_result::CHECK,
    early_prefill::CHECK,
    empty_call_list::CHECK,
    empty_content::CHECK,
    first_not_user::CHECK,
    interleaved_calls::CHECK,
    item_id_as_call_id::CHECK,
    late_system::CHECK,
    leading_system::CHECK,
    lone_surrogate::CHECK,
    loop_without_reasoning::CHECK,
    loose_reasoning::CHECK,
    lost_reasoning::CHECK,
    misplaced_result::CHECK,
    misplaced_trigger::CHECK,
    missing_name::CHECK,
    missing_reasoning::CHECK,
    missing_signature::CHECK,
    no_messages::CHECK,
    omitted_call_id::CHECK,
    only_reasoning::CHECK,
    orphan_part::CHECK,
    orphan_result::CHECK,
    output_limit::CHECK,
    over_window::CHECK,
    reasoning_without_summary::CHECK,
    refused_reasoning::CHECK,
    repeated_role::CHECK,
    result_count::CHECK,
    result_not_first::CHECK,
    result_not_next::CHECK,
    result_without_id::CHECK,
    server_held::CHECK,
    several_system::CHECK,
    split_results::CHECK,
    text_after_call::CHECK,
    too_many_cache_breakpoints::CHECK,
    tools_not_sent::CHECK,
    trailing_assistant::CHECK,
    trailing_space::CHECK,
    unanswered_call::CHECK,
    unexpected_role::CHECK,
    unknown_role::CHECK,
    unresolvable_id::CHECK,
];

/// Checks `transcript` against every demand of its format. O(blocks), plus the sort of the findings.
pub fn scan(transcript: &Transcript, options: &ScanOptions) -> Scan {
    scan_after(transcript, None, options)
}

/// The same for a transcript that was made from `before`, or goes on from it: what the provider sealed there is still
/// as it was. A `before` of another format says nothing about seals. O(blocks of both), plus the sort.
pub fn scan_after(transcript: &Transcript, before: Option<&Transcript>, options: &ScanOptions) -> Scan {
    scan_seen(transcript, before, options, Seen::of(transcript))
}

/// The same, where `seen` is what stands anywhere in the transcript.
pub(crate) fn scan_seen(
    transcript: &Transcript,
    before: Option<&Transcript>,
    options: &ScanOptions,
    seen: Seen,
) -> Scan {
    let pairs = pairs::remembered(transcript, options).into_owned();
    let mut scene = Scene {
        transcript,
        before,
        options,
        rules: transcript.format().rules(),
        pairs: &pairs,
        seen,
        category: Category::Integrity,
        code: "",
        findings: Vec::new(),
    };
    for check in CHECKS {
        scene.code = check.code;
        scene.category = check.category;
        (check.run)(&mut scene);
    }
    let unknown_kinds = if scene.seen.unknown {
        unknown_kinds(transcript)
    } else {
        Vec::new()
    };
    let mut findings = scene.findings;
    findings.sort_by_key(|finding| (finding.message, finding.block));
    Scan {
        pairs,
        findings,
        unknown_kinds,
    }
}

fn unknown_kinds(transcript: &Transcript) -> Vec<(String, usize)> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    let mut places: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for block in transcript.messages().flat_map(|message| message.blocks()) {
        if block.kind() != BlockKind::Opaque || block.row.binding != Binding::Both {
            continue;
        }
        let name = block.type_name().unwrap_or_default();
        let place = *places.entry(name.clone()).or_insert_with(|| {
            kinds.push((name.into_owned(), 0));
            kinds.len() - 1
        });
        if let Some((_, count)) = kinds.get_mut(place) {
            *count += 1;
        }
    }
    kinds
}

/// The severity that the caller chose for this code or rule, else the table's.
pub(crate) fn severity(options: &ScanOptions, code: &str, demand: Demand) -> Severity {
    let mut chosen = options.severities.iter().rev();
    let named = chosen.find(|(name, _)| name == code || name == demand.rule);
    named.map_or(demand.severity, |(_, severity)| *severity)
}

/// What a check sees, and where it reports.
struct Scene<'a> {
    transcript: &'a Transcript,
    before: Option<&'a Transcript>,
    options: &'a ScanOptions,
    rules: &'static Rules,
    pairs: &'a PairTable,
    seen: Seen,
    code: &'static str,
    category: Category,
    findings: Vec<Finding>,
}

impl<'a> Scene<'a> {
    fn block(&self, at: BlockRef) -> Option<BlockView<'a>> {
        pairs::block_at(self.transcript, at)
    }

    fn call_id(&self, at: BlockRef) -> Option<String> {
        self.pairs.call_id(self.transcript, at)
    }

    fn last_message(&self) -> Option<MessageView<'a>> {
        self.transcript.message(self.transcript.len().checked_sub(1)?)
    }

    /// Whether nothing comes after the message.
    fn is_last(&self, message: &MessageView<'_>) -> bool {
        message.index + 1 == self.transcript.len()
    }

    fn report_whole(&mut self, demand: Demand, what: &str) {
        self.push(demand, None, None, None, self.transcript.list_field().to_owned(), what);
    }

    fn report_head(&mut self, demand: Demand, path: &str, what: &str) {
        self.push(demand, None, None, None, path.to_owned(), what);
    }

    fn report_message(&mut self, demand: Demand, message: usize, what: &str) {
        let path = format!("{}[{message}]", self.transcript.list_field());
        self.push(demand, Some(message), None, None, path, what);
    }

    fn report_block(&mut self, demand: Demand, block: &BlockView<'_>, what: &str) {
        self.push(
            demand,
            Some(block.message),
            Some(block.index),
            None,
            block.path(self.transcript.list_field()),
            what,
        );
    }

    fn report_call(&mut self, demand: Demand, block: &BlockView<'_>, what: &str) {
        let call_id = self.call_id(BlockRef::of(block));
        self.push(
            demand,
            Some(block.message),
            Some(block.index),
            call_id,
            block.path(self.transcript.list_field()),
            what,
        );
    }

    fn push(
        &mut self,
        demand: Demand,
        message: Option<usize>,
        block: Option<usize>,
        call_id: Option<String>,
        path: String,
        what: &str,
    ) {
        let severity = severity(self.options, self.code, demand);
        if severity == Severity::Off {
            return;
        }
        self.findings.push(Finding {
            code: self.code,
            rule: demand.rule,
            severity,
            category: self.category,
            message,
            block,
            call_id,
            text: format!("{what}; {}: {}", severity.who_answers(), demand.answer),
            path,
        });
    }
}

/// Whether a message of the model asks it to go on. O(bytes of the message) where the field's name stands in it.
pub(crate) fn asks_to_go_on(message: &MessageView<'_>, prefill: PrefillDemand) -> bool {
    memchr::memmem::find(message.bytes(), prefill.field.as_bytes()).is_some()
        && Document::parse(message.bytes()).is_ok_and(|document| {
            document
                .root()
                .get(prefill.field)
                .is_some_and(|flag| flag.kind() == Kind::True)
        })
}

/// A call's id in quotes, or words for a call without one.
fn quoted(call_id: Option<&str>) -> String {
    call_id.map_or_else(|| String::from("without an id"), |id| format!("{id:?}"))
}
