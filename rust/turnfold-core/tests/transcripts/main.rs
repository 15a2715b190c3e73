//! What is made of transcripts: comparisons, splices, digests. One module a part of the kernel.

mod bodies;
mod digests;
mod prefix;
mod splice;
mod truncate;
