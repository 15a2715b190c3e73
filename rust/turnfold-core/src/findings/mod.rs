//! Placeholder of the frame for `findings/mod`.
