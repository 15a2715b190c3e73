//! A transcript under repair: its present form, where everything in it came from, and what was done.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::changes::{Changes, NewBlock, NewMessage, Outcome, filled, outcome};
use super::{Action, NOTHING_LEFT, Repair, RepairOptions, Repaired};
use crate::findings;
use crate::pairs::{self, BlockRef, PairTable};
use crate::rules::{Demand, Rules};
use crate::splice::{Part, SpliceError, assemble};
use crate::transcript::{BlockKind, BlockView, MessageView, Role, Transcript};

/// The code under which messages go as empty, and under which they are filled.
const EMPTY: &str = "empty_content";

/// Where a message came from. Its name stays while its index changes.
#[derive(Clone, Debug)]
struct Row {
    name: usize,
    input: Option<usize>,
    /// Whether it still has the bytes of `input`.
    same: bool,
    /// Where in the input each block stood; `None`: all in `input`, in their order.
    blocks: Option<Vec<Option<BlockRef>>>,
}

/// Something done, its places by name.
struct Done {
    code: &'static str,
    action: Action,
    message: usize,
    block: Option<usize>,
    call_id: Option<String>,
    holder: Option<usize>,
    text: String,
}

pub(super) struct Work<'a> {
    input: &'a Transcript,
    pub(super) options: &'a RepairOptions,
    pub(super) transcript: Transcript,
    rows: Vec<Row>,
    names: usize,
    pairs: Option<Arc<PairTable>>,
    input_pairs: Option<Arc<PairTable>>,
    version: usize,
    done: Vec<Done>,
}

/// What a message of the output is made of.
struct Slot {
    row: Row,
    part: Part,
    role: Role,
    gone: bool,
    /// Index in the transcript as it was, for messages that stood there.
    old: Option<usize>,
}

impl<'a> Work<'a> {
    pub(super) fn new(input: &'a Transcript, options: &'a RepairOptions) -> Self {
        let rows = (0..input.len()).map(|index| Row {
            name: index,
            input: Some(index),
            same: true,
            blocks: None,
        });
        Self {
            input,
            options,
            transcript: input.clone(),
            rows: rows.collect(),
            names: input.len(),
            pairs: None,
            input_pairs: None,
            version: 0,
            done: Vec::new(),
        }
    }

    /// Changes whenever the transcript does.
    pub(super) fn version(&self) -> usize {
        self.version
    }

    pub(super) fn rules(&self) -> &'static Rules {
        self.transcript.format().rules()
    }

    /// Whether a scan reports breaches of the demand under this code.
    pub(super) fn minds(&self, code: &str, demand: Option<Demand>) -> bool {
        demand.is_some_and(|demand| findings::severity(&self.options.scan, code, demand) != findings::Severity::Off)
    }

    pub(super) fn pairs(&mut self) -> Arc<PairTable> {
        let (transcript, options) = (&self.transcript, &self.options.scan);
        let known = self
            .pairs
            .get_or_insert_with(|| pairs::remembered(transcript, options).into_owned());
        Arc::clone(known)
    }

    fn input_pairs(&mut self) -> Arc<PairTable> {
        if self.version == 0 {
            return self.pairs();
        }
        let (input, options) = (self.input, &self.options.scan);
        let known = self
            .input_pairs
            .get_or_insert_with(|| pairs::remembered(input, options).into_owned());
        Arc::clone(known)
    }

    /// The calls that are awaited.
    pub(super) fn pending(&mut self) -> HashSet<BlockRef> {
        self.pairs().pending.iter().copied().collect()
    }

    /// The calls that must not go because an awaited call is known by a name and the number of calls of that name
    /// before it. O(blocks).
    pub(super) fn counted(&self) -> HashSet<BlockRef> {
        let mut counted = HashSet::new();
        let options = &self.options.scan;
        if !self.rules().names_pair || options.closed {
            return counted;
        }
        let mut upto: HashMap<&str, u32> = HashMap::new();
        for (name, number) in options.pending_ids.iter().filter_map(|id| id.rsplit_once('#')) {
            if let Ok(number) = number.parse::<u32>() {
                let most = upto.entry(name).or_default();
                *most = number.max(*most);
            }
        }
        if upto.is_empty() {
            return counted;
        }
        let mut counts: HashMap<Cow<'_, str>, u32> = HashMap::new();
        for block in self.transcript.messages().flat_map(|message| message.blocks()) {
            if block.kind() != BlockKind::ToolCall || block.row.whole {
                continue;
            }
            let Some(name) = block.name() else { continue };
            let Some(&most) = upto.get(&*name) else { continue };
            let count = counts.entry(name).or_default();
            if *count <= most {
                counted.insert(BlockRef::of(&block));
            }
            *count += 1;
        }
        counted
    }

    pub(super) fn block(&self, at: BlockRef) -> Option<BlockView<'_>> {
        pairs::block_at(&self.transcript, at)
    }

    /// The lasting name of a message.
    pub(super) fn name(&self, message: usize) -> usize {
        self.rows.get(message).map_or(usize::MAX, |row| row.name)
    }

    /// A name for a message that is yet to be made.
    pub(super) fn new_name(&mut self) -> usize {
        self.names += 1;
        self.names - 1
    }

    fn input_block(&self, at: BlockRef) -> Option<BlockRef> {
        let row = self.rows.get(at.message)?;
        match &row.blocks {
            Some(blocks) => blocks.get(at.block).copied().flatten(),
            None => row.input.map(|message| BlockRef { message, ..at }),
        }
    }

    /// The message of the input that a message is, or that stands nearest before it.
    fn input_message(&self, message: usize) -> usize {
        let upto = self.rows.get(..=message).unwrap_or_default();
        upto.iter().rev().find_map(|row| row.input).unwrap_or(0)
    }

    /// Records what is done to a block; `holder` is the name of the message that has it afterwards.
    pub(super) fn note_block(
        &mut self,
        code: &'static str,
        action: Action,
        at: BlockRef,
        holder: Option<usize>,
        text: String,
    ) {
        let origin = self.input_block(at);
        let call_id = match origin {
            Some(origin) => self.input_pairs().call_id(self.input, origin),
            None => self.pairs().call_id(&self.transcript, at),
        };
        self.done.push(Done {
            code,
            action,
            message: origin.map_or_else(|| self.input_message(at.message), |origin| origin.message),
            block: origin.map(|origin| origin.block),
            call_id,
            holder,
            text,
        });
    }

    /// Records what is done to a message.
    pub(super) fn note_message(
        &mut self,
        code: &'static str,
        action: Action,
        message: usize,
        holder: Option<usize>,
        text: String,
    ) {
        self.done.push(Done {
            code,
            action,
            message: self.input_message(message),
            block: None,
            call_id: None,
            holder,
            text,
        });
    }

    /// Carries the changes out. O(messages + bytes of changed ones).
    pub(super) fn apply(&mut self, mut changes: Changes) -> Result<(), SpliceError> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut slots = Vec::with_capacity(self.rows.len());
        for view in self.transcript.messages() {
            let change = changes.take(view.index);
            self.lay(&view, change, &mut slots)?;
        }
        if slots.iter().any(|slot| slot.gone) {
            self.fill(&mut slots);
            slots.retain(|slot| !slot.gone);
        }
        let (rows, parts): (Vec<_>, Vec<_>) = slots.into_iter().map(|slot| (slot.row, slot.part)).unzip();
        self.transcript = assemble(&self.transcript, &joined(parts))?;
        self.rows = rows;
        for (row, view) in self.rows.iter_mut().zip(self.transcript.messages()) {
            let count = view.blocks().len();
            // A format may read more or fewer blocks out of new bytes than went into them.
            if let Some(blocks) = row.blocks.as_mut().filter(|blocks| blocks.len() != count) {
                *blocks = vec![None; count];
            }
        }
        self.pairs = None;
        self.version += 1;
        Ok(())
    }

    /// Adds the slots of one message: its own, and those that come behind it.
    fn lay(
        &self,
        view: &MessageView<'_>,
        change: Option<super::changes::Change>,
        slots: &mut Vec<Slot>,
    ) -> Result<(), SpliceError> {
        let Some(row) = self.rows.get(view.index) else {
            return Ok(());
        };
        let keep = Part::Keep(view.index..view.index + 1);
        let slot = |row: Row, part, gone| Slot {
            row,
            part,
            role: view.role(),
            gone,
            old: Some(view.index),
        };
        let Some(change) = change else {
            slots.push(slot(row.clone(), keep, false));
            return Ok(());
        };
        match outcome(&self.transcript, view, &change)? {
            Outcome::Same => slots.push(slot(row.clone(), keep, false)),
            Outcome::Gone => slots.push(slot(row.clone(), keep, true)),
            Outcome::Changed(bytes, origins) => {
                let blocks = origins.into_iter().map(|at| at.and_then(|at| self.input_block(at)));
                let row = Row {
                    same: false,
                    blocks: Some(blocks.collect()),
                    ..row.clone()
                };
                slots.push(slot(row, Part::Insert(bytes), false));
            }
        }
        let made = |name, blocks, bytes, role| Slot {
            row: Row {
                name,
                input: None,
                same: false,
                blocks: Some(blocks),
            },
            part: Part::Insert(bytes),
            role,
            gone: false,
            old: None,
        };
        if let Some((name, blocks)) = change.results_behind {
            let origin = |block: &NewBlock| block.from.and_then(|at| self.input_block(at));
            let origins = blocks.iter().map(origin).collect();
            let items: Vec<Vec<u8>> = blocks.into_iter().map(|block| block.bytes).collect();
            let bytes = self.transcript.format().user_message(&items);
            slots.push(made(name, origins, bytes, Role::User));
        }
        for message in change.behind {
            match message {
                NewMessage::Made(name, bytes) => slots.push(made(name, Vec::new(), bytes, Role::Tool)),
                NewMessage::Part {
                    name,
                    role,
                    bytes,
                    from,
                } => {
                    let origins = from.into_iter().map(|at| self.input_block(at)).collect();
                    slots.push(made(name, origins, bytes, role));
                }
                NewMessage::Moved(from) => {
                    let Some((row, view)) = self.rows.get(from).zip(self.transcript.message(from)) else {
                        continue;
                    };
                    slots.push(Slot {
                        row: row.clone(),
                        part: Part::Keep(from..from + 1),
                        role: view.role(),
                        gone: false,
                        old: None,
                    });
                }
            }
        }
        Ok(())
    }

    /// Gives a text to messages that would go but whose place must not be empty: where the first message would be no
    /// longer the user's, and, where roles take turns, between two of the same role.
    fn fill(&mut self, slots: &mut [Slot]) {
        let rules = self.rules();
        let user_first = self.minds("first_not_user", rules.first_is_user);
        let asked = self.options.scan.strict_alternation || rules.always_alternate;
        let turns = asked && self.minds("repeated_role", rules.roles_alternate);
        let mut before = None;
        let mut start = 0;
        while start < slots.len() {
            let gone = slots.iter().skip(start).take_while(|slot| slot.gone).count();
            let after = slots.get(start + gone).map(|slot| slot.role);
            if gone > 0 {
                let wanted = match (before, after) {
                    (None, after) if user_first && after != Some(Role::User) => Some(Role::User),
                    (Some(Role::User), Some(Role::User)) if turns => Some(Role::Assistant),
                    (Some(Role::Assistant), Some(Role::Assistant)) if turns => Some(Role::User),
                    _ => None,
                };
                let run = slots.iter_mut().skip(start).take(gone);
                let mut chosen = run.filter(|slot| wanted == Some(slot.role));
                if let Some(slot) = chosen.next() {
                    self.fill_slot(slot);
                }
            }
            if let Some(role) = after.filter(|role| !matches!(role, Role::System | Role::Developer)) {
                before = Some(role);
            }
            start += gone + 1;
        }
    }

    fn fill_slot(&mut self, slot: &mut Slot) {
        let Some(index) = slot.old else { return };
        let Some(view) = self.transcript.message(index) else {
            return;
        };
        slot.part = Part::Insert(filled(self.transcript.format(), &view, NOTHING_LEFT));
        slot.row.same = false;
        slot.row.blocks = Some(Vec::new());
        slot.gone = false;
        let text = "Nothing was left of the message, but its place must not be empty: a text fills it.".to_owned();
        self.note_message(EMPTY, Action::Fill, index, Some(slot.row.name), text);
    }

    pub(super) fn finish(self) -> Repaired {
        let places: HashMap<usize, usize> = self.rows.iter().enumerate().map(|(k, row)| (row.name, k)).collect();
        // An empty message that a text fills did not go.
        let stays: HashSet<usize> = self.rows.iter().filter_map(|row| row.input).collect();
        let filled = |done: &Done| done.code == EMPTY && done.action == Action::Drop && stays.contains(&done.message);
        let place = |name: Option<usize>| name.and_then(|name| places.get(&name).copied());
        // A message that something went to may go itself once that moved on: the block's last place stands for it.
        let last: HashMap<(usize, usize), Option<usize>> = self
            .done
            .iter()
            .filter_map(|done| Some(((done.message, done.block?), place(done.holder))))
            .collect();
        let moved_on = |done: &Done| last.get(&(done.message, done.block?)).copied().flatten();
        let mut repairs: Vec<Repair> = self
            .done
            .into_iter()
            .filter(|done| !filled(done))
            .map(|done| Repair {
                code: done.code,
                action: done.action,
                message: done.message,
                message_after: place(done.holder).or_else(|| moved_on(&done)),
                block: done.block,
                call_id: done.call_id,
                text: done.text,
            })
            .collect();
        repairs.sort_by_key(|repair| repair.message);
        Repaired {
            transcript: self.transcript,
            repairs,
            kept: self.rows.iter().map(|row| row.input.filter(|_| row.same)).collect(),
        }
    }
}

/// The parts with ranges that follow each other made one, so that a segment that stays whole is shared.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (out.last_mut(), part) {
            (Some(Part::Keep(last)), Part::Keep(next)) if last.end == next.start => last.end = next.end,
            (_, part) => out.push(part),
        }
    }
    out
}
