//! The transcript holds no message.
//!
//! A request needs at least one. A compaction that moves everything into the instructions, or a trim with a budget of
//! nothing, leaves such a body.

use super::{Category, Check, Scene};

pub(super) const CHECK: Check = Check {
    code: "no_messages",
    category: Category::Content,
    demands: |rules| vec![rules.has_messages],
    run,
};

fn run(scene: &mut Scene<'_>) {
    if scene.transcript.is_empty() {
        scene.report_whole(scene.rules.has_messages, "there is no message");
    }
}
