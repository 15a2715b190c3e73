//! Takes out reasoning that lost what it was produced with: what remains when a client strips a message's calls or an
//! answer breaks off.
//!
//! Where the provider joins the message with the model's next one, the reasoning moves into that instead.

use super::Action;
use super::changes::{Changes, Position, Site, as_item};
use super::work::Work;
use crate::rules::ResultPlace;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, MessageView, Role};

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "only_reasoning";
    let rules = work.rules();
    if !work.minds(CODE, rules.not_only_reasoning) {
        return Ok(());
    }
    let joins = rules.result_place == ResultPlace::NextMessage;
    let mut changes = Changes::default();
    let mut notes = Vec::new();
    // The messages of a run all go into the first one behind them that holds more.
    let mut run: Vec<MessageView<'_>> = Vec::new();
    for message in work.transcript.messages() {
        if is_only_reasoning(&message) {
            run.push(message);
            continue;
        }
        let takes =
            joins && message.role() == Role::Assistant && Site::of(work.transcript.format(), &message).is_some();
        for lost in run.drain(..) {
            changes.of(lost.index).gone = true;
            notes.push((lost.index, takes.then_some(message.index)));
            if takes {
                let inserts = &mut changes.of(message.index).inserts;
                let format = work.transcript.format();
                inserts.extend(lost.blocks().map(|block| (Position::Front, as_item(format, &block))));
            }
        }
    }
    for lost in run {
        changes.of(lost.index).gone = true;
        notes.push((lost.index, None));
    }
    for (index, into) in notes {
        let (action, text) = match into {
            Some(_) => (
                Action::Move,
                "The message was only reasoning, which moved into the message that it belongs to.",
            ),
            None => (Action::Drop, "The message was only reasoning and went."),
        };
        let holder = into.map(|into| work.name(into));
        work.note_message(CODE, action, index, holder, text.to_owned());
    }
    work.apply(changes)
}

fn is_only_reasoning(message: &MessageView<'_>) -> bool {
    let mut blocks = message.blocks();
    message.role() == Role::Assistant && blocks.len() > 0 && blocks.all(|block| block.kind() == BlockKind::Reasoning)
}
