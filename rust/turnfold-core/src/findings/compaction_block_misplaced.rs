//! A sealed compaction of the provider is not the first block of the conversation.
//!
//! Whatever keeps or puts messages before it, such as a client that appends the provider's answer to the whole history,
//! breaks it. An older form without a seal may stand anywhere: the provider drops what precedes it.

use super::{Category, Check, Scene};
use crate::transcript::{Binding, BlockView};

pub(super) const CHECK: Check = Check {
    code: "compaction_block_misplaced",
    category: Category::Order,
    demands: |rules| rules.sealed_compaction.map(|wanted| wanted.first).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.rules.sealed_compaction else {
        return;
    };
    let first = (scene.transcript.leading(), 0);
    for block in scene.transcript.messages().flat_map(|message| message.blocks()) {
        if is_sealed(&block) && (block.message, block.index) != first {
            scene.report_block(
                wanted.first,
                &block,
                "the compaction is not the first block of the conversation",
            );
        }
    }
}

/// Whether the block is a compaction with content and a seal.
pub(super) fn is_sealed(block: &BlockView<'_>) -> bool {
    block.row.binding == Binding::Barrier && block.row.seal.is_some()
}
