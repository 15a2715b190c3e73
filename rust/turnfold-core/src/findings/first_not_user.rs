//! The first message after the instructions is not the user's, or there is none.
//!
//! A trim from the front often leaves a message of the model first. A summary put there in the user's role cures it.
//! What the provider folded itself comes back as a message of the model, and may stand first.

use super::{Category, Check, Scene};
use crate::transcript::{Binding, MessageView, Role};

pub(super) const CHECK: Check = Check {
    code: "first_not_user",
    category: Category::Order,
    demands: |rules| rules.first_is_user.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.first_is_user else {
        return;
    };
    if scene.transcript.is_empty() {
        return;
    }
    let leading = scene.transcript.leading();
    match scene.transcript.message(leading) {
        Some(message) if message.role() == Role::User || starts_with_barrier(&message) => {}
        Some(message) => scene.report_message(demand, message.index, "the first message is not the user's"),
        None => scene.report_message(demand, leading - 1, "no message of the user follows the instructions"),
    }
}

fn starts_with_barrier(message: &MessageView<'_>) -> bool {
    let mut blocks = message.blocks();
    blocks.next().is_some_and(|block| block.row.binding == Binding::Barrier)
}
