//! Placeholder of the frame for `identifiers`.
