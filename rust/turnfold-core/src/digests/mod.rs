//! Placeholder of the frame for `digests/mod`.
