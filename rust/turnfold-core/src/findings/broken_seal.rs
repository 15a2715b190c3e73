//! A sealed item has no seal, or one that was edited.
//!
//! What the provider sealed passes back byte for byte. A client that drops the field, blanks it, or shortens it with a
//! remark of its own, as trimming by size does, leaves an item that nobody can open.

use super::{Category, Check, Scene};
use crate::transcript::{Binding, BlockView};

pub(super) const CHECK: Check = Check {
    code: "broken_seal",
    category: Category::Content,
    demands: |rules| rules.seals_whole.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let sealed = scene.seen.seal || scene.seen.barrier;
    let Some(demand) = scene.rules.seals_whole.filter(|_| sealed) else {
        return;
    };
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            if let Some(what) = fault(&block) {
                scene.report_block(demand, &block, what);
            }
        }
    }
}

fn fault(block: &BlockView<'_>) -> Option<&'static str> {
    match block.seal() {
        None if block.row.binding == Binding::Barrier => Some("the provider's summary has lost its sealed text"),
        Some(seal) if seal.is_empty() => Some("the sealed text is empty"),
        Some(seal) if !seal.bytes().all(|byte| byte.is_ascii_graphic()) => Some("the sealed text was edited"),
        _ => None,
    }
}
