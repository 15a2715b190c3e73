//! The results of one message with calls stand in several messages of the user.
//!
//! Providers that join neighbours read them as one; receivers that do not see calls without results. The provider's page
//! asks for all results in one message, as the model else learns to make one call at a time.

use std::collections::HashSet;

use super::{Category, Check, Scene};

pub(super) const CHECK: Check = Check {
    code: "split_results",
    category: Category::Order,
    demands: |rules| rules.results_in_one_message.into_iter().collect(),
    run,
};

/// Reports the first result in each further message.
fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.results_in_one_message else {
        return;
    };
    // By message with calls, the one with their first result; and those that were told.
    let mut first: Vec<Option<usize>> = vec![None; scene.transcript.len()];
    let mut told: HashSet<(usize, usize)> = HashSet::new();
    for pair in scene.pairs.pairs.iter().filter(|pair| !pair.misplaced) {
        let own = |at| scene.block(at).filter(|block| !block.row.server_side);
        let (call, result) = (pair.call.message, pair.result.message);
        let Some(block) = own(pair.call).and(own(pair.result)) else {
            continue;
        };
        let Some(first) = first.get_mut(call) else { continue };
        if *first.get_or_insert(result) != result && told.insert((call, result)) {
            scene.report_call(demand, &block, "other results of its batch stand in another message");
        }
    }
}
