//! The published encodings.

use std::sync::OnceLock;

use crate::scan::Pattern;
use crate::tables::Tables;
use crate::tokenizer::Tokenizer;
use crate::vocabulary::{CL100K_BASE, O200K_BASE, Vocabulary};

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

    /// The encoding of this published name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }

    /// The published name, such as `o200k_base`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::O200kHarmony => "o200k_harmony",
        }
    }

    /// The tokenizer. The first call for a vocabulary unpacks it (tens of milliseconds, some 20 MB for `o200k_base`
    /// and 10 MB for `cl100k_base`, kept for good); later calls cost nothing. The two o200k encodings share theirs.
    pub fn tokenizer(self) -> &'static Tokenizer {
        static O200K: OnceLock<Tables> = OnceLock::new();
        static CL100K: OnceLock<Tables> = OnceLock::new();
        static TOKENIZERS: [OnceLock<Tokenizer>; 3] = [const { OnceLock::new() }; 3];
        TOKENIZERS[self as usize].get_or_init(|| {
            let (pattern, tables, packed) = match self {
                Self::O200kBase | Self::O200kHarmony => (Pattern::O200k, &O200K, O200K_BASE),
                Self::Cl100kBase => (Pattern::Cl100k, &CL100K, CL100K_BASE),
            };
            Tokenizer::new(self, pattern, tables.get_or_init(|| load(packed)))
        })
    }
}

#[expect(
    clippy::expect_used,
    reason = "the bytes are part of the program; a test unpacks them"
)]
fn load(packed: &[u8]) -> Tables {
    Tables::new(Vocabulary::unpack(packed).expect("the vocabulary built into this program is damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_encodings() {
        for encoding in Encoding::ALL {
            assert_eq!(Encoding::from_name(encoding.name()), Some(encoding));
            assert_eq!(encoding.tokenizer().encoding(), encoding);
        }
        assert_eq!(Encoding::from_name("O200K_BASE"), None);
        assert_eq!(Encoding::from_name(""), None);
    }
}
