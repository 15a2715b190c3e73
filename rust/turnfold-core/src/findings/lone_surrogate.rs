//! A string holds half of a surrogate pair: `\ud83d` without the other half, which is no character.
//!
//! A client that cuts a text by UTF-16 units may cut through an emoji, and one that keeps undecodable bytes as
//! surrogates writes them out.

use super::{Category, Check, Scene};
use crate::json::escapes_surrogate;
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
    if !scene
        .transcript
        .segments()
        .iter()
        .any(|segment| segment.escapes_surrogate())
    {
        return;
    }
    for message in scene.transcript.messages() {
        if !escapes_surrogate(message.bytes()) {
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
    message.row.name.is_some_and(|name| has_half(name.of(source)))
}

/// Whether a counted text, a name or an id of the block holds one. O(bytes of those).
fn in_block(block: &BlockView<'_>) -> bool {
    let row = block.row;
    let source = block.segment.source.bytes();
    let texts = row.texts.start as usize..row.texts.end as usize;
    let texts = block.segment.texts().get(texts).unwrap_or_default().iter();
    let labels = [row.call_id, row.name, row.part_of, row.item_id];
    let mut spans = texts.map(|text| text.span).chain(labels.into_iter().flatten());
    spans.any(|span: Span| has_half(span.of(source)))
}

/// Whether JSON holds an escape of half a pair. O(bytes), and one search where nothing is escaped.
fn has_half(json: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = json.get(at + found..).unwrap_or_default();
        at += found
            + match unit(escape) {
                None => 2,
                Some(0xd800..=0xdbff) => match escape.get(6..).and_then(unit) {
                    Some(0xdc00..=0xdfff) => 12,
                    _ => return true,
                },
                Some(0xdc00..=0xdfff) => return true,
                Some(_) => 6,
            };
    }
    false
}

/// The UTF-16 unit that a `\u` escape at the start of `json` stands for.
fn unit(json: &[u8]) -> Option<u16> {
    let digits = json.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
