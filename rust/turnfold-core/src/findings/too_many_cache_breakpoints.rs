//! More places than the provider takes mark where the prompt cache may end.
//!
//! Each layer that adds a mark of its own (a client, a gateway, a framework) adds to the same few. A field of that name
//! in a tool's arguments or schema is no mark. Told of once, where the first mark too many stands; of a bare array of
//! messages only those are counted. Where the request leaves it to the provider to mark its end (Anthropic's page "Prompt
//! caching"), that takes one place, unless the last message has a mark already.

use std::sync::Arc;

use super::{Category, Check, Scene};
use crate::formats::Section;
use crate::prefix;
use crate::transcript::{MessageView, Segment};

pub(super) const CHECK: Check = Check {
    code: "too_many_cache_breakpoints",
    category: Category::Content,
    demands: |rules| {
        rules
            .cache_breakpoints
            .map(|wanted| wanted.demand)
            .into_iter()
            .collect()
    },
    run,
};

fn run(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.rules.cache_breakpoints else {
        return;
    };
    let format = scene.transcript.format();
    let what = format!("the request marks more than {} places for the cache", wanted.most);
    let mut marks = usize::from(marks_itself(scene));
    for section in [Section::Tools, Section::System] {
        let bytes = prefix::part(scene.transcript, section).unwrap_or_default();
        marks += prefix::count_markers(format, bytes);
        if marks > wanted.most {
            let path = prefix::section_path(scene.transcript, section);
            return scene.report_head(wanted.demand, &path, &what);
        }
    }
    // One search of a whole segment is less than one of each message, and most name none.
    let named = |segment: &Arc<Segment>| prefix::names_marker(format, segment.stretch());
    if !scene.transcript.segments().iter().any(named) {
        return;
    }
    for message in scene.transcript.messages() {
        marks += prefix::count_markers(format, message.bytes());
        if marks > wanted.most {
            return scene.report_message(wanted.demand, message.index, &what);
        }
    }
}

/// Whether the provider adds a mark at the end.
fn marks_itself(scene: &Scene<'_>) -> bool {
    let format = scene.transcript.format();
    let marked = |message: MessageView<'_>| prefix::count_markers(format, message.bytes()) > 0;
    scene.transcript.head().caches && !scene.last_message().is_some_and(marked)
}
