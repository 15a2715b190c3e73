//! Texts as statements, each with what it is worth.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyString;
use turnfold_core::statements::{self, Cues, Statement};

use crate::door::{Fault, Rows, detached};
use crate::input;

/// `order`, `place`, `text`, `label`, `enclosed`, `score`, `replaced`, `doubtful`, `after`, `features`.
type StatementFields = (
    usize,
    usize,
    String,
    String,
    bool,
    f64,
    bool,
    bool,
    Option<usize>,
    usize,
);

/// `plain`, `names`.
type FeatureFields = (String, Vec<String>);

/// The closed lists that statements are weighed by: forbid, oblige, wish, decide, update, reset, aside, stand.
#[pyclass(frozen, module = "turnfold._core")]
pub(crate) struct Statements(Cues);

#[pymethods]
impl Statements {
    #[new]
    fn new(py: Python<'_>, lists: Vec<(String, String)>, back: String, back_glued: Vec<String>) -> PyResult<Self> {
        detached(py, || {
            let cues = Cues::new(&lists, &back, back_glued);
            Ok(Self(cues.map_err(|error| Fault::new("argument", error.to_string()))?))
        })
    }

    fn counts(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Vec<usize>> {
        let text = input::text(text)?;
        detached(py, || Ok(self.0.counts(&text)))
    }

    fn rules(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Rows<String>> {
        let text = input::text(text)?;
        detached(py, || {
            let rules = statements::rules(&text, &self.0);
            Ok(rules.into_iter().map(ToOwned::to_owned).collect())
        })
    }

    fn weigh(
        &self,
        py: Python<'_>,
        texts: Vec<(bool, Bound<'_, PyString>)>,
    ) -> PyResult<(Rows<StatementFields>, Rows<FeatureFields>)> {
        let texts: Vec<(bool, Cow<'_, str>)> = texts
            .iter()
            .map(|(user, text)| Ok((*user, input::text(text)?)))
            .collect::<PyResult<_>>()?;
        detached(py, || {
            let weighed = statements::weigh(&texts, &self.0);
            let features = weighed.features.into_iter().map(|one| (one.plain, one.names));
            Ok((weighed.statements.into_iter().map(fields).collect(), features.collect()))
        })
    }
}

fn fields(one: Statement) -> StatementFields {
    (
        one.order,
        one.place,
        one.text,
        one.label,
        one.enclosed,
        one.score,
        one.replaced,
        one.doubtful,
        one.after,
        one.features,
    )
}
