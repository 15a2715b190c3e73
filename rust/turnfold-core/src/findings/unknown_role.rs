//! A message has a role that the format does not know.
//!
//! Instructions among the messages are `leading_system` and `late_system`.

use super::{Category, Check, Scene};
use crate::json;
use crate::transcript::Role;

pub(super) const CHECK: Check = Check {
    code: "unknown_role",
    category: Category::Order,
    demands: |rules| rules.roles.map(|roles| roles.demand).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.rules.roles else { return };
    for message in scene.transcript.messages() {
        let Some(literal) = message.row.role_text else { continue };
        if matches!(message.role(), Role::System | Role::Developer) {
            continue;
        }
        let literal = literal.of(message.segment.source.bytes());
        // Nearly every one is spelled without an escape.
        if let [b'"', plain @ .., b'"'] = literal
            && wanted.known.iter().any(|known| known.as_bytes() == plain)
        {
            continue;
        }
        let role = json::unescape(literal);
        if !wanted.known.contains(&&*role) {
            let what = format!("no message has the role {role:?}");
            scene.report_message(wanted.demand, message.index, &what);
        }
    }
}
