//! Laws of pairs, findings and cuts, on generated transcripts of every format.

#![allow(clippy::unwrap_used, reason = "a test stops where its generator is wrong")]

use std::sync::Arc;

use proptest::prelude::*;
use turnfold_core::findings::{CHECKS, Category, Severity, scan};
use turnfold_core::groups::{self, groups, turns};
use turnfold_core::pairs::{PairCheck, PairTable, ScanOptions, check, pair};
use turnfold_core::splits::{Keep, find_split_by, splits};
use turnfold_core::{Role, Source, Transcript};

mod bedrock_converse;
mod gemini_contents;
mod generate;
mod mistral_chat;
mod naive;
mod openai_responses;
mod repair;

use generate::Sample;

/// 400 cases a law, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let mut config = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(400),
    };
    // A filter refuses a share of what is drawn, however many are.
    config.max_local_rejects = config.max_local_rejects.max(config.cases);
    config
}

fn is_whole(transcript: &Transcript, options: &ScanOptions) -> bool {
    let findings = scan(transcript, options).findings;
    findings.iter().all(|finding| finding.category != Category::Integrity)
}

fn plain(table: PairTable) -> naive::Table {
    naive::Table {
        pairs: table.pairs,
        orphan_results: table.orphan_results,
        remote_results: table.remote_results,
        repeated_results: table.repeated_results,
        pending: table.pending,
        abandoned: table.abandoned,
    }
}

fn short(transcript: &Transcript) -> PairCheck {
    let table = pair(transcript, &ScanOptions::default());
    PairCheck {
        pairs: table.pairs.len(),
        misplaced: table.pairs.iter().copied().filter(|pair| pair.misplaced).collect(),
        pending: table.pending,
        abandoned: table.abandoned,
        orphan_results: table.orphan_results,
        repeated_results: table.repeated_results,
    }
}

fn any_sample() -> impl Strategy<Value = Sample> {
    prop_oneof![
        2 => generate::clean(),
        2 => generate::damaged(),
        2 => generate::arbitrary(),
        1 => bedrock_converse::clean(),
        1 => bedrock_converse::damaged(),
        1 => bedrock_converse::arbitrary(),
        1 => gemini_contents::clean(),
        2 => gemini_contents::damaged(),
        1 => gemini_contents::arbitrary(),
        1 => mistral_chat::clean(),
        1 => mistral_chat::damaged(),
        1 => openai_responses::clean(),
        1 => openai_responses::damaged(),
        1 => openai_responses::arbitrary(),
    ]
}

fn clean() -> impl Strategy<Value = Sample> {
    prop_oneof![
        2 => generate::clean(),
        1 => bedrock_converse::clean(),
        1 => gemini_contents::clean(),
        1 => mistral_chat::clean(),
        1 => openai_responses::clean(),
    ]
}

proptest! {
    #![proptest_config(config())]

    /// A clean transcript, cut at a split point, gives two clean halves, and at any other index at least one dirty half.
    #[test]
    fn a_cut_is_legal_exactly_where_both_halves_are_clean(sample in clean()) {
        let whole = sample.transcript();
        prop_assert!(is_whole(&whole, &sample.options), "{:?}", scan(&whole, &sample.options).findings);
        let cuts = splits(&whole, &sample.options);
        let guarded = naive::guarded_loop(&whole, sample.options.thinking(&whole));
        let closed = ScanOptions { closed: true, ..sample.options.clone() };
        for k in whole.leading()..=whole.len() {
            let (head, tail) = sample.messages.split_at(k);
            let (head, tail) = (generate::read(sample.format, head), generate::read(sample.format, tail));
            // What the halves cannot show: the whole loop is gone, although the provider wants it back.
            let loop_lost = guarded.is_some_and(|start| k > start) && tail.messages().all(|m| m.role() != Role::Assistant);
            let halves = is_whole(&head, &closed) && is_whole(&tail, &sample.options) && !loop_lost;
            prop_assert_eq!(cuts.contains(k), halves, "cut at {}: {:?}", k, cuts.why_not(&whole, k));
        }
    }

    #[test]
    fn pairs_are_those_of_the_slow_twin(sample in any_sample()) {
        let t = sample.transcript();
        prop_assert_eq!(plain(pair(&t, &sample.options)), naive::pair(&t, &sample.options));
    }

    /// Where all is in order, the table that a scan remembers is made without a pass; it is what the pass gives.
    #[test]
    fn the_remembered_table_is_that_of_a_pass(sample in any_sample()) {
        let (t, options) = (sample.transcript(), ScanOptions::default());
        prop_assert_eq!(&*scan(&t, &options).pairs, &pair(&t, &options));
    }

    /// The short check says what the full table says, whether made at once or message after message.
    #[test]
    fn the_check_of_pairs_is_that_of_the_table(sample in any_sample(), steps in prop::collection::vec(1..4_usize, 1..8)) {
        let whole = sample.transcript();
        prop_assert_eq!(check(&whole), &short(&whole));
        let (mut end, mut grown) = (0, generate::read(sample.format, &[]));
        for step in steps.iter().cycle() {
            check(&grown);
            if end == sample.messages.len() {
                break;
            }
            for message in sample.messages.iter().skip(end).take(*step) {
                let source: Source = Arc::new(message.to_string().into_bytes());
                grown = grown.append(source).unwrap();
            }
            end = (end + step).min(sample.messages.len());
            prop_assert_eq!(check(&grown), &short(&grown), "{} messages", end);
        }
    }

    #[test]
    fn cuts_are_those_of_the_slow_twin(sample in any_sample()) {
        let t = sample.transcript();
        let cuts = splits(&t, &sample.options);
        let pairs = naive::pair(&t, &sample.options);
        let legal: Vec<usize> = (t.leading()..=t.len()).filter(|&k| naive::is_legal(&t, &sample.options, &pairs, k)).collect();
        prop_assert_eq!(cuts.iter().collect::<Vec<_>>(), legal.clone());
        for k in 0..=t.len() + 1 {
            prop_assert_eq!(cuts.contains(k), legal.contains(&k));
            prop_assert_eq!(cuts.at_or_before(k), legal.iter().copied().rfind(|&legal| legal <= k));
            prop_assert_eq!(cuts.at_or_after(k), legal.iter().copied().find(|&legal| legal >= k));
            let why = cuts.why_not(&t, k);
            prop_assert_eq!(why.is_empty(), legal.contains(&k));
            prop_assert!(why.iter().all(|blocker| (blocker.start..blocker.stop).contains(&k)));
        }
    }

    #[test]
    fn groups_tile_and_no_bond_leaves_one(sample in any_sample()) {
        let t = sample.transcript();
        let table = pair(&t, &sample.options);
        let tiles = groups(&t, &table);
        let bonds = naive::bonds(&t, &plain(table));
        let mut next = t.leading();
        for tile in &tiles {
            prop_assert_eq!(tile.start, next);
            prop_assert!(tile.start < tile.end);
            next = tile.end;
        }
        prop_assert_eq!(next, t.len());
        for edge in t.leading() + 1..t.len() {
            let parted = bonds.iter().any(|&(first, last)| first < edge && edge <= last);
            prop_assert_eq!(parted, tiles.iter().all(|tile| tile.start != edge), "edge {}", edge);
        }
    }

    #[test]
    fn turns_start_where_the_user_speaks(sample in any_sample()) {
        let t = sample.transcript();
        let starts: Vec<usize> = t.messages().filter(naive::opens_turn).map(|m| m.index).collect();
        let mut ends: Vec<usize> = starts.iter().skip(1).copied().collect();
        ends.extend(starts.last().map(|_| t.len()));
        let expected: Vec<_> = starts.into_iter().zip(ends).map(|(start, end)| start..end).collect();
        prop_assert_eq!(turns(&t), expected);
        let guarded = naive::guarded_loop(&t, true);
        let open = groups::open_loop(&t);
        if t.format().rules().loop_starts_with_reasoning.is_some() {
            prop_assert_eq!(guarded, Some(open.start).filter(|_| !open.is_empty()));
        }
    }

    #[test]
    fn a_wish_gives_the_nearest_legal_cut(sample in any_sample(), weights in prop::collection::vec(0..50_u64, 64), wish in 0..80_usize) {
        let t = sample.transcript();
        let cuts = splits(&t, &sample.options);
        let tail = |k: usize| weights.iter().cycle().take(t.len()).skip(k).sum::<u64>();
        let within = |limit| (0..=t.len()).find(|&k| tail(k) <= limit).unwrap();
        let choose = |keep| find_split_by(&t, &cuts, keep, within);

        let kept = choose(Keep::Messages(wish)).unwrap();
        prop_assert_eq!(kept.requested, t.len().saturating_sub(wish).max(t.leading()));
        prop_assert_eq!(Some(kept.index), cuts.iter().rfind(|&k| k <= kept.requested));
        prop_assert_eq!(kept.moved_by.is_empty(), kept.index == kept.requested);

        let kept = choose(Keep::Turns(wish)).unwrap();
        let starts: Vec<usize> = t.messages().filter(naive::opens_turn).map(|m| m.index).collect();
        let wanted = if wish == 0 { t.len() } else if wish > starts.len() { t.leading() } else { starts[starts.len() - wish] };
        prop_assert_eq!(kept.requested, wanted);
        prop_assert_eq!(Some(kept.index), cuts.iter().rfind(|&k| k <= wanted));

        let limit = wish as u64 * 10;
        let fitting = cuts.iter().find(|&k| tail(k) <= limit);
        let kept = choose(Keep::Tokens(limit));
        prop_assert_eq!(kept.as_ref().map(|kept| kept.index), fitting);
        if let Some(kept) = kept {
            let first = (t.leading()..=t.len()).find(|&k| tail(k) <= limit);
            prop_assert_eq!(Some(kept.requested), first);
            prop_assert_eq!(kept.moved_by.is_empty(), kept.index == kept.requested);
        }
    }

    /// A scan of anything readable ends, and every finding names a place that is there.
    #[test]
    fn findings_point_into_the_transcript(sample in any_sample()) {
        let t = sample.transcript();
        let found = scan(&t, &sample.options);
        for finding in &found.findings {
            prop_assert!(CHECKS.iter().any(|check| check.code == finding.code && check.category == finding.category));
            match (finding.message, finding.block) {
                (Some(message), Some(block)) => {
                    let view = t.message(message).unwrap().blocks().nth(block).unwrap();
                    prop_assert_eq!(&finding.path, &view.path(t.list_field()));
                }
                (Some(message), None) => {
                    prop_assert!(message < t.len());
                    prop_assert_eq!(&finding.path, &format!("{}[{message}]", t.list_field()));
                }
                (None, block) => {
                    prop_assert!(block.is_none());
                    prop_assert_eq!(&finding.path, t.list_field());
                }
            }
        }
        let error = found.findings.iter().any(|finding| finding.severity == Severity::Error);
        prop_assert_eq!(found.ok(), !error);
    }
}
