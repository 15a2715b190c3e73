//! The identifiers that a summary must carry, and the details beside them.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::PyString;
use turnfold_core::details::{self, Detail};
use turnfold_core::identifiers::{self, Identifier};

use crate::door::{Rows, by_size, detached};
use crate::input;
use crate::transcript::Transcript;

/// To look for identifiers takes so many times as long as to copy.
const SLOWER: usize = 8;

/// `kind`, `text`.
pub(crate) type IdentifierFields = (&'static str, String);

pub(crate) fn fields(identifier: Identifier) -> IdentifierFields {
    (identifier.kind.as_str(), identifier.text)
}

pub(crate) fn detail_fields(detail: Detail) -> IdentifierFields {
    (detail.kind.as_str(), detail.text)
}

#[pyfunction]
pub(crate) fn extract_identifiers(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Rows<IdentifierFields>> {
    let text = input::text(text)?;
    by_size(py, SLOWER * text.len(), || {
        Ok(identifiers::extract(&text).into_iter().map(fields).collect())
    })
}

#[pyfunction]
pub(crate) fn extract_details(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Rows<IdentifierFields>> {
    let text = input::text(text)?;
    by_size(py, SLOWER * text.len(), || {
        Ok(details::extract(&text).into_iter().map(detail_fields).collect())
    })
}

#[pyfunction]
pub(crate) fn occurring(
    py: Python<'_>,
    #[pyo3(from_py_with = input::strings)] identifiers: Vec<Bound<'_, PyString>>,
    text: &Bound<'_, PyString>,
) -> PyResult<Rows<bool>> {
    let names = input::texts(py, &identifiers)?;
    let text = input::text(text)?;
    let bytes = text.len() + names.iter().map(|name| name.len()).sum::<usize>();
    by_size(py, SLOWER * bytes, || Ok(Rows(identifiers::occurring(&names, &text))))
}

#[pyfunction]
pub(crate) fn surviving(
    py: Python<'_>,
    #[pyo3(from_py_with = input::strings)] identifiers: Vec<Bound<'_, PyString>>,
    transcript: &Transcript,
) -> PyResult<Rows<bool>> {
    let names = input::texts(py, &identifiers)?;
    detached(py, || {
        let (found, _) = identifiers::around_tail(&names, &transcript.0, transcript.0.len());
        Ok(Rows(found))
    })
}

/// The identifiers in ranges of messages of a transcript that are not among those given, each once; and of those given
/// and then of these, whether they occur in `result` before the message `tail`, and whether only from it on.
#[pyfunction]
pub(crate) fn identifiers_around(
    py: Python<'_>,
    #[pyo3(from_py_with = input::strings)] identifiers: Vec<Bound<'_, PyString>>,
    transcript: &Transcript,
    ranges: Vec<(usize, usize)>,
    result: &Transcript,
    tail: usize,
) -> PyResult<(Rows<String>, Rows<bool>, Rows<bool>)> {
    let given = input::texts(py, &identifiers)?;
    detached(py, || {
        let ranges = transcript.ranges(ranges)?;
        let known: HashSet<&str> = given.iter().map(AsRef::as_ref).collect();
        let found = identifiers::extract_messages(&transcript.0, ranges);
        let more = found.into_iter().map(|identifier| identifier.text);
        let more: Vec<String> = more.filter(|text| !known.contains(text.as_str())).collect();
        let names: Vec<&str> = given
            .iter()
            .map(AsRef::as_ref)
            .chain(more.iter().map(AsRef::as_ref))
            .collect();
        let (before, only_behind) = identifiers::around_tail(&names, &result.0, tail);
        Ok((Rows(more), Rows(before), Rows(only_behind)))
    })
}
