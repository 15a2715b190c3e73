//! The message after one with calls has another number of results than that has calls.
//!
//! What is left when one call of a batch was dropped and its result was not, or when the results of a batch were put
//! into several messages. A call without a result and a second result are findings of their own, and not told again. Calls
//! that the model does not wait for are not counted, and neither is any of their results.

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
    let late = table.not_waited_for(scene.transcript);
    let results = table.pairs.iter().filter(|pair| late.contains(&pair.call));
    let late_results: HashSet<BlockRef> = results.map(|pair| pair.result).collect();
    // Calls that are answered in a message, whatever else is awaited of them.
    let here: HashSet<(BlockRef, usize)> = table
        .pairs
        .iter()
        .map(|pair| (pair.call, pair.result.message))
        .collect();
    let mut calls: Vec<BlockRef> = Vec::new();
    let mut before = None;
    for message in scene.transcript.messages() {
        let of_kind = message
            .blocks()
            .filter(|block| !block.row.server_side && !block.row.whole);
        if message.role() == Role::Assistant {
            if before != Some(Role::Assistant) {
                calls.clear();
            }
            let own = of_kind.filter(|block| block.kind() == BlockKind::ToolCall);
            calls.extend(own.map(|call| BlockRef::of(&call)));
        } else if before == Some(Role::Assistant) {
            let results = of_kind.filter(|block| block.kind() == BlockKind::ToolResult);
            let counts = |result: &BlockView<'_>| {
                let at = BlockRef::of(result);
                !(late_results.contains(&at) || repeated.contains(&at))
            };
            let results = results.filter(counts).count();
            let waits = |call: &&BlockRef| {
                let open = !unanswered.contains(*call) || here.contains(&(**call, message.index));
                open && !late.contains(*call)
            };
            let calls = calls.iter().filter(waits).count();
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
