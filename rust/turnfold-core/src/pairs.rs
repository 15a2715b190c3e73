//! Which result answers which call, in one pass over the blocks.
//!
//! A result pairs with the nearest earlier message that has an open call of its id; inside that message the first open
//! call goes first. So ids that a client reuses later in the transcript pair by position, not through one dictionary.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::findings::Severity;
use crate::rules::ResultPlace;
use crate::transcript::{BlockKind, BlockView, MessageView, Role, Transcript};

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
    /// Whether thinking is on for `transcript`.
    pub fn thinking(&self, transcript: &Transcript) -> bool {
        self.thinking.unwrap_or(transcript.head().thinking)
    }
}

/// What a call and its result are matched by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key<'a> {
    Id(Cow<'a, str>),
    /// A call form that has no ids: the tool's name, nearest first.
    Name(Cow<'a, str>),
}

impl Key<'_> {
    fn display(&self) -> String {
        match self {
            Self::Id(id) => id.as_ref().to_owned(),
            Self::Name(name) => format!("fn:{name}"),
        }
    }
}

const NONE: u32 = u32::MAX;

struct Call {
    at: BlockRef,
    server_side: bool,
    answered: bool,
    /// Open call of the same id that comes next in the same message.
    next: u32,
    /// First open call of the same id in the nearest earlier message.
    below: u32,
}

/// The calls of one id: a stack of messages, each a queue of calls, threaded through the call rows.
struct IdState {
    head: u32,
    tail: u32,
    last_call: u32,
    calls: u32,
    results: u32,
    /// Whether the id stands among the duplicate results already.
    told: bool,
}

impl Default for IdState {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            last_call: NONE,
            calls: 0,
            results: 0,
            told: false,
        }
    }
}

impl IdState {
    fn push(&mut self, rows: &mut Vec<Call>, at: BlockRef, server_side: bool) {
        let new = rows.len() as u32;
        let same_message =
            self.head != NONE && rows.get(self.tail as usize).is_some_and(|c| c.at.message == at.message);
        let below = if same_message { NONE } else { self.head };
        rows.push(Call {
            at,
            server_side,
            answered: false,
            next: NONE,
            below,
        });
        if same_message {
            if let Some(tail) = rows.get_mut(self.tail as usize) {
                tail.next = new;
            }
        } else {
            self.head = new;
        }
        self.tail = new;
        self.last_call = new;
        self.calls += 1;
    }

    fn pop(&mut self, rows: &mut [Call]) -> Option<u32> {
        let taken = self.head;
        let (next, below) = {
            let call = rows.get_mut(taken as usize)?;
            call.answered = true;
            (call.next, call.below)
        };
        if let Some(following) = rows.get_mut(next as usize) {
            following.below = below;
            self.head = next;
        } else {
            self.head = below;
            self.tail = below;
        }
        Some(taken)
    }
}

/// Where the pass stands between a message with calls and its results.
#[derive(Default)]
struct Course {
    /// The messages whose calls may be answered now: one message, or neighbours that the provider joins.
    opener: Option<Range<usize>>,
    /// Whether the current message stands where results of `opener` belong.
    in_place: bool,
    /// Whether everything after `opener` is results of its calls.
    open_tail: bool,
    /// Role of the message before.
    before: Option<Role>,
    /// Whether only messages with results came since `opener`.
    answering: bool,
}

impl Course {
    fn enter(&mut self, place: ResultPlace, message: &MessageView<'_>, shape: Shape) {
        let index = message.index;
        match message.role() {
            Role::Assistant => {
                let joined = place != ResultPlace::SameRun && self.before == Some(Role::Assistant);
                self.opener = match self.opener.take() {
                    Some(range) if joined => Some(range.start..index + 1),
                    _ => Some(index..index + 1),
                };
                self.in_place = false;
                self.open_tail = true;
                self.answering = true;
            }
            role => {
                let carrier = match place {
                    ResultPlace::SameRun | ResultPlace::Later => role == Role::Tool,
                    ResultPlace::NextMessage => role == Role::User && shape.results,
                };
                self.answering &= carrier;
                self.in_place = self.answering;
                self.open_tail &= carrier && !shape.others;
            }
        }
        self.before = Some(message.role());
    }

    fn opened_by(&self, message: usize) -> bool {
        self.opener.as_ref().is_some_and(|range| range.contains(&message))
    }
}

/// What kinds of block a message holds.
#[derive(Clone, Copy, Default)]
struct Shape {
    results: bool,
    others: bool,
}

impl Shape {
    fn of(message: &MessageView<'_>) -> Self {
        let mut shape = Self::default();
        for block in message.blocks() {
            if block.kind() == BlockKind::ToolResult {
                shape.results = true;
            } else {
                shape.others = true;
            }
        }
        shape
    }
}

/// Pairs every result with its call. O(blocks).
pub fn pair(transcript: &Transcript, options: &ScanOptions) -> PairTable {
    let place = transcript.format().rules().result_place;
    let blocks = transcript.messages().flat_map(|message| message.blocks());
    let calls = blocks.filter(|block| block.kind() == BlockKind::ToolCall).count();
    let mut pass = Pass {
        place,
        table: PairTable {
            pairs: Vec::with_capacity(calls),
            ..PairTable::default()
        },
        ids: HashMap::with_capacity(calls),
        rows: Vec::with_capacity(calls),
        course: Course::default(),
    };
    for message in transcript.messages() {
        pass.course.enter(place, &message, Shape::of(&message));
        for block in message.blocks() {
            match block.kind() {
                BlockKind::ToolCall if block.row.whole => {}
                BlockKind::ToolCall => pass.call(&block),
                BlockKind::ToolResult => pass.result(&block),
                _ => {}
            }
        }
    }
    pass.sort_unanswered(options)
}

/// The id that a call or result is known by in findings and tables: its own, or `fn:` and the tool's name where its
/// form has no ids. `None` where there is neither.
pub fn call_id(transcript: &Transcript, at: BlockRef) -> Option<String> {
    let block = block_at(transcript, at)?;
    key_of(&block).map(|key| key.display())
}

/// Appends to `out` what [`call_id`] gives; whether there was anything.
pub(crate) fn write_call_id(transcript: &Transcript, at: BlockRef, out: &mut String) -> bool {
    let Some(block) = block_at(transcript, at) else {
        return false;
    };
    match key_of(&block) {
        Some(Key::Id(id)) => out.push_str(&id),
        Some(Key::Name(name)) => out.extend(["fn:", &name]),
        None => return false,
    }
    true
}

/// The block at a position. O(log segments).
pub fn block_at(transcript: &Transcript, at: BlockRef) -> Option<BlockView<'_>> {
    let message = transcript.message(at.message)?;
    let first = message.row.blocks.start as usize;
    let rows = message.segment.blocks.get(first..message.row.blocks.end as usize)?;
    Some(BlockView {
        message: at.message,
        index: at.block,
        segment: message.segment,
        row: rows.get(at.block)?,
    })
}

/// Whether a block should have an id and has none.
pub(crate) fn lacks_id(block: &BlockView<'_>) -> bool {
    block.row.call_id.is_none() && !block.row.by_name
}

fn key_of<'a>(block: &BlockView<'a>) -> Option<Key<'a>> {
    if block.row.by_name {
        return block.name().map(Key::Name);
    }
    block.call_id().map(Key::Id)
}

struct Pass<'a> {
    place: ResultPlace,
    table: PairTable,
    ids: HashMap<Key<'a>, IdState>,
    rows: Vec<Call>,
    course: Course,
}

impl<'a> Pass<'a> {
    fn call(&mut self, block: &BlockView<'a>) {
        let at = BlockRef::of(block);
        let server_side = block.row.server_side;
        let Some(key) = key_of(block) else {
            IdState::default().push(&mut self.rows, at, server_side);
            return;
        };
        let named = matches!(key, Key::Name(_));
        let state = self.ids.entry(key).or_default();
        let before = self.rows.get(state.last_call as usize).map(|call| call.at);
        if let (Some(before), false) = (before, named) {
            self.table.reuses.push(Reuse {
                before,
                again: at,
                while_open: state.head != NONE,
            });
            if state.calls == 1 {
                self.table
                    .duplicate_call_ids
                    .extend(block.call_id().map(Cow::into_owned));
            }
        }
        state.push(&mut self.rows, at, server_side);
    }

    fn result(&mut self, block: &BlockView<'a>) {
        let at = BlockRef::of(block);
        let Some(key) = key_of(block) else {
            self.table.orphan_results.push(at);
            self.course.open_tail = false;
            return;
        };
        let state = self.ids.entry(key).or_default();
        state.results += 1;
        if state.results > state.calls.max(1) && !state.told {
            state.told = true;
            let id = key_of(block).map(|key| key.display());
            self.table.duplicate_result_ids.extend(id);
        }
        let answered = state.pop(&mut self.rows);
        let last_call = state.last_call;
        let anywhere = self.place == ResultPlace::Later;
        let in_place = |call: &Call, course: &Course| {
            anywhere || call.server_side || (course.in_place && course.opened_by(call.at.message))
        };
        if let Some(call) = answered.and_then(|k| self.rows.get(k as usize)) {
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
        if let Some(call) = self.rows.get(last_call as usize) {
            self.table.repeated_results.push(Pair {
                call: call.at,
                result: at,
                misplaced: !in_place(call, &self.course),
            });
        }
    }

    /// Unanswered calls are pending or abandoned. An id that the caller awaits, but whose calls are all answered (by an
    /// interim result), makes its last call pending as well.
    fn sort_unanswered(self, options: &ScanOptions) -> PairTable {
        let mut table = self.table;
        let mut awaited: HashSet<BlockRef> = HashSet::new();
        if !options.closed && !options.pending_ids.is_empty() {
            let named: HashSet<&str> = options.pending_ids.iter().map(String::as_str).collect();
            for (key, state) in &self.ids {
                if !named.contains(key.display().as_str()) {
                    continue;
                }
                if state.head == NONE {
                    awaited.extend(self.rows.get(state.last_call as usize).map(|call| call.at));
                }
                let mut queue = state.head;
                while let Some(first) = self.rows.get(queue as usize) {
                    let mut open = queue;
                    while let Some(call) = self.rows.get(open as usize) {
                        awaited.insert(call.at);
                        open = call.next;
                    }
                    queue = first.below;
                }
            }
        }
        for call in &self.rows {
            let in_tail = !options.closed && self.course.open_tail && self.course.opened_by(call.at.message);
            if awaited.contains(&call.at) || (in_tail && !call.answered) {
                table.pending.push(call.at);
            } else if !call.answered {
                table.abandoned.push(call.at);
            }
        }
        table
    }
}
