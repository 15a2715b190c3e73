//! Gives the model the calls that stand in another's message: only the model calls.
//!
//! A message of calls and words becomes the model's. Where results, media or other things stand beside the calls, or
//! nothing stands before the message, it is taken apart: what stands before the calls stays, as do results of earlier
//! ones, the calls go into a message of the model's, and what stands behind them comes after that. A result that is a
//! message of its own holds no calls: there they go, so that results answer those of the model.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::Action;
use super::changes::{Changes, NewMessage};
use super::work::Work;
use crate::json::Document;
use crate::pairs::BlockRef;
use crate::splice::edits::Edits;
use crate::splice::{SpliceError, remove_blocks};
use crate::transcript::{BlockKind, BlockView, MessageView, Place, Role};

/// Does so with those of `messages` that can be given; the findings have this code. Whether anything changed.
/// O(bytes of the messages).
pub(super) fn give(work: &mut Work<'_>, code: &'static str, messages: &BTreeSet<usize>) -> Result<bool, SpliceError> {
    if messages.is_empty() {
        return Ok(false);
    }
    let mut changes = Changes::default();
    let mut notes: Vec<(BlockRef, Action, Option<usize>, &'static str)> = Vec::new();
    let mut stay = work.counted();
    stay.extend(work.pending());
    let table = work.pairs();
    let earlier = table
        .pairs
        .iter()
        .filter(|pair| pair.call.message < pair.result.message);
    let earlier: HashSet<BlockRef> = earlier.map(|pair| pair.result).collect();
    for &index in messages {
        let message = work.transcript.message(index);
        let Some(message) = message.filter(|message| message.role() != Role::Assistant) else {
            continue;
        };
        let blocks: Vec<BlockView<'_>> = message.blocks().collect();
        let calls = blocks.iter().filter(|block| is_call(block)).map(BlockRef::of);
        if blocks.iter().any(is_message) {
            for call in calls.filter(|call| !stay.contains(call)) {
                changes.remove(call);
                notes.push((
                    call,
                    Action::Drop,
                    None,
                    "The call stood in a result, which calls nothing, and went.",
                ));
            }
            continue;
        }
        let opens = index <= work.transcript.leading();
        if !opens && blocks.iter().all(|block| is_models(block) || is_words(block)) {
            let Some(edit) = as_models(work, message.bytes()) else {
                continue;
            };
            changes.of(index).edits.push(edit);
            let text = "The message with this call was not the model's, and only the model calls: it is now.";
            notes.extend(calls.map(|call| (call, Action::Fill, Some(work.name(index)), text)));
            continue;
        }
        let parts = Parts::of(&blocks, &earlier);
        let Some(model) = without(work, &message, &[&parts.before, &parts.behind])? else {
            continue;
        };
        let Some((range, role)) = as_models(work, &model) else {
            continue;
        };
        let mut edits = Edits::default();
        edits.replace(range, role);
        let Some(model) = edits.apply(&model) else { continue };
        let behind = if parts.behind.is_empty() {
            None
        } else {
            without(work, &message, &[&parts.before, &parts.models])?
        };
        let (role, models_name, rest_name) = (message.role(), work.new_name(), work.new_name());
        let change = changes.of(index);
        change.gone = parts.before.is_empty();
        change.blocks_gone = [&*parts.models, &*parts.behind].concat();
        let at = |block: usize| BlockRef { message: index, block };
        let part = |name, role, blocks: &[usize], bytes| NewMessage::Part {
            name,
            role,
            bytes,
            from: blocks.iter().map(|&block| at(block)).collect(),
        };
        change
            .behind
            .push(part(models_name, Role::Assistant, &parts.models, model));
        let text = "The call stood in a message that is not the model's, and has one of the model's for itself now.";
        notes.extend(
            parts
                .models
                .iter()
                .map(|&block| (at(block), Action::Move, Some(models_name), text)),
        );
        if let Some(bytes) = behind {
            change.behind.push(part(rest_name, role, &parts.behind, bytes));
            let text = "The block stood behind calls in one message with them, and stands in one of its own now.";
            notes.extend(
                parts
                    .behind
                    .iter()
                    .map(|&block| (at(block), Action::Move, Some(rest_name), text)),
            );
        }
    }
    for (at, action, name, text) in notes {
        work.note_block(code, action, at, name, text.to_owned());
    }
    let any = !changes.is_empty();
    work.apply(changes)?;
    Ok(any)
}

/// Whether a block is a result that is its message.
fn is_message(block: &BlockView<'_>) -> bool {
    block.row.place == Place::Message && block.kind() == BlockKind::ToolResult && !is_loose(block)
}

/// The blocks of a message by what becomes of them.
#[derive(Default)]
struct Parts {
    before: Vec<usize>,
    models: Vec<usize>,
    behind: Vec<usize>,
}

impl Parts {
    /// Results of `earlier` messages' calls come before the calls: behind them they could be taken for theirs.
    fn of(blocks: &[BlockView<'_>], earlier: &HashSet<BlockRef>) -> Self {
        let mut parts = Self::default();
        let mut called = false;
        for block in blocks {
            called |= is_call(block);
            let part = match (is_models(block), called && !earlier.contains(&BlockRef::of(block))) {
                (true, _) => &mut parts.models,
                (false, false) => &mut parts.before,
                (false, true) => &mut parts.behind,
            };
            part.push(block.index);
        }
        parts
    }
}

fn without(work: &Work<'_>, message: &MessageView<'_>, gone: &[&[usize]]) -> Result<Option<Vec<u8>>, SpliceError> {
    let gone = gone.concat();
    if gone.is_empty() {
        return Ok(Some(message.bytes().to_vec()));
    }
    remove_blocks(&work.transcript, message.index, &gone)
}

/// Where the role stands in the bytes of a message, and the model's.
fn as_models(work: &Work<'_>, message: &[u8]) -> Option<(Range<usize>, Vec<u8>)> {
    let plain = work.transcript.format().text_message(Role::Assistant, "");
    let plain = Document::parse(&plain).ok()?;
    let role = plain.root().get("role")?.raw().to_vec();
    let message = Document::parse(message).ok()?;
    let span = message.root().get("role")?.span();
    Some((span.start as usize..span.end as usize, role))
}

pub(super) fn is_call(block: &BlockView<'_>) -> bool {
    block.kind() == BlockKind::ToolCall && !block.row.server_side
}

/// What nobody but the model writes.
fn is_models(block: &BlockView<'_>) -> bool {
    match block.kind() {
        BlockKind::ToolCall | BlockKind::Reasoning => true,
        BlockKind::ToolResult => block.row.server_side || is_loose(block),
        _ => false,
    }
}

/// A message that says it is a result, but not of which call: that comes of its role alone.
fn is_loose(block: &BlockView<'_>) -> bool {
    let unnamed = block.row.call_id.is_none() && block.row.name.is_none();
    block.row.place == Place::Message && block.kind() == BlockKind::ToolResult && unnamed
}

fn is_words(block: &BlockView<'_>) -> bool {
    block.kind() == BlockKind::Text
}
