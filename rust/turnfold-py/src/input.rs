//! Python's bytes and text as the kernel takes them: borrowed where that is safe, copied where it is not.

use std::borrow::Cow;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use turnfold_core::Source;
use turnfold_tokens::{Encoding, registered_names};

use crate::door::Fault;

/// The bytes of `object`. `bytes` are borrowed for as long as the source lives; `bytearray` and `memoryview` may change
/// under us and are copied.
pub(crate) fn source(object: &Bound<'_, PyAny>) -> PyResult<Source> {
    let backed = if let Ok(bytes) = object.cast::<PyBytes>() {
        PyBackedBytes::from(bytes.clone())
    } else if let Ok(array) = object.cast::<PyByteArray>() {
        PyBackedBytes::from(array.clone())
    } else if object.is_instance_of::<PyMemoryView>() {
        let copy = object.py().get_type::<PyBytes>().call1((object,))?;
        PyBackedBytes::from(copy.cast_into::<PyBytes>()?)
    } else {
        let given = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a body is bytes, bytearray or memoryview, not {given}"
        )));
    };
    Ok(Arc::new(backed))
}

/// The text of `string`. Halves of a surrogate pair that stand side by side join; a lone one becomes U+FFFD, which is
/// what tiktoken does (`encode("utf-16", "surrogatepass").decode("utf-16", "replace")`).
pub(crate) fn text<'a>(string: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    if let Ok(text) = string.to_str() {
        return Ok(Cow::Borrowed(text));
    }
    let encoded = string.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    let encoded = encoded.cast_into::<PyBytes>()?;
    let (pairs, _) = encoded.as_bytes().as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    Ok(Cow::Owned(String::from_utf16_lossy(&units)))
}

/// A name that a caller gives, read as `text` is: one that cannot be UTF-8 is a name that nothing has.
pub(crate) fn name(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let Ok(string) = object.cast::<PyString>() else {
        let given = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a name is a str, not {given}")));
    };
    Ok(text(string)?.into_owned())
}

/// A name, or none.
pub(crate) fn optional_name(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if object.is_none() {
        Ok(None)
    } else {
        name(object).map(Some)
    }
}

/// The encoding of that name.
pub(crate) fn encoding(name: &str) -> Result<Encoding, Fault> {
    Encoding::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Encoding::ALL
            .iter()
            .map(|e| e.name())
            .chain(registered_names())
            .collect();
        Fault::new(
            "unknown_encoding",
            format!("No encoding is named {name:?}; there are {}", known.join(", ")),
        )
    })
}
