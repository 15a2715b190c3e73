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
        let literal = block.row.call_id.filter(|_| asked);
        if literal.is_none_or(|literal| is_plain(&form, literal.of(block.segment.source.bytes()))) {
            continue;
        }
        let Some(id) = block.call_id() else {
            continue;
        };
        let Some(what) = fault(&form, &id) else { continue };
        scene.report_call(form.demand, &block, &what);
    }
}

/// Whether nothing is wrong with the id that a JSON string literal stands for, as a look at its bytes tells: nearly every id is
/// ASCII, without an escape.
fn is_plain(form: &CallIdDemand, literal: &[u8]) -> bool {
    let [b'"', id @ .., b'"'] = literal else { return false };
    let signs = form.signs.unwrap_or("_-").as_bytes();
    (form.least..=form.most).contains(&id.len())
        && id
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || (byte.is_ascii() && *byte != b'\\' && signs.contains(byte)))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json;
    use crate::rules::refused;

    proptest! {
        #[test]
        fn an_id_that_looks_plain_has_no_fault(
            literal in "\"([a-zA-Z0-9_.|-]|\\\\n|\\\\u00e9|\u{e9}){0,12}\"",
            least in 0..5_usize,
            most in 4..12_usize,
            signs in prop::sample::select(vec![None, Some("_-"), Some(""), Some(".\\\u{e9}")]),
        ) {
            let form = CallIdDemand { least, most, signs, demand: refused("T-1", "no") };
            let read = json::unescape(literal.as_bytes());
            if is_plain(&form, literal.as_bytes()) {
                prop_assert_eq!(fault(&form, &read), None);
            } else if read.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                prop_assert!(fault(&form, &read).is_some());
            }
        }
    }
}
