//! Counts of phrases of closed lists.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::door::{Fault, detached};
use crate::input;

/// Lists of phrases, each an alternation as a regular expression, for texts of ASCII characters.
#[pyclass(frozen, module = "turnfold._core")]
pub(crate) struct Phrases(turnfold_core::phrases::Phrases);

#[pymethods]
impl Phrases {
    #[new]
    fn new(py: Python<'_>, lists: Vec<String>) -> PyResult<Self> {
        detached(py, || {
            let phrases = turnfold_core::phrases::Phrases::new(&lists);
            Ok(Self(
                phrases.map_err(|error| Fault::new("argument", error.to_string()))?,
            ))
        })
    }

    fn counts(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Vec<usize>> {
        let text = input::text(text)?;
        detached(py, || Ok(self.0.counts(&text)))
    }
}
