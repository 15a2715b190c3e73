//! Placeholder of the frame for `splice`.
