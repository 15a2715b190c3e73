//! Gives an id to calls that have none, and to results that name no call.
//!
//! A call gets `call_1`, `call_2` and so on, whatever is free, in the form that the format asks for. Results without
//! an id take those of the model's calls of their batch and kind that are open, in order, if there are as many of the one
//! as of the other; nothing else says which is whose, so otherwise they go as orphans.

use std::collections::{BTreeMap, HashSet};

use super::Action;
use super::changes::{Changes, takes_id};
use super::item_id_as_call_id;
use super::names::Ids;
use super::work::Work;
use crate::pairs::{self, BlockRef};
use crate::rules::ResultPlace;
use crate::splice::SpliceError;
use crate::transcript::{BlockKind, MessageView, Role};

/// Calls of one family in a batch that are open, each with its id, and results of theirs that name none.
#[derive(Default)]
struct Open {
    open: Vec<(BlockRef, String)>,
    loose: Vec<BlockRef>,
}

/// A batch, by family: a result answers a call of its own only.
type Batch = BTreeMap<u8, Open>;

pub(super) fn run(work: &mut Work<'_>) -> Result<(), SpliceError> {
    let rules = work.rules();
    let (calls, results) = (
        work.minds("call_without_id", Some(rules.call_needs_id)),
        work.minds("result_without_id", Some(rules.result_needs_id)),
    );
    let lacking = |message: &MessageView<'_>| {
        message
            .blocks()
            .any(|block| is_pairing(&block) && pairs::lacks_id(&block))
    };
    if !(calls || results) || !work.transcript.messages().any(|message| lacking(&message)) {
        return Ok(());
    }
    let table = work.pairs();
    let pending = work.pending();
    let of_shared = item_id_as_call_id::of_shared(work);
    let answered: HashSet<BlockRef> = table.pairs.iter().map(|pair| pair.call).collect();
    let format = work.transcript.format();
    let mut ids = Ids::new(&work.transcript);
    let mut changes = Changes::default();
    let mut given: Vec<(BlockRef, String)> = Vec::new();
    let mut batch = Batch::new();
    let mut before = None;
    for message in work.transcript.messages() {
        let role = message.role();
        let carries = match rules.result_place {
            ResultPlace::SameRun | ResultPlace::Later => role == Role::Tool,
            ResultPlace::NextMessage => role == Role::User,
        };
        let joins = rules.result_place != ResultPlace::SameRun && before == Some(Role::Assistant);
        if (role == Role::Assistant && !joins) || !(role == Role::Assistant || carries) {
            settle(&mut batch, results, &mut given);
        }
        before = Some(role);
        for block in message.blocks() {
            let at = BlockRef::of(&block);
            let of_kind = batch.entry(block.row.family).or_default();
            match block.kind() {
                BlockKind::ToolCall if block.row.whole || block.row.server_side || pending.contains(&at) => {}
                BlockKind::ToolCall
                    if calls && role == Role::Assistant && pairs::lacks_id(&block) && takes_id(format, &block) =>
                {
                    let id = ids.free("call", 1, &format.call_id_form());
                    of_kind.open.push((at, id.clone()));
                    given.push((at, id));
                }
                BlockKind::ToolCall if role == Role::Assistant && !answered.contains(&at) => {
                    of_kind.open.extend(block.call_id().map(|id| (at, id.into_owned())));
                }
                BlockKind::ToolResult
                    if carries && pairs::lacks_id(&block) && takes_id(format, &block) && !of_shared.contains(&at) =>
                {
                    of_kind.loose.push(at);
                }
                _ => {}
            }
        }
    }
    settle(&mut batch, results, &mut given);
    for (at, id) in given {
        let is_call = work.block(at).is_some_and(|block| block.kind() == BlockKind::ToolCall);
        let (code, what) = if is_call {
            ("call_without_id", "The call")
        } else {
            ("result_without_id", "The result")
        };
        let text = format!("{what} had no id and got {id:?}.");
        work.note_block(code, Action::Rename, at, Some(work.name(at.message)), text);
        changes.of(at.message).ids.push((at.block, id));
    }
    work.apply(changes)
}

fn is_pairing(block: &crate::transcript::BlockView<'_>) -> bool {
    matches!(block.kind(), BlockKind::ToolCall | BlockKind::ToolResult)
}

/// Ends a batch: its loose results go to its open calls where both are as many.
fn settle(batch: &mut Batch, results: bool, given: &mut Vec<(BlockRef, String)>) {
    for Open { open, loose } in std::mem::take(batch).into_values() {
        if results && open.len() == loose.len() {
            given.extend(loose.into_iter().zip(open).map(|(result, (_, id))| (result, id)));
        }
    }
}
