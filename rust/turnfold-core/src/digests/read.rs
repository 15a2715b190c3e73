//! Files looked at.

use super::call::Call;
use super::{Description, DigestKind, Extractor, TARGET_CHARS, one_line};

const NAMES: [&str; 14] = [
    "read",
    "readfile",
    "readfiles",
    "readmanyfiles",
    "view",
    "viewfile",
    "cat",
    "open",
    "openfile",
    "fileread",
    "getfilecontents",
    "getfile",
    "notebookread",
    "readtextfile",
];

pub(super) struct Read;

impl Extractor for Read {
    fn kind(&self) -> DigestKind {
        DigestKind::Read
    }

    fn recognises(&self, call: &Call<'_>) -> bool {
        let viewing = call.editor_action().is_some_and(|action| action == "view");
        call.path().is_some() && (call.is_named(&NAMES) || viewing)
    }

    fn describe(&self, call: &Call<'_>) -> Description {
        let path = call.path().map(|p| one_line(&p.text, TARGET_CHARS)).unwrap_or_default();
        let part = part(call);
        let (outcome, text) = match &call.outcome {
            None => ("no result".to_owned(), format!("read {path}{part}: no result")),
            Some(result) if result.failed() => {
                let outcome = format!("failed, {}", result.quoted_error());
                (outcome.clone(), format!("read {path}{part}: {outcome}"))
            }
            Some(result) => (result.size(), format!("read {path}{part} ({})", result.size())),
        };
        Description {
            target: Some(path),
            outcome,
            text,
        }
    }
}

/// The lines that were asked for: ` from line 40`, ` lines 10-25`.
fn part(call: &Call<'_>) -> String {
    let number = |names: &[&str]| call.argument(names).and_then(|a| a.text.parse::<u64>().ok());
    if let Some(range) = call.argument(&["viewrange", "linerange"]) {
        let edges: Vec<&str> = range
            .text
            .split(|c: char| !c.is_ascii_digit() && c != '-')
            .filter(|e| e.parse::<i64>().is_ok())
            .collect();
        return match edges.as_slice() {
            [from, "-1"] => format!(" from line {from}"),
            [from, to] => format!(" lines {from}-{to}"),
            _ => String::new(),
        };
    }
    let from = number(&["offset", "startline", "linenumber", "startlineoneindexed", "line"]);
    let to = number(&["endline", "endlineoneindexedinclusive", "endlineoneindexed"])
        .or_else(|| Some(from?.checked_add(number(&["limit"])?)?.saturating_sub(1)));
    match (from, to) {
        (Some(from), Some(to)) => format!(" lines {from}-{to}"),
        (Some(from), None) => format!(" from line {from}"),
        _ => String::new(),
    }
}
