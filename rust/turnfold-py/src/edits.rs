//! Other texts of blocks, as Python names them.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::input;

/// Messages, each with blocks and their other texts.
pub(crate) type EditFields<'py> = Vec<(usize, Vec<(usize, Bound<'py, PyString>)>)>;

/// A message, and new texts of some of its blocks.
type Edit<'a> = (usize, Vec<(usize, Cow<'a, str>)>);

/// Reads them: texts that are no Unicode are refused.
pub(crate) fn read<'a>(edits: &'a EditFields<'_>) -> PyResult<Vec<Edit<'a>>> {
    let edits = edits.iter().map(|(message, texts)| {
        let texts = texts.iter().map(|(block, text)| Ok((*block, input::text(text)?)));
        Ok((*message, texts.collect::<PyResult<_>>()?))
    });
    edits.collect()
}
