//! Exact token counts for the published byte-pair encodings. Knows text; knows no transcript, no JSON, no Python.
//!
//! A text is cut into pre-tokens by a pattern (`scan`); a pre-token that is a token counts one; any other is merged
//! from its bytes (`merge`). The vocabularies are part of the program (`vocabulary`), unpacked into look-up tables
//! (`tables`) when an encoding is first used. What a thread has merged before it remembers (`thread_memory`).
//!
//! Counts of parts add up where a text is cut at a pre-token edge behind a character that is no white space, or is a
//! newline (`prefix_sums` has the proof): sums of prefixes and truncation rest on that.
//!
//! ```
//! use turnfold_tokens::{Encoding, Keep};
//!
//! let tokenizer = Encoding::O200kBase.tokenizer();
//! assert_eq!(tokenizer.count("hello world"), 2);
//! assert_eq!(tokenizer.encode("hello world"), [24912, 2375]);
//! assert_eq!(tokenizer.count_up_to("hello world", 1), None);
//! assert_eq!(tokenizer.truncate("hello world", 1, Keep::Head).head_bytes, "hello".len());
//! ```

#![allow(
    clippy::inline_always,
    reason = "what is compiled for each kind of processor must be inlined there; see `simd`"
)]

mod any_tokenizer;
mod bounds;
mod characters;
mod class_table;
mod classes;
mod encoding;
mod estimate;
mod merge;
#[cfg(feature = "naive")]
pub mod naive;
mod pages;
mod piece_digest;
mod prefix_sums;
mod registered;
mod scan;
mod simd;
mod special;
mod tables;
mod thread_memory;
mod tokenizer;
mod truncate;
mod vocabulary;

pub use any_tokenizer::Tokenizer;
pub use bounds::Bounds;
pub use classes::is_letter_or_number;
pub use encoding::Encoding;
#[cfg(feature = "naive")]
pub use estimate::estimates_by;
pub use estimate::{Estimate, estimate, estimated_interval};
pub use prefix_sums::PrefixSum;
pub use registered::{
    Cut, Definition, Dialect, PatternError, REGISTERED_LIMIT, Registered, Split, VocabularyError, register,
    registered_names,
};
#[doc(hidden)]
pub use simd::prefetch;
pub use tokenizer::UnknownToken;
pub use truncate::{Keep, Truncation};
