//! Gives results the name of the tool that their call names.
//!
//! Where names pair, a result with neither a name nor an id answers a call of its batch only if there are as many open
//! calls as such results: they go by their order. Else nothing says which call it answers, and it goes. A call without a
//! name stays: only the caller knows what was called.

use std::collections::HashSet;

use super::Action;
use super::changes::{Changes, set_field};
use super::work::Work;
use crate::json::{self, Document};
use crate::pairs::{self, BlockRef};
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, BlockView, MessageView, Role};

const CODE: &str = "missing_name";

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    let rules = work.rules();
    if !work.minds(CODE, rules.name_needed) {
        return Ok(());
    }
    let unnamed = |block: &BlockView<'_>| {
        block.kind() == BlockKind::ToolResult && !block.row.server_side && block.row.name.is_none()
    };
    let lacks = |message: &MessageView<'_>| message.blocks().any(|block| unnamed(&block));
    if !work.transcript.messages().any(|message| lacks(&message)) {
        return Ok(());
    }
    let pending = work.pending();
    let held: HashSet<usize> = pending.iter().map(|call| call.message).collect();
    let table = work.pairs();
    // Each result with its call, or none where it goes.
    let mut answers: Vec<(BlockRef, Option<BlockRef>)> = Vec::new();
    for pair in table.pairs.iter().filter(|pair| !pending.contains(&pair.call)) {
        if work.block(pair.result).is_some_and(|result| unnamed(&result)) {
            answers.push((pair.result, Some(pair.call)));
        }
    }
    let loose = |block: &BlockView<'_>| unnamed(block) && pairs::lacks_id(block) && !held.contains(&block.message);
    let answered: HashSet<BlockRef> = table.pairs.iter().map(|pair| pair.call).collect();
    let (mut open, mut waiting): (Vec<BlockRef>, Vec<BlockRef>) = (Vec::new(), Vec::new());
    let mut before = None;
    for message in work.transcript.messages() {
        let role = message.role();
        if role == Role::Assistant && before != Some(Role::Assistant) {
            settle(&mut open, &mut waiting, &mut answers);
        }
        before = Some(role);
        for block in message.blocks() {
            let at = BlockRef::of(&block);
            let is_open = block.kind() == BlockKind::ToolCall
                && role == Role::Assistant
                && !(block.row.whole || block.row.server_side || block.row.name.is_none())
                && !(answered.contains(&at) || pending.contains(&at));
            if is_open {
                open.push(at);
            } else if rules.names_pair && loose(&block) {
                waiting.push(at);
            }
        }
    }
    settle(&mut open, &mut waiting, &mut answers);
    let mut changes = Changes::default();
    for (at, call) in answers {
        if let Some(call) = call {
            tie(work, &mut changes, call, at);
        } else {
            changes.remove(at);
            let text = "The result names neither a tool nor a call, nothing else says which it answers, and it went.";
            work.note_block(CODE, Action::Drop, at, None, text.to_owned());
        }
    }
    work.apply(changes)
}

/// Ends a batch.
fn settle(open: &mut Vec<BlockRef>, waiting: &mut Vec<BlockRef>, answers: &mut Vec<(BlockRef, Option<BlockRef>)>) {
    let alike = open.len() == waiting.len();
    let mut calls = open.drain(..);
    answers.extend(waiting.drain(..).map(|result| (result, calls.next().filter(|_| alike))));
}

/// Gives the result the id of its call first, if there is one that it lacks: then the two are a pair. Else the name.
fn tie(work: &mut Work<'_>, changes: &mut Changes, call: BlockRef, at: BlockRef) {
    let (Some(call), Some(block)) = (work.block(call), work.block(at)) else {
        return;
    };
    let lacked = call.call_id().filter(|_| block.row.call_id.is_none());
    if let Some(id) = lacked.map(String::from) {
        let text = format!("The result named neither a tool nor a call and has the id {id:?} of its call now.");
        work.note_block(CODE, Action::Rename, at, Some(work.name(at.message)), text);
        changes.of(at.message).ids.push((at.block, id));
        return;
    }
    let (Some(name), Some(message)) = (call.name().map(String::from), work.transcript.message(at.message)) else {
        return;
    };
    let path = work.transcript.format().name_path(&block);
    let edit = Document::parse(block.bytes())
        .ok()
        .and_then(|part| set_field(part.root(), path, &json::escape(&name)));
    let Some(edit) = edit else { return };
    changes.edit(&message, &block, edit);
    let text = format!("The result named no tool and has the name {name:?} of its call now.");
    work.note_block(CODE, Action::Rename, at, Some(work.name(at.message)), text);
}
