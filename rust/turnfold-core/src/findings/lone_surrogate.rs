//! A string holds half of a surrogate pair: `\ud83d` without the other half, which is no character.
//!
//! A client that cuts a text by UTF-16 units may cut through an emoji, and one that keeps undecodable bytes as
//! surrogates writes them out.

use super::{Category, Check, Scene};
use crate::json::has_half_character;
use crate::transcript::{BlockView, MessageView, Span};

pub(super) const CHECK: Check = Check {
    code: "lone_surrogate",
    category: Category::Content,
    demands: |rules| rules.whole_characters.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.whole_characters else {
        return;
    };
    let what = "a string holds half of a surrogate pair";
    // Nearly no transcript has one.
    let mut segments = scene.transcript.segments().iter();
    if !segments.any(|segment| segment.has_half_character()) {
        return;
    }
    for message in scene.transcript.messages() {
        if !has_half_character(message.bytes()) {
            continue;
        }
        if in_name(&message) {
            scene.report_message(demand, message.index, what);
        }
        for block in message.blocks() {
            if in_block(&block) {
                scene.report_block(demand, &block, what);
            }
        }
    }
}

fn in_name(message: &MessageView<'_>) -> bool {
    let source = message.segment.source.bytes();
    message.row.name.is_some_and(|name| has_half_character(name.of(source)))
}

/// Whether a counted text, a name or an id of the block holds one. O(bytes of those).
fn in_block(block: &BlockView<'_>) -> bool {
    let row = block.row;
    let source = block.segment.source.bytes();
    let texts = row.texts.start as usize..row.texts.end as usize;
    let texts = block.segment.texts().get(texts).unwrap_or_default().iter();
    let labels = [row.call_id, row.name, row.part_of, row.item_id];
    let mut spans = texts.map(|text| text.span).chain(labels.into_iter().flatten());
    spans.any(|span: Span| has_half_character(span.of(source)))
}
