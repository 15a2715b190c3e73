//! Cutting text into pieces step by step, as the pre-tokenizers of a `tokenizer.json` do.

use std::ops::ControlFlow;

use super::pattern::{Dialect, Pattern, PatternError};

/// One step: each piece of the step before is cut by a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// What is looked for.
    pub pattern: String,
    /// In whose words it is written.
    pub dialect: Dialect,
    /// What becomes of the matches and of what lies between them.
    pub split: Split,
    /// Whether matches and what lies between them change places.
    pub inverted: bool,
}

/// What becomes of the matches of a pattern and of what lies between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// Both are pieces.
    Isolated,
    /// Matches go; what lies between them stays. (tiktoken keeps the matches and drops the rest: this, inverted.)
    Removed,
    /// A match belongs to what comes before it.
    MergedWithPrevious,
    /// A match belongs to what comes after it.
    MergedWithNext,
    /// Neighbours of the same kind are one piece.
    Contiguous,
}

/// A step, ready to run.
pub(super) struct Step {
    pattern: Pattern,
    split: Split,
    inverted: bool,
}

impl Step {
    pub(super) fn new(cut: &Cut) -> Result<Self, PatternError> {
        Ok(Self {
            pattern: Pattern::new(&cut.pattern, cut.dialect)?,
            split: cut.split,
            inverted: cut.inverted,
        })
    }

    /// Whether parts of a text may be in no piece.
    pub(super) fn may_drop(&self) -> bool {
        self.split == Split::Removed && !(self.inverted && self.pattern.matches_everything())
    }

    /// Calls `each` with the pieces of a text, as ranges of its bytes.
    fn cut(&self, text: &str, each: &mut dyn FnMut(usize, usize) -> ControlFlow<()>) -> ControlFlow<()> {
        let mut joined = Joined {
            split: self.split,
            waiting: None,
            each,
        };
        let mut at = 0;
        while let Some((start, end)) = self.pattern.find(text, at) {
            if start > at {
                joined.take(at, start, self.inverted)?;
            }
            joined.take(start, end, !self.inverted)?;
            at = end;
        }
        if at < text.len() {
            joined.take(at, text.len(), self.inverted)?;
        }
        joined.finish()
    }
}

/// Puts matches and what lies between them together.
struct Joined<'e> {
    split: Split,
    /// The piece that may still grow, and whether its last part is a match.
    waiting: Option<(usize, usize, bool)>,
    each: &'e mut dyn FnMut(usize, usize) -> ControlFlow<()>,
}

impl Joined<'_> {
    fn take(&mut self, start: usize, end: usize, is_match: bool) -> ControlFlow<()> {
        let grows = match (self.split, self.waiting) {
            (Split::Removed, _) => {
                return if is_match {
                    ControlFlow::Continue(())
                } else {
                    (self.each)(start, end)
                };
            }
            (Split::Isolated, _) => return (self.each)(start, end),
            (_, None) => false,
            (Split::MergedWithPrevious, Some((.., before))) => is_match && !before,
            (Split::MergedWithNext, Some((.., before))) => before && !is_match,
            (Split::Contiguous, Some((.., before))) => before == is_match,
        };
        if let Some((waiting, ..)) = self.waiting.filter(|_| grows) {
            self.waiting = Some((waiting, end, is_match));
            return ControlFlow::Continue(());
        }
        let before = self.waiting.replace((start, end, is_match));
        before.map_or(ControlFlow::Continue(()), |(start, end, _)| (self.each)(start, end))
    }

    fn finish(self) -> ControlFlow<()> {
        self.waiting
            .map_or(ControlFlow::Continue(()), |(start, end, _)| (self.each)(start, end))
    }
}

/// Calls `each` with the pieces that all steps together make of a text.
pub(super) fn cut_all(steps: &[Step], text: &str, each: &mut dyn FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
    let Some((first, rest)) = steps.split_first() else {
        return if text.is_empty() {
            ControlFlow::Continue(())
        } else {
            each(text)
        };
    };
    first.cut(text, &mut |start, end| {
        let piece = text.get(start..end).unwrap_or_default();
        if rest.is_empty() {
            each(piece)
        } else {
            cut_all(rest, piece, each)
        }
    })
}
