//! Gives reasoning the list of summaries that it must have: an empty one, or one of the text that stands in its place.

use super::Action;
use super::changes::{Changes, set_field};
use super::work::Work;
use crate::findings::reasoning_without_summary::{has_list, list_of};
use crate::json::Document;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::BlockKind;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "reasoning_without_summary";
    let Some((field, demand)) = work.rules().reasoning_field else {
        return Ok(());
    };
    if !work.minds(CODE, Some(demand)) {
        return Ok(());
    }
    let mut changes = Changes::default();
    let mut lacking = Vec::new();
    for message in work.transcript.messages() {
        for block in message.blocks() {
            if block.kind() != BlockKind::Reasoning || has_list(&block, field) {
                continue;
            }
            let Ok(document) = Document::parse(block.bytes()) else {
                continue;
            };
            let list = list_of(document.root(), field);
            if let Some(edit) = set_field(document.root(), &[field], &list) {
                changes.edit(&message, &block, edit);
                lacking.push(BlockRef::of(&block));
            }
        }
    }
    for at in lacking {
        let text = format!("The reasoning had no list `{field}` and got one.");
        work.note_block(CODE, Action::Fill, at, Some(work.name(at.message)), text);
    }
    work.apply(changes)
}
