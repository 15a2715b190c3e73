//! Placeholder of the frame for `fingerprint`.
