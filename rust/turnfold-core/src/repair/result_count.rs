//! Puts the results of a batch into the message after its calls, where the provider counts only those there.

use super::Action;
use super::changes::Changes;
use super::place::{Places, ResultSource};
use super::work::Work;
use crate::splice::SpliceError;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "result_count";
    if !work.minds(CODE, work.rules().result_per_call_count) {
        return Ok(());
    }
    let table = work.pairs();
    let places = Places::new(work);
    let split = places.split(&table);
    let late = table.not_waited_for(&work.transcript);
    let mut changes = Changes::default();
    for pair in table.pairs.iter().filter(|pair| !pair.misplaced) {
        let waits = work.block(pair.result).is_some_and(|result| !result.row.server_side);
        if !waits
            || late.contains(&pair.call)
            || places.is_first(work, pair.call, pair.result)
            || !split.contains(&pair.call.message)
            || !places.can_move(work, pair.result)
        {
            continue;
        }
        let name = places.put(work, &mut changes, pair.call, ResultSource::Moved(pair.result));
        let text = "The result stood in a further message and moved to the other results of its batch.".to_owned();
        work.note_block(CODE, Action::Move, pair.result, name, text);
    }
    work.apply(changes)
}
