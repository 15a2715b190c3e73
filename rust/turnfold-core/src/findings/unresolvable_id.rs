//! The request keeps nothing at the server and yet names an item that only the server could hold.
//!
//! A reference to an item, and reasoning that has the server's id but not its sealed text, cannot be resolved then. An
//! item that stands there whole, but with the server's id, is looked up by some receivers all the same; beside sealed
//! reasoning of one answer, items keep their ids as that does.

use super::{Category, Check, Scene};
use crate::rules::ServerIdDemand;
use crate::transcript::{Binding, BlockKind, Role};

pub(super) const CHECK: Check = Check {
    code: "unresolvable_id",
    category: Category::Integrity,
    demands: |rules| {
        let whole = rules.whole_ids.map(|whole| whole.demand);
        rules.ids_resolve.into_iter().chain(whole).collect()
    },
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
    if let Some(whole) = scene.rules.whole_ids {
        whole_items(scene, whole);
    }
}

/// Reports items that stand whole in the request and have an id of the server.
fn whole_items(scene: &mut Scene<'_>, rule: ServerIdDemand) {
    let mut sealed = false;
    for message in scene.transcript.messages() {
        if message.role() != Role::Assistant {
            sealed = false;
            continue;
        }
        sealed |= message.blocks().any(|block| block.row.seal.is_some());
        let whole = |kind| !matches!(kind, BlockKind::Reasoning | BlockKind::Opaque);
        let mut named = message.blocks().filter_map(|block| Some((block, block.item_id()?)));
        let Some((block, id)) = named.next().filter(|(block, _)| whole(block.kind()) && !sealed) else {
            continue;
        };
        if block.row.binding != Binding::Pointer && rule.prefixes.iter().any(|prefix| id.starts_with(prefix)) {
            let what = format!("item {id:?} has the server's id, and the request says that the server keeps none");
            scene.report_block(rule.demand, &block, &what);
        }
    }
}
