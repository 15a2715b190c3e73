//! Puts the results of the calls of one message into the message with the first of them, where the provider asks for one
//! message.

use std::collections::HashMap;

use super::Action;
use super::changes::{Changes, Position, Site, as_item};
use super::work::Work;
use crate::splice::SpliceError;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "split_results";
    if !work.minds(CODE, work.rules().results_in_one_message) {
        return Ok(());
    }
    let table = work.pairs();
    let format = work.transcript.format();
    let mut changes = Changes::default();
    let mut moved = Vec::new();
    // For each message with calls, the one with their first result.
    let mut first: HashMap<usize, usize> = HashMap::new();
    for pair in table.pairs.iter().filter(|pair| !pair.misplaced) {
        let own = |at| work.block(at).filter(|block| !block.row.server_side);
        let Some(result) = own(pair.call).and(own(pair.result)) else {
            continue;
        };
        let target = *first.entry(pair.call.message).or_insert(pair.result.message);
        let site = work
            .transcript
            .message(target)
            .and_then(|message| Site::of(format, &message));
        if target == pair.result.message || site.is_none() {
            continue;
        }
        let item = as_item(format, &result);
        changes.remove(pair.result);
        changes.of(target).inserts.push((Position::AfterResults, item));
        moved.push((pair.result, target));
    }
    for (at, target) in moved {
        let text = "The result stood in a further message and moved to the other results of its batch.".to_owned();
        work.note_block(CODE, Action::Move, at, Some(work.name(target)), text);
    }
    work.apply(changes)
}
