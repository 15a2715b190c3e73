//! More than one compaction with content stands beside a sealed one of the provider.
//!
//! A client that compacts again and keeps the earlier compaction leaves two. Of the older form, which has no seal, there
//! may be several: the provider drops what precedes the last.

use super::compaction_block_misplaced::is_sealed;
use super::{Category, Check, Scene};
use crate::transcript::{Binding, BlockView};

pub(super) const CHECK: Check = Check {
    code: "compaction_block_ambiguous",
    category: Category::Order,
    demands: |rules| rules.compaction.map(|wanted| wanted.alone).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.rules.compaction.filter(|_| scene.seen.barrier) else {
        return;
    };
    let blocks = scene.transcript.messages().flat_map(|message| message.blocks());
    let found: Vec<BlockView<'_>> = blocks.filter(|block| block.row.binding == Binding::Barrier).collect();
    if !found.iter().any(is_sealed) {
        return;
    }
    for block in found.iter().skip(1) {
        scene.report_block(
            wanted.alone,
            block,
            "the conversation holds another compaction with content",
        );
    }
}
