//! The weights of the estimate, in 1/4096 token, by vocabulary.
//!
//! Written by `python benches/fit_estimate.py WHEELS`, which says where the texts come from. Do not edit.

use super::{CONDITIONS, Pairs, read_pairs};

/// Thousandths of the count and tenths of its root: what holds 99 of 100 texts of a source left out.
pub(super) const SPREAD: (u64, u64) = (91, 10);

#[rustfmt::skip]
pub(super) static O200K: [i16; CONDITIONS] = [
    -923, -818, -855, -94, -627, -849, -373, -807, -528, 803, 2006, 3470, 2148, 1838, 1106, 3657,
    625, -833, -1473, -480, -306, 890, 1875, 6323, -1374, -1612, -1369, 1717, 1866, -1307, 119, -460,
];

pub(super) static O200K_PAIRS: Pairs = read_pairs(include_bytes!("o200k_base.pairs"));

#[rustfmt::skip]
pub(super) static CL100K: [i16; CONDITIONS] = [
    -887, -993, -977, -129, -755, -1042, -463, -688, -696, 366, 2691, 3754, 2224, 1857, 1188, 3571,
    443, -481, -942, -634, -338, 1122, 1760, 4677, -1307, -2423, -1442, 2471, 1500, -1020, 124, 161,
];

pub(super) static CL100K_PAIRS: Pairs = read_pairs(include_bytes!("cl100k_base.pairs"));
