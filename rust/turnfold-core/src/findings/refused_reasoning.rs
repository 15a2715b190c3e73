//! The transcript holds reasoning items, which some servers of the format refuse.
//!
//! Off unless the caller switches it on, for a receiver that is known to.

use super::{Category, Check, Scene};
use crate::transcript::BlockKind;

pub(super) const CHECK: Check = Check {
    code: "refused_reasoning",
    category: Category::Content,
    demands: |rules| rules.no_reasoning.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.no_reasoning.filter(|_| scene.seen.reasoning) else {
        return;
    };
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            if block.kind() == BlockKind::Reasoning {
                scene.report_block(demand, &block, "reasoning goes back to the server");
            }
        }
    }
}
