//! Two neighbouring messages of the user, or of the model.
//!
//! Asked where the provider refuses it from everyone, or the receiver is known to want strict turns. Most providers
//! join such neighbours.

use super::{Category, Check, Scene};
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "repeated_role",
    category: Category::Order,
    demands: |rules| rules.roles_alternate.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let asked = scene.options.strict_alternation || scene.rules.always_alternate;
    let Some(demand) = scene.rules.roles_alternate.filter(|_| asked) else {
        return;
    };
    let mut before = None;
    for message in scene.transcript.messages() {
        let role = message.role();
        if matches!(role, Role::User | Role::Assistant) && before == Some(role) {
            scene.report_message(demand, message.index, "the message has the same role as the one before");
        }
        before = Some(role);
    }
}
