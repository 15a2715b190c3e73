//! Which of a list of identifiers occur in texts.

use aho_corasick::{AhoCorasick, MatchKind};

/// Looks for a fixed list of identifiers in any number of texts.
///
/// An identifier occurs where its text stands on the edges of a token: `ABC-12` does not occur in `ABC-123`, nor `1.2`
/// in `0.1.2`, but `run` occurs in `self.run` and `a.py` in `src/a.py`. Case counts.
#[derive(Debug)]
pub struct Watch {
    automaton: Option<AhoCorasick>,
    found: Vec<bool>,
    open: usize,
}

impl Watch {
    /// A watch for `identifiers`. Building takes about 30 times their bytes of memory; an empty one occurs nowhere.
    pub fn new<S: AsRef<str>>(identifiers: &[S]) -> Self {
        let patterns = identifiers.iter().map(|i| i.as_ref().as_bytes());
        Self {
            // Building fails only beyond 2^31 states. Then nothing is found: a survivor reported lost, never the reverse.
            automaton: AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .build(patterns)
                .ok(),
            found: vec![false; identifiers.len()],
            open: identifiers.iter().filter(|i| !i.as_ref().is_empty()).count(),
        }
    }

    /// Marks the identifiers that occur in `text`. Linear in its length, times the identifiers that end at one place.
    pub fn feed(&mut self, text: &str) {
        let Some(automaton) = &self.automaton else { return };
        if self.open == 0 {
            return;
        }
        for hit in automaton.find_overlapping_iter(text) {
            let Some(found) = self.found.get_mut(hit.pattern().as_usize()) else {
                continue;
            };
            if !*found && !hit.is_empty() && stands_alone(text, hit.start(), hit.end()) {
                *found = true;
                self.open -= 1;
                if self.open == 0 {
                    return;
                }
            }
        }
    }

    /// One flag an identifier, in the order given to `new`.
    pub fn found(&self) -> &[bool] {
        &self.found
    }
}

/// Which of `identifiers` occur in `text`: one flag each. See [`Watch`].
pub fn occurring<S: AsRef<str>>(identifiers: &[S], text: &str) -> Vec<bool> {
    let mut watch = Watch::new(identifiers);
    watch.feed(text);
    watch.found
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(own), Some(after)) = (text.get(..start), text.get(start..end), text.get(end..)) else {
        return false;
    };
    let word =
        |c: char| c.is_ascii_alphanumeric() || c == '_' || (c > '\u{7f}' && c < '\u{0E00}' && c.is_alphanumeric());
    let own_first = own.chars().next().is_some_and(word);
    let own_last = own.chars().next_back().is_some_and(word);
    let mut left = before.chars().rev();
    let free_left = !own_first
        || match left.next() {
            Some(c) if word(c) => false,
            Some('-') => !left.next().is_some_and(word),
            Some('.') => {
                !own.starts_with(|c: char| c.is_ascii_digit()) || !left.next().is_some_and(|c| c.is_ascii_digit())
            }
            _ => true,
        };
    let mut right = after.chars();
    let free_right = !own_last
        || match right.next() {
            Some(c) if word(c) => false,
            Some('-' | '.') => !right.next().is_some_and(word),
            _ => true,
        };
    free_left && free_right
}
