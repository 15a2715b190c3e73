//! Placeholder of the frame for `pairs`.
