//! The transcript kernel: read, pair, cut, compare, splice. Knows no Python, no files, no clock, no network.

pub mod caches;
pub mod details;
pub mod digests;
pub mod errors;
pub mod extractive;
pub mod findings;
pub mod fingerprint;
pub mod formats;
pub mod groups;
pub mod identifiers;
pub mod json;
mod keyed;
mod known;
pub mod layout;
pub mod masking;
pub mod masks;
pub mod meter;
pub mod pairs;
pub mod prefix;
pub mod quoting;
mod recent;
pub mod repair;
pub mod results;
pub mod rules;
mod seen;
pub mod shown;
mod simd;
pub mod splice;
pub mod splits;
pub mod statements;
pub mod transcript;
pub mod truncate;
#[cfg(test)]
mod work;

pub use errors::{ReadError, ReadErrorCode};
pub use transcript::{Block, BlockKind, BlockView, Message, MessageView, Role, Source, Span, Transcript};
