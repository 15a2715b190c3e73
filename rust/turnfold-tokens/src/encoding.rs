//! The encodings: those that are published and ship, and those that callers register.

use std::sync::OnceLock;

use crate::any_tokenizer::Tokenizer;
use crate::registered::{REGISTERED_LIMIT, Registered};
use crate::scan::Pattern;
use crate::tables::Tables;
use crate::tokenizer::PublishedTokenizer;
use crate::vocabulary::{CL100K_BASE, O200K_BASE};

/// A byte-pair encoding: a published one that ships with the crate, or one that a caller registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `o200k_base`.
    O200kBase,
    /// `cl100k_base`.
    Cl100kBase,
    /// `o200k_harmony`: the ranks of `o200k_base` with other special tokens.
    O200kHarmony,
    /// One that [`crate::register`] took.
    Registered(Registered),
}

impl Encoding {
    /// How many encodings there may be: [`Encoding::index`] is below it.
    pub const LIMIT: usize = Self::ALL.len() + REGISTERED_LIMIT;

    /// Every encoding that ships, by [`Encoding::index`].
    pub const ALL: [Self; 3] = [Self::O200kBase, Self::Cl100kBase, Self::O200kHarmony];

    /// The encoding of this name, published or registered.
    pub fn from_name(name: &str) -> Option<Self> {
        let published = Self::ALL.into_iter().find(|encoding| encoding.name() == name);
        published.or_else(|| Registered::from_name(name).map(Self::Registered))
    }

    /// A small number of its own, for tables with a place for each encoding.
    pub fn index(self) -> usize {
        match self {
            Self::O200kBase => 0,
            Self::Cl100kBase => 1,
            Self::O200kHarmony => 2,
            Self::Registered(registered) => Self::ALL.len() + registered.index(),
        }
    }

    /// The name, such as `o200k_base`.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::O200kHarmony => "o200k_harmony",
            Self::Registered(registered) => registered.name(),
        }
    }

    /// The tokenizer. The first call for a vocabulary unpacks it (tens of milliseconds, some 20 MB for `o200k_base`
    /// and 10 MB for `cl100k_base`, kept for good); later calls cost nothing. The two o200k encodings share theirs.
    pub fn tokenizer(self) -> &'static Tokenizer {
        static O200K: OnceLock<Tables> = OnceLock::new();
        static CL100K: OnceLock<Tables> = OnceLock::new();
        static TOKENIZERS: [OnceLock<Tokenizer>; 3] = [const { OnceLock::new() }; 3];
        let (place, pattern, tables, packed) = match self {
            Self::O200kBase => (&TOKENIZERS[0], Pattern::O200k, &O200K, O200K_BASE),
            Self::Cl100kBase => (&TOKENIZERS[1], Pattern::Cl100k, &CL100K, CL100K_BASE),
            Self::O200kHarmony => (&TOKENIZERS[2], Pattern::O200k, &O200K, O200K_BASE),
            // A registered encoding has its tokenizer before anyone has the encoding.
            Self::Registered(registered) => {
                return registered.tokenizer().unwrap_or_else(|| Self::O200kBase.tokenizer());
            }
        };
        place.get_or_init(|| {
            let tables = tables.get_or_init(|| load(packed));
            Tokenizer::published(PublishedTokenizer::new(self, pattern, tables))
        })
    }
}

#[expect(
    clippy::expect_used,
    reason = "the bytes are part of the program; a test unpacks them"
)]
fn load(packed: &[u8]) -> Tables {
    Tables::unpack(packed).expect("the vocabulary built into this program is damaged")
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
