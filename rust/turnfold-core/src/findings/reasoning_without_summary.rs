//! A reasoning item lacks its list of summaries, which may be empty but must be there.

use memchr::memmem;

use super::{Category, Check, Scene};
use crate::json::{Document, Value, is_blank};
use crate::transcript::{BlockKind, BlockView};

pub(super) const CHECK: Check = Check {
    code: "reasoning_without_summary",
    category: Category::Content,
    demands: |rules| rules.reasoning_field.map(|(_, demand)| demand).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some((field, demand)) = scene.rules.reasoning_field.filter(|_| scene.seen.reasoning) else {
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

/// The list of a piece of reasoning: its own, or the one that says as much as what stands in its place, if anything.
pub(crate) fn list_of(reasoning: Value<'_>, field: &str) -> Vec<u8> {
    match reasoning.get(field) {
        Some(list) if list.is_array() => list.raw().to_vec(),
        Some(text) if text.is_string() && !is_blank(text.raw()) => {
            [b"[{\"type\":\"summary_text\",\"text\":", text.raw(), b"}]"].concat()
        }
        Some(part) if part.is_object() => [b"[", part.raw(), b"]"].concat(),
        _ => b"[]".to_vec(),
    }
}
