//! The request goes on from items that only the server holds.
//!
//! They count as input, and no cut here shortens them: a compacted transcript must start a new chain. Results may answer
//! calls that the server holds, so none of them is an orphan here.

use super::{Category, Check, Scene};
use crate::transcript::Binding;

pub(super) const CHECK: Check = Check {
    code: "server_held",
    category: Category::Content,
    demands: |rules| rules.server_holds.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.server_holds else { return };
    if scene.transcript.head().continued {
        scene.report_whole(demand, "the request goes on from items that only the server holds");
        return;
    }
    if !scene.seen.pointer {
        return;
    }
    let mut blocks = scene.transcript.messages().flat_map(|message| message.blocks());
    if let Some(block) = blocks.find(|block| block.row.binding == Binding::Pointer) {
        scene.report_block(demand, &block, "the item stands for one that only the server holds");
    }
}
