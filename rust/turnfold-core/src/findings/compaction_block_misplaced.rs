//! A compaction of the provider stands where it is not taken.
//!
//! A sealed one, which a request asked for, takes the place of what it folded: it is the first block of the conversation.
//! Whatever keeps or puts messages before it, such as a client that appends the provider's answer to the whole history,
//! breaks it. One without a seal, made at a threshold, comes after what it folded: it may stand in any message but one of
//! instructions, where neither may.

use super::{Category, Check, Scene};
use crate::transcript::{Binding, BlockView, Role};

pub(super) const CHECK: Check = Check {
    code: "compaction_block_misplaced",
    category: Category::Order,
    demands: |rules| rules.compaction.map(|wanted| wanted.first).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.rules.compaction.filter(|_| scene.seen.barrier) else {
        return;
    };
    let first = (scene.transcript.leading(), 0);
    for message in scene.transcript.messages() {
        let instructions = matches!(message.role(), Role::System | Role::Developer);
        for block in message.blocks() {
            let what = if block.row.binding == Binding::Barrier && instructions {
                "the compaction stands in a message of instructions"
            } else if is_sealed(&block) && (block.message, block.index) != first {
                "the compaction is not the first block of the conversation"
            } else {
                continue;
            };
            scene.report_block(wanted.first, &block, what);
        }
    }
}

/// Whether the block is a compaction with content and a seal.
pub(super) fn is_sealed(block: &BlockView<'_>) -> bool {
    block.row.binding == Binding::Barrier && block.row.seal.is_some()
}
