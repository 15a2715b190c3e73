//! What a scan is told, read once however many scans are told it.

use pyo3::prelude::*;
use pyo3::types::PyString;
use turnfold_core::findings::Severity;
use turnfold_core::pairs;

use crate::door::{Fault, attached};
use crate::input;

/// The options as the kernel keeps them. The typed face is `turnfold.ScanOptions`.
#[pyclass(frozen, module = "turnfold._core")]
pub(crate) struct ScanOptions(pub(crate) pairs::ScanOptions);

type Pairs<'py> = Vec<(Bound<'py, PyString>, Bound<'py, PyString>)>;

#[pymethods]
impl ScanOptions {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "every option is explicit")]
    fn new(
        py: Python<'_>,
        pending_ids: Vec<Bound<'_, PyString>>,
        thinking: Option<bool>,
        strict_alternation: bool,
        closed: bool,
        signatures: Option<bool>,
        reasoning_pairs: Pairs<'_>,
        window_tokens: Option<u64>,
        severities: Pairs<'_>,
    ) -> PyResult<Self> {
        let owned = |text: &Bound<'_, PyString>| input::text(text).map(Into::into);
        let pairs = reasoning_pairs.iter();
        let pairs = pairs.map(|(item, reasoning)| Ok((owned(item)?, owned(reasoning)?)));
        let severities = severities.iter().map(|(name, severity)| {
            let given = input::text(severity)?;
            let severity = attached(py, || {
                let no_such = || Fault::new("argument", format!("No severity is named {given:?}"));
                Severity::by_name(&given).ok_or_else(no_such)
            })?;
            Ok((owned(name)?, severity))
        });
        Ok(Self(pairs::ScanOptions {
            pending_ids: pending_ids.iter().map(owned).collect::<PyResult<_>>()?,
            thinking,
            strict_alternation,
            closed,
            signatures,
            reasoning_pairs: pairs.collect::<PyResult<_>>()?,
            window_tokens,
            severities: severities.collect::<PyResult<_>>()?,
        }))
    }
}
