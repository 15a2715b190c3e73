//! In a message with tool results, something stands before a result.
//!
//! Results come first, text and images after them; that holds across neighbouring messages of the user as well, which
//! the provider joins.

use super::{Category, Check, Scene};
use crate::transcript::{BlockKind, BlockView, Role};

pub(super) const CHECK: Check = Check {
    code: "result_not_first",
    category: Category::Order,
    demands: |rules| rules.results_first.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.results_first else {
        return;
    };
    let mut other_before = false;
    for message in scene.transcript.messages() {
        let is_result = |block: &BlockView<'_>| block.kind() == BlockKind::ToolResult;
        if message.role() != Role::User || !message.blocks().any(|block| is_result(&block)) {
            // A message without results ends the run; results after it are misplaced, not late.
            other_before = false;
            continue;
        }
        let mut late = None;
        for block in message.blocks() {
            if !is_result(&block) {
                other_before = true;
            } else if other_before && late.is_none() {
                late = Some(block);
            }
        }
        if let Some(block) = late {
            scene.report_call(demand, &block, "something stands before this result in its message");
        }
    }
}
