//! What is made of transcripts: comparisons, splices, digests. One module a part of the kernel.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where it is wrong"
)]

mod bodies;
mod digests;
mod extend;
mod prefix;
mod recall;
mod splice;
mod truncate;
