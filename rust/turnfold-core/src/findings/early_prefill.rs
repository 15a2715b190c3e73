//! A message that asks the model to go on with it is not the last.
//!
//! A client that forgets to take the flag off when the answer comes leaves one behind.

use super::{Category, Check, Scene, asks_to_go_on};
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "early_prefill",
    category: Category::Order,
    demands: |rules| rules.prefill.map(|prefill| prefill.demand).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(prefill) = scene.rules.prefill else { return };
    for message in scene.transcript.messages() {
        if message.role() == Role::Assistant && !scene.is_last(&message) && asks_to_go_on(&message, prefill) {
            let what = format!("`{}` is true, and more messages follow", prefill.field);
            scene.report_message(prefill.demand, message.index, &what);
        }
    }
}
