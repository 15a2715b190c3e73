//! A message of the model holds reasoning and nothing else.
//!
//! This is what remains when a client strips the tool calls out of a message and keeps its reasoning.

use super::{Category, Check, Scene};
use crate::transcript::{BlockKind, Role};

pub(super) const CHECK: Check = Check {
    code: "only_reasoning",
    category: Category::Content,
    demands: |rules| rules.not_only_reasoning.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.not_only_reasoning.filter(|_| scene.seen.reasoning) else {
        return;
    };
    for message in scene
        .transcript
        .messages()
        .filter(|message| message.role() == Role::Assistant)
    {
        let mut blocks = message.blocks();
        if blocks.len() > 0 && blocks.all(|block| block.kind() == BlockKind::Reasoning) {
            scene.report_message(demand, message.index, "the message is only reasoning");
        }
    }
}
