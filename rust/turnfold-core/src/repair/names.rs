//! New ids for calls: made from the old one and a number, so that every run makes the same.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use twox_hash::XxHash3_64;

use crate::formats::CallIdForm;
use crate::transcript::Transcript;

/// The ids of a transcript, those that were made since among them.
pub(super) struct Ids {
    taken: HashSet<String>,
    /// For each id that others were made of, the next number to try.
    next: HashMap<String, usize>,
}

impl Ids {
    /// O(blocks).
    pub(super) fn new(transcript: &Transcript) -> Self {
        let blocks = transcript.messages().flat_map(|message| message.blocks());
        Self {
            taken: blocks
                .filter_map(|block| block.call_id())
                .map(Cow::into_owned)
                .collect(),
            next: HashMap::new(),
        }
    }

    /// An id that is not taken yet, made of `old` and the first number from `number` on that gives one. Each number is
    /// tried once for each old id, so that all ids together take O(ids).
    pub(super) fn free(&mut self, old: &str, number: usize, form: &CallIdForm) -> String {
        let base = base(old, form);
        let next = self.next.entry(base.clone()).or_insert(number);
        *next = (*next).max(number);
        loop {
            let id = numbered(&base, *next, form);
            *next += 1;
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }

    /// An id of the right form made of `old`: what the form allows of it, with a number from 2 on where that is taken.
    pub(super) fn fitting(&mut self, old: &str, form: &CallIdForm) -> String {
        let plain: String = base(old, form).chars().take(form.longest).collect();
        if form.shortest == form.longest {
            // A hash tells more ids apart than what is left of them.
            return self.free(old, 1, form);
        }
        if plain.len() >= form.shortest && self.taken.insert(plain.clone()) {
            return plain;
        }
        self.free(old, 2, form)
    }
}

/// What is left of an old id in the form's letters.
fn base(old: &str, form: &CallIdForm) -> String {
    let base: String = old.chars().filter(|&letter| form.allows(letter)).collect();
    if base.is_empty() { "call".to_owned() } else { base }
}

fn numbered(base: &str, number: usize, form: &CallIdForm) -> String {
    if form.shortest == form.longest {
        // No room for a number behind the old id: both are in the digits of a hash.
        let mut rest = XxHash3_64::oneshot(format!("{base} {number}").as_bytes());
        let digits = std::iter::from_fn(|| {
            let digit = char::from_digit((rest % 36) as u32, 36);
            rest = (rest / 36) ^ rest.rotate_left(23);
            digit
        });
        return digits.take(form.longest).collect();
    }
    let separator = if form.marks { "_" } else { "" };
    let tail = format!("{separator}{number}");
    let room = form.longest.saturating_sub(tail.len());
    let mut id: String = base.chars().take(room).collect();
    id.push_str(&tail);
    id
}
