//! A text block is empty or only white space.
//!
//! Emptying a block instead of removing it, or replacing it by a space, leaves one.

use super::{Category, Check, Scene};
use crate::transcript::{BlockKind, BlockView, Place};

pub(super) const CHECK: Check = Check {
    code: "blank_text",
    category: Category::Content,
    demands: |rules| rules.no_blank_text.into_iter().chain(rules.no_white_text).collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(blank) = scene.rules.no_blank_text.filter(|_| scene.seen.blank_text) else {
        return;
    };
    let white = scene.rules.no_white_text.unwrap_or(blank);
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            if is_blank(&block) {
                // A JSON string of two quotes is empty.
                let empty = block.row.body.is_some_and(|body| body.len() == 2);
                let demand = if empty { blank } else { white };
                scene.report_block(demand, &block, "the text block is empty or only white space");
            }
        }
    }
}

/// Whether the block is blank text in a list. A blank string as the whole content is `empty_content`.
pub(crate) fn is_blank(block: &BlockView<'_>) -> bool {
    matches!(block.row.place, Place::Item(..)) && block.kind() == BlockKind::Text && block.row.blank
}
