//! Counting, encoding, decoding and cutting with a registered vocabulary.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::bpe::Bpe;
use super::cuts::{Step, cut_all};
use super::definition::{Definition, VocabularyError};
use super::seen;
use crate::Encoding;
use crate::bounds::Bounds;
use crate::tokenizer::UnknownToken;

/// A registered vocabulary, ready to use.
pub(crate) struct RegisteredTokenizer {
    encoding: Encoding,
    owner: u8,
    bpe: Bpe,
    steps: Vec<Step>,
    special_tokens: HashMap<u32, String>,
    nfc: bool,
    space_first: bool,
}

impl RegisteredTokenizer {
    pub(crate) fn new(encoding: Encoding, owner: u8, definition: &Definition) -> Result<Self, VocabularyError> {
        Ok(Self {
            encoding,
            owner,
            steps: definition.cuts.iter().map(Step::new).collect::<Result<_, _>>()?,
            bpe: Bpe::new(definition)?,
            special_tokens: definition
                .special_tokens
                .iter()
                .map(|(text, id)| (*id, text.clone()))
                .collect(),
            nfc: definition.nfc,
            space_first: definition.space_first,
        })
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The text that is cut, for one that is given.
    fn prepared<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        if self.nfc && !text.is_ascii() && is_nfc_quick(text.chars()) != IsNormalized::Yes {
            text = Cow::Owned(text.nfc().collect());
        }
        if self.space_first && !text.is_empty() && !text.starts_with(' ') {
            text = Cow::Owned(format!(" {text}"));
        }
        text
    }

    /// How many tokens the text is, or `None` as soon as they are more than `limit`.
    pub(crate) fn count_up_to(&self, text: &str, limit: usize) -> Option<usize> {
        let text = self.prepared(text);
        let mut count = 0;
        let all = seen::with(|seen| {
            cut_all(&self.steps, &text, &mut |piece| {
                count += seen.count(self.owner, piece.as_bytes(), |scratch| {
                    let mut tokens = 0;
                    self.bpe.encode(piece.as_bytes(), scratch, &mut |_| tokens += 1);
                    tokens
                });
                if count > limit {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
        });
        all.is_continue().then_some(count)
    }

    /// What its length alone says of the count: no token is empty or longer than the longest, and every byte has one.
    pub(crate) fn bounds(&self, text: &str) -> Bounds {
        let (mut least, mut most) = (text.len(), text.len());
        if self.nfc && !text.is_ascii() {
            // Normal form C makes UTF-8 at most three times as long (Unicode Standard Annex 15, section 9), and never
            // nothing of something. How much shorter is not bounded.
            (least, most) = (usize::from(least > 0), most.saturating_mul(3));
        }
        if self.steps.iter().any(Step::may_drop) {
            least = 0;
        }
        let space = usize::from(self.space_first && !text.is_empty());
        Bounds {
            lo: least.div_ceil(self.bpe.longest()),
            hi: most.saturating_add(space),
        }
    }

    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let text = self.prepared(text);
        let mut ids = Vec::with_capacity(text.len() / 4);
        seen::with(|seen| {
            let _: ControlFlow<()> = cut_all(&self.steps, &text, &mut |piece| {
                let each = &mut |place| ids.push(self.bpe.id(place));
                self.bpe.encode(piece.as_bytes(), &mut seen.scratch, each);
                ControlFlow::Continue(())
            });
        });
        ids
    }

    pub(crate) fn decode(&self, ids: &[u32]) -> Result<Vec<u8>, UnknownToken> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for (index, id) in ids.iter().enumerate() {
            let special = || self.special_tokens.get(id).map(String::as_bytes);
            let token = self.bpe.bytes_of_id(*id).or_else(special).ok_or(UnknownToken {
                encoding: self.encoding,
                index,
                id: *id,
            })?;
            bytes.extend_from_slice(token);
        }
        Ok(bytes)
    }

    /// The end of a beginning of a text that fits, while one more character does not. The text itself does not fit.
    pub(crate) fn head(&self, text: &str, max_tokens: usize) -> usize {
        let fits = |end: usize| {
            self.count_up_to(text.get(..end).unwrap_or_default(), max_tokens)
                .is_some()
        };
        let (mut inside, mut outside) = (0, text.len());
        // A beginning that is not much too long is found by growing, so that what is not kept is hardly read.
        let mut width = 64 + max_tokens.saturating_mul(4);
        while inside + width < outside {
            let end = floor(text, inside + width);
            if fits(end) {
                inside = end;
            } else {
                outside = end;
            }
            width = width.saturating_mul(2);
        }
        while let Some(end) = between(text, inside, outside) {
            if fits(end) {
                inside = end;
            } else {
                outside = end;
            }
        }
        inside
    }

    /// The same for the start of an end of a text.
    pub(crate) fn tail(&self, text: &str, max_tokens: usize) -> usize {
        let fits = |start: usize| {
            self.count_up_to(text.get(start..).unwrap_or_default(), max_tokens)
                .is_some()
        };
        let (mut outside, mut inside) = (0, text.len());
        let mut width = 64 + max_tokens.saturating_mul(4);
        while outside + width < inside {
            let start = floor(text, inside - width);
            if fits(start) {
                inside = start;
            } else {
                outside = start;
            }
            width = width.saturating_mul(2);
        }
        while let Some(start) = between(text, outside, inside) {
            if fits(start) {
                inside = start;
            } else {
                outside = start;
            }
        }
        inside
    }
}

/// The last character edge up to `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A character edge near the middle of `start..end`; `None` if there is no edge between them.
fn between(text: &str, start: usize, end: usize) -> Option<usize> {
    let middle = floor(text, start.midpoint(end));
    if middle > start {
        return Some(middle);
    }
    (start + 1..end).find(|at| text.is_char_boundary(*at))
}
