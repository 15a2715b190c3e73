//! Two calls have the same id.
//!
//! Some formats want ids that are unique in the whole request. Others allow a client to start again with the same ids
//! once the earlier calls are answered; there only calls that are open at the same time must differ.

use super::{Category, Check, Scene, quoted};
use crate::rules::IdScope;

pub(super) const CHECK: Check = Check {
    code: "duplicate_call_id",
    category: Category::Integrity,
    demands: |rules| vec![rules.distinct_call_ids],
    run,
};

fn run(scene: &mut Scene<'_>) {
    for reuse in &scene.pairs.reuses {
        if scene.rules.id_scope == IdScope::WhileOpen && !reuse.while_open {
            continue;
        }
        let Some(block) = scene.block(reuse.again) else {
            continue;
        };
        let id = scene.call_id(reuse.again);
        let what = format!(
            "id {} belongs to a call in {}[{}] already",
            quoted(id.as_deref()),
            scene.transcript.list_field(),
            reuse.before.message
        );
        scene.report_call(scene.rules.distinct_call_ids, &block, &what);
    }
}
