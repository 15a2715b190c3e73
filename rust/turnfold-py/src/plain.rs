//! A look at Python objects before they are read as JSON.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::door::attached;

/// Whether there is nothing in the messages but dicts, lists, text, finite numbers, booleans and None, without a look into
/// anything else. No code of theirs runs.
#[pyfunction]
pub(crate) fn is_plain(py: Python<'_>, messages: &Bound<'_, PyTuple>) -> PyResult<bool> {
    attached(py, || {
        let mut waiting: Vec<Bound<'_, PyAny>> = messages.iter().collect();
        while let Some(value) = waiting.pop() {
            if let Ok(fields) = value.cast_exact::<PyDict>() {
                waiting.extend(
                    fields
                        .iter()
                        .map(|(_, value)| value)
                        .filter(|value| !value.is_exact_instance_of::<PyString>()),
                );
            } else if let Ok(items) = value.cast_exact::<PyList>() {
                waiting.extend(items.iter());
            } else if !is_plain_word(&value) {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

fn is_plain_word(value: &Bound<'_, PyAny>) -> bool {
    match value.cast_exact::<PyFloat>() {
        Ok(number) => number.value().is_finite(),
        Err(_) => is_word(value),
    }
}

/// Whether it is text, a number, a boolean or None, and of no class of a caller's.
pub(crate) fn is_word(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>()
        || value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
}
