//! What summarizers are shown, and what they may not imitate.

use pyo3::prelude::*;
use pyo3::types::PyString;
use turnfold_core::quoting;
use turnfold_core::shown::{self, Speaker};

use crate::door::{Fault, Rows, Text, by_size, detached};
use crate::input;

/// `text` with everything made plain that imitates a delimiter; `None` where nothing does.
#[pyfunction]
pub(crate) fn neutralise(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Option<Text<'static>>> {
    let text = input::text(text)?;
    by_size(py, text.len(), || {
        Ok(quoting::neutralise(&text).map(|plain| Text(plain.into())))
    })
}

/// What a summarizer was shown, as one text.
#[pyclass(frozen, module = "turnfold._core")]
pub(crate) struct Shown(shown::Shown);

#[pymethods]
impl Shown {
    /// `speakers` has a byte for each text of the conversation: 1 where the user wrote it, 2 where it reports a failure.
    #[new]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = input::strings)] conversation: Vec<Bound<'_, PyString>>,
        speakers: &[u8],
        #[pyo3(from_py_with = input::strings)] beside: Vec<Bound<'_, PyString>>,
        #[pyo3(from_py_with = input::strings)] identifiers: Vec<Bound<'_, PyString>>,
    ) -> PyResult<Self> {
        let (conversation, beside) = (input::texts(py, &conversation)?, input::texts(py, &beside)?);
        let identifiers = input::texts(py, &identifiers)?;
        detached(py, || {
            if conversation.len() != speakers.len() {
                return Err(Fault::new("argument", "as many speakers as texts are needed"));
            }
            let speaker = |&flags: &u8| Speaker {
                user: flags & 1 > 0,
                failed: flags & 2 > 0,
            };
            let said: Vec<_> = conversation.into_iter().zip(speakers.iter().map(speaker)).collect();
            Ok(Self(shown::Shown::new(&said, beside.iter().chain(&identifiers))))
        })
    }

    fn holds(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<bool> {
        let text = input::text(text)?;
        detached(py, || Ok(self.0.holds(&text)))
    }

    fn says(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<bool> {
        let text = input::text(text)?;
        detached(py, || Ok(self.0.says(&text)))
    }

    fn copied(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::strings)] pieces: Vec<Bound<'_, PyString>>,
    ) -> PyResult<usize> {
        let pieces = input::texts(py, &pieces)?;
        detached(py, || Ok(self.0.copied(&pieces)))
    }

    fn any_of(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::strings)] words: Vec<Bound<'_, PyString>>,
    ) -> PyResult<bool> {
        let words = input::texts(py, &words)?;
        detached(py, || Ok(self.0.any_of(&words)))
    }

    fn occurring(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::strings)] identifiers: Vec<Bound<'_, PyString>>,
    ) -> PyResult<Rows<bool>> {
        let names = input::texts(py, &identifiers)?;
        detached(py, || Ok(Rows(self.0.occurring(&names))))
    }

    /// By whom each is named: 1 for the user, 2 for a result that reports a failure, 3 for both.
    fn speakers(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::strings)] identifiers: Vec<Bound<'_, PyString>>,
    ) -> PyResult<Rows<u8>> {
        let names = input::texts(py, &identifiers)?;
        detached(py, || {
            let found = self.0.speakers(&names).into_iter();
            Ok(found.map(|s| u8::from(s.user) + 2 * u8::from(s.failed)).collect())
        })
    }
}
