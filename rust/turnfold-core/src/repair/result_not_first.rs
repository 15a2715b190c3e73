//! Puts results before everything else of the user's message, or of the messages that the provider joins to one.

use super::Action;
use super::changes::{Changes, Position, as_item};
use super::work::Work;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, Role};

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "result_not_first";
    if !work.minds(CODE, work.rules().results_first) {
        return Ok(());
    }
    let mut late: Vec<(BlockRef, usize)> = Vec::new();
    // The first message of the run of the user's messages with results, once something other than a result came.
    let (mut first, mut other_before) = (None, false);
    for message in work.transcript.messages() {
        let has_results = message.blocks().any(|block| block.kind() == BlockKind::ToolResult);
        if message.role() != Role::User || !has_results {
            (first, other_before) = (None, false);
            continue;
        }
        let target = *first.get_or_insert(message.index);
        for block in message.blocks() {
            if block.kind() != BlockKind::ToolResult {
                other_before = true;
            } else if other_before {
                late.push((BlockRef::of(&block), target));
            }
        }
    }
    let mut changes = Changes::default();
    for (at, target) in late {
        let Some(block) = work.block(at) else { continue };
        let item = as_item(work.transcript.format(), &block);
        changes.remove(at);
        changes.of(target).inserts.push((Position::AfterResults, item));
        let text = "The result moved before everything else of its message.".to_owned();
        work.note_block(CODE, Action::Move, at, Some(work.name(target)), text);
    }
    work.apply(changes)
}
