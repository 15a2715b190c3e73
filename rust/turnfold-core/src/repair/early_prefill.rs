//! Takes the flag that asks the model to go on with a message off all messages but the last.

use super::Action;
use super::changes::Changes;
use super::work::Work;
use crate::findings::asks_to_go_on;
use crate::splice::SpliceError;
use crate::transcript::Role;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "early_prefill";
    let Some(prefill) = work.rules().prefill else {
        return Ok(());
    };
    if !work.minds(CODE, Some(prefill.demand)) {
        return Ok(());
    }
    let count = work.transcript.len();
    let early = work.transcript.messages().filter(|message| {
        message.role() == Role::Assistant && message.index + 1 < count && asks_to_go_on(message, prefill)
    });
    let early: Vec<usize> = early.map(|message| message.index).collect();
    let mut changes = Changes::default();
    for index in early {
        changes.of(index).field_gone = Some(prefill.field);
        let text = format!("More messages follow, so the flag `{}` went.", prefill.field);
        work.note_message(CODE, Action::Drop, index, Some(work.name(index)), text);
    }
    work.apply(changes)
}
