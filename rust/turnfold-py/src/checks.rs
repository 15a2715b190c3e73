//! Integrity, legal cuts and shared prefixes.

use std::ops::Range;

use pyo3::prelude::*;
use turnfold_core::findings::{self as kernel, CHECKS, Finding, Scan};
use turnfold_core::formats;
use turnfold_core::layout as parts;
use turnfold_core::pairs::{self, BlockRef};
use turnfold_core::prefix;
use turnfold_core::repair::{RepairOptions, Unanswered};
use turnfold_core::splits::{self, Blocker, Keep};

use crate::door::{Fault, Rows, attached, detached};
use crate::input;
use crate::options::ScanOptions;
use crate::transcript::Transcript;

/// `code`, `rule`, `severity`, `category`, `message`, `block`, `call_id`, `path`, `text`.
type FindingFields = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Option<usize>,
    Option<usize>,
    Option<String>,
    String,
    String,
);
/// `code`, `category`, format, `rule`, `severity`.
type RuleFields = (&'static str, &'static str, &'static str, &'static str, &'static str);
/// Of all pairs `call_id`, call's message and block, result's message and block, `misplaced`.
type PairColumns = (
    Rows<Option<String>>,
    Rows<usize>,
    Rows<usize>,
    Rows<usize>,
    Rows<usize>,
    Rows<bool>,
);
/// `call_id`, message, block.
type PlaceFields = (Option<String>, usize, usize);
/// Pairs, then pending and abandoned calls, orphan, repeated and misplaced results.
type PairCheckFields = (
    usize,
    Rows<PlaceFields>,
    Rows<PlaceFields>,
    Rows<PlaceFields>,
    Rows<PlaceFields>,
    Rows<PlaceFields>,
);
/// `code`, `text`, `call_id`, `start`, `stop`.
type BlockerFields = (&'static str, String, Option<String>, usize, usize);
/// Index, the cut that was asked for, how many messages it keeps and lets go of, what bars the one that was asked for.
type ChoiceFields = (usize, usize, usize, usize, Vec<BlockerFields>);
/// Findings, pairs where they are asked for, pending, orphan results, abandoned calls, duplicate call ids, duplicate result
/// ids, unknown kinds.
type ScanFields = (
    Rows<FindingFields>,
    Option<PairColumns>,
    Rows<PlaceFields>,
    Rows<PlaceFields>,
    Rows<PlaceFields>,
    Vec<String>,
    Vec<String>,
    Vec<(String, usize)>,
);
/// `code`, `action`, `message`, `message_after`, `block`, `call_id`, `text`.
type RepairFields = (
    &'static str,
    &'static str,
    usize,
    Option<usize>,
    Option<usize>,
    Option<String>,
    String,
);
/// The transcript, what was done, and for each of its messages the one of the input that it is.
type RepairedFields = (Transcript, Rows<RepairFields>, Rows<Option<usize>>);
/// Section, message and path of the first difference.
type DifferenceFields = (&'static str, Option<usize>, String);

#[pyfunction]
pub(crate) fn scan(
    py: Python<'_>,
    transcript: &Transcript,
    before: Option<&Transcript>,
    options: &ScanOptions,
    with_pairs: bool,
) -> PyResult<ScanFields> {
    scanned(py, transcript, before, options, |transcript, scan| {
        let table = scan.pairs;
        let place = |at: &BlockRef| (table.call_id(transcript, *at), at.message, at.block);
        let pairs = &table.pairs;
        let columns = || {
            (
                pairs.iter().map(|p| table.call_id(transcript, p.call)).collect(),
                pairs.iter().map(|p| p.call.message).collect(),
                pairs.iter().map(|p| p.call.block).collect(),
                pairs.iter().map(|p| p.result.message).collect(),
                pairs.iter().map(|p| p.result.block).collect(),
                pairs.iter().map(|p| p.misplaced).collect(),
            )
        };
        (
            scan.findings.into_iter().map(finding).collect(),
            with_pairs.then(columns),
            table.pending.iter().map(place).collect(),
            table.orphan_results.iter().map(place).collect(),
            table.abandoned.iter().map(place).collect(),
            table.duplicate_call_ids.clone(),
            table.duplicate_result_ids.clone(),
            scan.unknown_kinds,
        )
    })
}

/// The findings of such a scan alone.
#[pyfunction]
pub(crate) fn findings(
    py: Python<'_>,
    transcript: &Transcript,
    before: Option<&Transcript>,
    options: &ScanOptions,
) -> PyResult<Vec<FindingFields>> {
    scanned(py, transcript, before, options, |_, scan| {
        scan.findings.into_iter().map(finding).collect()
    })
}

/// Scans, and makes of it what Python gets.
fn scanned<T: Send>(
    py: Python<'_>,
    transcript: &Transcript,
    before: Option<&Transcript>,
    options: &ScanOptions,
    told: impl FnOnce(&turnfold_core::Transcript, Scan) -> T + Send,
) -> PyResult<T> {
    detached(py, || {
        let scan = kernel::scan_after(&transcript.0, before.map(|before| &before.0), &options.0);
        Ok(told(&transcript.0, scan))
    })
}

fn finding(finding: Finding) -> FindingFields {
    let Finding {
        code,
        rule,
        severity,
        category,
        message,
        block,
        call_id,
        path,
        text,
    } = finding;
    let (severity, category) = (severity.as_str(), category.as_str());
    (code, rule, severity, category, message, block, call_id, path, text)
}

/// How many pairs there are, and the calls and results that are not whole: pending, abandoned, orphan results, repeated
/// results, misplaced results.
#[pyfunction]
pub(crate) fn check_pairs(py: Python<'_>, transcript: &Transcript) -> PyResult<PairCheckFields> {
    let transcript = &transcript.0;
    let check = || {
        let found = pairs::check(transcript);
        let all = |places: &mut dyn Iterator<Item = BlockRef>| {
            let named = places.map(|at| (pairs::call_id(transcript, at), at.message, at.block));
            named.collect::<Rows<PlaceFields>>()
        };
        Ok((
            found.pairs,
            all(&mut found.pending.iter().copied()),
            all(&mut found.abandoned.iter().copied()),
            all(&mut found.orphan_results.iter().copied()),
            all(&mut found.repeated_results.iter().map(|pair| pair.result)),
            all(&mut found.misplaced.iter().map(|pair| pair.result)),
        ))
    };
    if pairs::is_checked(transcript) {
        attached(py, check)
    } else {
        detached(py, check)
    }
}

/// Every demand that a format's transcripts are held to, by code, then format.
#[pyfunction]
pub(crate) fn rules(py: Python<'_>) -> PyResult<Vec<RuleFields>> {
    attached(py, || {
        let each = CHECKS.iter().flat_map(|check| {
            formats::ALL.iter().flat_map(move |format| {
                let demands = check.demands(format.rules()).into_iter();
                demands.map(move |(rule, severity)| {
                    let (category, severity) = (check.category.as_str(), severity.as_str());
                    (check.code, category, format.name(), rule, severity)
                })
            })
        });
        Ok(each.collect())
    })
}

/// The repaired transcript; `None` where nothing was to be repaired.
#[pyfunction]
pub(crate) fn repair(
    py: Python<'_>,
    transcript: &Transcript,
    options: &ScanOptions,
    unanswered: &str,
) -> PyResult<Option<RepairedFields>> {
    let scan = options.0.clone();
    detached(py, || {
        let unanswered = Unanswered::by_name(unanswered).ok_or_else(|| {
            Fault::new(
                "argument",
                format!("An unanswered call is dropped or synthesized a result, not {unanswered:?}"),
            )
        })?;
        let repaired = turnfold_core::repair::repair(&transcript.0, &RepairOptions { scan, unanswered })?;
        if repaired.repairs.is_empty() {
            return Ok(None);
        }
        let repairs = repaired.repairs.into_iter().map(|r| {
            let action = r.action.as_str();
            (r.code, action, r.message, r.message_after, r.block, r.call_id, r.text)
        });
        let transcript = Transcript(repaired.transcript);
        Ok(Some((transcript, repairs.collect(), Rows(repaired.kept))))
    })
}

/// The legal cuts of one transcript. The typed face is `turnfold.SplitPoints`.
#[pyclass(frozen, module = "turnfold._core")]
pub(crate) struct Splits(splits::Splits);

#[pymethods]
impl Splits {
    fn contains(&self, index: usize) -> bool {
        self.0.contains(index)
    }

    fn indices(&self) -> Vec<usize> {
        self.0.iter().collect()
    }

    fn count(&self) -> usize {
        self.0.iter().len()
    }

    fn at_or_before(&self, index: usize) -> Option<usize> {
        self.0.at_or_before(index)
    }

    fn at_or_after(&self, index: usize) -> Option<usize> {
        self.0.at_or_after(index)
    }

    fn start_of_tool_groups(
        &self,
        py: Python<'_>,
        transcript: &Transcript,
        count: usize,
        start: usize,
    ) -> PyResult<usize> {
        detached(py, || Ok(self.0.start_of_tool_groups(&transcript.0, count, start)))
    }

    fn find(
        &self,
        py: Python<'_>,
        transcript: &Transcript,
        kind: &str,
        amount: usize,
        #[pyo3(from_py_with = input::name)] encoding: String,
    ) -> PyResult<Option<ChoiceFields>> {
        detached(py, || chosen(&transcript.0, &self.0, kind, amount, &encoding))
    }

    fn why_not(&self, py: Python<'_>, transcript: &Transcript, index: usize) -> PyResult<Vec<BlockerFields>> {
        attached(py, || {
            let blockers = self.0.why_not(&transcript.0, index);
            Ok(blockers.into_iter().map(blocker).collect())
        })
    }
}

#[pyfunction]
pub(crate) fn split_points(py: Python<'_>, transcript: &Transcript, options: &ScanOptions) -> PyResult<Splits> {
    detached(py, || Ok(Splits(splits::splits(&transcript.0, &options.0))))
}

/// `split_points` and `Splits::find` of them, in one stretch without the interpreter: to take it twice in some microseconds
/// costs two threads more than either does.
#[pyfunction]
pub(crate) fn find_split(
    py: Python<'_>,
    transcript: &Transcript,
    options: &ScanOptions,
    kind: &str,
    amount: usize,
    #[pyo3(from_py_with = input::name)] encoding: String,
) -> PyResult<Option<ChoiceFields>> {
    detached(py, || {
        let splits = splits::splits(&transcript.0, &options.0);
        chosen(&transcript.0, &splits, kind, amount, &encoding)
    })
}

fn chosen(
    transcript: &turnfold_core::Transcript,
    splits: &splits::Splits,
    kind: &str,
    amount: usize,
    encoding: &str,
) -> Result<Option<ChoiceFields>, Fault> {
    let keep = match kind {
        "messages" => Keep::Messages(amount),
        "turns" => Keep::Turns(amount),
        "tokens" => Keep::Tokens(amount as u64),
        _ => return Err(Fault::new("argument", format!("Nothing is kept by {kind:?}"))),
    };
    let choice = splits::find_split(transcript, splits, keep, input::encoding(encoding)?);
    Ok(choice.map(|c| {
        let (kept, evicted) = (splits.highest() - c.index, c.index - splits.lowest());
        let moved_by = c.moved_by.into_iter().map(blocker).collect();
        (c.index, c.requested, kept, evicted, moved_by)
    }))
}

/// Turns, folded, barrier, lasting, reasoned loop.
type LayoutFields = (
    Vec<usize>,
    (usize, usize),
    (usize, usize),
    Vec<(usize, usize)>,
    (usize, usize),
);

#[pyfunction]
pub(crate) fn layout(py: Python<'_>, transcript: &Transcript, options: &ScanOptions) -> PyResult<LayoutFields> {
    detached(py, || {
        let found = parts::layout(&transcript.0, &options.0);
        let ends = |range: Range<usize>| (range.start, range.end);
        Ok((
            found.turns,
            ends(found.folded),
            ends(found.barrier),
            found.lasting.into_iter().map(ends).collect(),
            ends(found.reasoned_loop),
        ))
    })
}

#[pyfunction]
pub(crate) fn compare_prefix(
    py: Python<'_>,
    before: &Transcript,
    after: &Transcript,
    #[pyo3(from_py_with = input::optional_name)] encoding: Option<String>,
    #[pyo3(from_py_with = input::optional_name)] model: Option<String>,
) -> PyResult<(usize, usize, u64, Option<DifferenceFields>, bool, bool)> {
    detached(py, || {
        let asked = after.asked(encoding.as_deref(), model.as_deref(), None)?;
        let report = prefix::compare(&before.0, &after.0, asked.encoding);
        let difference = report.first_difference.map(|d| (d.section.as_str(), d.message, d.path));
        Ok((
            report.bytes,
            report.messages,
            report.tokens,
            difference,
            report.before_is_prefix,
            report.ignoring_cache_markers,
        ))
    })
}

fn blocker(blocker: Blocker) -> BlockerFields {
    (blocker.code, blocker.text, blocker.call_id, blocker.start, blocker.stop)
}
