//! An open tool loop does not start with reasoning, though the model thinks.
//!
//! Nobody refuses it. The model then plans its next step without what it thought before the steps so far, and the
//! provider advises to keep at least the reasoning since the user last spoke.

use super::{Category, Check, Scene};
use crate::groups;
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "loop_without_reasoning",
    category: Category::Content,
    demands: |rules| rules.loop_keeps_reasoning.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.loop_keeps_reasoning else {
        return;
    };
    if scene.options.closed || !scene.options.thinking(scene.transcript) {
        return;
    }
    let mut messages = groups::open_loop(scene.transcript).filter_map(|index| scene.transcript.message(index));
    let first = messages.find(|message| message.role() == Role::Assistant);
    if let Some(message) = first.filter(|message| !groups::starts_with_reasoning(message)) {
        scene.report_message(
            demand,
            message.index,
            "the open tool loop does not start with reasoning",
        );
    }
}
