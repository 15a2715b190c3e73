//! A tool call has no result, and nobody waits for one.
//!
//! A call is awaited while only results of its own batch come after it, or while the caller names its id as pending. Any
//! other call without a result was abandoned: a crash, an interruption, or a cut that took the result away.

use super::{Category, Check, Scene, quoted};

pub(super) const CHECK: Check = Check {
    code: "unanswered_call",
    category: Category::Integrity,
    demands: |rules| {
        std::iter::once(rules.call_needs_result)
            .chain(rules.server_call_needs_result)
            .collect()
    },
    run,
};

fn run(scene: &mut Scene<'_>) {
    for &at in &scene.pairs.abandoned {
        let Some(block) = scene.block(at) else { continue };
        let demand = if block.row.server_side {
            scene.rules.server_call_needs_result
        } else {
            Some(scene.rules.call_needs_result)
        };
        if let Some(demand) = demand {
            let id = scene.call_id(at);
            let what = format!("call {} has no result", quoted(id.as_deref()));
            scene.report_call(demand, &block, &what);
        }
    }
}
