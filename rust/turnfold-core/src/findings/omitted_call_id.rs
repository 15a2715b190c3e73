//! A result does not repeat the id of the call that it answers.
//!
//! Where ids are optional, a result without one still answers the open call of its name; but a call that has an id wants
//! to see it again.

use super::{Category, Check, Scene, quoted};

pub(super) const CHECK: Check = Check {
    code: "omitted_call_id",
    category: Category::Integrity,
    demands: |rules| rules.result_repeats_id.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.result_repeats_id.filter(|_| scene.seen.without_id) else {
        return;
    };
    for pair in &scene.pairs.pairs {
        let (Some(call), Some(result)) = (scene.block(pair.call), scene.block(pair.result)) else {
            continue;
        };
        if result.row.call_id.is_none() && call.row.call_id.is_some() {
            let id = scene.call_id(pair.call);
            let what = format!("the result does not repeat the id of call {}", quoted(id.as_deref()));
            scene.report_call(demand, &result, &what);
        }
    }
}
