//! The short answer to whether calls and results are whole, which a transcript that goes on from another takes up where
//! that one's check ended.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::{BlockRef, Course, Pair, Pass, ScanOptions, Shape, block_at, key_of};
use crate::json;
use crate::keyed::{self, Keyed};
use crate::rules::ResultPlace;
use crate::transcript::{BlockKind, BlockView, Transcript};

/// What a [`super::PairTable`] says of calls and results that are not whole, without the pairs that are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairCheck {
    /// How many calls and results are paired.
    pub pairs: usize,
    /// Calls whose result is still awaited: unanswered in the open tail.
    pub pending: Vec<BlockRef>,
    /// Unanswered calls that nobody waits for.
    pub abandoned: Vec<BlockRef>,
    /// Results that answer no open call before them; those of `repeated_results` are among them.
    pub orphan_results: Vec<BlockRef>,
    /// Results that answer a call which has its result already.
    pub repeated_results: Vec<Pair>,
    /// Pairs with something between that the format does not allow there.
    pub misplaced: Vec<Pair>,
}

/// The check of one transcript, made on first use, and that of the transcript it goes on from.
#[derive(Debug, Default)]
pub(crate) struct PairMemo {
    before: Option<Arc<Checked>>,
    done: OnceLock<Arc<Checked>>,
}

impl PairMemo {
    /// The memo of a transcript that has more messages after those of this one's.
    pub(crate) fn grown(&self) -> Arc<Self> {
        Arc::new(Self {
            before: self.done.get().or(self.before.as_ref()).cloned(),
            done: OnceLock::new(),
        })
    }
}

#[derive(Debug, Default)]
struct Checked {
    /// How many messages it is about.
    messages: usize,
    found: PairCheck,
    /// `None` where something is out of the ordinary, so that what follows may need all that was before.
    course: Option<Ordinary>,
}

/// Where the pass stands after messages in which every id is used once and every result has found its call.
#[derive(Debug, Default)]
struct Ordinary {
    course: Course,
    /// Unanswered calls, and whether the provider runs them.
    open: Vec<(BlockRef, bool)>,
    /// Hashes of all ids so far: a few tables, each of which has fewer than the one before it.
    ids: Vec<Arc<Keyed<u32>>>,
}

/// A call that an id was used for.
struct Used<'a> {
    at: BlockRef,
    server_side: bool,
    answered: bool,
    family: u8,
    id: Cow<'a, [u8]>,
}

impl<'a> Used<'a> {
    fn open(block: &BlockView<'a>, id: Cow<'a, [u8]>) -> Self {
        Self {
            at: BlockRef::of(block),
            server_side: block.row.server_side,
            answered: false,
            family: block.row.family,
            id,
        }
    }
}

/// Checks what [`super::pair`] with default options finds. O(blocks), and O(new blocks) for a transcript that was made by
/// `append` or `extend_from` of one that was checked, as long as every id is used for one call; remembered.
pub fn check(transcript: &Transcript) -> &PairCheck {
    let memo = &transcript.pairs;
    let make = || {
        let onward = memo.before.as_ref().and_then(|before| {
            let from = before.course.as_ref()?;
            run(transcript, before.messages, from, &before.found)
        });
        Arc::new(onward.unwrap_or_else(|| whole(transcript)))
    };
    &memo.done.get_or_init(make).found
}

fn whole(transcript: &Transcript) -> Checked {
    run(transcript, 0, &Ordinary::default(), &PairCheck::default()).unwrap_or_else(|| {
        let mut pass = Pass::new(transcript, 0);
        transcript.messages().for_each(|message| pass.message(&message));
        Checked {
            messages: transcript.len(),
            found: found(pass, transcript, &PairCheck::default()),
            course: None,
        }
    })
}

/// Checks the messages from `first` on; `None` where the ones before matter by more than `from` tells.
fn run(transcript: &Transcript, first: usize, from: &Ordinary, before: &PairCheck) -> Option<Checked> {
    if let Some(checked) = ordinary(transcript, first, from, before) {
        return Some(checked);
    }
    let ids = fresh_ids(transcript, first, from)?;
    let mut pass = Pass::new(transcript, first);
    pass.course = from.course.clone();
    for &(at, server_side) in &from.open {
        let key = key_of(&block_at(transcript, at)?)?;
        let call = pass.calls.push(at, server_side, 0);
        pass.ids.entry(key).or_default().push(&mut pass.calls, call, at.message);
    }
    transcript
        .messages_from(first)
        .for_each(|message| pass.message(&message));
    let rows = pass.calls.rows.iter();
    let open = rows
        .filter(|call| !call.answered)
        .map(|call| (call.at, call.server_side))
        .collect();
    let course = pass.course.clone();
    let ordinary = pass.table.reuses.is_empty() && pass.table.orphan_results.is_empty();
    let found = found(pass, transcript, before);
    let course = ordinary.then(|| Ordinary {
        course,
        open,
        ids: with(&from.ids, ids),
    });
    Some(Checked {
        messages: transcript.len(),
        found,
        course,
    })
}

fn found(pass: Pass<'_>, transcript: &Transcript, before: &PairCheck) -> PairCheck {
    let table = pass.sort_unanswered(transcript, &ScanOptions::default());
    let mut misplaced = before.misplaced.clone();
    misplaced.extend(table.pairs.iter().filter(|pair| pair.misplaced));
    PairCheck {
        pairs: before.pairs + table.pairs.len(),
        pending: table.pending,
        abandoned: table.abandoned,
        orphan_results: table.orphan_results,
        repeated_results: table.repeated_results,
        misplaced,
    }
}

/// What [`run`] gives where every id is used for one call and every result answers an open call where it may: one look
/// at each id. `None` where anything is otherwise.
fn ordinary(transcript: &Transcript, first: usize, from: &Ordinary, before: &PairCheck) -> Option<Checked> {
    let rules = transcript.format().rules();
    if rules.names_pair {
        return None;
    }
    let anywhere = rules.result_place == ResultPlace::Later;
    let mut calls: Vec<Used<'_>> = Vec::new();
    let mut ids: Keyed<u32> = Keyed::default();
    for &(at, _) in &from.open {
        let block = block_at(transcript, at)?;
        let (hash, id) = hash_of(&block)?;
        if ids.insert(hash, calls.len() as u32).is_some() {
            return None;
        }
        calls.push(Used::open(&block, id));
    }
    let mut course = from.course.clone();
    let mut pairs = 0;
    for message in transcript.messages_from(first) {
        course.enter(rules.result_place, &message, Shape::of(&message));
        for block in message.blocks() {
            match block.kind() {
                BlockKind::ToolCall if !block.row.whole => {
                    let (hash, id) = hash_of(&block)?;
                    let earlier = from.ids.iter().any(|ids| ids.contains_key(&hash));
                    if earlier || ids.insert(hash, calls.len() as u32).is_some() {
                        return None;
                    }
                    calls.push(Used::open(&block, id));
                }
                BlockKind::ToolResult => {
                    let (hash, id) = hash_of(&block)?;
                    let call = calls.get_mut(*ids.get(&hash)? as usize)?;
                    let opened = call.server_side || course.opened_by(call.at.message);
                    let in_place = anywhere || call.server_side || (course.in_place && opened);
                    if call.answered || !in_place || call.family != block.row.family || call.id != id {
                        return None;
                    }
                    call.answered = true;
                    course.open_tail &= opened;
                    pairs += 1;
                }
                _ => {}
            }
        }
    }
    let waits = |call: &&Used<'_>| course.open_tail && course.opened_by(call.at.message);
    let open = || calls.iter().filter(|call| !call.answered);
    let found = PairCheck {
        pairs: before.pairs + pairs,
        pending: open().filter(waits).map(|call| call.at).collect(),
        abandoned: open().filter(|call| !waits(call)).map(|call| call.at).collect(),
        misplaced: before.misplaced.clone(),
        ..PairCheck::default()
    };
    let open = open().map(|call| (call.at, call.server_side)).collect();
    Some(Checked {
        messages: transcript.len(),
        found,
        course: Some(Ordinary {
            course,
            open,
            ids: with(&from.ids, ids),
        }),
    })
}

/// Hashes of the ids of calls and results from message `first` on. `None` where a call or result is not known by an id
/// alone, or has that of an earlier one which is not open.
fn fresh_ids(transcript: &Transcript, first: usize, from: &Ordinary) -> Option<Keyed<u32>> {
    if transcript.format().rules().names_pair {
        return None;
    }
    let mut fresh = Keyed::default();
    let open = from
        .open
        .iter()
        .map(|&(at, _)| hash_of(&block_at(transcript, at)?).map(|(hash, _)| hash));
    let open = open.collect::<Option<Vec<u64>>>()?;
    for block in transcript.messages_from(first).flat_map(|message| message.blocks()) {
        let is_call = match block.kind() {
            BlockKind::ToolCall if block.row.whole => continue,
            BlockKind::ToolCall => true,
            BlockKind::ToolResult => false,
            _ => continue,
        };
        let (hash, _) = hash_of(&block)?;
        let earlier = from.ids.iter().any(|ids| ids.contains_key(&hash));
        if earlier && (is_call || !open.contains(&hash)) {
            return None;
        }
        fresh.insert(hash, 0);
    }
    Some(fresh)
}

/// A call's or result's id, its escapes resolved, with its hash; `None` where it is known by more or other than that.
/// Two ids of one hash only cost a pass over everything.
fn hash_of<'a>(block: &BlockView<'a>) -> Option<(u64, Cow<'a, [u8]>)> {
    let row = block.row;
    if row.by_name || row.non_blocking || row.part_of.is_some() {
        return None;
    }
    let literal = row.call_id?.of(block.segment.source.bytes());
    let id = match literal {
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Cow::Borrowed(inner),
        _ => Cow::Owned(json::unescape(literal).into_owned().into_bytes()),
    };
    Some((keyed::hash(&id, u64::from(row.family)), id))
}

/// The tables and one more, the last ones joined so that there stay O(log ids) of them.
fn with(tables: &[Arc<Keyed<u32>>], fresh: Keyed<u32>) -> Vec<Arc<Keyed<u32>>> {
    let (mut tables, mut last) = (tables.to_vec(), fresh);
    if last.is_empty() {
        return tables;
    }
    while let Some(before) = tables.pop_if(|before| before.len() <= last.len()) {
        last.extend(before.iter().map(|(&hash, &call)| (hash, call)));
    }
    tables.push(Arc::new(last));
    tables
}
