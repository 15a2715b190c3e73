//! An item says that it belongs to a call which is not there before it.
//!
//! A program's inner calls belong to the program, a call that was approved to the request for approval. Where the server
//! holds earlier items, or one that is named before by reference, the call may be among those.

use super::{Category, Check, Scene};
use crate::groups;
use crate::pairs::block_at;

pub(super) const CHECK: Check = Check {
    code: "orphan_part",
    category: Category::Integrity,
    demands: |rules| rules.part_needs_call.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.part_needs_call.filter(|_| scene.seen.part) else {
        return;
    };
    let transcript = scene.transcript;
    let first = transcript.first_remote();
    for (part, call) in groups::owned(transcript) {
        if call.is_some() || first.is_some_and(|first| first <= part.message) {
            continue;
        }
        let Some((block, id)) = block_at(transcript, part).and_then(|block| Some((block, block.part_of()?))) else {
            continue;
        };
        scene.report_call(
            demand,
            &block,
            &format!("the call {id:?} that it belongs to is not there"),
        );
    }
}
