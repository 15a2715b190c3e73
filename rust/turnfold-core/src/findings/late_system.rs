//! Instructions stand behind the start of the transcript.
//!
//! Chat templates of some servers accept them only in front.

use super::{Category, Check, Scene};
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "late_system",
    category: Category::Order,
    demands: |rules| rules.system_first.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.system_first else { return };
    let leading = scene.transcript.leading();
    for message in scene.transcript.messages().skip(leading) {
        if matches!(message.role(), Role::System | Role::Developer) {
            scene.report_message(demand, message.index, "instructions stand behind the start");
        }
    }
}
