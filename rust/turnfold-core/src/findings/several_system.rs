//! More than one message of instructions stands at the start.
//!
//! Chat templates of some servers accept one.

use super::{Category, Check, Scene};

pub(super) const CHECK: Check = Check {
    code: "several_system",
    category: Category::Order,
    demands: |rules| rules.one_system.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.one_system else { return };
    for index in 1..scene.transcript.leading() {
        scene.report_message(demand, index, "there are instructions before this message already");
    }
}
