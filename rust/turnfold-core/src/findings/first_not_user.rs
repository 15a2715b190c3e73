//! The first message after the instructions is not the user's, or there is none.
//!
//! A trim from the front often leaves a message of the model first. A summary put there in the user's role cures it.

use super::{Category, Check, Scene};
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "first_not_user",
    category: Category::Order,
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
        Some(message) if message.role() == Role::User => {}
        Some(message) => scene.report_message(demand, message.index, "the first message is not the user's"),
        None => scene.report_message(demand, leading - 1, "no message of the user follows the instructions"),
    }
}
