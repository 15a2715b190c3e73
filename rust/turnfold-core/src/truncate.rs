//! Placeholder of the frame for `truncate`.
