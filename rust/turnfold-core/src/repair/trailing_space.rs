//! Takes the white space off the end of the model's last text, where that is the start of the answer.

use super::Action;
use super::changes::Changes;
use super::work::Work;
use crate::findings::trailing_space::late;
use crate::json;
use crate::pairs::BlockRef;
use crate::splice::SpliceError;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    const CODE: &str = "trailing_space";
    if !work.minds(CODE, work.rules().last_not_trailing_space) {
        return Ok(());
    }
    let Some(block) = late(&work.transcript) else {
        return Ok(());
    };
    let Some(message) = work.transcript.message(block.message) else {
        return Ok(());
    };
    let mut changes = Changes::default();
    let literal = block.row.body.map(|body| (body, body.of(block.segment.source.bytes())));
    if let Some((body, literal)) = literal
        && let Some(end) = spoken(literal)
    {
        let start = (body.start - message.row.span.start) as usize;
        let edit = (start + end..start + literal.len() - 1, Vec::new());
        changes.of(message.index).edits.push(edit);
        let (at, name) = (BlockRef::of(&block), work.name(message.index));
        let text = "The white space at the end of the model's last text went.".to_owned();
        work.note_block(CODE, Action::Drop, at, Some(name), text);
    }
    work.apply(changes)
}

/// Where in a string literal the white space at its end starts; `None` where it holds nothing else.
fn spoken(literal: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(literal)
        .ok()?
        .strip_prefix('"')?
        .strip_suffix('"')?;
    let (mut at, mut end) = (0, None);
    while let Some(letter) = text.get(at..)?.chars().next() {
        let length = match (letter, text.as_bytes().get(at + 1)) {
            ('\\', Some(b'u')) => 6,
            ('\\', _) => 2,
            _ => letter.len_utf8(),
        };
        let written = format!("\"{}\"", text.get(at..at + length)?);
        if !json::unescape(written.as_bytes()).chars().all(char::is_whitespace) {
            end = Some(at + length);
        }
        at += length;
    }
    end.map(|end| end + 1)
}
