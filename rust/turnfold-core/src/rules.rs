//! What a provider demands, as neutral flags.

/// The demands of one wire format.
#[derive(Debug)]
pub struct Rules {}
