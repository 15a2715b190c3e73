//! The weights of the estimate, in 1/4096 token, by vocabulary.
//!
//! Written by `python benches/fit_estimate.py WHEELS`, which says where the texts come from. Do not edit.

use super::{CONDITIONS, Pairs, read_pairs};

/// Thousandths of the count and tenths of its root: what holds 99 of 100 texts of a source left out.
pub(super) const SPREAD: (u64, u64) = (93, 9);

#[rustfmt::skip]
pub(super) static O200K: [i16; CONDITIONS] = [
    -832, -825, -851, -112, -622, -882, -353, -823, -539, 1303, 2236, 3459, 2109, 1759, 1128, 3729,
    574, -810, -1462, -490, -290, 913, 1848, 6369, -1305, -1718, -1267, 1809, 1792, -1303, 119, -449,
];

pub(super) static O200K_PAIRS: Pairs = read_pairs(include_bytes!("o200k_base.pairs"));

#[rustfmt::skip]
pub(super) static CL100K: [i16; CONDITIONS] = [
    -805, -1013, -985, -140, -755, -1087, -429, -711, -709, 746, 2909, 3747, 2190, 1752, 1224, 3650,
    376, -464, -931, -641, -306, 1126, 1772, 4722, -1216, -2552, -1387, 2661, 1387, -1006, 126, 163,
];

pub(super) static CL100K_PAIRS: Pairs = read_pairs(include_bytes!("cl100k_base.pairs"));
