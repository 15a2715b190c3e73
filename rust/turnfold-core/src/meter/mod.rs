//! Token counts of a transcript.

/// Counts made so far for one segment, by encoding.
#[derive(Debug, Default)]
pub struct CountMemo {}
