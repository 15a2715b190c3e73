//! Exact token counts for the published byte-pair encodings. Knows text; knows no transcript, no JSON, no Python.

/// A published byte-pair encoding that ships with the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `o200k_base`.
    O200kBase,
    /// `cl100k_base`.
    Cl100kBase,
    /// `o200k_harmony`: the ranks of `o200k_base` with other special tokens.
    O200kHarmony,
}

impl Encoding {
    /// Every encoding, in the order of their discriminants.
    pub const ALL: [Self; 3] = [Self::O200kBase, Self::Cl100kBase, Self::O200kHarmony];
}
