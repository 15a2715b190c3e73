//! An item that asks the provider to act on all before it is not the last.

use super::{Category, Check, Scene};

pub(super) const CHECK: Check = Check {
    code: "misplaced_trigger",
    category: Category::Order,
    demands: |rules| rules.only_last.map(|(_, demand)| demand).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some((kind, demand)) = scene.rules.only_last.filter(|_| scene.seen.type_name) else {
        return;
    };
    for message in scene.transcript.messages() {
        if scene.is_last(&message) {
            continue;
        }
        for block in message.blocks() {
            if block.row.type_name.is_some() && block.type_name().is_some_and(|name| name == kind) {
                scene.report_block(demand, &block, &format!("{kind:?} is not the last item"));
            }
        }
    }
}
