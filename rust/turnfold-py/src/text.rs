//! Functions of plain text.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use turnfold_core::meter::models::{self, ModelLabel};
use turnfold_core::truncate as middle;
use turnfold_tokens::{Encoding, Keep, Tokenizer};

use crate::door::{Fault, Rows, attached, detached};
use crate::input;

/// Shorter texts are counted faster than the interpreter is left and entered again.
const DETACH_BYTES: usize = 2_048;
/// Bounds take this part of the time of counts.
const BOUNDS_SHARE: usize = 4;
/// Likewise estimates.
const ESTIMATES_SHARE: usize = 4;

/// Which encodings have been used: the first use unpacks the vocabulary, which takes a while.
static UNPACKED: [AtomicBool; Encoding::LIMIT] = [const { AtomicBool::new(false) }; Encoding::LIMIT];

fn run<T: Send>(
    py: Python<'_>,
    encoding: &str,
    bytes: usize,
    work: impl FnOnce(&Tokenizer) -> Result<T, Fault> + Send,
) -> PyResult<T> {
    let encoding = attached(py, || input::encoding(encoding))?;
    if bytes < DETACH_BYTES && UNPACKED[encoding.index()].swap(true, Ordering::Relaxed) {
        attached(py, || work(encoding.tokenizer()))
    } else {
        detached(py, || work(encoding.tokenizer()))
    }
}

/// Tokens of `text` as ordinary text.
#[pyfunction]
pub(crate) fn count(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    #[pyo3(from_py_with = input::name)] encoding: String,
) -> PyResult<usize> {
    let text = input::text(text)?;
    run(py, &encoding, text.len(), |t| Ok(t.count(&text)))
}

/// Tokens of `text`, or `None` as soon as they are more than `limit_tokens`.
#[pyfunction]
pub(crate) fn count_up_to(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    #[pyo3(from_py_with = input::name)] encoding: String,
    limit_tokens: usize,
) -> PyResult<Option<usize>> {
    let text = input::text(text)?;
    run(py, &encoding, text.len(), |t| Ok(t.count_up_to(&text, limit_tokens)))
}

/// An estimate of the tokens of `text`, and the interval around it.
#[pyfunction]
pub(crate) fn estimate(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    #[pyo3(from_py_with = input::name)] encoding: String,
) -> PyResult<(u64, u64, u64)> {
    let text = input::text(text)?;
    run(py, &encoding, text.len() / ESTIMATES_SHARE, |t| {
        let found = turnfold_tokens::estimate(&text, t.encoding());
        Ok((found.tokens, found.lo, found.hi))
    })
}

/// An interval that holds the tokens of `text`.
#[pyfunction]
pub(crate) fn bounds(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    #[pyo3(from_py_with = input::name)] encoding: String,
) -> PyResult<(usize, usize)> {
    let text = input::text(text)?;
    run(py, &encoding, text.len() / BOUNDS_SHARE, |t| {
        let bounds = t.bounds(&text);
        Ok((bounds.lo, bounds.hi))
    })
}

/// Whether `text` has at most `limit_tokens` tokens.
#[pyfunction]
pub(crate) fn fits(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    #[pyo3(from_py_with = input::name)] encoding: String,
    limit_tokens: usize,
) -> PyResult<bool> {
    let text = input::text(text)?;
    run(py, &encoding, text.len(), |t| Ok(t.fits(&text, limit_tokens)))
}

/// Tokens of each text.
#[pyfunction]
pub(crate) fn count_many(
    py: Python<'_>,
    #[pyo3(from_py_with = input::strings)] texts: Vec<Bound<'_, PyString>>,
    #[pyo3(from_py_with = input::name)] encoding: String,
) -> PyResult<Rows<usize>> {
    let texts = input::texts(py, &texts)?;
    let bytes = texts.iter().map(|text| text.len()).sum();
    run(py, &encoding, bytes, |t| {
        Ok(texts.iter().map(|text| t.count(text)).collect())
    })
}

/// The token ids of `text` as ordinary text.
#[pyfunction]
pub(crate) fn encode(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    #[pyo3(from_py_with = input::name)] encoding: String,
) -> PyResult<Vec<u32>> {
    let text = input::text(text)?;
    run(py, &encoding, text.len(), |t| Ok(t.encode(&text)))
}

/// The bytes of token ids.
#[pyfunction]
pub(crate) fn decode(
    py: Python<'_>,
    tokens: Vec<u32>,
    #[pyo3(from_py_with = input::name)] encoding: String,
) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = run(py, &encoding, tokens.len(), |t| {
        t.decode(&tokens)
            .map_err(|error| Fault::new("argument", error.to_string()))
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Where to cut `text` so that what stays counts at most `max_tokens`: the texts kept at the start and at the end, and
/// whether anything went.
#[pyfunction]
pub(crate) fn truncate(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    #[pyo3(from_py_with = input::name)] encoding: String,
    max_tokens: usize,
    #[pyo3(from_py_with = input::name)] keep: String,
) -> PyResult<(String, String, bool)> {
    let text = input::text(text)?;
    let keep = match keep.as_str() {
        "head" => Ok(Keep::Head),
        "tail" => Ok(Keep::Tail),
        "both" => Ok(Keep::Both),
        _ => Err(Fault::new(
            "argument",
            format!("keep is \"head\", \"tail\" or \"both\", not {keep:?}"),
        )),
    };
    let keep = attached(py, || keep)?;
    run(py, &encoding, text.len(), |t| {
        let cut = t.truncate(&text, max_tokens, keep);
        let head = text.get(..cut.head_bytes).unwrap_or_default();
        let tail = text.get(cut.tail_start..).unwrap_or_default();
        Ok((head.to_owned(), tail.to_owned(), head.len() + tail.len() < text.len()))
    })
}

/// `text` cut in its middle to at most `max_tokens`, with a line that says how much went; `None` where it fits.
#[pyfunction]
pub(crate) fn truncate_middle(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    #[pyo3(from_py_with = input::name)] encoding: String,
    max_tokens: usize,
) -> PyResult<Option<String>> {
    let text = input::text(text)?;
    run(py, &encoding, text.len(), |t| {
        let short = middle::truncate_middle(&text, max_tokens, t, &middle::notice);
        Ok((short.removed_tokens > 0).then_some(short.text))
    })
}

/// The encoding that counts for a model are made in, and how much is known of its own.
#[pyfunction]
pub(crate) fn encoding_for_model(
    py: Python<'_>,
    model: &Bound<'_, PyString>,
) -> PyResult<(&'static str, &'static str)> {
    let model = input::text(model)?;
    attached(py, || {
        let (encoding, label) = models::encoding_for_model(&model);
        let found = LABELS.iter().find(|(_, l)| *l == label);
        Ok((encoding.name(), found.map_or("estimate", |(name, _)| *name)))
    })
}

/// Adds a model and its variants to those that `encoding_for_model` knows.
#[pyfunction]
pub(crate) fn register_model(
    py: Python<'_>,
    #[pyo3(from_py_with = input::name)] name: String,
    #[pyo3(from_py_with = input::name)] encoding: String,
    label_name: &str,
) -> PyResult<()> {
    attached(py, || {
        let (encoding, label) = (input::encoding(&encoding)?, label(label_name)?);
        if name.is_empty() {
            return Err(Fault::new("argument", "the name of a model is empty"));
        }
        if models::add_model(&name, encoding, label) {
            return Ok(());
        }
        let text = format!(
            "{} models are registered, which is as many as may be",
            models::ADDED_LIMIT
        );
        Err(Fault::new("argument", text))
    })
}

const LABELS: [(&str, ModelLabel); 3] = [
    ("exact", ModelLabel::Exact),
    ("assumed", ModelLabel::Assumed),
    ("estimate", ModelLabel::Estimate),
];

/// The label of that name.
fn label(name: &str) -> Result<ModelLabel, Fault> {
    let found = LABELS.iter().find(|(known, _)| *known == name);
    let (_, label) = found.ok_or_else(|| Fault::new("argument", format!("no label is named {name:?}")))?;
    Ok(*label)
}
