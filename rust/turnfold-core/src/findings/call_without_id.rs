//! A tool call has no id, so no result can answer it.
//!
//! Call forms that never have ids and pair by the tool's name are not meant.

use super::{Category, Check, Scene};
use crate::pairs;
use crate::transcript::BlockKind;

pub(super) const CHECK: Check = Check {
    code: "call_without_id",
    category: Category::Integrity,
    demands: |rules| vec![rules.call_needs_id],
    run,
};

fn run(scene: &mut Scene<'_>) {
    if !scene.seen.without_id {
        return;
    }
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            if block.kind() == BlockKind::ToolCall && pairs::lacks_id(&block) {
                scene.report_block(scene.rules.call_needs_id, &block, "the call has no id");
            }
        }
    }
}
