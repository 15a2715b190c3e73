//! With thinking on, the model's part of an open tool loop does not start with reasoning.
//!
//! The loop is everything after the last message in which the user speaks, while the model's last message still calls
//! tools. A cut inside the loop, or a client that stores messages without their reasoning, leaves it bare.

use super::{Category, Check, Scene};
use crate::groups;
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "missing_reasoning",
    category: Category::Integrity,
    demands: |rules| rules.loop_starts_with_reasoning.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.loop_starts_with_reasoning else {
        return;
    };
    if scene.options.closed {
        return;
    }
    let thinking = scene.options.thinking(scene.transcript);
    let Some(open) = groups::guarded_loop(scene.transcript, scene.rules, thinking) else {
        return;
    };
    let mut messages = open.filter_map(|index| scene.transcript.message(index));
    let first = messages.find(|message| message.role() == Role::Assistant);
    if let Some(message) = first.filter(|message| !groups::starts_with_reasoning(message)) {
        let what = "the open tool loop does not start with reasoning, though thinking is on";
        scene.report_message(demand, message.index, what);
    }
}
