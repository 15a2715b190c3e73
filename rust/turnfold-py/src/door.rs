//! The one way in and out: detaches from the interpreter, catches panics, turns faults into Python exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use turnfold_core::ReadError;
use turnfold_core::splice::SpliceError;

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
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    finish(py, outcome)
}

/// Runs `work`, which takes less than detaching would.
pub(crate) fn attached<T>(py: Python<'_>, work: impl FnOnce() -> Result<T, Fault>) -> PyResult<T> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    finish(py, outcome)
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
