//! A tool result does not stand where the provider looks for it.
//!
//! Its call exists and is open, but something stands between: a message of the user that came while the tool ran, or
//! another answer of the model. Some formats want results in one run directly after the calls, others in the next
//! message.

use super::{Category, Check, Scene, quoted};
use crate::rules::ResultPlace;

pub(super) const CHECK: Check = Check {
    code: "misplaced_result",
    category: Category::Integrity,
    demands: |rules| vec![rules.result_in_place],
    run,
};

fn run(scene: &mut Scene<'_>) {
    for pair in scene.pairs.pairs.iter().filter(|pair| pair.misplaced) {
        let Some(block) = scene.block(pair.result) else {
            continue;
        };
        let id = scene.call_id(pair.result);
        let wanted = match scene.rules.result_place {
            ResultPlace::SameRun => "directly after its call",
            ResultPlace::NextMessage => "in the message after its call",
            ResultPlace::Later => "after its call",
        };
        let what = format!(
            "the result for call {} does not stand {wanted} in {}[{}]",
            quoted(id.as_deref()),
            scene.transcript.list_field(),
            pair.call.message
        );
        scene.report_call(scene.rules.result_in_place, &block, &what);
    }
}
