//! A message with calls does not stand directly after one of the user.
//!
//! A model's text and its calls were put into two messages, or a cut took away what came before the calls.

use super::{Category, Check, Scene};
use crate::groups;
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "call_out_of_turn",
    category: Category::Order,
    demands: |rules| rules.call_after_user.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.call_after_user else {
        return;
    };
    let mut before = None;
    for message in scene.transcript.messages() {
        let calls = message.role() == Role::Assistant && groups::calls_tools(&message);
        if calls && before != Some(Role::User) {
            let what = "the message with calls does not stand directly after the user's";
            scene.report_message(demand, message.index, what);
        }
        before = Some(message.role());
    }
}
