//! A call has more than one result.
//!
//! Clients that replay a stored result beside a fresh one, or that merge two copies of a history, write the same answer
//! twice. Reused ids are no duplicates: each call may have its own result. A further result that stands elsewhere is an
//! `orphan_result`.

use super::{Category, Check, Scene, quoted};

pub(super) const CHECK: Check = Check {
    code: "duplicate_result",
    category: Category::Integrity,
    demands: |rules| vec![rules.one_result_per_call],
    run,
};

fn run(scene: &mut Scene<'_>) {
    for pair in scene.pairs.repeated_results.iter().filter(|pair| !pair.misplaced) {
        let Some(block) = scene.block(pair.result) else {
            continue;
        };
        let id = scene.call_id(pair.result);
        let what = format!(
            "call {} in {}[{}] has its result already",
            quoted(id.as_deref()),
            scene.transcript.list_field(),
            pair.call.message
        );
        scene.report_call(scene.rules.one_result_per_call, &block, &what);
    }
}
