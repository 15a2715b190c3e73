//! The Python module `turnfold._core`: a list of exports.

mod door;
mod input;
mod transcript;

/// The compiled kernel. The floors above give it types and defaults; call those.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::transcript::Transcript;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
