//! The message after one with calls has another number of results than that has calls.
//!
//! What is left when one call of a batch was dropped and its result was not, or when the results of a batch were put
//! into several messages. A call without a result and a second result are findings of their own, and not told again.

use std::collections::HashSet;

use super::{Category, Check, Scene};
use crate::pairs::BlockRef;
use crate::transcript::{BlockKind, BlockView, MessageView, Role};

pub(super) const CHECK: Check = Check {
    code: "result_count",
    category: Category::Integrity,
    demands: |rules| rules.result_per_call_count.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.result_per_call_count else {
        return;
    };
    let table = scene.pairs;
    let unanswered: HashSet<BlockRef> = table.pending.iter().chain(&table.abandoned).copied().collect();
    let repeated = table.repeated_results.iter().filter(|pair| !pair.misplaced);
    let repeated: HashSet<BlockRef> = repeated.map(|pair| pair.result).collect();
    let awaited_later: HashSet<BlockRef> = table
        .pairs
        .iter()
        .filter(|pair| scene.block(pair.result).is_some_and(|result| result.row.non_blocking))
        .map(|pair| pair.call)
        .collect();
    let (mut calls, mut before) = (0, None);
    for message in scene.transcript.messages() {
        let at_client = |kind: BlockKind, but: &dyn Fn(&BlockView<'_>) -> bool| {
            let blocks = message
                .blocks()
                .filter(|block| block.kind() == kind && !block.row.server_side);
            blocks.filter(|block| !block.row.whole && !but(block)).count()
        };
        if message.role() == Role::Assistant {
            let open = |call: &BlockView<'_>| {
                let at = BlockRef::of(call);
                unanswered.contains(&at) || awaited_later.contains(&at)
            };
            let joined = before == Some(Role::Assistant);
            calls = at_client(BlockKind::ToolCall, &open) + if joined { calls } else { 0 };
        } else if before == Some(Role::Assistant) {
            let extra = |result: &BlockView<'_>| result.row.non_blocking || repeated.contains(&BlockRef::of(result));
            let results = at_client(BlockKind::ToolResult, &extra);
            if calls > 0 && results > 0 && results != calls {
                report(scene, demand, &message, results, calls);
            }
        }
        before = Some(message.role());
    }
}

fn report(
    scene: &mut Scene<'_>,
    demand: crate::rules::Demand,
    message: &MessageView<'_>,
    results: usize,
    calls: usize,
) {
    let what = format!("results in the message: {results}; calls that wait for one here: {calls}");
    scene.report_message(demand, message.index, &what);
}
