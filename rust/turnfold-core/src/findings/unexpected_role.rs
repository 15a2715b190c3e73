//! A message stands behind one that no message of its role may follow.
//!
//! Some providers let instructions stand only at the start or after the user, and the user not directly after a result.

use super::{Category, Check, Scene};

pub(super) const CHECK: Check = Check {
    code: "unexpected_role",
    category: Category::Order,
    demands: |rules| rules.refused_steps.iter().map(|step| step.demand).collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let steps = scene.rules.refused_steps;
    if steps.is_empty() {
        return;
    }
    let mut before = None;
    for message in scene.transcript.messages() {
        let role = message.role();
        let refused = steps
            .iter()
            .find(|step| Some(step.before) == before && step.role == role);
        if let Some(step) = refused {
            let what = format!(
                "a message of role {} follows one of role {}",
                role.as_str(),
                step.before.as_str()
            );
            scene.report_message(step.demand, message.index, &what);
        }
        before = Some(role);
    }
}
