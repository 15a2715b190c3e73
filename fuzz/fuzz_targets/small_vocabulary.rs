//! Any bytes and any small vocabulary: the tables merge as the textbook does.
//!
//! Input: how many of the next bytes are the recipe of the vocabulary, the recipe, the bytes to merge.

#![no_main]

use libfuzzer_sys::fuzz_target;
use turnfold_tokens::naive::SmallVocabulary;

fuzz_target!(|input: &[u8]| {
    let Some((&length, rest)) = input.split_first() else {
        return;
    };
    let (recipe, piece) = rest.split_at(usize::from(length).min(rest.len()));
    let vocabulary = SmallVocabulary::new(recipe);
    let slow = vocabulary.slow(piece);
    assert_eq!(vocabulary.fast(piece), (slow.clone(), slow.len()));
});
