//! Reasoning in an item of its own is not followed by the item that it was produced with.
//!
//! That is a message of the model or a call; several pieces of reasoning may stand before it. An interrupted stream
//! leaves reasoning at the end, and a cut or a filter takes away what followed.

use super::{Category, Check, Scene};
use crate::groups;
use crate::transcript::{Binding, MessageView, Role};

pub(super) const CHECK: Check = Check {
    code: "loose_reasoning",
    category: Category::Integrity,
    demands: |rules| rules.reasoning_needs_item.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.reasoning_needs_item else {
        return;
    };
    let mut messages = scene.transcript.messages().peekable();
    while let Some(message) = messages.next() {
        if groups::is_bound_to_next(&message) && !messages.peek().is_some_and(follows) {
            let what = "the reasoning is not followed by the item that it was produced with";
            scene.report_message(demand, message.index, what);
        }
    }
}

/// Whether the message may be what the reasoning before it was produced with, or more of the reasoning.
pub(crate) fn follows(message: &MessageView<'_>) -> bool {
    let is = |binding| message.blocks().any(|block| block.row.binding == binding);
    is(Binding::Both) || (message.role() == Role::Assistant && !is(Binding::Barrier))
}
