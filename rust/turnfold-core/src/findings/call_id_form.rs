//! A call's id is too long, or holds a character that the provider does not take.
//!
//! Ids that another provider gave out, or that a client made up, break this when a conversation moves. A result that
//! answers no call is told of as well; else the result has its call's id.

use std::collections::HashSet;

use super::{Category, Check, Scene};
use crate::pairs::BlockRef;
use crate::rules::CallIdDemand;
use crate::transcript::BlockKind;

pub(super) const CHECK: Check = Check {
    code: "call_id_form",
    category: Category::Content,
    demands: |rules| rules.call_id_form.map(|form| form.demand).into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(form) = scene.rules.call_id_form else { return };
    let orphans: HashSet<BlockRef> = scene.pairs.orphan_results.iter().copied().collect();
    for block in scene.transcript.messages().flat_map(|message| message.blocks()) {
        let asked = match block.kind() {
            BlockKind::ToolCall => !block.row.whole,
            BlockKind::ToolResult => orphans.contains(&BlockRef::of(&block)),
            _ => false,
        };
        let Some(id) = asked.then(|| block.call_id()).flatten() else {
            continue;
        };
        let Some(what) = fault(&form, &id) else { continue };
        scene.report_call(form.demand, &block, &what);
    }
}

/// What is wrong with an id.
pub(crate) fn fault(form: &CallIdDemand, id: &str) -> Option<String> {
    let length = id.chars().count();
    let fits = |c: char| c.is_ascii_alphanumeric() || form.signs.is_none_or(|signs| signs.contains(c));
    if length > form.most {
        Some(format!("the id has {length} characters, {} are allowed", form.most))
    } else if length < form.least {
        Some(format!("the id has {length} characters, {} are the least", form.least))
    } else {
        let other = id.chars().find(|c| !fits(*c))?;
        Some(format!("the id holds {other:?}"))
    }
}
