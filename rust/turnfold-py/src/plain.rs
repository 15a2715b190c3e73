//! A look at Python objects before they are read as JSON.

use std::sync::OnceLock;

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
                    held_still(fields)
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

/// A dict that no other thread changes while its entries are gone through, which would be a panic: a copy where threads
/// are in the interpreter at the same time, else itself.
pub(crate) fn held_still<'py>(fields: &Bound<'py, PyDict>) -> Bound<'py, PyDict> {
    static AT_ONCE: OnceLock<bool> = OnceLock::new();
    let at_once = *AT_ONCE.get_or_init(|| {
        let sys = fields.py().import("sys");
        let locked = sys.and_then(|sys| sys.call_method0("_is_gil_enabled"));
        // Pythons before 3.13 do not know the question.
        locked.is_ok_and(|locked| locked.is_truthy().is_ok_and(|locked| !locked))
    });
    let copy = if at_once { fields.copy().ok() } else { None };
    copy.unwrap_or_else(|| fields.clone())
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
