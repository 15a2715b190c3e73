//! The transcript ends with a message of the model.
//!
//! As a request it asks the model to go on with its own words, which many models refuse. A stored transcript ends this
//! way all the time. Not reported while a call of that message is awaited.

use super::{Category, Check, Scene};
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "trailing_assistant",
    category: Category::Order,
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.last_not_assistant else {
        return;
    };
    let Some(last) = scene.last_message() else { return };
    let awaited = scene.pairs.pending.iter().any(|call| call.message == last.index);
    if last.role() == Role::Assistant && !awaited {
        scene.report_message(demand, last.index, "the last message is the model's");
    }
}
