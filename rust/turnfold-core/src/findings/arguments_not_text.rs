//! The arguments of a call are a JSON value, where the provider wants that JSON in a string.
//!
//! A client that parses arguments for its own use, and stores the message with what it got, leaves an object.

use super::{Category, Check, Scene};
use crate::formats::WireFormat;
use crate::json::{Document, Value};
use crate::transcript::{BlockKind, BlockView, TextForm};

pub(super) const CHECK: Check = Check {
    code: "arguments_not_text",
    category: Category::Content,
    demands: |rules| rules.arguments_are_text.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.arguments_are_text else {
        return;
    };
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            if block.kind() == BlockKind::ToolCall
                && may_be_other_than_text(&block)
                && !is_text(scene.transcript.format(), &block)
            {
                scene.report_call(demand, &block, "the call's arguments are no string");
            }
        }
    }
}

/// Whether the name or the arguments are no string or not there; a call of two strings needs no second look.
pub(crate) fn may_be_other_than_text(block: &BlockView<'_>) -> bool {
    let rows = block.row.texts.start as usize..block.row.texts.end as usize;
    let texts = block.segment.texts().get(rows).unwrap_or_default();
    texts.len() < 2 || texts.iter().any(|text| text.form != TextForm::JsonString)
}

/// Whether the arguments are a string, or not there.
pub(crate) fn is_text(format: &dyn WireFormat, block: &BlockView<'_>) -> bool {
    Document::parse(block.bytes()).is_ok_and(|document| {
        let arguments = format.arguments(document.root());
        arguments.is_none_or(Value::is_string)
    })
}
