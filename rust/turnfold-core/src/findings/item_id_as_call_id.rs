//! A result names its call by the id of the call's item.
//!
//! Such formats give a call two ids: one for the item, one that results answer to. A client that stores only the first
//! sends results that the provider cannot match.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Category, Check, Scene};
use crate::transcript::BlockKind;

pub(super) const CHECK: Check = Check {
    code: "item_id_as_call_id",
    category: Category::Integrity,
    demands: |rules| rules.call_id_pairs.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.call_id_pairs else {
        return;
    };
    if scene.pairs.orphan_results.is_empty() {
        return;
    }
    let mut items: HashSet<Cow<'_, str>> = HashSet::new();
    let mut orphans = scene.pairs.orphan_results.iter().peekable();
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            if block.kind() == BlockKind::ToolCall {
                items.extend(block.item_id());
            }
            let at = crate::pairs::BlockRef::of(&block);
            if orphans.next_if(|&&orphan| orphan == at).is_some()
                && block.call_id().is_some_and(|id| items.contains(&id))
            {
                let what = "the result names the id of the call's item, not its call id";
                scene.report_call(demand, &block, what);
            }
        }
    }
}
