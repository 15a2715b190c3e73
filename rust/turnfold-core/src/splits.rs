//! Where a transcript may be cut.
//!
//! A cut at `k` parts `messages[..k]` from `messages[k..]`. Cuts run from the number of leading instructions (nothing
//! goes, always legal) to the number of messages (nothing stays). A cut is barred by every interval it falls into: a
//! call and its result, a call that is still awaited, a block bound to its neighbour, a summary that the provider made,
//! an open tool loop that would lose the reasoning at its start. Unanswered calls that nobody awaits bar nothing.

use std::fmt::Write as _;
use std::ops::{Range, RangeInclusive};

use turnfold_tokens::Encoding;

use crate::groups::{self, BondKind};
use crate::pairs::{self, BlockRef, PairTable, ScanOptions};
use crate::transcript::{BlockKind, BlockView, Role, Transcript};

/// Why an index is no split point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// `pair`, `repeated_result`, `pending_call`, `bound_to_next`, `unknown_block`, `part_of_call`, `pointer`, `own_reasoning`,
    /// `remote_call`, `barrier`, `open_loop` or `outside`.
    pub code: &'static str,
    /// One sentence for a person.
    pub text: String,
    /// The call's id, where a call is the reason and has one.
    pub call_id: Option<String>,
    /// First index that is barred for this reason.
    pub start: usize,
    /// One past the last index that is barred for this reason.
    pub stop: usize,
}

/// An interval of barred cuts.
#[derive(Clone, Debug)]
struct Bar {
    cuts: Range<u32>,
    why: Why,
    /// The call, where there is one. Its id is read only where a cut is asked about.
    call: Option<BlockRef>,
}

#[derive(Clone, Copy, Debug)]
enum Why {
    Bond(BondKind),
    Pending,
    /// An item and the reasoning that the caller says it was produced with.
    OwnReasoning,
    /// A result of a call that only the server holds, and would be left without.
    RemoteCall,
    Barrier,
    OpenLoop,
}

/// The legal cuts of one transcript. Built in O(blocks); every question is O(log messages) or better.
#[derive(Clone, Debug)]
pub struct Splits {
    lowest: usize,
    highest: usize,
    /// Ascending.
    legal: Vec<u32>,
    /// By first barred cut.
    bars: Vec<Bar>,
    /// `reach[k]`: the largest end of `bars[..=k]`.
    reach: Vec<u32>,
    /// The field of the messages, for paths.
    list: &'static str,
}

impl Splits {
    /// Whether a cut at `index` is legal.
    pub fn contains(&self, index: usize) -> bool {
        self.at_or_before(index) == Some(index)
    }

    /// The legal cuts, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + '_ {
        self.legal.iter().map(|&index| index as usize)
    }

    /// The nearest legal cut at or before `index`.
    pub fn at_or_before(&self, index: usize) -> Option<usize> {
        let after = self.legal.partition_point(|&legal| legal as usize <= index);
        self.legal.get(after.checked_sub(1)?).map(|&legal| legal as usize)
    }

    /// The nearest legal cut at or after `index`.
    pub fn at_or_after(&self, index: usize) -> Option<usize> {
        let first = self.legal.partition_point(|&legal| (legal as usize) < index);
        self.legal.get(first).map(|&legal| legal as usize)
    }

    /// The first message of the last `count` stretches between legal cuts that hold a call, or `start` where there are
    /// fewer from there on. What stands behind the last cut is none. Looks at no message before that.
    pub fn start_of_tool_groups(&self, transcript: &Transcript, count: usize, start: usize) -> usize {
        if count == 0 {
            return transcript.len();
        }
        let mut left = count;
        let mut group = self.at_or_before(transcript.len());
        for index in (start..transcript.len()).rev() {
            if group.is_some_and(|group| index >= group) {
                continue;
            }
            let calls = |block: &BlockView<'_>| block.kind() == BlockKind::ToolCall;
            if !transcript
                .message(index)
                .is_some_and(|message| message.blocks().any(|block| calls(&block)))
            {
                continue;
            }
            group = self.at_or_before(index);
            let Some(first) = group.filter(|&first| first >= start) else {
                break;
            };
            left -= 1;
            if left == 0 {
                return first;
            }
        }
        start
    }

    /// The lowest cut: the number of leading instructions, which stay where they are.
    pub fn lowest(&self) -> usize {
        self.lowest
    }

    /// The highest cut: the number of messages.
    pub fn highest(&self) -> usize {
        self.highest
    }

    /// What bars a cut at `index` of the transcript that these are the cuts of; empty where it is legal. Outer reasons come
    /// first. O(log messages + the intervals that overlap around it).
    pub fn why_not(&self, transcript: &Transcript, index: usize) -> Vec<Blocker> {
        if !(self.lowest..=self.highest).contains(&index) {
            return vec![self.outside(index)];
        }
        let after = self.bars.partition_point(|bar| bar.cuts.start as usize <= index);
        let mut blockers = Vec::new();
        for (k, bar) in self.bars.get(..after).unwrap_or_default().iter().enumerate().rev() {
            if self.reach.get(k).is_none_or(|&reach| reach as usize <= index) {
                break;
            }
            if bar.cuts.end as usize > index {
                let id = bar.call.and_then(|call| pairs::call_id(transcript, call));
                blockers.push(bar.blocker(index, id, self.list));
            }
        }
        blockers.reverse();
        blockers
    }

    fn outside(&self, index: usize) -> Blocker {
        let (lowest, highest) = (self.lowest, self.highest);
        let (start, stop) = if index < lowest {
            (0, lowest)
        } else {
            (highest + 1, index.saturating_add(1))
        };
        Blocker {
            code: "outside",
            text: format!("a cut at {index} is outside of {lowest} to {highest}"),
            call_id: None,
            start,
            stop,
        }
    }
}

impl Bar {
    fn blocker(&self, index: usize, call_id: Option<String>, field: &str) -> Blocker {
        let (start, stop) = (self.cuts.start as usize, self.cuts.end as usize);
        let (before, last) = (start.saturating_sub(1), stop.saturating_sub(1));
        let mut call = String::from("call");
        if let Some(id) = &call_id {
            let _ = write!(call, " {id:?}");
        }
        let (code, reason) = match self.why {
            Why::Bond(BondKind::Pair) => (
                "pair",
                format!("parts {call} in {field}[{before}] from its result in {field}[{last}]"),
            ),
            Why::Bond(BondKind::RepeatedResult) => (
                "repeated_result",
                format!("parts {call} in {field}[{before}] from a further result in {field}[{last}]"),
            ),
            Why::Bond(BondKind::Next) => (
                "bound_to_next",
                format!("parts {field}[{before}] from what it is bound to after it"),
            ),
            Why::Bond(BondKind::Part) => (
                "part_of_call",
                format!("parts {call} in {field}[{before}] from what belongs to it in {field}[{last}]"),
            ),
            Why::Bond(BondKind::Unknown) => (
                "unknown_block",
                format!(
                    "parts {field}[{before}] from {field}[{last}], of which one has a block of an unknown kind at the edge"
                ),
            ),
            Why::Bond(BondKind::Pointer) => (
                "pointer",
                format!("parts {field}[{before}], which stands for an item of the server, from {field}[{last}]"),
            ),
            Why::OwnReasoning => (
                "own_reasoning",
                format!("parts the reasoning in {field}[{before}] from the item in {field}[{last}] that came of it"),
            ),
            Why::RemoteCall => (
                "remote_call",
                format!("gives away the result in {field}[{before}], whose {call} the server still holds"),
            ),
            Why::Pending => (
                "pending_call",
                format!("gives away {call} in {field}[{before}], whose result is awaited"),
            ),
            Why::Barrier => (
                "barrier",
                format!("is not behind the provider's own summary in {field}[{last}]"),
            ),
            Why::OpenLoop => (
                "open_loop",
                String::from("leaves an open tool loop without reasoning at its start, though thinking is on"),
            ),
        };
        Blocker {
            code,
            text: format!("a cut at {index} {reason}"),
            call_id,
            start,
            stop,
        }
    }
}

/// The legal cuts of `transcript`. O(blocks).
pub fn splits(transcript: &Transcript, options: &ScanOptions) -> Splits {
    splits_of(transcript, options, &pairs::remembered(transcript, options))
}

/// The legal cuts, where the pairs are known already. O(blocks).
pub fn splits_of(transcript: &Transcript, options: &ScanOptions, pairs: &PairTable) -> Splits {
    let (lowest, highest) = (transcript.leading(), transcript.len());
    let mut bars = bars(transcript, options, pairs, lowest..=highest);
    // By where they start, of those the outer ones first.
    bars.sort_by_key(|bar| u64::from(bar.cuts.start) << 32 | u64::from(!bar.cuts.end));
    // Room for all at once: what grows from a few bytes that another thread once had grows under that one's lock.
    let mut legal = Vec::with_capacity(highest + 1 - lowest);
    let mut reach = Vec::with_capacity(bars.len());
    let mut furthest = lowest as u32;
    for bar in &bars {
        legal.extend(furthest..bar.cuts.start);
        furthest = furthest.max(bar.cuts.end);
        reach.push(furthest);
    }
    legal.extend(furthest..=highest as u32);
    Splits {
        lowest,
        highest,
        legal,
        bars,
        reach,
        list: transcript.list_field(),
    }
}

fn bars(transcript: &Transcript, options: &ScanOptions, pairs: &PairTable, cuts: RangeInclusive<usize>) -> Vec<Bar> {
    // The lowest cut gives nothing away, so nothing bars it.
    let (lowest, highest) = (*cuts.start() + 1, *cuts.end());
    let mut bars = Vec::with_capacity(pairs.pairs.len());
    let mut bar = |why, first: usize, last: usize, call: Option<BlockRef>| {
        let (first, last) = (first.max(lowest), last.min(highest));
        if first <= last {
            bars.push(Bar {
                cuts: first as u32..last as u32 + 1,
                why,
                call,
            });
        }
    };
    for bond in groups::bonds(transcript, pairs) {
        bar(Why::Bond(bond.kind), bond.first + 1, bond.last, bond.call);
    }
    for &call in &pairs.pending {
        bar(Why::Pending, call.message + 1, highest, Some(call));
    }
    if transcript.head().continued {
        let pointer = transcript.first_pointer();
        let answers_server = |at: &&BlockRef| pointer.is_none_or(|pointer| at.message < pointer);
        for &result in pairs.remote_results.iter().filter(answers_server) {
            bar(Why::RemoteCall, result.message + 1, highest, Some(result));
        }
    }
    for (reasoning, item) in groups::reasoned(transcript, options) {
        bar(Why::OwnReasoning, reasoning + 1, item, None);
    }
    if let Some(message) = transcript.last_barrier() {
        bar(Why::Barrier, lowest, message, None);
    }
    let rules = transcript.format().rules();
    if let Some(open) = groups::guarded_loop(transcript, rules, options.thinking(transcript)) {
        // From the end: in every tail the first message of the model decides; a tail without one keeps nothing.
        let mut barred_to = Some(highest);
        for message in open.clone().rev().filter_map(|index| transcript.message(index)) {
            if message.role() != Role::Assistant {
                continue;
            }
            match (groups::starts_with_reasoning(&message), barred_to) {
                (true, Some(last)) => {
                    bar(Why::OpenLoop, message.index + 1, last, None);
                    barred_to = None;
                }
                (false, None) => barred_to = Some(message.index),
                _ => {}
            }
        }
        if let Some(last) = barred_to {
            bar(Why::OpenLoop, open.start, last, None);
        }
    }
    bars
}

/// How much to keep at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The last so many messages.
    Messages(usize),
    /// The last so many turns.
    Turns(usize),
    /// The longest tail of at most so many tokens (the upper bound of its count).
    Tokens(u64),
}

/// A legal cut, beside the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitChoice {
    /// The legal cut: messages before it may go, the others stay.
    pub index: usize,
    /// The cut that the wish alone would give.
    pub requested: usize,
    /// What bars the requested cut; empty where the two are equal.
    pub moved_by: Vec<Blocker>,
}

/// The legal cut for a wish, with tokens counted by `encoding` (the upper bound of each tail's count).
/// See [`find_split_by`].
pub fn find_split(transcript: &Transcript, splits: &Splits, keep: Keep, encoding: Encoding) -> Option<SplitChoice> {
    find_split_by(transcript, splits, keep, |limit| {
        transcript.tail_within(encoding, limit)
    })
}

/// The legal cut for a wish. Messages and turns snap to the nearest legal cut at or before the requested one, so that
/// never less than asked for is kept; tokens snap to the nearest at or after it, so that never more is. `None` where
/// there is no such cut. `tail_within` says where the longest tail of at most so many tokens starts; it is asked only for
/// `Keep::Tokens`.
pub fn find_split_by(
    transcript: &Transcript,
    splits: &Splits,
    keep: Keep,
    tail_within: impl FnOnce(u64) -> usize,
) -> Option<SplitChoice> {
    let (lowest, highest) = (splits.lowest, splits.highest);
    let (requested, index) = match keep {
        Keep::Messages(count) => at_least(splits, highest.saturating_sub(count)),
        Keep::Turns(0) => at_least(splits, highest),
        Keep::Turns(count) => {
            let turns = groups::turns(transcript);
            let first = turns.len().checked_sub(count).and_then(|k| turns.get(k));
            at_least(splits, first.map_or(lowest, |turn| turn.start))
        }
        Keep::Tokens(limit) => {
            let requested = tail_within(limit).clamp(lowest, highest);
            (requested, splits.at_or_after(requested))
        }
    };
    let index = index?;
    let moved_by = if index == requested {
        Vec::new()
    } else {
        splits.why_not(transcript, requested)
    };
    Some(SplitChoice {
        index,
        requested,
        moved_by,
    })
}

fn at_least(splits: &Splits, requested: usize) -> (usize, Option<usize>) {
    let requested = requested.clamp(splits.lowest, splits.highest);
    (requested, splits.at_or_before(requested))
}
