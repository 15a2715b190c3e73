//! The messages start with instructions, though the format keeps those beside the messages.

use super::{Category, Check, Scene};

pub(super) const CHECK: Check = Check {
    code: "leading_system",
    category: Category::Order,
    demands: |rules| rules.no_leading_system.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.no_leading_system else {
        return;
    };
    for index in 0..scene.transcript.leading() {
        scene.report_message(
            demand,
            index,
            "instructions belong beside the messages, not in front of them",
        );
    }
}
