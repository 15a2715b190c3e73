//! A message has no content.
//!
//! Formats differ in what counts: a missing field and `null` always do (but not beside calls, where content is
//! optional), an empty or blank string and an empty list only in some; some let the model's last message be empty.

use super::{Category, Check, Scene};
use crate::rules::ContentDemand;
use crate::transcript::{BlockKind, BlockView, ContentForm, MessageView, Role};

pub(super) const CHECK: Check = Check {
    code: "empty_content",
    category: Category::Content,
    demands: |rules| rules.content.map(|content| content.demand).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.rules.content else { return };
    for message in scene.transcript.messages() {
        if let Some(what) = lacks(&wanted, &message, scene.is_last(&message)) {
            scene.report_message(wanted.demand, message.index, what);
        }
    }
}

/// What the message lacks, in words; `None` where its content is as wanted.
pub(crate) fn lacks(wanted: &ContentDemand, message: &MessageView<'_>, is_last: bool) -> Option<&'static str> {
    let assistant = message.role() == Role::Assistant;
    if (wanted.assistant_only && !assistant) || (wanted.last_assistant_exempt && assistant && is_last) {
        return None;
    }
    let what = match message.row.content {
        ContentForm::Missing => "the message has no content",
        ContentForm::Null => "the content is null",
        ContentForm::Text { blank: true } if wanted.blank_is_empty => "the content is empty or only white space",
        ContentForm::List(0) if wanted.blank_is_empty => "the content is an empty list",
        _ => return None,
    };
    // Settings beside it, a kind that only some messages have, stand for content in every format.
    let stands_for_content = |block: BlockView<'_>| match block.kind() {
        BlockKind::Reasoning => false,
        BlockKind::Opaque => true,
        BlockKind::Text => wanted.assistant_only && !(wanted.blank_is_empty && block.row.blank),
        _ => wanted.assistant_only,
    };
    (!message.blocks().any(stands_for_content)).then_some(what)
}
