//! The transcript ends with text of the model, and that text ends in white space.
//!
//! Where the last message may be the model's, it is the start of the answer, which may not end in a space or line break.

use super::{Category, Check, Scene};
use crate::transcript::{BlockKind, Role};

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
    let Some(last) = scene.last_message() else { return };
    let block = last.blocks().last().filter(|block| block.kind() == BlockKind::Text);
    if let (Role::Assistant, Some(block)) = (last.role(), block)
        && block
            .texts()
            .last()
            .is_some_and(|text| text.ends_with(char::is_whitespace))
    {
        scene.report_block(demand, &block, "the model's last text ends in white space");
    }
}
