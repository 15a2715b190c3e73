//! Gives calls an id of the form that the provider takes, where theirs is too long or holds other characters.
//!
//! What the form allows of the old id is kept where it is free; its result and all that belongs to the call follow.

use std::collections::BTreeMap;

use super::names::Ids;
use super::renames;
use super::work::Work;
use crate::findings::call_id_form::fault;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, BlockView};

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "call_id_form";
    let Some(asked) = work.rules().call_id_form else {
        return Ok(());
    };
    if !work.minds(CODE, Some(asked.demand)) {
        return Ok(());
    }
    let wrong = |block: &BlockView<'_>| {
        let call = block.kind() == BlockKind::ToolCall && !block.row.whole;
        call && block.call_id().is_some_and(|id| fault(&asked, &id).is_some())
    };
    let blocks = work.transcript.messages().flat_map(|message| message.blocks());
    let calls: Vec<BlockRef> = blocks.filter(wrong).map(|block| BlockRef::of(&block)).collect();
    if calls.is_empty() {
        return Ok(());
    }
    let kept = renames::kept(work);
    let form = work.transcript.format().call_id_form();
    let mut ids = Ids::new(&work.transcript);
    let mut new: BTreeMap<BlockRef, String> = BTreeMap::new();
    for call in calls.into_iter().filter(|call| !kept.contains(call)) {
        let old = work.block(call).and_then(|block| block.call_id().map(String::from));
        new.extend(old.map(|old| (call, ids.fitting(&old, &form))));
    }
    renames::rename(work, CODE, &new, |old, what, id| {
        format!("The provider does not take the id {old:?}; this {what} has {id:?} instead.")
    })
}
