//! Takes out reasoning items that are not followed by what they were produced with: what an interrupted stream or a
//! filter leaves. Nothing else is lost with them, as the provider refuses them where they stand.

use super::Action;
use super::changes::Changes;
use super::work::Work;
use crate::findings::loose_reasoning::follows;
use crate::groups;
use crate::splice::SpliceError;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "loose_reasoning";
    if !work.minds(CODE, work.rules().reasoning_needs_item) {
        return Ok(());
    }
    let mut changes = Changes::default();
    let mut loose = Vec::new();
    // Reasoning of which the next goes has nothing behind it either, so a run is open until something answers for it.
    let mut run = Vec::new();
    for message in work.transcript.messages() {
        if groups::is_bound_to_next(&message) {
            if !follows(&message) {
                loose.append(&mut run);
            }
            run.push(message.index);
        } else if follows(&message) {
            run.clear();
        } else {
            loose.append(&mut run);
        }
    }
    loose.append(&mut run);
    for index in loose {
        changes.of(index).gone = true;
        let text = "The reasoning is not followed by the item that it was produced with and went.";
        work.note_message(CODE, Action::Drop, index, None, text.to_owned());
    }
    work.apply(changes)
}
