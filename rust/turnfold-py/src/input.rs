//! Python's bytes and text as the kernel takes them: borrowed where that is safe, copied where it is not.

use std::borrow::Cow;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView, PySlice, PyString, PyTuple};
use turnfold_core::Source;
use turnfold_tokens::{Encoding, registered_names};

use crate::door::{Fault, Stretch, WHOLE_TEXT};

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

/// The same twice: one for work without the interpreter, and one to keep until that is done. The last one of an object, let
/// go of without the interpreter, waits for it in a list behind a lock, which all threads then write to.
pub(crate) fn kept_source(object: &Bound<'_, PyAny>) -> PyResult<(Source, Source)> {
    let source = source(object)?;
    Ok((Arc::clone(&source), source))
}

/// The text of `string`. Halves of a surrogate pair that stand side by side join; a lone one becomes U+FFFD, which is
/// what tiktoken does (`encode("utf-16", "surrogatepass").decode("utf-16", "replace")`).
pub(crate) fn text<'a>(string: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    if let Some(text) = in_pieces(string)? {
        return Ok(Cow::Owned(text));
    }
    if let Ok(text) = string.to_str() {
        return Ok(Cow::Borrowed(text));
    }
    let encoded = string.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    let encoded = encoded.cast_into::<PyBytes>()?;
    let (pairs, _) = encoded.as_bytes().as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    Ok(Cow::Owned(String::from_utf16_lossy(&units)))
}

/// So many characters beyond ASCII Python encodes in one go, in a millisecond or two, and keeps for the next call.
const ENCODED_WHOLE: usize = 1 << 20;

/// A very long text that is not ASCII, read with the interpreter free now and then. `None` for any other, and for one with
/// halves of surrogate pairs, which may lie on either side of a cut.
fn in_pieces(string: &Bound<'_, PyString>) -> PyResult<Option<String>> {
    let characters = string.len()?;
    if characters <= ENCODED_WHOLE || string.call_method0("isascii")?.is_truthy()? {
        return Ok(None);
    }
    let mut whole = String::with_capacity(2 * characters);
    let mut stretch = Stretch::begin();
    for start in (0..characters).step_by(WHOLE_TEXT) {
        let stop = characters.min(start + WHOLE_TEXT);
        let piece = string.get_item(PySlice::new(string.py(), start.try_into()?, stop.try_into()?, 1))?;
        let Ok(piece) = piece.cast::<PyString>()?.to_str() else {
            return Ok(None);
        };
        whole.push_str(piece);
        stretch.end_in_time(string.py())?;
    }
    Ok(Some(whole))
}

/// The strings of a list or a tuple, which may be tens of thousands.
pub(crate) fn strings<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyString>>> {
    if !object.is_instance_of::<PyList>() && !object.is_instance_of::<PyTuple>() {
        let given = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "texts are a list or a tuple, not {given}"
        )));
    }
    let mut stretch = Stretch::begin();
    let mut strings = Vec::with_capacity(object.len()?);
    for item in object.try_iter()? {
        let item = item?;
        let Ok(string) = item.cast_into::<PyString>() else {
            return Err(PyTypeError::new_err("a text among them is not a str"));
        };
        strings.push(string);
        stretch.end_in_time(object.py())?;
    }
    Ok(strings)
}

/// Their texts.
pub(crate) fn texts<'a>(py: Python<'_>, strings: &'a [Bound<'_, PyString>]) -> PyResult<Vec<Cow<'a, str>>> {
    let mut stretch = Stretch::begin();
    let mut texts = Vec::with_capacity(strings.len());
    for string in strings {
        texts.push(text(string)?);
        stretch.end_in_time(py)?;
    }
    Ok(texts)
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
