//! The one way in and out: detaches from the interpreter, catches panics, turns faults into Python exceptions, hands
//! over many rows.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString};
use turnfold_core::ReadError;
use turnfold_core::splice::SpliceError;

use crate::forks::Inside;

/// What went wrong in the kernel, on its way to `turnfold.errors`.
pub(crate) struct Fault {
    code: &'static str,
    text: String,
    place: Option<(usize, String)>,
}

impl Fault {
    /// A fault without a place in the input.
    pub(crate) fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            place: None,
        }
    }

    fn from_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        Self::new("internal", text.unwrap_or_else(|| "the kernel panicked".to_owned()))
    }
}

impl From<SpliceError> for Fault {
    fn from(error: SpliceError) -> Self {
        match error {
            SpliceError::Argument(text) => Self::new("argument", text),
            SpliceError::Read(error) => error.into(),
        }
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self {
            code: error.code.as_str(),
            text: error.text,
            place: Some((error.offset, error.path)),
        }
    }
}

/// Runs `work` while other Python threads run. For everything that may take more than a few microseconds.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Fault> + Send) -> PyResult<T> {
    // Nothing that a panic could leave half-written is reachable afterwards: the kernel's values are immutable.
    let outcome = py.detach(|| {
        let _inside = Inside::enter();
        catch_unwind(AssertUnwindSafe(work))
    });
    finish(py, outcome)
}

/// What works on fewer bytes is done before another thread would have woken up.
const DETACH_BYTES: usize = 16_384;

/// Runs `work` on so many bytes, while other Python threads run if that may take more than a few microseconds.
///
/// A thread that waits for the interpreter asks for it only where nobody lets go of it for a millisecond: one that lets go
/// of it more often than that, and never for long enough, keeps an event loop waiting for as long as it works.
pub(crate) fn by_size<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce() -> Result<T, Fault> + Send,
) -> PyResult<T> {
    if bytes < DETACH_BYTES {
        attached(py, work)
    } else {
        detached(py, work)
    }
}

/// Runs `work`, which takes less than detaching would.
pub(crate) fn attached<T>(py: Python<'_>, work: impl FnOnce() -> Result<T, Fault>) -> PyResult<T> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    finish(py, outcome)
}

/// How long rows are made into Python objects at a stretch.
const STRETCH: Duration = Duration::from_micros(250);

/// After so many rows it is looked how late it is, which takes as long as a short row does.
const ROWS_A_LOOK: usize = 8;

/// Rows that Python gets as a list. A thread that waits for the interpreter, such as an event loop's, gets it between
/// two of them: ten thousand rows take ten milliseconds.
pub(crate) struct Rows<T>(pub(crate) Vec<T>);

impl<T> FromIterator<T> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        Self(rows.into_iter().collect())
    }
}

impl<'py, T: IntoPyObject<'py>> IntoPyObject<'py> for Rows<T> {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let list = PyList::empty(py);
        let mut stretch = Stretch::begin();
        for (index, row) in self.0.into_iter().enumerate() {
            list.append(row)?;
            if index % ROWS_A_LOOK == ROWS_A_LOOK - 1 {
                stretch.end_in_time(py)?;
            }
        }
        Ok(list)
    }
}

/// A stretch of work on many Python objects.
pub(crate) struct Stretch(Instant);

impl Stretch {
    pub(crate) fn begin() -> Self {
        Self(Instant::now())
    }

    /// Begins another one where this one was long enough, after a thread that waits for the interpreter had it.
    pub(crate) fn end_in_time(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.0.elapsed() > STRETCH {
            take_turns(py)?;
            self.0 = Instant::now();
        }
        Ok(())
    }
}

/// So many bytes are made into Python text, or read from it, in a fraction of a millisecond.
pub(crate) const WHOLE_TEXT: usize = 1 << 17;

/// A text that may be a megabyte. What is not ASCII takes the interpreter milliseconds, so Python gets it in pieces.
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'py> IntoPyObject<'py> for Text<'_> {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let mut rest: &str = &self.0;
        if rest.len() <= WHOLE_TEXT || rest.is_ascii() {
            return Ok(PyString::new(py, rest));
        }
        let pieces = PyList::empty(py);
        let mut stretch = Stretch::begin();
        while !rest.is_empty() {
            let mut end = rest.len().min(WHOLE_TEXT);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (piece, next) = rest.split_at(end);
            pieces.append(piece)?;
            rest = next;
            stretch.end_in_time(py)?;
        }
        Ok(PyString::new(py, "").call_method1("join", (pieces,))?.cast_into()?)
    }
}

/// Lets another thread have the interpreter if it has waited for long enough to ask for it.
///
/// What runs Python's functions looks for that. To detach for a moment would do worse than nothing: a thread that waits
/// is woken by it, comes too late, and begins to wait from the start.
fn take_turns(py: Python<'_>) -> PyResult<()> {
    static NOTHING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let nothing = NOTHING.get_or_try_init(py, || py.eval(c"lambda: None", None, None).map(Bound::unbind))?;
    nothing.bind(py).call0()?;
    Ok(())
}

fn finish<T>(py: Python<'_>, outcome: Result<Result<T, Fault>, Box<dyn Any + Send>>) -> PyResult<T> {
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(fault)) => Err(raise(py, fault)),
        Err(payload) => Err(raise(py, Fault::from_panic(&*payload))),
    }
}

fn raise(py: Python<'_>, fault: Fault) -> PyErr {
    static BUILD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let build = BUILD.get_or_try_init(py, || {
        py.import("turnfold.errors")?.getattr("from_kernel").map(Bound::unbind)
    });
    let (offset, path) = fault.place.unzip();
    match build.and_then(|f| f.bind(py).call1((fault.code, fault.text, offset, path))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
