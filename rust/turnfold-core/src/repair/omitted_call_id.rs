//! Lets results repeat the id of the call that they answer, where they lack it.

use super::Action;
use super::changes::{Changes, takes_id};
use super::work::Work;
use crate::splice::SpliceError;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "omitted_call_id";
    if !work.minds(CODE, work.rules().result_repeats_id) {
        return Ok(());
    }
    let pending = work.pending();
    let mut changes = Changes::default();
    let mut given = Vec::new();
    for pair in work.pairs().pairs.iter().filter(|pair| !pending.contains(&pair.call)) {
        let (Some(call), Some(result)) = (work.block(pair.call), work.block(pair.result)) else {
            continue;
        };
        if result.row.call_id.is_none() && takes_id(work.transcript.format(), &result) {
            given.extend(call.call_id().map(|id| (pair.result, id.into_owned())));
        }
    }
    for (at, id) in given {
        let text = format!("The result did not repeat the id of its call and has {id:?} now.");
        work.note_block(CODE, Action::Rename, at, Some(work.name(at.message)), text);
        changes.of(at.message).ids.push((at.block, id));
    }
    work.apply(changes)
}
