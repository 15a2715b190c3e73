//! In a message of the model, text stands after a tool call.
//!
//! The provider takes the text for the start of a new message and misses the results before it. Neighbouring messages of
//! the model count as one. Calls that the provider ran itself may have text after them.

use super::{Category, Check, Scene};
use crate::transcript::{BlockKind, Role};

pub(super) const CHECK: Check = Check {
    code: "text_after_call",
    category: Category::Order,
    demands: |rules| rules.no_text_after_call.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.no_text_after_call else {
        return;
    };
    let mut called = false;
    let mut told = false;
    for message in scene.transcript.messages() {
        if message.role() != Role::Assistant {
            (called, told) = (false, false);
            continue;
        }
        for block in message.blocks() {
            match block.kind() {
                BlockKind::ToolCall if !block.row.server_side => called = true,
                BlockKind::Text if called && !told => {
                    told = true;
                    scene.report_block(demand, &block, "text stands after a tool call");
                }
                _ => {}
            }
        }
    }
}
