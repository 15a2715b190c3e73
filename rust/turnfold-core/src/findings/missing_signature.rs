//! In the current turn, the first call of a message of the model does not carry its signature.
//!
//! Asked only of models that check it. The turn is everything after the last message in which the user speaks; of
//! parallel calls only the first is signed, and earlier turns may have lost their signatures. A client that rebuilds
//! messages from what it understands drops them, and so does one that removes just the first of parallel calls.

use super::{Category, Check, Scene};
use crate::groups;
use crate::pairs::BlockRef;

pub(super) const CHECK: Check = Check {
    code: "missing_signature",
    category: Category::Integrity,
    demands: |rules| rules.first_call_signed.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.first_call_signed else {
        return;
    };
    if scene.options.closed || !scene.options.signatures(scene.transcript) {
        return;
    }
    let unsigned = groups::steps(scene.transcript).into_iter().filter(|step| !step.signed);
    let calls: Vec<BlockRef> = unsigned.map(|step| step.call).collect();
    for at in calls {
        let Some(call) = scene.block(at) else { continue };
        let what = "the first call of the model's message carries no signature";
        scene.report_call(demand, &call, what);
    }
}
