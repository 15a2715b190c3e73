//! What a registered vocabulary is made of.

use std::fmt;

use super::REGISTERED_LIMIT;
use super::cuts::Cut;
use super::pattern::PatternError;

/// A byte-level BPE vocabulary, as its file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Definition {
    /// Each token's bytes and its id.
    pub tokens: Vec<(Vec<u8>, u32)>,
    /// The ids of the two parts of each merge, the first merge first; the token they make is their join. `None`: two
    /// neighbours merge if their join is a token, the lowest id first (tiktoken's rank files).
    pub merges: Option<Vec<(u32, u32)>>,
    /// Whether a piece that is itself a token is that token, however its bytes would merge.
    pub whole_pieces: bool,
    /// Special tokens: decoded, never encoded.
    pub special_tokens: Vec<(String, u32)>,
    /// How a text is cut into pieces, step by step: each step cuts the pieces of the one before.
    pub cuts: Vec<Cut>,
    /// Whether text is brought to Unicode's normal form C first.
    pub nfc: bool,
    /// Whether a text that starts with no space gets one first.
    pub space_first: bool,
}

/// Why a vocabulary cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VocabularyError {
    /// The name is empty or too long.
    Name,
    /// The name is that of another encoding.
    NameTaken(String),
    /// There are as many as may be.
    TooMany,
    /// This byte has no token, so not every text has tokens.
    MissingByte(u8),
    /// Two tokens have these bytes, or this id.
    Twice(String),
    /// A token without bytes.
    EmptyToken(u32),
    /// This merge (by its place in the list) names an id that is no token, or makes no token.
    Merge(usize),
    /// A pattern cannot be run exactly.
    Pattern(PatternError),
    /// There are too many tokens or merges, or a token is too long.
    TooLarge,
}

impl fmt::Display for VocabularyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("the name of an encoding has 1 to 256 bytes"),
            Self::NameTaken(name) => write!(f, "another encoding is named {name:?} already: take another name"),
            Self::TooMany => write!(
                f,
                "{REGISTERED_LIMIT} vocabularies are registered, which is as many as may be"
            ),
            Self::MissingByte(byte) => write!(
                f,
                "the byte 0x{byte:02X} has no token: only vocabularies that hold all 256 bytes can be counted exactly"
            ),
            Self::Twice(what) => write!(f, "the vocabulary has {what} twice"),
            Self::EmptyToken(id) => write!(f, "the token of id {id} has no bytes"),
            Self::Merge(place) => write!(f, "merge {place} does not join two tokens into one of the vocabulary"),
            Self::Pattern(error) => error.fmt(f),
            Self::TooLarge => f.write_str("a vocabulary has at most 4 million tokens and 64 MB, a token 64 KB"),
        }
    }
}

impl std::error::Error for VocabularyError {}

impl From<PatternError> for VocabularyError {
    fn from(error: PatternError) -> Self {
        Self::Pattern(error)
    }
}
