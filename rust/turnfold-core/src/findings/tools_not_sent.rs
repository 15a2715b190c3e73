//! The messages hold calls or results, and the request sends no tools.
//!
//! A client that asks for a summary, or for an answer in words only, leaves the tools away and keeps the history. Not
//! asked of a bare array of messages, which is no request. Told of once, at the first such block.

use super::{Category, Check, Scene};
use crate::json::Document;
use crate::transcript::BlockKind;

pub(super) const CHECK: Check = Check {
    code: "tools_not_sent",
    category: Category::Content,
    demands: |rules| rules.tools_sent.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.tools_sent else { return };
    let head = scene.transcript.head();
    let sent = head.tools.is_some_and(|tools| {
        let document = Document::parse(tools.of(head.source.bytes()));
        document.is_ok_and(|document| document.root().items().next().is_some())
    });
    if head.bare || sent {
        return;
    }
    let mut blocks = scene.transcript.messages().flat_map(|message| message.blocks());
    let first = blocks.find(|block| matches!(block.kind(), BlockKind::ToolCall | BlockKind::ToolResult));
    if let Some(block) = first {
        scene.report_block(
            demand,
            &block,
            "the messages hold tool blocks, and the request sends no tools",
        );
    }
}
