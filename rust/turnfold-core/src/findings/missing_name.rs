//! A tool call or a result does not name its tool.

use super::{Category, Check, Scene};
use crate::transcript::BlockKind;

pub(super) const CHECK: Check = Check {
    code: "missing_name",
    category: Category::Content,
    demands: |rules| rules.name_needed.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.name_needed else { return };
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            let what = match block.kind() {
                BlockKind::ToolCall => "the call names no tool",
                BlockKind::ToolResult => "the result names no tool",
                _ => continue,
            };
            if block.row.name.is_none() && !block.row.server_side {
                scene.report_call(demand, &block, what);
            }
        }
    }
}
