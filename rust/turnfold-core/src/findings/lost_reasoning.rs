//! An item with a server's id stands without the reasoning that it was produced with.
//!
//! Only the caller knows which belong together (`ScanOptions::reasoning_pairs`); an item that is sent without its id is
//! not held to it.

use std::collections::{HashMap, HashSet};

use super::{Category, Check, Scene};

pub(super) const CHECK: Check = Check {
    code: "lost_reasoning",
    category: Category::Integrity,
    demands: |rules| rules.item_keeps_reasoning.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.item_keeps_reasoning else {
        return;
    };
    if scene.options.reasoning_pairs.is_empty() || scene.transcript.head().continued {
        return;
    }
    let pairs = scene.options.reasoning_pairs.iter();
    let wanted: HashMap<&str, &str> = pairs.map(|(item, own)| (item.as_str(), own.as_str())).collect();
    let mut seen = HashSet::new();
    for message in scene.transcript.messages() {
        let Some((block, id)) = message.blocks().find_map(|block| Some((block, block.item_id()?))) else {
            continue;
        };
        if let Some(own) = wanted.get(&*id).filter(|own| !seen.contains(**own)) {
            let what = format!("item {id:?} stands without its reasoning {own:?}");
            scene.report_block(demand, &block, &what);
        }
        seen.insert(id.into_owned());
    }
}
