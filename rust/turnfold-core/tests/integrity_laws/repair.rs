//! Laws of repair, on the transcripts of the other laws.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use turnfold_core::findings::{Category, Finding, scan};
use turnfold_core::pairs::{BlockRef, PairTable, ScanOptions, block_at, pair};
use turnfold_core::repair::{Action, Repair, RepairOptions, Repaired, Unanswered, repair};
use turnfold_core::transcript::{ContentForm, Place};
use turnfold_core::{BlockKind, Role, Transcript};

use crate::generate::{self, Sample};
use crate::{any_sample, clean, openai_responses};

/// What repair mends besides everything of category integrity.
const MENDED: [&str; 16] = [
    "arguments_not_text",
    "blank_text",
    "call_id_form",
    "call_out_of_turn",
    "early_prefill",
    "empty_call_list",
    "empty_content",
    "interleaved_calls",
    "missing_name",
    "only_reasoning",
    "reasoning_without_summary",
    "result_not_first",
    "result_not_next",
    "split_results",
    "text_after_call",
    "trailing_space",
];

/// What repair does not touch: mostly what nobody but the caller could mend.
const LEFT_ALONE: [&str; 5] = [
    "lost_reasoning",
    "missing_reasoning",
    "missing_signature",
    "orphan_part",
    "unresolvable_id",
];

fn options(sample: &Sample, drop: bool) -> RepairOptions {
    RepairOptions {
        scan: sample.options.clone(),
        unanswered: if drop { Unanswered::Drop } else { Unanswered::Synthesize },
    }
}

/// The findings that a repair must not leave: those it mends, unless they are about an awaited call or its message.
fn left(transcript: &Transcript, options: &RepairOptions) -> Vec<Finding> {
    let found = scan(transcript, &options.scan);
    let ids: HashSet<String> = found
        .pairs
        .pending
        .iter()
        .filter_map(|&at| found.pairs.call_id(transcript, at))
        .collect();
    let messages: HashSet<usize> = found.pairs.pending.iter().map(|at| at.message).collect();
    let awaited = |finding: &Finding| {
        finding.call_id.as_ref().is_some_and(|id| ids.contains(id))
            || finding.message.is_some_and(|message| messages.contains(&message))
    };
    // The ids of calls that the provider runs are its own to give.
    let provider_runs = |finding: &Finding| {
        let (Some(message), Some(block)) = (finding.message, finding.block) else {
            return false;
        };
        block_at(transcript, BlockRef { message, block }).is_some_and(|block| block.row.server_side)
    };
    // Which of several awaited calls with one id a result answers that names the item of one.
    let shares = |at: &BlockRef| {
        let id = found.pairs.call_id(transcript, *at);
        id.is_some_and(|id| found.pairs.duplicate_call_ids.contains(&id))
    };
    let sharing = found.pairs.pending.iter().filter(|at| shares(at));
    let items: HashSet<String> = sharing
        .filter_map(|&at| Some(block_at(transcript, at)?.item_id()?.into_owned()))
        .collect();
    let names_shared = |finding: &Finding| {
        let at = finding.message.zip(finding.block);
        let block = at.and_then(|(message, block)| block_at(transcript, BlockRef { message, block }));
        let result = block.filter(|block| block.kind() == BlockKind::ToolResult);
        result.is_some_and(|block| {
            let id = block.call_id().or(block.item_id());
            id.is_some_and(|id| items.contains(&*id))
        })
    };
    let excused = |finding: &Finding| {
        names_shared(finding)
            || (finding.code == "call_without_id" && provider_runs(finding))
            || only_the_caller_can(transcript, &found.pairs, finding)
            || is_counted(transcript, &options.scan, finding)
    };
    let mended = |finding: &Finding| {
        (finding.category == Category::Integrity && !LEFT_ALONE.contains(&finding.code))
            || MENDED.contains(&finding.code)
    };
    found
        .findings
        .into_iter()
        .filter(|finding| mended(finding) && !excused(finding) && !awaited(finding))
        .collect()
}

/// Findings with codes of [`MENDED`] that nothing in the transcript mends.
fn only_the_caller_can(transcript: &Transcript, pairs: &PairTable, finding: &Finding) -> bool {
    let at = finding
        .message
        .zip(finding.block)
        .map(|(message, block)| BlockRef { message, block });
    let block = |at: BlockRef| block_at(transcript, at);
    let unnamed = |at: BlockRef| block(at).is_some_and(|call| call.row.name.is_none());
    match finding.code {
        // What a tool is called that neither the call nor its result names.
        "missing_name" => {
            let is_call = at
                .and_then(block)
                .is_some_and(|block| block.kind() == BlockKind::ToolCall);
            is_call
                || pairs
                    .pairs
                    .iter()
                    .any(|pair| Some(pair.result) == at && unnamed(pair.call))
        }
        // What came before the calls; a message that is no list of blocks takes none in.
        "call_out_of_turn" => {
            let before = finding
                .message
                .and_then(|message| transcript.message(message.checked_sub(1)?));
            !before.is_some_and(|before| before.role() == Role::Assistant && before.row.content != ContentForm::Other)
        }
        // The same of what stands between calls and their results.
        "result_not_next" => {
            let before = (0..finding.message.unwrap_or(0))
                .rev()
                .filter_map(|index| transcript.message(index));
            let mut run = before.take_while(|before| before.role() == Role::Assistant);
            run.any(|message| message.row.content == ContentForm::Other)
        }
        // Whether calls of two answers were parallel ones.
        "interleaved_calls" => at
            .and_then(block)
            .is_some_and(|block| block.kind() == BlockKind::ToolCall),
        _ => false,
    }
}

/// Whether a finding is about a call that does not go, although it has no place, as the number by which an awaited call
/// is known counts it; or about its result.
fn is_counted(transcript: &Transcript, options: &ScanOptions, finding: &Finding) -> bool {
    let (Some(message), Some(_)) = (finding.message, finding.block) else {
        return false;
    };
    if options.closed || !transcript.format().rules().names_pair {
        return false;
    }
    let numbers = |name: &str| {
        let of_name = |id: &String| {
            id.rsplit_once('#')?
                .1
                .parse::<usize>()
                .ok()
                .filter(|_| id.starts_with(name))
        };
        options.pending_ids.iter().filter_map(of_name).max()
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut counted: HashSet<BlockRef> = HashSet::new();
    for block in transcript.messages().flat_map(|message| message.blocks()) {
        let name = block.name().filter(|_| block.kind() == BlockKind::ToolCall);
        let Some(name) = name.map(String::from) else { continue };
        let number = counts.entry(name.clone()).or_default();
        if numbers(&format!("{name}#")).is_some_and(|most| *number <= most) {
            counted.insert(BlockRef::of(&block));
        }
        *number += 1;
    }
    let placeless = |at: &&BlockRef| transcript.message(at.message).unwrap().role() != Role::Assistant;
    let counted: HashSet<BlockRef> = counted.iter().filter(placeless).copied().collect();
    let results = pair(transcript, options)
        .pairs
        .into_iter()
        .filter(|pair| counted.contains(&pair.call));
    let results: HashSet<usize> = results.map(|pair| pair.result.message).collect();
    counted.iter().any(|call| call.message == message) || results.contains(&message)
}

/// What was said, with how often; space at the end may go.
fn spoken(transcript: &Transcript) -> HashMap<String, usize> {
    let mut texts = HashMap::new();
    for block in transcript.messages().flat_map(|message| message.blocks()) {
        if block.kind() == BlockKind::Text && !block.row.blank {
            let text = block.texts().collect::<String>();
            *texts.entry(text.trim_end().to_owned()).or_insert(0) += 1;
        }
    }
    texts
}

/// Whether the results of each message with calls stand in one message; the generators part some.
fn together(sample: &Sample) -> bool {
    let found = scan(&sample.transcript(), &sample.options).findings;
    found.iter().all(|finding| finding.code != "split_results")
}

/// The texts of results that tools gave at those places, with how often each came.
fn returned(transcript: &Transcript, wanted: impl Fn(BlockRef) -> bool) -> HashMap<String, usize> {
    let mut texts = HashMap::new();
    for block in transcript.messages().flat_map(|message| message.blocks()) {
        let given = block.kind() == BlockKind::ToolResult && !block.row.server_side;
        if given && wanted(BlockRef::of(&block)) {
            *texts.entry(block.texts().collect::<String>()).or_insert(0) += 1;
        }
    }
    texts
}

fn check_places(input: &Transcript, repaired: &Repaired, options: &ScanOptions) -> Result<(), TestCaseError> {
    let table = pair(input, options);
    let output = &repaired.transcript;
    prop_assert_eq!(repaired.kept.len(), output.len());
    let mut known: HashSet<usize> = HashSet::new();
    for (index, kept) in repaired.kept.iter().enumerate() {
        if let Some(from) = *kept {
            prop_assert!(known.insert(from), "message {} is kept twice", from);
            prop_assert_eq!(
                output.message(index).unwrap().bytes(),
                input.message(from).unwrap().bytes()
            );
        }
    }
    for entry in &repaired.repairs {
        prop_assert!(entry.message < input.len());
        known.insert(entry.message);
        if let Some(block) = entry.block {
            let at = BlockRef {
                message: entry.message,
                block,
            };
            prop_assert!(block_at(input, at).is_some());
            prop_assert_eq!(&entry.call_id, &table.call_id(input, at));
        }
        prop_assert!(entry.message_after.is_none_or(|after| after < output.len()));
        // What was mended may go later on, with its call or its message.
        let dropped = repaired.repairs.iter().any(|entry| entry.action == Action::Drop);
        prop_assert!(dropped || entry.message_after.is_some(), "{:?}", entry);
    }
    let touched = repaired
        .repairs
        .iter()
        .filter_map(|entry| entry.message_after)
        .collect::<HashSet<_>>();
    for index in (0..output.len()).filter(|&k| repaired.kept[k].is_none()) {
        // What something was taken out of is named by its place in the input alone.
        let taken = |entry: &Repair| matches!(entry.action, Action::Drop | Action::Move);
        let named = touched.contains(&index) || repaired.repairs.iter().any(taken);
        prop_assert!(named, "message {} changed without a word", index);
    }
    // A message may also be changed by what came into it.
    let unnamed = (0..input.len()).filter(|index| !known.contains(index)).count();
    prop_assert!(unnamed <= touched.len(), "{} messages changed without a word", unnamed);
    Ok(())
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn a_clean_transcript_stays(sample in clean().prop_filter("AM-3", together), drop in any::<bool>()) {
        let t = sample.transcript();
        let options = options(&sample, drop);
        prop_assert_eq!(left(&t, &options), vec![]);
        let repaired = repair(&t, &options).unwrap();
        prop_assert_eq!(&repaired.repairs, &vec![]);
        prop_assert_eq!(repaired.transcript.to_json(), t.to_json());
        prop_assert_eq!(repaired.kept, (0..t.len()).map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_that_is_mended_is_left(sample in any_sample(), drop in any::<bool>()) {
        let t = sample.transcript();
        let options = options(&sample, drop);
        let repaired = repair(&t, &options).unwrap();
        prop_assert_eq!(left(&repaired.transcript, &options), vec![], "{:?}\n{}", repaired.repairs, String::from_utf8_lossy(&repaired.transcript.to_json()));
        prop_assert_eq!(repaired.repairs.is_empty(), repaired.transcript.to_json() == t.to_json());
        check_places(&t, &repaired, &options.scan)?;
    }

    #[test]
    fn twice_is_once(sample in any_sample(), drop in any::<bool>()) {
        let t = sample.transcript();
        let options = options(&sample, drop);
        let once = repair(&t, &options).unwrap();
        let twice = repair(&once.transcript, &options).unwrap();
        prop_assert_eq!(&twice.repairs, &vec![], "{}", String::from_utf8_lossy(&once.transcript.to_json()));
        prop_assert_eq!(twice.transcript.to_json(), once.transcript.to_json());
        let again = repair(&t, &options).unwrap();
        prop_assert_eq!(again.transcript.to_json(), once.transcript.to_json());
        let body = std::sync::Arc::new(once.transcript.to_json());
        let fresh = Transcript::from_json(body, Some(sample.format)).unwrap();
        prop_assert_eq!(scan(&fresh, &options.scan), scan(&once.transcript, &options.scan));
    }

    #[test]
    fn what_was_said_survives(sample in any_sample(), drop in any::<bool>()) {
        let t = sample.transcript();
        let repaired = repair(&t, &options(&sample, drop)).unwrap();
        let after = spoken(&repaired.transcript);
        for (text, times) in spoken(&t) {
            prop_assert!(after.get(&text).is_some_and(|&kept| kept >= times), "{:?} of {:?}", text, after);
        }
    }

    /// Where only ids are wrong, ids alone change: no result goes, and none is made up.
    #[test]
    fn wrong_ids_are_replaced(sample in prop_oneof![openai_responses::by_items(), generate::from_elsewhere().prop_filter("AM-3", together)], drop in any::<bool>()) {
        let t = sample.transcript();
        let options = options(&sample, drop);
        let repaired = repair(&t, &options).unwrap();
        prop_assert_eq!(repaired.transcript.len(), t.len());
        prop_assert!(repaired.repairs.iter().all(|entry| entry.action == Action::Rename), "{:?}", repaired.repairs);
        prop_assert_eq!(left(&repaired.transcript, &options), vec![]);
        let pairs = |t: &Transcript| pair(t, &sample.options).pairs.len();
        prop_assert!(pairs(&repaired.transcript) >= pairs(&t));
    }

    /// A result that answers a call is still there afterwards, wherever it stood.
    #[test]
    fn results_of_calls_survive(sample in any_sample().prop_map(Sample::told_apart), drop in any::<bool>()) {
        let t = sample.transcript();
        let repaired = repair(&t, &options(&sample, drop)).unwrap();
        // A result that is a message of its own holds no calls that another could answer, and its further ids no text.
        let is_result = |message: usize| t.message(message).unwrap().blocks().any(|block| block.row.place == Place::Message);
        // Nor does what answers such a call by an id that a real one has say which of the results is the real one's.
        let calls = t.messages().flat_map(|message| message.blocks()).filter(|block| block.kind() == BlockKind::ToolCall);
        let unreal = calls.filter(|call| is_result(call.message));
        let unreal: HashSet<Option<String>> = unreal.map(|call| call.call_id().map(Cow::into_owned)).collect();
        let counts = |call: BlockRef| {
            let block = block_at(&t, call).unwrap();
            let id = block.call_id().map(Cow::into_owned);
            !block.row.server_side && !is_result(call.message) && !unreal.contains(&id)
        };
        let is_id = |result: BlockRef| result.block > 0 && is_result(result.message);
        let pairs = pair(&t, &sample.options).pairs.into_iter().filter(|pair| counts(pair.call) && !is_id(pair.result));
        let answers: HashSet<BlockRef> = pairs.map(|pair| pair.result).collect();
        let (before, after) = (returned(&t, |at| answers.contains(&at)), returned(&repaired.transcript, |_| true));
        if t.format().rules().names_pair {
            // Which of the results under one name are one too many is told by their places, and those change.
            let made_up = repaired.repairs.iter().filter(|entry| entry.action == Action::Synthesize).count();
            prop_assert!(after.values().sum::<usize>() >= before.values().sum::<usize>() + made_up, "{:?}", repaired.repairs);
            return Ok(());
        }
        for (text, times) in before {
            prop_assert!(after.get(&text).is_some_and(|&kept| kept >= times), "{:?} of {:?}", text, after);
        }
    }

    #[test]
    fn awaited_calls_stay_as_they_are(sample in any_sample(), drop in any::<bool>()) {
        let t = sample.transcript();
        let repaired = repair(&t, &options(&sample, drop)).unwrap();
        let calls = |t: &Transcript, wanted: &dyn Fn(BlockRef) -> bool| {
            let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
            for block in t.messages().flat_map(|message| message.blocks()).filter(|b| b.kind() == BlockKind::ToolCall) {
                if wanted(BlockRef::of(&block)) {
                    *counts.entry(block.bytes().to_vec()).or_default() += 1;
                }
            }
            counts
        };
        // A call of the open tail is awaited no more once its result has moved to it from before.
        let table = pair(&t, &sample.options);
        let early: HashSet<_> = table.orphan_results.iter().map(|&at| table.call_id(&t, at)).collect();
        let named = |id: &Option<String>| id.as_ref().is_some_and(|id| sample.options.pending_ids.contains(id));
        let mut pending = table.pending.clone();
        pending.retain(|&at| named(&table.call_id(&t, at)) || !early.contains(&table.call_id(&t, at)));
        let after = calls(&repaired.transcript, &|_| true);
        for (bytes, times) in calls(&t, &|at| pending.contains(&at)) {
            prop_assert!(after.get(&bytes).is_some_and(|&kept| kept >= times), "{}", String::from_utf8_lossy(&bytes));
        }
    }
}
