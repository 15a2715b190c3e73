//! The identifiers that a summary must carry, and the details beside them.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyString;
use turnfold_core::details::{self, Detail};
use turnfold_core::identifiers::{self, Identifier, Watch};

use crate::door::detached;
use crate::input;
use crate::transcript::Transcript;

/// `kind`, `text`.
pub(crate) type IdentifierFields = (&'static str, String);

pub(crate) fn fields(identifier: Identifier) -> IdentifierFields {
    (identifier.kind.as_str(), identifier.text)
}

pub(crate) fn detail_fields(detail: Detail) -> IdentifierFields {
    (detail.kind.as_str(), detail.text)
}

#[pyfunction]
pub(crate) fn extract_identifiers(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Vec<IdentifierFields>> {
    let text = input::text(text)?;
    detached(py, || Ok(identifiers::extract(&text).into_iter().map(fields).collect()))
}

#[pyfunction]
pub(crate) fn extract_details(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Vec<IdentifierFields>> {
    let text = input::text(text)?;
    detached(py, || {
        Ok(details::extract(&text).into_iter().map(detail_fields).collect())
    })
}

#[pyfunction]
pub(crate) fn occurring(
    py: Python<'_>,
    identifiers: Vec<Bound<'_, PyString>>,
    text: &Bound<'_, PyString>,
) -> PyResult<Vec<bool>> {
    let names = names(&identifiers)?;
    let text = input::text(text)?;
    detached(py, || Ok(identifiers::occurring(&names, &text)))
}

#[pyfunction]
pub(crate) fn surviving(
    py: Python<'_>,
    identifiers: Vec<Bound<'_, PyString>>,
    transcript: &Transcript,
) -> PyResult<Vec<bool>> {
    let names = names(&identifiers)?;
    detached(py, || {
        let mut watch = Watch::new(&names);
        for message in transcript.0.messages() {
            for text in message.blocks().flat_map(|block| block.texts()) {
                watch.feed(&text);
            }
        }
        Ok(watch.found().to_vec())
    })
}

fn names<'a>(identifiers: &'a [Bound<'_, PyString>]) -> PyResult<Vec<Cow<'a, str>>> {
    identifiers.iter().map(input::text).collect()
}
