//! The weights of the estimate, in 1/4096 token, by vocabulary.
//!
//! Written by `python benches/fit_estimate.py WHEELS`, which says where the texts come from. Do not edit.

use super::{Pairs, read_pairs};

/// Thousandths of the count and tenths of its root: what holds 99 of 100 texts of a source left out.
pub(super) const SPREAD: (u64, u64) = (74, 10);

pub(super) static O200K: Pairs = read_pairs(include_bytes!("o200k_base.pairs"));
pub(super) static CL100K: Pairs = read_pairs(include_bytes!("cl100k_base.pairs"));
