//! The short answer to whether calls and results are whole, which a transcript that goes on from another takes up where
//! that one's check ended.

use std::sync::{Arc, OnceLock};

use super::pairing::Half;
use super::{BlockRef, Course, Pair, Pass, ScanOptions, Shape, block_at, key_of};
use crate::keyed::Keyed;
use crate::rules::ResultPlace;
use crate::transcript::{BlockView, Role, Transcript};

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
    call: Half<'a>,
    answered: bool,
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
    let mut matched = Matched {
        place: rules.result_place,
        from,
        calls: Vec::new(),
        ids: Keyed::default(),
        course: from.course.clone(),
        pairs: 0,
    };
    for &(at, _) in &from.open {
        matched.call(half_of(&block_at(transcript, at)?)?)?;
    }
    for (segment, &start) in transcript.segments.iter().zip(&transcript.starts) {
        let skipped = first.saturating_sub(start as usize).min(segment.len());
        let index = |k: usize| start as usize + skipped + k;
        let source = segment.source.bytes();
        if let Some(recalled) = segment.recalled() {
            for (k, message) in recalled.messages().skip(skipped).enumerate() {
                let known = message.known;
                matched.enter(index(k), known.role, known.pairing.shape);
                for half in known.pairing.halves(index(k), message.start, source)? {
                    matched.half(half)?;
                }
            }
            continue;
        }
        for (k, row) in segment.messages().iter().skip(skipped).enumerate() {
            let blocks = segment.blocks_of(row);
            matched.enter(index(k), row.role, Shape::of(blocks));
            for (block, row) in blocks.iter().enumerate() {
                let at = BlockRef {
                    message: index(k),
                    block,
                };
                if let Some(half) = Half::of(at, row, source).ok()? {
                    matched.half(half)?;
                }
            }
        }
    }
    Some(matched.checked(transcript.len(), before))
}

/// Where [`ordinary`] stands.
struct Matched<'a> {
    place: ResultPlace,
    from: &'a Ordinary,
    /// Those that may be answered, and were.
    calls: Vec<Used<'a>>,
    /// Hashes of the ids of `calls`.
    ids: Keyed<u32>,
    course: Course,
    pairs: usize,
}

impl<'a> Matched<'a> {
    fn enter(&mut self, index: usize, role: Role, shape: Shape) {
        self.course.enter(self.place, index, role, shape);
    }

    fn half(&mut self, half: Half<'a>) -> Option<()> {
        if half.is_call {
            let earlier = self.from.ids.iter().any(|ids| ids.contains_key(&half.hash));
            return if earlier { None } else { self.call(half) };
        }
        let anywhere = self.place == ResultPlace::Later;
        let used = self.calls.get_mut(*self.ids.get(&half.hash)? as usize)?;
        let call = &used.call;
        let opened = call.server_side || self.course.opened_by(call.at.message);
        let in_place = anywhere || call.server_side || (self.course.in_place && opened);
        if used.answered || !in_place || call.family != half.family || call.id != half.id {
            return None;
        }
        used.answered = true;
        self.course.open_tail &= opened;
        self.pairs += 1;
        Some(())
    }

    fn call(&mut self, call: Half<'a>) -> Option<()> {
        if self.ids.insert(call.hash, self.calls.len() as u32).is_some() {
            return None;
        }
        self.calls.push(Used { call, answered: false });
        Some(())
    }

    fn checked(self, messages: usize, before: &PairCheck) -> Checked {
        let waits = |call: &&Half<'_>| self.course.open_tail && self.course.opened_by(call.at.message);
        let open = || self.calls.iter().filter(|used| !used.answered).map(|used| &used.call);
        let found = PairCheck {
            pairs: before.pairs + self.pairs,
            pending: open().filter(waits).map(|call| call.at).collect(),
            abandoned: open().filter(|call| !waits(call)).map(|call| call.at).collect(),
            misplaced: before.misplaced.clone(),
            ..PairCheck::default()
        };
        let open = open().map(|call| (call.at, call.server_side)).collect();
        Checked {
            messages,
            found,
            course: Some(Ordinary {
                course: self.course,
                open,
                ids: with(&self.from.ids, self.ids),
            }),
        }
    }
}

/// Hashes of the ids of calls and results from message `first` on. `None` where a call or result is not known by an id
/// alone, or has that of an earlier one which is not open.
fn fresh_ids(transcript: &Transcript, first: usize, from: &Ordinary) -> Option<Keyed<u32>> {
    if transcript.format().rules().names_pair {
        return None;
    }
    let mut fresh = Keyed::default();
    let open = from.open.iter();
    let open = open.map(|&(at, _)| Some(half_of(&block_at(transcript, at)?)?.hash));
    let open = open.collect::<Option<Vec<u64>>>()?;
    for block in transcript.messages_from(first).flat_map(|message| message.blocks()) {
        let at = BlockRef::of(&block);
        let Some(half) = Half::of(at, block.row, block.segment.source.bytes()).ok()? else {
            continue;
        };
        let earlier = from.ids.iter().any(|ids| ids.contains_key(&half.hash));
        if earlier && (half.is_call || !open.contains(&half.hash)) {
            return None;
        }
        fresh.insert(half.hash, 0);
    }
    Some(fresh)
}

/// A call or result that is known by its id. Two ids of one hash only cost a pass over everything.
fn half_of<'a>(block: &BlockView<'a>) -> Option<Half<'a>> {
    Half::of(BlockRef::of(block), block.row, block.segment.source.bytes()).ok()?
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
