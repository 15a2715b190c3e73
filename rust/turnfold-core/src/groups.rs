//! Placeholder of the frame for `groups`.
