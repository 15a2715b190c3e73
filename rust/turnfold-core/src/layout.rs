//! What a compaction must know of a transcript beside its legal cuts: where turns open, what a provider has folded
//! already, what has to outlive its neighbours, and whose reasoning is called for.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::groups;
use crate::pairs::{self, ScanOptions};
use crate::transcript::{Binding, BlockView, Transcript};

/// The parts of one transcript. All ranges are half-open ranges of message indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// First messages of the turns, ascending.
    pub turns: Vec<usize>,
    /// What precedes the latest barrier and may go: a provider has folded it into the barrier. Empty where there is no
    /// barrier, or nothing that it makes superfluous.
    pub folded: Range<usize>,
    /// The message with the latest barrier and what is bound to it; empty where there is none.
    pub barrier: Range<usize>,
    /// Groups after the barrier that set state for everything after them, or stand for what only the server holds: a
    /// summary of them would lose that. State that a later block of its name sets anew is not among them. Ascending.
    pub lasting: Vec<Range<usize>>,
    /// The open tool loop whose first message must start with reasoning; empty where nothing demands that.
    pub reasoned_loop: Range<usize>,
}

/// Finds all parts. O(blocks).
pub fn layout(transcript: &Transcript, options: &ScanOptions) -> Layout {
    let (leading, end) = (transcript.leading(), transcript.len());
    let rules = transcript.format().rules();
    let groups = groups::groups(transcript, &pairs::remembered(transcript, options));
    let group_of = |index: usize| {
        let after = groups.partition_point(|group| group.start <= index);
        after.checked_sub(1).and_then(|k| groups.get(k)).cloned()
    };
    let barrier = transcript.last_barrier().and_then(group_of).unwrap_or(leading..leading);
    let mut folded = transcript.folded();
    folded.end = folded.end.min(barrier.start.max(leading));
    Layout {
        turns: groups::turns(transcript).into_iter().map(|turn| turn.start).collect(),
        folded,
        lasting: lasting(transcript, barrier.end, &groups),
        barrier,
        reasoned_loop: groups::guarded_loop(transcript, rules, options.thinking(transcript)).unwrap_or(end..end),
    }
}

/// Of each named state that was set later: its kind, and whose it is.
type Named<'a> = HashSet<(Cow<'a, str>, Cow<'a, str>)>;

fn lasting(transcript: &Transcript, start: usize, groups: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut set_later = Named::new();
    let mut found: Vec<Range<usize>> = Vec::new();
    for group in groups.iter().rev().take_while(|group| group.start >= start) {
        let mut lasts = false;
        for message in group.clone().rev().filter_map(|index| transcript.message(index)) {
            for block in message.blocks().rev() {
                lasts |= in_force(&block, &mut set_later);
            }
        }
        if lasts {
            found.push(group.clone());
        }
    }
    found.reverse();
    found
}

fn in_force<'a>(block: &BlockView<'a>, set_later: &mut Named<'a>) -> bool {
    match block.row.binding {
        Binding::Pointer => true,
        Binding::Sticky => match (block.type_name(), block.name()) {
            (Some(kind), Some(name)) => set_later.insert((kind, name)),
            _ => true,
        },
        Binding::Free | Binding::Next | Binding::Both | Binding::Barrier => false,
    }
}
