//! The transcript ends with text of the model, and that text ends in white space.
//!
//! Where the last message may be the model's, it is the start of the answer, which may not end in a space or line break.

use super::{Category, Check, Scene};
use crate::transcript::{BlockKind, BlockView, Role, Transcript};

pub(super) const CHECK: Check = Check {
    code: "trailing_space",
    category: Category::Content,
    demands: |rules| rules.last_not_trailing_space.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.last_not_trailing_space else {
        return;
    };
    if let Some(block) = late(scene.transcript) {
        scene.report_block(demand, &block, "the model's last text ends in white space");
    }
}

/// The model's text at the end of the transcript, if it ends in white space.
pub(crate) fn late(transcript: &Transcript) -> Option<BlockView<'_>> {
    let last = transcript.message(transcript.len().checked_sub(1)?)?;
    let block = last.blocks().last()?;
    let ends = || {
        block
            .texts()
            .last()
            .is_some_and(|text| text.ends_with(char::is_whitespace))
    };
    let is_found = last.role() == Role::Assistant && block.kind() == BlockKind::Text && ends();
    is_found.then_some(block)
}
