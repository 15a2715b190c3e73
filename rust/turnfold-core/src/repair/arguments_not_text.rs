//! Puts the arguments of a call into a string, where the provider wants that and they are another JSON value: the string
//! holds the very bytes of the value.

use std::collections::HashSet;

use super::Action;
use super::changes::Changes;
use super::work::Work;
use crate::findings::arguments_not_text::{is_text, may_be_other_than_text};
use crate::json::{self, Document};
use crate::pairs::BlockRef;
use crate::splice::{SpliceError, edits};
use crate::transcript::BlockKind;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "arguments_not_text";
    if !work.minds(CODE, work.rules().arguments_are_text) {
        return Ok(());
    }
    let pending: HashSet<BlockRef> = work.pending();
    let format = work.transcript.format();
    let mut changes = Changes::default();
    let mut quoted = Vec::new();
    for message in work.transcript.messages() {
        for block in message.blocks() {
            let at = BlockRef::of(&block);
            let other = block.kind() == BlockKind::ToolCall && may_be_other_than_text(&block);
            if !other || pending.contains(&at) || is_text(format, &block) {
                continue;
            }
            let Ok(document) = Document::parse(block.bytes()) else {
                continue;
            };
            if let Some(value) = format.arguments(document.root()) {
                let text = json::escape(&String::from_utf8_lossy(value.raw()));
                changes.edit(&message, &block, (edits::range(value.span()), text));
                quoted.push(at);
            }
        }
    }
    for at in quoted {
        let text = "The call's arguments were no string and stand in one now.".to_owned();
        work.note_block(CODE, Action::Fill, at, Some(work.name(at.message)), text);
    }
    work.apply(changes)
}
