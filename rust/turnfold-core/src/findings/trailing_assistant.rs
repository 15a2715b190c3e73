//! The transcript ends with a message of the model.
//!
//! As a request it asks the model to go on with its own words, which many models refuse. A stored transcript ends this
//! way all the time. Not reported while a call of that message is awaited,
//! nor where the message says that the model shall go on, in formats that have a word for it.

use super::{Category, Check, Scene, asks_to_go_on};
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "trailing_assistant",
    category: Category::Order,
    demands: |rules| rules.last_not_assistant.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.last_not_assistant else {
        return;
    };
    let Some(last) = scene.last_message() else { return };
    let awaited = scene.pairs.pending.iter().any(|call| call.message == last.index);
    let goes_on = scene.rules.prefill.is_some_and(|prefill| asks_to_go_on(&last, prefill));
    if last.role() == Role::Assistant && !awaited && !goes_on {
        scene.report_message(demand, last.index, "the last message is the model's");
    }
}
