//! Any text and any small vocabulary: the bounds hold the count of the textbook.
//!
//! Input: how many of the next bytes are the recipe of the vocabulary, the recipe, then the text; what is no UTF-8 in it
//! becomes U+FFFD.

#![no_main]

use libfuzzer_sys::fuzz_target;
use turnfold_tokens::naive::SmallVocabulary;

fuzz_target!(|input: &[u8]| {
    let Some((&length, rest)) = input.split_first() else {
        return;
    };
    let (recipe, text) = rest.split_at(usize::from(length).min(rest.len()));
    let text = String::from_utf8_lossy(text);
    for (bounds, count) in SmallVocabulary::new(recipe).bounds(&text) {
        assert!((bounds.lo..=bounds.hi).contains(&count), "{count} in {bounds:?}");
    }
});
