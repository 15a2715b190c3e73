//! A tool call or a result does not name its tool.
//!
//! Some formats ask for it everywhere, others only of results that pair by nothing else.

use super::{Category, Check, Scene};
use crate::json;
use crate::transcript::{BlockKind, MessageView};

pub(super) const CHECK: Check = Check {
    code: "missing_name",
    category: Category::Content,
    demands: |rules| {
        let named = rules.role_needs_name.map(|wanted| wanted.demand);
        rules.name_needed.into_iter().chain(named).collect()
    },
    run,
};

fn run(scene: &mut Scene<'_>) {
    if !scene.seen.unnamed {
        return;
    }
    unnamed_results(scene);
    let Some(demand) = scene.rules.name_needed else { return };
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            let what = match block.kind() {
                BlockKind::ToolCall => "the call names no tool",
                BlockKind::ToolResult => "the result names no tool",
                _ => continue,
            };
            if block.row.name.is_none() && !block.row.server_side {
                scene.report_call(demand, &block, what);
            }
        }
    }
}

/// Results in messages of a role that says its name.
fn unnamed_results(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.rules.role_needs_name else {
        return;
    };
    for message in scene.transcript.messages() {
        for block in message.blocks() {
            if block.kind() == BlockKind::ToolResult && block.row.name.is_none() && has_role(&message, wanted.role) {
                scene.report_call(wanted.demand, &block, "the result names no tool");
            }
        }
    }
}

fn has_role(message: &MessageView<'_>, role: &str) -> bool {
    let source = message.segment.source.bytes();
    // An escape is longer than what it stands for.
    let literal = message.row.role_text.filter(|literal| literal.len() >= role.len() + 2);
    let spelled = literal.map(|literal| json::unescape(literal.of(source)));
    spelled.is_some_and(|spelled| spelled == role)
}
