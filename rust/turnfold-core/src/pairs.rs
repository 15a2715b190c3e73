//! Which result answers which call, in one pass over the blocks.
//!
//! A result pairs with the nearest earlier message that has an open call of its id; inside that message the first open
//! call goes first. So ids that a client reuses later in the transcript pair by position, not through one dictionary.
//!
//! Where ids are optional (`Rules::names_pair`), calls and results without one pair by the tool's name in the same way,
//! a run of joined messages counting as one. There a result and a call of one name also pair if only one of them has an
//! id, as long as the result stands where results of that call belong.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::findings::Severity;
use crate::rules::ResultPlace;
use crate::transcript::{Block, BlockKind, BlockView, MessageView, Transcript};

mod calls;
mod check;
mod course;
mod pairing;
mod standing;

use calls::{Call, Calls, IdState, NONE};
pub(crate) use check::PairMemo;
pub use check::{PairCheck, check, is_checked};
use course::{Course, Shape};
pub(crate) use pairing::Pairing;
use standing::Earlier;

/// A block, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockRef {
    /// Index of the message in the transcript.
    pub message: usize,
    /// Index of the block in its message.
    pub block: usize,
}

impl BlockRef {
    /// The position of `block`.
    pub fn of(block: &BlockView<'_>) -> Self {
        Self {
            message: block.message,
            block: block.index,
        }
    }
}

/// A call and the result that answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The call.
    pub call: BlockRef,
    /// The result.
    pub result: BlockRef,
    /// Whether something stands between the two that the format does not allow there.
    pub misplaced: bool,
}

/// A call id that is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// The last call before that used the id.
    pub before: BlockRef,
    /// The call that uses it again.
    pub again: BlockRef,
    /// Whether the earlier call was still open.
    pub while_open: bool,
}

/// All calls and results of a transcript, sorted out. Lists are in the order of the transcript (`pairs` by result).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairTable {
    /// Calls with their results.
    pub pairs: Vec<Pair>,
    /// Results that answer no open call before them; those of `repeated_results` are among them.
    pub orphan_results: Vec<BlockRef>,
    /// Results whose calls only the server can hold: there is none here, and the request goes on from what is there.
    pub remote_results: Vec<BlockRef>,
    /// Results that answer a call which has its result already: that call, and the result that came too many.
    /// `misplaced` says that it does not stand where results of that call belong.
    pub repeated_results: Vec<Pair>,
    /// Calls whose result is still awaited: unanswered in the open tail, or named in `ScanOptions::pending_ids`.
    pub pending: Vec<BlockRef>,
    /// Unanswered calls that nobody waits for.
    pub abandoned: Vec<BlockRef>,
    /// Ids that more than one call uses, each once.
    pub duplicate_call_ids: Vec<String>,
    /// Ids with more results than calls, or with more than one result and no call, each once.
    pub duplicate_result_ids: Vec<String>,
    /// Every call whose id an earlier call has.
    pub reuses: Vec<Reuse>,
    /// Calls and results without an id that are known by name and number, in the order of the transcript.
    named: Vec<Named>,
}

/// What a block without an id is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named {
    at: BlockRef,
    /// The call itself, or the call that the result answers.
    call: Option<BlockRef>,
    /// How many calls of its name stand before that call.
    number: u32,
}

impl PairTable {
    /// The id that a call or result is known by in findings and tables: its own; `<name>#<k>` where calls without ids
    /// pair by name, k being how many calls of that name stand before the call; `fn:<name>` in a form that never has
    /// ids. `None` where there is nothing of it. O(log blocks).
    pub fn call_id(&self, transcript: &Transcript, at: BlockRef) -> Option<String> {
        let block = block_at(transcript, at)?;
        if !block.row.by_name || block.row.family > 0 {
            return block.call_id().map(Cow::into_owned);
        }
        let known = self.named.binary_search_by_key(&at, |named| named.at);
        let known = known.ok().and_then(|k| self.named.get(k));
        match known.map(|named| (named.call, named.number)) {
            Some((Some(call), _)) if call != at => self.call_id(transcript, call),
            Some((Some(_), number)) => Some(format!("{}#{number}", block.name()?)),
            Some((None, _)) => block.name().map(Cow::into_owned),
            None => Some(format!("fn:{}", block.name()?)),
        }
    }
}

impl PairTable {
    /// The calls that the model does not wait for: of one of their results more follow, or it says when it is to be heard.
    /// None of their results is held to a place or a number. O(pairs).
    pub(crate) fn not_waited_for(&self, transcript: &Transcript) -> HashSet<BlockRef> {
        let late = |pair: &&Pair| block_at(transcript, pair.result).is_some_and(|result| result.row.non_blocking);
        self.pairs.iter().filter(late).map(|pair| pair.call).collect()
    }

    /// Moves results that answer calls of the server from the orphans to `remote_results`.
    fn sort_out_remote(&mut self, transcript: &Transcript) {
        if self.orphan_results.is_empty() {
            return;
        }
        let Some(first) = transcript.first_remote() else {
            return;
        };
        let repeated: HashSet<BlockRef> = self.repeated_results.iter().map(|pair| pair.result).collect();
        let stays = |at: &BlockRef| {
            at.message < first
                || repeated.contains(at)
                || block_at(transcript, *at).is_none_or(|block| block.row.call_id.is_none())
        };
        let (orphans, remote) = self.orphan_results.iter().partition(|&at| stays(at));
        (self.orphan_results, self.remote_results) = (orphans, remote);
    }
}

/// What the caller knows about a transcript and the request it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions {
    /// Ids of calls that are awaited wherever they stand (long-running tools, confirmations).
    pub pending_ids: Vec<String>,
    /// Whether the request turns the model's thinking on; `None`: what the body says.
    pub thinking: Option<bool>,
    /// The receiver wants user and assistant to take turns.
    pub strict_alternation: bool,
    /// The messages are a closed part, such as the head of a cut: nothing that comes later answers a call or goes on
    /// with a tool loop, so no call is pending.
    pub closed: bool,
    /// Whether the model checks that the calls of the current turn carry their signatures; `None`: what its name says.
    pub signatures: Option<bool>,
    /// Server ids of items, each with the id of the reasoning item that it was produced with.
    pub reasoning_pairs: Vec<(String, String)>,
    /// How many input tokens the model takes.
    pub window_tokens: Option<u64>,
    /// Severities that replace those of the format's table, by finding code or provider rule id; later ones win.
    pub severities: Vec<(String, Severity)>,
}

impl ScanOptions {
    /// Whether the receiver of `transcript` checks signatures.
    pub fn signatures(&self, transcript: &Transcript) -> bool {
        let by_name = || {
            transcript
                .model()
                .is_some_and(|model| transcript.format().checks_signatures(&model))
        };
        self.signatures.unwrap_or_else(by_name)
    }

    /// Whether thinking is on for `transcript`.
    pub fn thinking(&self, transcript: &Transcript) -> bool {
        self.thinking.unwrap_or(transcript.head().thinking)
    }
}

/// What a call and its result are matched by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key<'a> {
    /// A family of calls, and the id.
    Id(u8, Cow<'a, str>),
    /// A call form that has no ids, or a call without one: the tool's name, nearest first.
    Name(Cow<'a, str>),
    /// A call without an id that the provider ran itself: whichever is nearest.
    Server,
    /// A call without an id or a name, in a family where place alone says what answers it.
    Place(u8),
}

/// Pairs every result with its call. O(blocks).
pub fn pair(transcript: &Transcript, options: &ScanOptions) -> PairTable {
    let mut pass = Pass::new(transcript, 0);
    transcript.messages().for_each(|message| pass.message(&message));
    pass.sort_unanswered(transcript, options)
}

/// The same, remembered where the options leave it to the transcript alone: every check of it asks. Borrowed, as a count of
/// who has it would be written to by all threads, beside what they read.
pub(crate) fn remembered<'a>(transcript: &'a Transcript, options: &ScanOptions) -> Cow<'a, Arc<PairTable>> {
    if options.closed || !options.pending_ids.is_empty() {
        return Cow::Owned(Arc::new(pair(transcript, options)));
    }
    let make = || check::ordinary_table(transcript).unwrap_or_else(|| pair(transcript, options));
    Cow::Borrowed(transcript.pairs.table(make))
}

/// What [`PairTable::call_id`] of the transcript's own table gives: O(log segments) for a block with an id, and O(blocks)
/// for one that is known by its name.
pub fn call_id(transcript: &Transcript, at: BlockRef) -> Option<String> {
    let block = block_at(transcript, at)?;
    if block.row.by_name && block.row.family == 0 {
        return remembered(transcript, &ScanOptions::default()).call_id(transcript, at);
    }
    block.call_id().map(Cow::into_owned)
}

/// The block at a position. O(log segments).
pub fn block_at(transcript: &Transcript, at: BlockRef) -> Option<BlockView<'_>> {
    transcript.message(at.message)?.block(at.block)
}

/// Whether a block should have an id and has none.
pub(crate) fn lacks_id(block: &BlockView<'_>) -> bool {
    block.row.call_id.is_none() && !block.row.by_name && !block.row.whole
}

/// Whether two blocks, each in its own source, are one to a pass: all but their texts is the same.
pub(crate) fn is_alike(one: &Block, source: &[u8], other: &Block, other_source: &[u8]) -> bool {
    let marks = |row: &Block| (row.by_name, row.non_blocking, row.server_side, row.whole, row.family);
    let labels = |row: &Block| [row.call_id, row.name, row.part_of, row.item_id];
    one.kind == other.kind
        && one.binding == other.binding
        && marks(one) == marks(other)
        && labels(one)
            .into_iter()
            .zip(labels(other))
            .all(|(one, other)| one.map(|label| label.of(source)) == other.map(|label| label.of(other_source)))
}

fn key_of<'a>(block: &BlockView<'a>) -> Option<Key<'a>> {
    if !block.row.by_name {
        return block.call_id().map(|id| Key::Id(block.row.family, id));
    }
    if block.row.family > 0 {
        return Some(Key::Place(block.row.family));
    }
    if block.row.server_side {
        return Some(Key::Server);
    }
    block.name().map(Key::Name)
}

struct Pass<'a> {
    place: ResultPlace,
    names_pair: bool,
    table: PairTable,
    ids: HashMap<Key<'a>, IdState>,
    /// Where names pair: the calls with ids, by name.
    with_ids: HashMap<Cow<'a, str>, IdState>,
    /// Where names pair: how many calls of a name there are so far.
    numbers: HashMap<Cow<'a, str>, u32>,
    calls: Calls,
    course: Course,
    /// Whether a call belongs to another.
    has_parts: bool,
    /// What was before the first message of the pass.
    earlier: Option<Earlier<'a>>,
    /// How many of the calls were open before.
    carried: usize,
    /// Whether what was before matters by more than is known of it.
    lost: bool,
}

impl<'a> Pass<'a> {
    /// A pass that starts at message `first`.
    fn new(transcript: &'a Transcript, first: usize) -> Self {
        let rules = transcript.format().rules();
        let blocks = transcript.messages_from(first).flat_map(|message| message.blocks());
        let calls = blocks.filter(|block| block.kind() == BlockKind::ToolCall).count();
        Self {
            place: rules.result_place,
            names_pair: rules.names_pair,
            table: PairTable {
                pairs: Vec::with_capacity(calls),
                ..PairTable::default()
            },
            ids: HashMap::with_capacity(calls),
            with_ids: HashMap::new(),
            numbers: HashMap::new(),
            calls: Calls {
                rows: Vec::with_capacity(calls),
                links: Vec::with_capacity(calls),
            },
            course: Course::default(),
            has_parts: false,
            earlier: None,
            carried: 0,
            lost: false,
        }
    }

    fn message(&mut self, message: &MessageView<'a>) {
        #[cfg(test)]
        crate::work::paired(message.rows().len());
        let shape = Shape::of(message.rows());
        self.course.enter(self.place, message.index, message.role(), shape);
        for block in message.blocks() {
            self.has_parts |= block.kind() == BlockKind::ToolCall && block.row.part_of.is_some();
            match block.kind() {
                BlockKind::ToolCall if block.row.whole => {}
                BlockKind::ToolCall => self.call(&block),
                BlockKind::ToolResult => self.result(&block),
                _ => {}
            }
        }
    }

    fn call(&mut self, block: &BlockView<'a>) {
        let at = BlockRef::of(block);
        let name = block.name().filter(|_| self.names_pair);
        let number = name.map_or(0, |name| {
            let count = self.numbers.entry(name).or_default();
            *count += 1;
            *count - 1
        });
        let group = self.group(at.message);
        let call = self.calls.push(at, block.row.server_side, number, group as u32);
        let Some(key) = key_of(block) else { return };
        self.recall(&key);
        match &key {
            Key::Id(_, id) => {
                let state = self.ids.entry(key.clone()).or_default();
                if let Some(before) = self.calls.rows.get(state.last_call as usize).map(|call| call.at) {
                    self.table.reuses.push(Reuse {
                        before,
                        again: at,
                        while_open: state.first_open(&mut self.calls).is_some(),
                    });
                    if state.calls == 1 {
                        self.table.duplicate_call_ids.push(id.as_ref().to_owned());
                    }
                }
                if let Some(name) = block.name().filter(|_| self.names_pair && !block.row.server_side) {
                    self.with_ids
                        .entry(name)
                        .or_default()
                        .push(&mut self.calls, call, group);
                }
            }
            Key::Name(_) | Key::Server => self.name(at, Some(call)),
            Key::Place(_) => {}
        }
        self.ids.entry(key).or_default().push(&mut self.calls, call, group);
    }

    /// First message of those whose calls share one queue.
    fn group(&self, message: usize) -> usize {
        let opener = self.course.opener.as_ref().filter(|range| range.contains(&message));
        opener.filter(|_| self.names_pair).map_or(message, |range| range.start)
    }

    /// Notes what a block without an id is known by.
    fn name(&mut self, at: BlockRef, call: Option<u32>) {
        if self.names_pair {
            let call = call.and_then(|call| self.calls.rows.get(call as usize));
            self.table.named.push(Named {
                at,
                call: call.map(|call| call.at),
                number: call.map_or(0, |call| call.number),
            });
        }
    }

    fn result(&mut self, block: &BlockView<'a>) {
        let at = BlockRef::of(block);
        let Some(key) = key_of(block) else {
            self.table.orphan_results.push(at);
            self.course.open_tail = false;
            return;
        };
        self.recall(&key);
        let state = self.ids.entry(key.clone()).or_default();
        let mut answered = state.first_open(&mut self.calls);
        let last_call = Some(state.last_call).filter(|&call| call != NONE);
        let other = self.other_form(block, &key, answered);
        answered = other.or(answered);
        // Of a call that the model does not wait for, there may be several results.
        let last = last_call.and_then(|call| self.calls.rows.get(call as usize));
        let further = answered.is_none() && last.is_some_and(|call| call.goes_on || block.row.non_blocking);
        if further {
            answered = last_call;
        }
        if block.row.by_name {
            self.name(at, answered.or(last_call));
        }
        if other.is_none() && !further {
            self.count_result(key, last_call);
        }
        if let Some(call) = answered.and_then(|k| self.calls.rows.get_mut(k as usize)) {
            call.answered = true;
            call.goes_on = block.row.non_blocking;
        }
        let anywhere = self.place == ResultPlace::Later || block.row.non_blocking || further;
        let in_place = |call: &Call, course: &Course| {
            anywhere || call.server_side || (course.in_place && course.opened_by(call.at.message))
        };
        if let Some(call) = answered.and_then(|k| self.calls.rows.get(k as usize)) {
            let misplaced = !in_place(call, &self.course);
            self.course.open_tail &= call.server_side || self.course.opened_by(call.at.message);
            self.table.pairs.push(Pair {
                call: call.at,
                result: at,
                misplaced,
            });
            return;
        }
        self.course.open_tail = false;
        self.table.orphan_results.push(at);
        if let Some(call) = last_call.and_then(|call| self.calls.rows.get(call as usize)) {
            self.table.repeated_results.push(Pair {
                call: call.at,
                result: at,
                misplaced: !in_place(call, &self.course),
            });
        }
    }

    /// The open call of the block's name that has an id where the block has none, or the other way about, if the block
    /// stands where results of that call belong. `own` is the call that it answers by its own form.
    fn other_form(&mut self, block: &BlockView<'a>, key: &Key<'a>, own: Option<u32>) -> Option<u32> {
        if !self.names_pair || !self.course.in_place {
            return None;
        }
        let (calls, course) = (&mut self.calls, &self.course);
        let opened = |all: &Calls, call: u32| {
            let row = all.rows.get(call as usize);
            row.is_some_and(|row| course.opened_by(row.at.message))
        };
        if own.is_some_and(|call| opened(calls, call)) {
            return None;
        }
        let state = match key {
            Key::Name(name) => self.with_ids.get_mut(name)?,
            Key::Id(..) if self.ids.get(key).is_some_and(|state| state.calls == 0) => {
                self.ids.get_mut(&Key::Name(block.name()?))?
            }
            Key::Id(..) | Key::Server | Key::Place(_) => return None,
        };
        state.first_open(calls).filter(|&call| opened(calls, call))
    }

    /// Counts a result of an id, and notes the id once there are more results than calls.
    fn count_result(&mut self, key: Key<'a>, last_call: Option<u32>) {
        let Some(state) = self.ids.get_mut(&key) else { return };
        state.results += 1;
        if state.results <= state.calls.max(1) || std::mem::replace(&mut state.told, true) {
            return;
        }
        let last = last_call.and_then(|call| self.calls.rows.get(call as usize));
        let id = match (key, last) {
            (Key::Id(_, id), _) => id.into_owned(),
            (Key::Name(name), _) if !self.names_pair => format!("fn:{name}"),
            (Key::Name(name), Some(call)) => format!("{name}#{}", call.number),
            (Key::Name(name), None) => name.into_owned(),
            (Key::Server | Key::Place(_), _) => return,
        };
        self.table.duplicate_result_ids.push(id);
    }

    /// The calls of the open tail that belong to others, each with the id of the one that it belongs to.
    fn parts<'t>(&self, transcript: &'t Transcript) -> Vec<(Cow<'t, str>, BlockRef)> {
        let tail = self.course.opener.clone().unwrap_or_default();
        let messages = tail.filter_map(|index| transcript.message(index));
        let blocks = messages.flat_map(|message| message.blocks());
        let calls = blocks.filter(|block| block.kind() == BlockKind::ToolCall);
        calls
            .filter_map(|block| Some((block.part_of()?, BlockRef::of(&block))))
            .collect()
    }

    /// The calls that those of the open tail belong to: a program is not done before its last inner call. An id that
    /// several calls have names the last of them before the inner call.
    fn owners(&self, transcript: &Transcript) -> HashSet<BlockRef> {
        let parts = self.parts(transcript);
        if parts.is_empty() {
            return HashSet::new();
        }
        let mut called: HashMap<Cow<'_, str>, Vec<BlockRef>> =
            parts.iter().map(|(id, _)| (id.clone(), vec![])).collect();
        for call in &self.calls.rows {
            let id = block_at(transcript, call.at).and_then(|block| block.call_id());
            if let Some(calls) = id.and_then(|id| called.get_mut(&id)) {
                calls.push(call.at);
            }
        }
        // Those that were answered before the pass were looked up late.
        for calls in called.values_mut() {
            calls.sort_unstable();
        }
        let owner = |(id, part): &(Cow<'_, str>, BlockRef)| {
            let calls = called.get(id)?;
            let before = calls.partition_point(|call| call < part);
            calls.get(before.checked_sub(1)?).copied()
        };
        parts.iter().filter_map(owner).collect()
    }

    /// Unanswered calls are pending or abandoned. An id that the caller awaits, but whose calls are all answered (by an
    /// interim result), makes its last call pending as well.
    fn sort_unanswered(mut self, transcript: &Transcript, options: &ScanOptions) -> PairTable {
        let mut table = std::mem::take(&mut self.table);
        table.sort_out_remote(transcript);
        let mut awaited: HashSet<BlockRef> = HashSet::new();
        if !options.closed && !options.pending_ids.is_empty() {
            let named: HashSet<&str> = options.pending_ids.iter().map(String::as_str).collect();
            let id_of = |call: &Call| table.call_id(transcript, call.at);
            let is_named = |call: &&Call| id_of(call).is_some_and(|id| named.contains(id.as_str()));
            let mut last_answered: HashMap<Option<String>, Option<BlockRef>> = HashMap::new();
            for call in self.calls.rows.iter().filter(is_named) {
                let last = last_answered.entry(id_of(call)).or_insert(Some(call.at));
                if !call.answered {
                    awaited.insert(call.at);
                    *last = None;
                } else if last.is_some() {
                    *last = Some(call.at);
                }
            }
            awaited.extend(last_answered.into_values().flatten());
        }
        let open = !options.closed && self.course.open_tail;
        let owners = if open { self.owners(transcript) } else { HashSet::new() };
        for call in &self.calls.rows {
            let in_tail = open && (self.course.opened_by(call.at.message) || owners.contains(&call.at));
            if awaited.contains(&call.at) || (in_tail && !call.answered) {
                table.pending.push(call.at);
            } else if !call.answered {
                table.abandoned.push(call.at);
            }
        }
        table
    }
}
