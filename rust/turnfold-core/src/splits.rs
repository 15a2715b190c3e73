//! Placeholder of the frame for `splits`.
