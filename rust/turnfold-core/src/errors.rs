//! What can be wrong with input bytes: one code each, with the place.

use std::fmt;

/// The kinds of unreadable input. `as_str` is the stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadErrorCode {
    /// The bytes are not UTF-8.
    InvalidUtf8,
    /// The bytes are not JSON.
    InvalidJson,
    /// Objects and arrays nest deeper than the reader goes.
    TooDeep,
    /// The body is 4 GiB or larger.
    TooLarge,
    /// JSON, but neither a request body nor an array of messages.
    NotATranscript,
    /// No wire format fits, or marks of two formats stand in one body.
    UnknownFormat,
    /// A message that cannot be read as one: not an object, no role, ...
    InvalidMessage,
}

impl ReadErrorCode {
    /// Every code.
    pub const ALL: [Self; 7] = [
        Self::InvalidUtf8,
        Self::InvalidJson,
        Self::TooDeep,
        Self::TooLarge,
        Self::NotATranscript,
        Self::UnknownFormat,
        Self::InvalidMessage,
    ];

    /// The stable code: `invalid_utf8`, `invalid_json`, ...
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "invalid_utf8",
            Self::InvalidJson => "invalid_json",
            Self::TooDeep => "too_deep",
            Self::TooLarge => "too_large",
            Self::NotATranscript => "not_a_transcript",
            Self::UnknownFormat => "unknown_format",
            Self::InvalidMessage => "invalid_message",
        }
    }
}

/// Input that cannot be read as a transcript: what, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The kind.
    pub code: ReadErrorCode,
    /// Byte offset in the input.
    pub offset: usize,
    /// JSON path, where one is known: `messages[3].content`.
    pub path: String,
    /// One sentence for a person.
    pub text: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.text, self.offset)?;
        if !self.path.is_empty() {
            write!(f, " ({})", self.path)?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadError {}
