//! The request asks the provider for a compaction while a call of the model's last turn waits for its result.
//!
//! Such a call is nothing to mend in any other request; here its result must be there first, or the call left out. It
//! happens where a client compacts between the model's turn and the run of the tool.

use super::{Category, Check, Scene, quoted};

pub(super) const CHECK: Check = Check {
    code: "compaction_incomplete_turn",
    category: Category::Integrity,
    demands: |rules| rules.compaction.map(|wanted| wanted.finished).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.rules.compaction else {
        return;
    };
    if !scene.transcript.head().compacts {
        return;
    }
    for &at in &scene.pairs.pending {
        let Some(block) = scene.block(at) else { continue };
        let id = scene.call_id(at);
        let what = format!(
            "a compaction is asked for, and call {} waits for its result",
            quoted(id.as_deref())
        );
        scene.report_call(wanted.finished, &block, &what);
    }
}
