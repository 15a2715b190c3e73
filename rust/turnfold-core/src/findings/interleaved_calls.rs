//! Calls and results of one batch are mixed.
//!
//! A message holds both calls and results; or, where signatures are checked, an unsigned call comes after the result of
//! a signed one, as one of several parallel calls that were taken apart.

use super::{Category, Check, Scene};
use crate::groups;
use crate::pairs::BlockRef;
use crate::transcript::{BlockKind, BlockView};

pub(super) const CHECK: Check = Check {
    code: "interleaved_calls",
    category: Category::Order,
    demands: |rules| rules.calls_together.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.calls_together else {
        return;
    };
    for message in scene.transcript.messages() {
        let at_client = |kind: BlockKind| {
            move |block: &BlockView<'_>| block.kind() == kind && !block.row.server_side && !block.row.whole
        };
        let calls = message.blocks().any(|block| at_client(BlockKind::ToolCall)(&block));
        let result = message.blocks().find(at_client(BlockKind::ToolResult));
        if let Some(result) = result.filter(|_| calls) {
            scene.report_call(demand, &result, "the result stands in one message with calls");
        }
    }
    if scene.options.closed || !scene.options.signatures(scene.transcript) {
        return;
    }
    let steps = groups::steps(scene.transcript);
    let apart = steps.iter().zip(steps.iter().skip(1));
    let apart = apart.filter(|(before, step)| before.signed && !step.signed);
    let calls: Vec<BlockRef> = apart.map(|(_, step)| step.call).collect();
    for at in calls {
        let Some(call) = scene.block(at) else { continue };
        let what = "the unsigned call comes after the results of a signed one, as if parallel calls were taken apart";
        scene.report_call(demand, &call, what);
    }
}
