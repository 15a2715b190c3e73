//! An item says that it belongs to a call which is not there before it.
//!
//! A program's inner calls belong to the program, a call that was approved to the request for approval. Where the server
//! holds earlier items, the call may be among those.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Category, Check, Scene};
use crate::transcript::BlockKind;

pub(super) const CHECK: Check = Check {
    code: "orphan_part",
    category: Category::Integrity,
    demands: |rules| rules.part_needs_call.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.part_needs_call else {
        return;
    };
    let mut calls: HashSet<Cow<'_, str>> = HashSet::new();
    let mut lost = Vec::new();
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            lost.extend(block.part_of().filter(|id| !calls.contains(id)).map(|id| (block, id)));
            if block.kind() == BlockKind::ToolCall {
                calls.extend(block.call_id());
            }
        }
    }
    if lost.is_empty() || scene.transcript.remote() {
        return;
    }
    for (block, id) in lost {
        scene.report_call(
            demand,
            &block,
            &format!("the call {id:?} that it belongs to is not there"),
        );
    }
}
