//! The course of a pass from message to message: which calls may be answered, and whether the tail is open.

use std::ops::Range;

use crate::rules::ResultPlace;
use crate::transcript::{Block, BlockKind, Role};

/// Where the pass stands between a message with calls and its results.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// The messages whose calls may be answered now: one message, or neighbours that the provider joins.
    pub(super) opener: Option<Range<usize>>,
    /// Whether the current message stands where results of `opener` belong.
    pub(super) in_place: bool,
    /// Whether everything after `opener` is results of its calls.
    pub(super) open_tail: bool,
    /// Role of the message before.
    before: Option<Role>,
    /// Whether only messages with results came since `opener`.
    answering: bool,
}

impl Course {
    pub(super) fn enter(&mut self, place: ResultPlace, index: usize, role: Role, shape: Shape) {
        match role {
            Role::Assistant => {
                let joined = self.before == Some(Role::Assistant)
                    && match place {
                        ResultPlace::SameRun => false,
                        ResultPlace::NextMessage => true,
                        // Items of one answer; text after a call is the next answer, which nobody gives before results.
                        ResultPlace::Later => !shape.text,
                    };
                self.opener = match self.opener.take() {
                    Some(range) if joined => Some(range.start..index + 1),
                    _ => Some(index..index + 1),
                };
                self.in_place = false;
                self.open_tail = true;
                self.answering = true;
            }
            role => {
                let carrier = match place {
                    ResultPlace::SameRun | ResultPlace::Later => role == Role::Tool,
                    ResultPlace::NextMessage => role == Role::User && shape.results,
                };
                self.answering &= carrier;
                self.in_place = self.answering;
                self.open_tail &= carrier && !shape.others;
            }
        }
        self.before = Some(role);
    }

    pub(super) fn opened_by(&self, message: usize) -> bool {
        self.opener.as_ref().is_some_and(|range| range.contains(&message))
    }
}

/// What kinds of block a message holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) results: bool,
    others: bool,
    text: bool,
}

impl Shape {
    pub(super) fn of(blocks: &[Block]) -> Self {
        let mut shape = Self::default();
        for block in blocks {
            if block.kind == BlockKind::ToolResult {
                shape.results = true;
            } else {
                shape.others = true;
                shape.text |= block.kind == BlockKind::Text;
            }
        }
        shape
    }
}
