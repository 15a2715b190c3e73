//! Placeholder of the frame for `prefix`.
