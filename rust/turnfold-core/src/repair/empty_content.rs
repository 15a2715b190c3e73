//! Takes out blank text blocks, empty messages and empty lists of calls.

use std::collections::HashSet;

use super::Action;
use super::changes::Changes;
use super::work::Work;
use crate::findings::{blank_text, empty_call_list, empty_content};
use crate::pairs::BlockRef;
use crate::splice::SpliceError;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    blank_texts(work)?;
    call_lists(work)?;
    messages(work)
}

fn blank_texts(work: &mut Work<'_>) -> Result<(), SpliceError> {
    if !work.minds("blank_text", work.rules().no_blank_text) {
        return Ok(());
    }
    let blocks = work.transcript.messages().flat_map(|message| message.blocks());
    let blank: Vec<BlockRef> = blocks
        .filter(blank_text::is_blank)
        .map(|block| BlockRef::of(&block))
        .collect();
    let mut changes = Changes::default();
    for at in blank {
        changes.remove(at);
        let text = "The text block was blank and went.".to_owned();
        work.note_block("blank_text", Action::Drop, at, None, text);
    }
    work.apply(changes)
}

fn call_lists(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "empty_call_list";
    let rules = work.rules();
    let Some(field) = rules.call_list.filter(|_| work.minds(CODE, rules.call_list_not_empty)) else {
        return Ok(());
    };
    let mut changes = Changes::default();
    for index in empty_call_list::find(&work.transcript, field) {
        changes.of(index).field_gone = Some(field);
        let text = format!("The empty `{field}` went.");
        work.note_message(CODE, Action::Drop, index, Some(work.name(index)), text);
    }
    work.apply(changes)
}

fn messages(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "empty_content";
    let rules = work.rules();
    let Some(wanted) = rules.content.filter(|wanted| work.minds(CODE, Some(wanted.demand))) else {
        return Ok(());
    };
    let held: HashSet<usize> = work.pending().iter().map(|call| call.message).collect();
    let count = work.transcript.len();
    let empty: Vec<usize> = work
        .transcript
        .messages()
        .filter(|message| !held.contains(&message.index))
        .filter(|message| empty_content::lacks(&wanted, message, message.index + 1 == count).is_some())
        .map(|message| message.index)
        .collect();
    let mut changes = Changes::default();
    for index in empty {
        changes.of(index).gone = true;
        let text = "The message was empty and went.".to_owned();
        work.note_message(CODE, Action::Drop, index, None, text);
    }
    work.apply(changes)
}
