//! The transcript as a Python class.

use std::borrow::Cow;
use std::ops::Range;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use turnfold_core::digests;
use turnfold_core::meter::bounds::Asked;
use turnfold_core::meter::models::{self, ModelLabel};
use turnfold_core::meter::{CountSource, TokenCount};
use turnfold_core::pairs;
use turnfold_core::results::open_results;
use turnfold_core::splice::{self, Part};
use turnfold_core::{MessageView, Role, json};
use turnfold_tokens::Encoding;

use crate::digests::{DigestColumns, columns};
use crate::door::{Fault, Rows, Text, attached, by_size, detached};
use crate::edits::{self, EditFields};
use crate::identifiers::{self, IdentifierFields};
use crate::input;
use crate::options::ScanOptions;
use crate::results::{self, OpenResultFields};
use crate::unfilled;

/// One request, read. The typed face is `turnfold.Transcript`.
#[pyclass(frozen, module = "turnfold._core")]
pub(crate) struct Transcript(pub(crate) turnfold_core::Transcript);

/// `kind`, `path`, `call_id`, `name`, `text`, `is_error`, `rewritable`.
type BlockFields<'a> = (
    &'static str,
    String,
    Option<String>,
    Option<String>,
    Text<'a>,
    bool,
    bool,
    &'static str,
    Option<String>,
);

/// How many parts each message has; then of all parts `kind`, `text`, `name`, `call_id`, `is_error`.
type PartColumns<'a> = (
    Vec<usize>,
    Rows<&'static str>,
    Rows<Text<'a>>,
    Rows<Option<Cow<'a, str>>>,
    Rows<Option<Cow<'a, str>>>,
    Vec<bool>,
);

/// Whether the model refuses it, a header with its value, a field of the body with its value.
type BoundFields = (bool, (&'static str, &'static str), (&'static str, &'static str));

/// How many blocks each message has; then of all blocks `kind`, `name`, `is_error`, `rewritable`, the bytes that its text
/// takes in the body.
type HeadColumns<'a> = (
    Rows<usize>,
    Rows<&'static str>,
    Rows<Option<Cow<'a, str>>>,
    Rows<bool>,
    Rows<bool>,
    Rows<usize>,
);

/// `n`, `lo`, `hi`, `source`.
type CountFields = (u64, u64, u64, &'static str);

/// A range of messages to keep, or the JSON of a new one.
#[derive(FromPyObject)]
enum PartArgument<'py> {
    Keep(usize, usize),
    Insert(Bound<'py, PyBytes>),
}

#[pymethods]
impl Transcript {
    #[staticmethod]
    fn from_json(
        py: Python<'_>,
        body: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = input::optional_name)] format: Option<String>,
    ) -> PyResult<Self> {
        let (_kept, source) = input::kept_source(body)?;
        detached(py, || {
            Ok(Self(turnfold_core::Transcript::from_json(source, format.as_deref())?))
        })
    }

    #[staticmethod]
    fn extend_from(py: Python<'_>, previous: &Self, body: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (_kept, source) = input::kept_source(body)?;
        detached(py, || {
            Ok(Self(turnfold_core::Transcript::extend_from(&previous.0, source)?))
        })
    }

    /// The first `kept` messages and those of the list `rest`; None where the whole must be read.
    fn grown(&self, py: Python<'_>, kept: usize, rest: &Bound<'_, PyBytes>) -> PyResult<Option<Self>> {
        let rest = rest.as_bytes();
        by_size(py, rest.len(), || Ok(self.0.grown(kept, rest).map(Self)))
    }

    fn append(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (_kept, source) = input::kept_source(message)?;
        detached(py, || Ok(Self(self.0.append(source)?)))
    }

    fn splice(&self, py: Python<'_>, parts: Vec<PartArgument<'_>>) -> PyResult<Self> {
        let parts: Vec<Part> = parts
            .into_iter()
            .map(|part| match part {
                PartArgument::Keep(start, stop) => Part::Keep(start..stop),
                PartArgument::Insert(bytes) => Part::Insert(bytes.as_bytes().to_vec()),
            })
            .collect();
        detached(py, || Ok(Self(splice::splice(&self.0, &parts)?)))
    }

    fn rewrite<'py>(&self, py: Python<'py>, edits: EditFields<'_>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let edits = edits::read(&edits)?;
        let messages = detached(py, || {
            let each = edits
                .iter()
                .map(|(message, texts)| Ok(splice::rewrite_blocks(&self.0, *message, texts)?));
            each.collect::<Result<Vec<_>, Fault>>()
        })?;
        Ok(messages.iter().map(|message| PyBytes::new(py, message)).collect())
    }

    fn edited(&self, py: Python<'_>, edits: EditFields<'_>) -> PyResult<Self> {
        let edits = edits::read(&edits)?;
        detached(py, || Ok(Self(splice::edit(&self.0, &edits)?)))
    }

    fn without_blocks<'py>(
        &self,
        py: Python<'py>,
        message_index: usize,
        block_indexes: Vec<usize>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let message = by_size(py, self.bytes(message_index), || {
            Ok(splice::remove_blocks(&self.0, message_index, &block_indexes)?)
        })?;
        Ok(message.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn text_message<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = input::name)] role: String,
        text: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let text = input::text(text)?;
        let message = detached(py, || Ok(self.0.format().text_message(Role::by_name(&role), &text)))?;
        Ok(PyBytes::new(py, &message))
    }

    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut length = 0;
        detached(py, || {
            self.0.write(&mut |piece| length += piece.len());
            Ok(())
        })?;
        unfilled::bytes(py, length, |put| self.0.write(&mut |piece| put(piece)))
    }

    fn message_json<'py>(&self, py: Python<'py>, message_index: usize) -> PyResult<Bound<'py, PyBytes>> {
        attached(py, || self.message(message_index))?;
        let message = by_size(py, self.bytes(message_index), || {
            Ok(self.0.message_json(message_index).unwrap_or_default())
        })?;
        Ok(PyBytes::new(py, &message))
    }

    fn roles(&self, py: Python<'_>) -> PyResult<Rows<String>> {
        detached(py, || Ok(self.0.messages().map(|m| role(&m)).collect()))
    }

    fn speakers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let roles: Vec<Role> = detached(py, || Ok(self.0.messages().map(|m| m.role()).collect()))?;
        PyList::new(py, roles.into_iter().map(|role| speaker(py, role)))
    }

    fn blocks(&self, py: Python<'_>, message_index: usize) -> PyResult<Rows<BlockFields<'_>>> {
        by_size(py, self.bytes(message_index), || {
            let blocks = self.message(message_index)?.blocks();
            Ok(blocks
                .map(|block| {
                    (
                        block.kind().as_str(),
                        block.path(self.0.list_field()),
                        block.call_id().map(Into::into),
                        block.name().map(Into::into),
                        Text(block.text()),
                        block.row.is_error,
                        block.row.body.is_some(),
                        block.row.binding.as_str(),
                        block.type_name().map(Into::into),
                    )
                })
                .collect())
        })
    }

    /// The blocks of a kind: message, block, tool.
    fn places(&self, py: Python<'_>, kind: &str, start: usize) -> PyResult<Rows<(usize, usize, Option<String>)>> {
        detached(py, || {
            let blocks = self.0.messages_from(start).flat_map(|message| message.blocks());
            let wanted = blocks.filter(|block| block.kind().as_str() == kind);
            Ok(wanted
                .map(|block| (block.message, block.index, block.name().map(Into::into)))
                .collect())
        })
    }

    fn messages_with(&self, py: Python<'_>, part: &[u8]) -> PyResult<Vec<usize>> {
        detached(py, || Ok(self.0.messages_with(part)))
    }

    fn block_heads(&self, py: Python<'_>) -> PyResult<HeadColumns<'_>> {
        detached(py, || {
            let mut each = Vec::with_capacity(self.0.len());
            let (mut kinds, mut names, mut failed, mut open, mut bytes) = (vec![], vec![], vec![], vec![], vec![]);
            for message in self.0.messages() {
                let before = kinds.len();
                for block in message.blocks() {
                    kinds.push(block.kind().as_str());
                    names.push(block.name());
                    failed.push(block.row.is_error);
                    open.push(block.row.body.is_some());
                    bytes.push(block.text_bytes());
                }
                each.push(kinds.len() - before);
            }
            Ok((
                Rows(each),
                Rows(kinds),
                Rows(names),
                Rows(failed),
                Rows(open),
                Rows(bytes),
            ))
        })
    }

    /// The texts of each message, joined.
    fn said(&self, py: Python<'_>, messages: Vec<usize>) -> PyResult<Rows<Text<'_>>> {
        detached(py, || {
            let texts = messages.into_iter().map(|index| Ok(Text(self.message(index)?.said())));
            texts.collect::<Result<_, Fault>>().map(Rows)
        })
    }

    /// The blocks of messages as columns, for no tuple to be made of each: the collector of cycles counts those.
    fn parts(&self, py: Python<'_>, start: usize, stop: usize, said: bool) -> PyResult<PartColumns<'_>> {
        detached(py, || {
            self.check(&(start..stop))?;
            let mut each = Vec::with_capacity(stop - start);
            let (mut kinds, mut texts, mut names, mut ids, mut failed) = (vec![], vec![], vec![], vec![], vec![]);
            for message in (start..stop).filter_map(|index| self.0.message(index)) {
                let before = kinds.len();
                for block in message.shown_blocks(said) {
                    kinds.push(block.kind().as_str());
                    texts.push(Text(block.text()));
                    names.push(block.name());
                    ids.push(block.call_id());
                    failed.push(block.row.is_error);
                }
                each.push(kinds.len() - before);
            }
            Ok((each, Rows(kinds), Rows(texts), Rows(names), Rows(ids), failed))
        })
    }

    fn tokens(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::optional_name)] encoding: Option<String>,
        #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
        span: Option<(usize, usize)>,
    ) -> PyResult<CountFields> {
        let asked = attached(py, || self.asked(encoding.as_deref(), model.as_deref(), span))?;
        let is_counted = self.0.is_counted(&asked);
        let tokens = || {
            let (encoding, label) = (asked.encoding, asked.label);
            Ok(count(self.0.tokens_for(encoding, label, asked.model, asked.range)))
        };
        if is_counted {
            attached(py, tokens)
        } else {
            detached(py, tokens)
        }
    }

    fn edited_tokens(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::optional_name)] encoding: Option<String>,
        #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
        bound: bool,
        edits: EditFields<'_>,
    ) -> PyResult<Vec<u64>> {
        let edits = edits::read(&edits)?;
        detached(py, || {
            let asked = self.asked(encoding.as_deref(), model.as_deref(), None)?;
            let counts = self.0.edited_tokens(&asked, &edits)?.into_iter();
            Ok(counts.map(|count| number(count, bound)).collect())
        })
    }

    fn each_tokens(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::optional_name)] encoding: Option<String>,
        #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
        bound: bool,
    ) -> PyResult<Vec<u64>> {
        detached(py, || {
            let asked = self.asked(encoding.as_deref(), model.as_deref(), None)?;
            let each = self.0.each_tokens(&asked).into_iter();
            Ok(each.map(|count| number(count, bound)).collect())
        })
    }

    fn estimated_tokens(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::optional_name)] encoding: Option<String>,
        #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
        span: Option<(usize, usize)>,
    ) -> PyResult<(u64, u64, u64)> {
        detached(py, || {
            let asked = self.asked(encoding.as_deref(), model.as_deref(), span)?;
            let count = self
                .0
                .estimated_tokens(asked.encoding, asked.label, asked.model, asked.range);
            Ok((count.n, count.lo, count.hi))
        })
    }

    fn bounded_tokens(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::optional_name)] encoding: Option<String>,
        #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
        span: Option<(usize, usize)>,
    ) -> PyResult<CountFields> {
        detached(py, || {
            let asked = self.asked(encoding.as_deref(), model.as_deref(), span)?;
            let count = self.0.bounded_tokens(&asked);
            let source = match count.source {
                CountSource::Exact if count.lo == count.hi => "exact",
                CountSource::Exact => "bounds",
                CountSource::Estimate => "estimate",
            };
            Ok((count.n, count.lo, count.hi, source))
        })
    }

    fn fits(
        &self,
        py: Python<'_>,
        limit_tokens: u64,
        #[pyo3(from_py_with = input::optional_name)] encoding: Option<String>,
        #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
        span: Option<(usize, usize)>,
    ) -> PyResult<bool> {
        detached(py, || {
            let asked = self.asked(encoding.as_deref(), model.as_deref(), span)?;
            Ok(self.0.fits(&asked, limit_tokens))
        })
    }

    fn block_tokens(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::name)] encoding: String,
        message_index: usize,
    ) -> PyResult<Vec<u64>> {
        detached(py, || {
            self.message(message_index)?;
            Ok(self.0.block_tokens(input::encoding(&encoding)?, message_index))
        })
    }

    fn open_results(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::name)] encoding: String,
        start: usize,
        stop: usize,
        options: &ScanOptions,
    ) -> PyResult<Rows<OpenResultFields>> {
        detached(py, || {
            self.check(&(start..stop))?;
            let encoding = input::encoding(&encoding)?;
            let found = open_results(&self.0, &options.0, encoding, start..stop);
            Ok(found.into_iter().map(results::fields).collect())
        })
    }

    fn identifiers(&self, py: Python<'_>, ranges: Vec<(usize, usize)>) -> PyResult<Rows<String>> {
        detached(py, || {
            let found = turnfold_core::identifiers::extract_messages(&self.0, self.ranges(ranges)?);
            Ok(found.into_iter().map(|identifier| identifier.text).collect())
        })
    }

    fn details(&self, py: Python<'_>, start: usize, stop: usize) -> PyResult<Rows<IdentifierFields>> {
        detached(py, || {
            self.check(&(start..stop))?;
            let found = turnfold_core::details::extract_messages(&self.0, start..stop);
            Ok(found.into_iter().map(identifiers::detail_fields).collect())
        })
    }

    fn digests(&self, py: Python<'_>, start: usize, stop: usize) -> PyResult<DigestColumns> {
        detached(py, || {
            self.check(&(start..stop))?;
            let pairs = pairs::pair(&self.0, &pairs::ScanOptions::default());
            Ok(columns(digests::digest(&self.0, start..stop, &pairs)))
        })
    }

    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || {
            Ok(format!("{:032x}", turnfold_core::fingerprint::fingerprint(&self.0)))
        })
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.0.format().name()
    }

    #[getter]
    fn format_reason(&self) -> &str {
        self.0.format_reason()
    }

    #[getter]
    fn model(&self) -> Option<String> {
        self.0.model().map(Into::into)
    }

    /// The encoding of the model, or else of the one that the body names.
    fn encoding(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
    ) -> PyResult<&'static str> {
        attached(py, || Ok(self.encoding_for(model.as_deref()).0.name()))
    }

    #[getter]
    fn leading(&self) -> usize {
        self.0.leading()
    }

    #[getter]
    fn folded(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        let folded = detached(py, || Ok(self.0.folded()))?;
        Ok((folded.start, folded.end))
    }

    fn bound_reasoning(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
    ) -> PyResult<Option<BoundFields>> {
        attached(py, || {
            let model = model.or_else(|| self.0.model().map(Into::into)).unwrap_or_default();
            let bound = self.0.format().bound_reasoning();
            Ok(bound.map(|b| (b.refuses(&model), b.header, b.setting)))
        })
    }

    #[getter]
    fn always_alternates(&self) -> bool {
        self.0.format().rules().always_alternate
    }

    #[getter]
    fn remote(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || Ok(self.0.remote()))
    }
}

impl Transcript {
    /// Bytes of a message; 0 where there is none.
    fn bytes(&self, index: usize) -> usize {
        self.0.message(index).map_or(0, |message| message.bytes().len())
    }

    fn message(&self, index: usize) -> Result<MessageView<'_>, Fault> {
        self.0.message(index).ok_or_else(|| {
            let len = self.0.len();
            Fault::new(
                "argument",
                format!("There is no message {index}: the transcript has {len}"),
            )
        })
    }

    /// What is counted, and how: by a named encoding, which is taken as the model's own, else by the model's.
    pub(crate) fn asked<'a>(
        &self,
        encoding: Option<&str>,
        model: Option<&'a str>,
        span: Option<(usize, usize)>,
    ) -> Result<Asked<'a>, Fault> {
        let (encoding, label) = match encoding {
            Some(name) => (input::encoding(name)?, ModelLabel::Exact),
            None => self.encoding_for(model),
        };
        let range = span.map(|(start, stop)| start..stop);
        range.as_ref().map_or(Ok(()), |r| self.check(r))?;
        Ok(Asked {
            encoding,
            label,
            model,
            range,
        })
    }

    /// The encoding of a model, or else of the one that the body names, and how much is known of its own.
    fn encoding_for(&self, model: Option<&str>) -> (Encoding, ModelLabel) {
        let named = model.map(Cow::Borrowed).or_else(|| self.0.model());
        named.map_or((Encoding::O200kBase, ModelLabel::Exact), |model| {
            models::encoding_for_model(&model)
        })
    }

    pub(crate) fn ranges(&self, ranges: Vec<(usize, usize)>) -> Result<Vec<Range<usize>>, Fault> {
        let ranges: Vec<_> = ranges.into_iter().map(|(start, stop)| start..stop).collect();
        ranges.iter().try_for_each(|range| self.check(range))?;
        Ok(ranges)
    }

    pub(crate) fn check(&self, range: &Range<usize>) -> Result<(), Fault> {
        if range.start <= range.end && range.end <= self.0.len() {
            return Ok(());
        }
        let (start, stop, len) = (range.start, range.end, self.0.len());
        Err(Fault::new(
            "argument",
            format!("Messages [{start}, {stop}) do not lie in a transcript of {len}"),
        ))
    }
}

fn number(count: TokenCount, bound: bool) -> u64 {
    if bound { count.hi } else { count.n }
}

fn count(count: TokenCount) -> CountFields {
    let source = match count.source {
        CountSource::Exact => "exact",
        CountSource::Estimate => "estimate",
    };
    (count.n, count.lo, count.hi, source)
}

/// One object a role, however many messages have it.
fn speaker(py: Python<'_>, role: Role) -> &Bound<'_, PyString> {
    match role {
        Role::System => intern!(py, "system"),
        Role::Developer => intern!(py, "developer"),
        Role::User => intern!(py, "user"),
        Role::Assistant => intern!(py, "assistant"),
        Role::Tool => intern!(py, "tool"),
        Role::Other => intern!(py, "other"),
    }
}

fn role(message: &MessageView<'_>) -> String {
    let source = message.segment.source.bytes();
    match message.row.role_text {
        Some(literal) => json::unescape(literal.of(source)).into_owned(),
        None => message.role().as_str().to_owned(),
    }
}
