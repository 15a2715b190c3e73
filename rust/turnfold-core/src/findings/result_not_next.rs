//! A message of the model stands between one with calls and the message with their results.
//!
//! The model said something more and a client wrote that down as a message of its own, where the provider looks for the
//! results directly behind the message with the calls.

use super::{Category, Check, Scene};
use crate::groups;
use crate::pairs::{self, BlockRef, Pair, PairTable};
use crate::transcript::{Role, Transcript};

pub(super) const CHECK: Check = Check {
    code: "result_not_next",
    category: Category::Order,
    demands: |rules| rules.result_next.into_iter().collect(),
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(demand) = scene.rules.result_next else { return };
    for at in parted(scene.transcript, scene.pairs) {
        if let Some(result) = scene.block(at) {
            let what = "a message of the model stands between this result and the message with its call";
            scene.report_call(demand, &result, what);
        }
    }
}

/// The first result of each message that a further message of the model parts from the one with the calls. O(blocks).
pub(crate) fn parted(transcript: &Transcript, table: &PairTable) -> Vec<BlockRef> {
    let mut found = Vec::new();
    let late = table.not_waited_for(transcript);
    let mut answers = table.pairs.iter().filter(|pair| !pair.misplaced).peekable();
    // Where the model's messages in a row start, and whether the last of them calls tools; `None` where none does.
    let (mut start, mut called, mut before) = (0, None, None);
    for message in transcript.messages() {
        if message.role() == Role::Assistant {
            if before != Some(Role::Assistant) {
                (start, called) = (message.index, None);
            }
            let calls = groups::calls_tools(&message);
            called = called.map(|_| calls).or(calls.then_some(true));
        } else if before == Some(Role::Assistant) && called == Some(false) {
            while answers.next_if(|pair| pair.result.message < message.index).is_some() {}
            let own = std::iter::from_fn(|| answers.next_if(|pair| pair.result.message == message.index));
            let mut own = own.filter(|pair| pair.call.message >= start);
            let waits = |pair: &&Pair| {
                let result = pairs::block_at(transcript, pair.result);
                result.is_some_and(|result| !result.row.server_side) && !late.contains(&pair.call)
            };
            found.extend(own.find(waits).map(|pair| pair.result));
        }
        before = Some(message.role());
    }
    found
}
