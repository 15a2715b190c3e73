//! The request keeps nothing at the server and yet names an item that only the server could hold.
//!
//! A reference to an item, and reasoning that has the server's id but not its sealed text, cannot be resolved then.

use super::{Category, Check, Scene};
use crate::transcript::{Binding, BlockKind};

pub(super) const CHECK: Check = Check {
    code: "unresolvable_id",
    category: Category::Integrity,
    demands: |rules| rules.ids_resolve.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.ids_resolve else { return };
    if !scene.transcript.head().unstored {
        return;
    }
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            let unsealed = block.kind() == BlockKind::Reasoning && block.row.seal.is_none();
            if (block.row.binding == Binding::Pointer || unsealed)
                && let Some(id) = block.item_id()
            {
                let what = format!("item {id:?} is named, and the request says that the server keeps none");
                scene.report_block(demand, &block, &what);
            }
        }
    }
}
