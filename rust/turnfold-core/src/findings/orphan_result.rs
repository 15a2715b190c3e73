//! A tool result answers no open call before it.
//!
//! The usual cause is a cut between a call and its result: the call is gone, its result stays. A result before its call
//! counts too. A second result beside the first is `duplicate_result` instead, a result that names no call
//! `result_without_id`.

use super::{Category, Check, Scene, quoted};
use crate::pairs;

pub(super) const CHECK: Check = Check {
    code: "orphan_result",
    category: Category::Integrity,
    demands: |rules| vec![rules.result_needs_call],
    run,
};

fn run(scene: &mut Scene<'_>) {
    let mut repeated = scene.pairs.repeated_results.iter().peekable();
    for &at in &scene.pairs.orphan_results {
        if repeated
            .next_if(|pair| pair.result == at)
            .is_some_and(|pair| !pair.misplaced)
        {
            continue;
        }
        let Some(block) = scene.block(at) else { continue };
        if pairs::lacks_id(&block) {
            continue;
        }
        let id = scene.call_id(at);
        let what = format!(
            "the result for call {} answers no open call before it",
            quoted(id.as_deref())
        );
        scene.report_call(scene.rules.result_needs_call, &block, &what);
    }
}
