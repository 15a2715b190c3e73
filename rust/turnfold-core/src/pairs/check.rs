//! The short answer to whether calls and results are whole, which a transcript that goes on from another takes up where
//! that one's check ended.

use std::hash::BuildHasherDefault;
use std::sync::{Arc, OnceLock};

use super::pairing::Half;
use super::standing::{Last, Open, Standing, with};
use super::{BlockRef, Course, Pair, PairTable, Pass, ScanOptions, Shape, block_at};
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

/// The check of one transcript and its whole table, made on first use, and the check of the transcript it goes on from.
#[derive(Debug, Default)]
pub(crate) struct PairMemo {
    before: Option<Arc<Checked>>,
    done: OnceLock<Arc<Checked>>,
    table: OnceLock<Arc<PairTable>>,
}

impl PairMemo {
    /// The memo of a transcript that has more messages after those of this one's.
    pub(crate) fn grown(&self) -> Arc<Self> {
        Arc::new(Self {
            before: self.done.get().or(self.before.as_ref()).cloned(),
            ..Self::default()
        })
    }

    /// The table that `make` gives.
    pub(super) fn table(&self, make: impl FnOnce() -> PairTable) -> &Arc<PairTable> {
        self.table.get_or_init(|| Arc::new(make()))
    }
}

#[derive(Debug, Default)]
struct Checked {
    /// How many messages it is about.
    messages: usize,
    found: PairCheck,
    standing: Standing,
}

/// A call that an id was used for.
struct Used {
    call: Half,
    answered: bool,
}

/// Checks what [`super::pair`] with default options finds. O(blocks), and O(new blocks + open calls + what was found) for
/// a transcript that was made by `append` or `extend_from` of one that was checked; remembered.
pub fn check(transcript: &Transcript) -> &PairCheck {
    let memo = &transcript.pairs;
    let make = || {
        let before = memo.before.as_ref();
        let onward = before.and_then(|before| ordinary(transcript, before).or_else(|| onward(transcript, before)));
        Arc::new(onward.unwrap_or_else(|| whole(transcript)))
    };
    &memo.done.get_or_init(make).found
}

/// So many calls and results are told in no time.
const FEW: usize = 32;

/// Whether [`check`] remembers its answer, and there is little in it.
pub fn is_checked(transcript: &Transcript) -> bool {
    let done = transcript.pairs.done.get();
    done.is_some_and(|checked| {
        let found = &checked.found;
        let places = found.pending.len() + found.abandoned.len() + found.orphan_results.len();
        places + found.repeated_results.len() + found.misplaced.len() <= FEW
    })
}

fn whole(transcript: &Transcript) -> Checked {
    let nothing = Checked::default();
    ordinary(transcript, &nothing).unwrap_or_else(|| {
        let pass = Pass::new(transcript, 0);
        passed(pass, transcript, &nothing).1
    })
}

/// Checks what came behind the messages of `before`; `None` where these matter by more than is known of them.
fn onward(transcript: &Transcript, before: &Checked) -> Option<Checked> {
    let mut pass = Pass::onward(transcript, before.messages, &before.standing);
    pass.table.repeated_results.clone_from(&before.found.repeated_results);
    let (lost, checked) = passed(pass, transcript, before);
    (!lost).then_some(checked)
}

/// Ends a pass. Whether it needed more than is known of the messages before it, and what it found.
fn passed<'a>(mut pass: Pass<'a>, transcript: &'a Transcript, before: &Checked) -> (bool, Checked) {
    transcript
        .messages_from(before.messages)
        .for_each(|message| pass.message(&message));
    pass.recall_owners(transcript);
    let (lost, standing) = (pass.lost, pass.standing(&before.standing));
    let table = pass.sort_unanswered(transcript, &ScanOptions::default());
    let mut found = PairCheck {
        pairs: before.found.pairs + table.pairs.len(),
        pending: table.pending,
        abandoned: table.abandoned,
        orphan_results: table.orphan_results,
        repeated_results: table.repeated_results,
        misplaced: before.found.misplaced.clone(),
    };
    found
        .misplaced
        .extend(table.pairs.into_iter().filter(|pair| pair.misplaced));
    let checked = Checked {
        messages: transcript.len(),
        found,
        standing,
    };
    (lost, checked)
}

/// What a pass gives where every id is used for one call and every result answers an open call where it may: one look at
/// each id. `None` where anything is otherwise.
fn ordinary(transcript: &Transcript, before: &Checked) -> Option<Checked> {
    Some(matched(transcript, before, |_| ())?.checked(transcript.len(), before))
}

/// The table of [`super::pair`] with default options, where all is as [`ordinary`] asks.
pub(super) fn ordinary_table(transcript: &Transcript) -> Option<PairTable> {
    let mut pairs = Vec::with_capacity(room(transcript.len()));
    let nothing = Checked::default();
    let (pending, abandoned) = matched(transcript, &nothing, |pair| pairs.push(pair))?.unanswered();
    Some(PairTable {
        pairs,
        pending,
        abandoned,
        ..PairTable::default()
    })
}

/// A call takes two messages, mostly, and some have none.
fn room(messages: usize) -> usize {
    messages * 2 / 5
}

/// Matches what came behind the messages of `before`, and hands each pair to `paired`.
fn matched<'a, P: FnMut(Pair)>(transcript: &Transcript, before: &'a Checked, paired: P) -> Option<Matched<'a, P>> {
    let rules = transcript.format().rules();
    let from = &before.standing;
    if rules.names_pair || from.has_parts || !from.orphans.is_empty() {
        return None;
    }
    let first = before.messages;
    let calls = from.open.len() + room(transcript.len().saturating_sub(first));
    let mut matched = Matched {
        place: rules.result_place,
        from,
        calls: Vec::with_capacity(calls),
        ids: Keyed::with_capacity_and_hasher(calls, BuildHasherDefault::default()),
        course: from.course.clone(),
        pairs: 0,
        paired,
    };
    #[cfg(test)]
    crate::work::paired(from.open.len());
    for open in &from.open {
        matched.call(half_of(&block_at(transcript, open.at)?)?)?;
    }
    for (segment, &start) in transcript.segments.iter().zip(&transcript.starts) {
        let skipped = first.saturating_sub(start as usize).min(segment.len());
        let index = |k: usize| start as usize + skipped + k;
        let source = segment.source.bytes();
        if let Some(recalled) = segment.recalled() {
            for (k, message) in recalled.messages().skip(skipped).enumerate() {
                let known = message.known;
                matched.enter(index(k), known.role, known.pairing.shape);
                for half in known.pairing.halves(index(k))? {
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
    Some(matched)
}

/// Where [`matched`] stands.
struct Matched<'a, P> {
    place: ResultPlace,
    from: &'a Standing,
    /// Those that may be answered, and were.
    calls: Vec<Used>,
    /// By the hash of its id, the place of each in `calls`: it stands in `message` until the messages are through.
    ids: Keyed<Last>,
    course: Course,
    pairs: usize,
    paired: P,
}

impl<P: FnMut(Pair)> Matched<'_, P> {
    fn enter(&mut self, index: usize, role: Role, shape: Shape) {
        self.course.enter(self.place, index, role, shape);
    }

    fn half(&mut self, half: Half) -> Option<()> {
        #[cfg(test)]
        crate::work::paired(1);
        if half.is_call {
            let earlier = self.from.last.iter().any(|last| last.contains_key(&half.id.hash()));
            return if earlier { None } else { self.call(half) };
        }
        let anywhere = self.place == ResultPlace::Later;
        let used = self.calls.get_mut(self.ids.get(&half.id.hash())?.message as usize)?;
        let call = &used.call;
        let opened = call.server_side || self.course.opened_by(call.at.message);
        let in_place = anywhere || call.server_side || (self.course.in_place && opened);
        if used.answered || !in_place || call.family != half.family || call.id != half.id {
            return None;
        }
        used.answered = true;
        self.course.open_tail &= opened;
        self.pairs += 1;
        (self.paired)(Pair {
            call: used.call.at,
            result: half.at,
            misplaced: false,
        });
        Some(())
    }

    fn call(&mut self, call: Half) -> Option<()> {
        let place = Last {
            message: self.calls.len() as u32,
            goes_on: false,
        };
        if self.ids.insert(call.id.hash(), place).is_some() {
            return None;
        }
        self.calls.push(Used { call, answered: false });
        Some(())
    }

    fn open(&self) -> impl Iterator<Item = &Half> {
        self.calls.iter().filter(|used| !used.answered).map(|used| &used.call)
    }

    /// The calls without a result: those that are awaited, and the others.
    fn unanswered(&self) -> (Vec<BlockRef>, Vec<BlockRef>) {
        let waits = |at: &BlockRef| self.course.open_tail && self.course.opened_by(at.message);
        self.open().map(|call| call.at).partition(waits)
    }

    fn checked(mut self, messages: usize, before: &Checked) -> Checked {
        let (pending, abandoned) = self.unanswered();
        let found = PairCheck {
            pairs: before.found.pairs + self.pairs,
            pending,
            abandoned,
            misplaced: before.found.misplaced.clone(),
            ..PairCheck::default()
        };
        let queued = |call: &Half| Open {
            at: call.at,
            server_side: call.server_side,
            group: call.at.message as u32,
        };
        let open = self.open().map(queued).collect();
        let (calls, carried) = (&self.calls, self.from.open.len());
        self.ids.retain(|_, last| {
            let place = last.message as usize;
            last.message = calls.get(place).map_or(0, |used| used.call.at.message as u32);
            place >= carried
        });
        if self.ids.len() < self.ids.capacity() / 4 {
            self.ids.shrink_to_fit();
        }
        Checked {
            messages,
            found,
            standing: Standing {
                course: self.course,
                open,
                last: with(&self.from.last, self.ids),
                has_parts: false,
                orphans: Vec::new(),
            },
        }
    }
}

/// A call or result that is known by its id. Two ids of one hash only cost a pass over everything.
fn half_of(block: &BlockView<'_>) -> Option<Half> {
    Half::of(BlockRef::of(block), block.row, block.segment.source.bytes()).ok()?
}
