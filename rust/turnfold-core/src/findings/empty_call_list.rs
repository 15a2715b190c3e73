//! The field that lists a message's calls is there, and empty.
//!
//! Clients that always write the field leave it behind when there is no call.

use memchr::memmem;

use super::{Category, Check, Scene};
use crate::json::Document;
use crate::transcript::{BlockKind, Role, Transcript};

pub(super) const CHECK: Check = Check {
    code: "empty_call_list",
    category: Category::Content,
    demands: |rules| rules.call_list_not_empty.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let (Some(demand), Some(field)) = (scene.rules.call_list_not_empty, scene.rules.call_list) else {
        return;
    };
    for index in find(scene.transcript, field) {
        scene.report_message(demand, index, "the list of calls is empty");
    }
}

/// The messages of the model whose `field` is an empty list.
pub(crate) fn find(transcript: &Transcript, field: &str) -> Vec<usize> {
    let quoted = format!("\"{field}\"");
    let finder = memmem::Finder::new(&quoted);
    transcript
        .messages()
        .filter(|message| message.role() == Role::Assistant)
        .filter(|message| !message.blocks().any(|block| block.kind() == BlockKind::ToolCall))
        // The message is read once more only where the field's name stands in it as a whole string.
        .filter(|message| finder.find(message.bytes()).is_some() && is_empty_list(message.bytes(), field))
        .map(|message| message.index)
        .collect()
}

fn is_empty_list(message: &[u8], field: &str) -> bool {
    let Ok(document) = Document::parse(message) else {
        return false;
    };
    let list = document.root().get(field).filter(|value| value.is_array());
    list.is_some_and(|list| list.items().next().is_none())
}
