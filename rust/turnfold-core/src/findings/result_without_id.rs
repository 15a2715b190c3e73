//! A tool result does not say which call it answers.
//!
//! Result forms that never have ids and pair by the tool's name are not meant.

use super::{Category, Check, Scene};
use crate::pairs;
use crate::transcript::BlockKind;

pub(super) const CHECK: Check = Check {
    code: "result_without_id",
    category: Category::Integrity,
    demands: |rules| vec![rules.result_needs_id],
    run,
};

fn run(scene: &mut Scene<'_>) {
    if !scene.seen.without_id {
        return;
    }
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            if block.kind() == BlockKind::ToolResult && pairs::lacks_id(&block) {
                scene.report_block(scene.rules.result_needs_id, &block, "the result names no call");
            }
        }
    }
}
