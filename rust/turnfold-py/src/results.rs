//! Tool results that may change, and the lines that stand for them.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use turnfold_core::masking::{self, Saving};
use turnfold_core::masks::Reason;
use turnfold_core::results::OpenResult;

use crate::door::{Fault, Rows, by_size, detached};
use crate::input;
use crate::options::ScanOptions;
use crate::transcript::Transcript;

/// `message`, `block`, `tokens`, `name`.
pub(crate) type OpenResultFields = (usize, usize, u64, Option<String>);

/// To make a line takes so many times as long as to copy a byte.
const LINE_BYTES: usize = 256;

pub(crate) fn fields(result: OpenResult) -> OpenResultFields {
    let OpenResult {
        message,
        block,
        tokens,
        name,
    } = result;
    (message, block, tokens, name)
}

/// Blocks of a message, each with its line: a tuple of tuples.
pub(crate) struct Lines(Vec<(usize, String)>);

impl<'py> IntoPyObject<'py> for Lines {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        PyTuple::new(py, self.0)
    }
}

/// The messages of some results with a line in the place of each that is longer than that, in the same order: the
/// messages, and of each its lines. One reason for each result.
#[pyfunction]
pub(crate) fn masks(
    py: Python<'_>,
    results: Vec<(usize, usize, u64, Option<Bound<'_, PyString>>)>,
    reasons: Vec<Bound<'_, PyString>>,
    #[pyo3(from_py_with = input::name)] encoding: String,
    min_tokens: u64,
) -> PyResult<(Rows<usize>, Rows<Lines>)> {
    let results = results.into_iter().map(|(message, block, tokens, name)| {
        let name = name.as_ref().map(input::text).transpose()?.map(Into::into);
        Ok(OpenResult {
            message,
            block,
            tokens,
            name,
        })
    });
    let results = results.collect::<PyResult<Vec<_>>>()?;
    let reasons = reasons.iter().map(input::text).collect::<PyResult<Vec<_>>>()?;
    by_size(py, LINE_BYTES * results.len(), || {
        let encoding = input::encoding(&encoding)?;
        if reasons.len() != results.len() {
            return Err(Fault::new("argument", "as many reasons are needed as results"));
        }
        let each = reasons.iter().map(|reason| {
            Reason::by_name(reason)
                .ok_or_else(|| Fault::new("argument", format!("No result is left out for {reason:?}")))
        });
        let each = each.collect::<Result<Vec<_>, _>>()?;
        let masked = turnfold_core::masks::masks(results.iter().zip(each), encoding, min_tokens);
        let (messages, lines) = masked
            .into_iter()
            .map(|(message, lines)| (message, Lines(lines)))
            .unzip();
        Ok((Rows(messages), Rows(lines)))
    })
}

/// The messages of `[start, stop)` with lines in the place of old results; of each its lines, and how much it saves.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "every option is explicit")]
pub(crate) fn mask_old(
    py: Python<'_>,
    transcript: &Transcript,
    #[pyo3(from_py_with = input::optional_name)] encoding: Option<String>,
    #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
    bound: bool,
    start: usize,
    stop: usize,
    options: &ScanOptions,
    min_tokens: u64,
    over_tokens: Option<i64>,
    part_tokens: i64,
) -> PyResult<(Rows<usize>, Rows<Lines>, Rows<u64>)> {
    detached(py, || {
        transcript.check(&(start..stop))?;
        let saving = Saving {
            asked: transcript.asked(encoding.as_deref(), model.as_deref(), None)?,
            bound,
            least_tokens: min_tokens,
            over_tokens,
            part_tokens,
        };
        let masked = masking::mask_old(&transcript.0, &options.0, start..stop, &saving)?;
        let (mut messages, mut lines, mut saved) = (Vec::new(), Vec::new(), Vec::new());
        for ((message, of), less) in masked {
            messages.push(message);
            lines.push(Lines(of));
            saved.push(less);
        }
        Ok((Rows(messages), Rows(lines), Rows(saved)))
    })
}
