//! The spans of JSON values, for what writes into a text without touching the bytes around it.

use pyo3::prelude::*;
use pyo3::types::PyString;
use turnfold_core::Source;
use turnfold_core::json::{Document, Tape, Value};

use crate::door::{Rows, attached, detached};
use crate::input;

/// One JSON text, parsed once.
#[pyclass(frozen, module = "turnfold._core")]
pub(crate) struct Json {
    source: Source,
    tape: Tape,
}

/// A key of an object, or an index of an array.
#[derive(FromPyObject)]
enum Step<'py> {
    Key(Bound<'py, PyString>),
    Index(usize),
}

#[pymethods]
impl Json {
    #[new]
    fn new(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let source = input::source(data)?;
        detached(py, || {
            let tape = Document::parse((*source).as_ref())?.into_tape();
            Ok(Self { source, tape })
        })
    }

    /// Start and stop of the value at `path`; None where there is none.
    fn span(&self, py: Python<'_>, path: Vec<Step<'_>>) -> PyResult<Option<(usize, usize)>> {
        let found = self.at(&path)?;
        attached(py, || Ok(found.map(ends)))
    }

    /// Start and stop of each item of the array at `path`; nothing for any other kind.
    fn items(&self, py: Python<'_>, path: Vec<Step<'_>>) -> PyResult<Rows<(usize, usize)>> {
        let found = self.at(&path)?;
        detached(py, || {
            Ok(found.into_iter().flat_map(|array| array.items().map(ends)).collect())
        })
    }

    /// Key, start and stop of each value of the object at `path`; nothing for any other kind.
    fn fields(&self, py: Python<'_>, path: Vec<Step<'_>>) -> PyResult<Rows<(String, usize, usize)>> {
        let found = self.at(&path)?;
        detached(py, || {
            let fields = found.into_iter().flat_map(Value::fields);
            let fields = fields.map(|(key, value)| {
                let (start, stop) = ends(value);
                (key.text().unwrap_or_default().into_owned(), start, stop)
            });
            Ok(fields.collect())
        })
    }
}

impl Json {
    fn at(&self, path: &[Step<'_>]) -> PyResult<Option<Value<'_>>> {
        let mut value = Some(self.tape.root((*self.source).as_ref()));
        for step in path {
            value = match step {
                Step::Key(key) => {
                    let key = input::text(key)?;
                    value.and_then(|object| object.get(&key))
                }
                Step::Index(index) => value.and_then(|array| array.items().nth(*index)),
            };
        }
        Ok(value)
    }
}

fn ends(value: Value<'_>) -> (usize, usize) {
    let span = value.span();
    (span.start as usize, span.end as usize)
}
