//! The bounds of what the process keeps.

use pyo3::prelude::*;

/// Divides the bounds of the tables of messages and bodies by the number of processes that do one job.
#[pyfunction]
pub(crate) fn share_caches(processes: usize) {
    turnfold_core::caches::share_among(processes);
}
