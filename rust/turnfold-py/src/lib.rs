//! The Python module `turnfold._core`: a list of exports.

#![deny(unsafe_code)]
#![allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over by value")]

mod caches;
mod checks;
mod digests;
mod door;
mod edits;
mod forks;
mod identifiers;
mod input;
mod json;
mod options;
mod plain;
mod quoting;
mod results;
mod seen_objects;
mod statements;
mod text;
mod transcript;
mod unfilled;
mod vocabularies;

/// Threads free what others made, as tables are shared: that takes no lock of another thread here.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The compiled kernel. The floors above give it types and defaults; call those.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::caches::share_caches;
    #[pymodule_export]
    use super::checks::{
        Splits, check_pairs, compare_prefix, find_split, findings, layout, repair, rules, scan, split_points,
    };
    #[pymodule_export]
    use super::identifiers::{extract_details, extract_identifiers, identifiers_around, occurring, surviving};
    #[pymodule_export]
    use super::json::Json;
    #[pymodule_export]
    use super::options::ScanOptions;
    #[pymodule_export]
    use super::plain::is_plain;
    #[pymodule_export]
    use super::quoting::{Shown, neutralise};
    #[pymodule_export]
    use super::results::{mask_old, masks};
    #[pymodule_export]
    use super::seen_objects::SeenObjects;
    #[pymodule_export]
    use super::statements::Statements;
    #[pymodule_export]
    use super::text::{
        bounds, count, count_many, count_up_to, decode, encode, encoding_for_model, estimate, fits, register_model,
        truncate, truncate_middle,
    };
    #[pymodule_export]
    use super::transcript::Transcript;
    #[pymodule_export]
    use super::vocabularies::register_vocabulary;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::forks::register(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
