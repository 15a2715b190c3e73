//! Puts text of the model before its calls, where the provider takes text behind a call for a new message.

use super::Action;
use super::changes::{Changes, Position, as_item};
use super::work::Work;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, Role};

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "text_after_call";
    if !work.minds(CODE, work.rules().no_text_after_call) {
        return Ok(());
    }
    let mut late: Vec<(BlockRef, usize)> = Vec::new();
    // The message with the first call of the run of the model's messages.
    let mut called = None;
    for message in work.transcript.messages() {
        if message.role() != Role::Assistant {
            called = None;
            continue;
        }
        for block in message.blocks() {
            match (block.kind(), called) {
                (BlockKind::ToolCall, None) if !block.row.server_side => called = Some(message.index),
                (BlockKind::Text, Some(target)) => late.push((BlockRef::of(&block), target)),
                _ => {}
            }
        }
    }
    let mut changes = Changes::default();
    for (at, target) in late {
        let Some(block) = work.block(at) else { continue };
        let item = as_item(work.transcript.format(), &block);
        changes.remove(at);
        changes.of(target).inserts.push((Position::BeforeCall, item));
        let text = "The text stood behind a call and moved before it.".to_owned();
        work.note_block(CODE, Action::Move, at, Some(work.name(target)), text);
    }
    work.apply(changes)
}
