//! What belongs together: turns, and the groups that a cut must not part.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::pairs::{BlockRef, PairTable, ScanOptions};
use crate::rules::Rules;
use crate::transcript::{Binding, BlockKind, BlockView, MessageView, Role, Transcript};

/// Whether the message opens a turn: the user speaks, and not only in tool results.
pub fn opens_turn(message: &MessageView<'_>) -> bool {
    if message.role() != Role::User {
        return false;
    }
    let mut blocks = message.blocks();
    blocks.len() == 0 || blocks.any(|block| block.kind() != BlockKind::ToolResult)
}

/// The turns, as half-open ranges of message indexes: a message that opens one, up to the next such message or the end.
/// Messages before the first belong to no turn. O(blocks).
pub fn turns(transcript: &Transcript) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    for message in transcript.messages().filter(opens_turn) {
        if let Some(last) = turns.last_mut() {
            last.end = message.index;
        }
        turns.push(message.index..transcript.len());
    }
    turns
}

/// Why messages are bound to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BondKind {
    /// A call and its result.
    Pair,
    /// A call and a result beyond its first.
    RepeatedResult,
    /// A message that makes sense only before the one that follows.
    Next,
    /// A block of an unknown kind and its neighbour.
    Unknown,
    /// A call and what belongs to it: an inner call of a program, a call that was approved.
    Part,
    /// What stands for an item of the server, and what may need that item: the model's next item, or a result.
    Pointer,
}

/// Messages `first..=last` that must stay on one side of a cut. `last` is the number of messages where a message is
/// bound to one that has yet to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bond {
    /// Why.
    pub kind: BondKind,
    /// First message.
    pub first: usize,
    /// Last message.
    pub last: usize,
    /// The call, where there is one.
    pub call: Option<BlockRef>,
}

/// Every bond across message edges, ordered by kind, then by place. O(blocks).
pub fn bonds(transcript: &Transcript, pairs: &PairTable) -> Vec<Bond> {
    let mut bonds = Vec::with_capacity(pairs.pairs.len());
    let answered = pairs.pairs.iter().map(|pair| (BondKind::Pair, pair));
    let repeated = pairs
        .repeated_results
        .iter()
        .map(|pair| (BondKind::RepeatedResult, pair));
    for (kind, pair) in answered.chain(repeated) {
        if pair.call.message < pair.result.message {
            bonds.push(Bond {
                kind,
                first: pair.call.message,
                last: pair.result.message,
                call: Some(pair.call),
            });
        }
    }
    let owned = owned(transcript);
    bonds.extend(parts(&owned));
    bonds.extend(pointers(transcript, pairs, &owned));
    let neighbours = |kind, first: usize| Bond {
        kind,
        first,
        last: first + 1,
        call: None,
    };
    for message in transcript.messages() {
        if is_bound_to_next(&message) {
            bonds.push(neighbours(BondKind::Next, message.index));
        }
        let mut edges = message.blocks();
        let first = edges.next();
        let last = edges.last().or(first);
        let unknown = |block: Option<BlockView<'_>>| block.is_some_and(|b| b.row.binding == Binding::Both);
        if unknown(first) && message.index > 0 {
            bonds.push(neighbours(BondKind::Unknown, message.index - 1));
        }
        if unknown(last) && message.index + 1 < transcript.len() {
            bonds.push(neighbours(BondKind::Unknown, message.index));
        }
    }
    bonds
}

/// Whether the message makes sense only before what follows.
pub(crate) fn is_bound_to_next(message: &MessageView<'_>) -> bool {
    let mut blocks = message.blocks();
    blocks.len() > 0 && blocks.all(|block| block.row.binding == Binding::Next)
}

/// Bonds of what stands for items of the server. It may be reasoning, which what the model made next needs, or a call,
/// which a later result answers or a later part belongs to. O(blocks).
fn pointers(transcript: &Transcript, pairs: &PairTable, owned: &[(BlockRef, Option<BlockRef>)]) -> Vec<Bond> {
    let mut bonds = Vec::new();
    if !transcript.has_pointer() || !transcript.remote() {
        return bonds;
    }
    let bond = |first, last| Bond {
        kind: BondKind::Pointer,
        first,
        last,
        call: None,
    };
    let mut results = pairs.remote_results.iter().peekable();
    let mut parts = owned.iter().filter(|(_, call)| call.is_none()).peekable();
    let mut last: Option<usize> = None;
    for message in transcript.messages() {
        let before = last.filter(|&pointer| pointer + 1 == message.index);
        if let Some(pointer) = before.filter(|_| message.role() == Role::Assistant) {
            bonds.push(bond(pointer, message.index));
        }
        while results.next_if(|result| result.message <= message.index).is_some() {
            bonds.extend(last.map(|pointer| bond(pointer, message.index)));
        }
        while parts.next_if(|(part, _)| part.message <= message.index).is_some() {
            bonds.extend(last.map(|pointer| bond(pointer, message.index)));
        }
        if message.blocks().any(|block| block.row.binding == Binding::Pointer) {
            last = Some(message.index);
        }
    }
    bonds
}

/// Messages of reasoning, each with the message of an item that the caller says it was produced with. O(blocks).
pub(crate) fn reasoned(transcript: &Transcript, options: &ScanOptions) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    if options.reasoning_pairs.is_empty() || transcript.format().rules().item_keeps_reasoning.is_none() {
        return found;
    }
    let pairs = options.reasoning_pairs.iter();
    let wanted: HashMap<&str, &str> = pairs.map(|(item, own)| (item.as_str(), own.as_str())).collect();
    let mut places: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for message in transcript.messages() {
        let Some(id) = message.blocks().find_map(|block| block.item_id()) else {
            continue;
        };
        let own = wanted.get(&*id).and_then(|own| places.get(*own));
        found.extend(own.map(|&reasoning| (reasoning, message.index)));
        places.insert(id, message.index);
    }
    found
}

/// Bonds between blocks and the calls that they name as theirs.
fn parts(owned: &[(BlockRef, Option<BlockRef>)]) -> impl Iterator<Item = Bond> {
    let before = owned.iter().filter_map(|&(part, call)| Some((part, call?)));
    before
        .filter(|(part, call)| call.message < part.message)
        .map(|(part, call)| Bond {
            kind: BondKind::Part,
            first: call.message,
            last: part.message,
            call: Some(call),
        })
}

/// The blocks that say that they belong to a call, each with that call, where it stands before. O(blocks).
pub(crate) fn owned(transcript: &Transcript) -> Vec<(BlockRef, Option<BlockRef>)> {
    let blocks = || transcript.messages().flat_map(|message| message.blocks());
    let mut owned = Vec::new();
    if !blocks().any(|block| block.row.part_of.is_some()) {
        return owned;
    }
    let mut calls: HashMap<Cow<'_, str>, BlockRef> = HashMap::new();
    for block in blocks() {
        owned.extend(
            block
                .part_of()
                .map(|id| (BlockRef::of(&block), calls.get(&id).copied())),
        );
        if let (BlockKind::ToolCall, Some(id)) = (block.kind(), block.call_id()) {
            calls.insert(id, BlockRef::of(&block));
        }
    }
    owned
}

/// The messages after the leading instructions, tiled into the smallest ranges that no bond leaves: a call with its
/// results and whatever stands between, reasoning with what it is bound to, or one free message. O(blocks).
pub fn groups(transcript: &Transcript, pairs: &PairTable) -> Vec<Range<usize>> {
    let (start, end) = (transcript.leading(), transcript.len());
    let mut reach: Vec<usize> = (0..end).map(|index| index + 1).collect();
    for bond in bonds(transcript, pairs) {
        if let Some(stop) = reach.get_mut(bond.first.max(start)) {
            *stop = (*stop).max((bond.last + 1).min(end));
        }
    }
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, &stop) in reach.iter().enumerate().skip(start) {
        match groups.last_mut() {
            Some(group) if index < group.end => group.end = group.end.max(stop),
            _ => groups.push(index..stop),
        }
    }
    groups
}

/// The open tool loop: the messages after the last one that opens a turn, if the model called tools there and its last
/// message still does. Empty otherwise. O(blocks of the loop).
pub fn open_loop(transcript: &Transcript) -> Range<usize> {
    let (lowest, end) = (transcript.leading(), transcript.len());
    let mut start = end;
    let mut calling = false;
    while start > lowest {
        let Some(message) = transcript.message(start - 1) else {
            break;
        };
        if opens_turn(&message) {
            break;
        }
        if message.role() == Role::Assistant && !calling {
            calling = calls_tools(&message);
            if !calling {
                break;
            }
        }
        start -= 1;
    }
    if calling { start..end } else { end..end }
}

/// Whether the message calls a tool that the client runs.
pub(crate) fn calls_tools(message: &MessageView<'_>) -> bool {
    message.blocks().any(|block| is_client_call(&block))
}

/// A step of the current turn: a message of the model with calls, or neighbours that the provider joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The first call.
    pub(crate) call: BlockRef,
    /// Whether that call carries a signature.
    pub(crate) signed: bool,
}

/// The steps after the last message that opens a turn, in order. O(blocks of that turn).
pub(crate) fn steps(transcript: &Transcript) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut first: Option<Step> = None;
    for message in (0..transcript.len())
        .rev()
        .filter_map(|index| transcript.message(index))
    {
        if message.role() != Role::Assistant {
            steps.extend(first.take());
            if opens_turn(&message) {
                break;
            }
            continue;
        }
        let mut calls = message.blocks().filter(is_client_call);
        first = calls.next().map_or(first, |call| {
            Some(Step {
                call: BlockRef::of(&call),
                signed: call.row.seal.is_some(),
            })
        });
    }
    steps.extend(first);
    steps.reverse();
    steps
}

fn is_client_call(block: &BlockView<'_>) -> bool {
    block.kind() == BlockKind::ToolCall && !block.row.server_side && !block.row.whole
}

/// Whether the message's first block is reasoning, what the provider folded before it aside.
pub(crate) fn starts_with_reasoning(message: &MessageView<'_>) -> bool {
    message
        .blocks()
        .find(|block| block.row.binding != Binding::Barrier)
        .is_some_and(|block| block.kind() == BlockKind::Reasoning)
}

/// Whether the format wants reasoning at the start of the open tool loop, and there is one.
pub(crate) fn guarded_loop(transcript: &Transcript, rules: &Rules, thinking: bool) -> Option<Range<usize>> {
    let wanted = thinking && rules.loop_starts_with_reasoning.is_some();
    Some(open_loop(transcript)).filter(|range| wanted && !range.is_empty())
}
