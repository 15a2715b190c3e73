//! How much of its bound a table of the process takes: processes that do one job keep together what one would.

use std::sync::atomic::{AtomicUsize, Ordering};

static AMONG: AtomicUsize = AtomicUsize::new(1);

/// Says that so many processes do the job. Only tables that were not used before follow.
pub fn share_among(processes: usize) {
    AMONG.store(processes.max(1), Ordering::Relaxed);
}

/// This process's part of the bound of a table.
pub(crate) fn part_of(bytes: usize) -> usize {
    bytes / AMONG.load(Ordering::Relaxed)
}
