//! A reasoning item lacks its list of summaries, which may be empty but must be there.

use memchr::memmem;

use super::{Category, Check, Scene};
use crate::json::{Document, Value};
use crate::transcript::{BlockKind, BlockView};

pub(super) const CHECK: Check = Check {
    code: "reasoning_without_summary",
    category: Category::Content,
    demands: |rules| rules.reasoning_field.map(|(_, demand)| demand).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some((field, demand)) = scene.rules.reasoning_field else {
        return;
    };
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            if block.kind() == BlockKind::Reasoning && !has_list(&block, field) {
                scene.report_block(demand, &block, &format!("the reasoning has no list {field:?}"));
            }
        }
    }
}

/// Whether a block has the list.
pub(crate) fn has_list(block: &BlockView<'_>, field: &str) -> bool {
    memmem::find(block.bytes(), field.as_bytes()).is_some()
        && Document::parse(block.bytes()).is_ok_and(|item| item.root().get(field).is_some_and(Value::is_array))
}
