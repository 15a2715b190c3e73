//! Searches and listings.

use super::call::{Argument, Call};
use super::{Description, DigestKind, Extractor, TARGET_CHARS, counted, one_line};

const NAMES: [&str; 28] = [
    "grep",
    "glob",
    "search",
    "find",
    "rg",
    "ripgrep",
    "grepsearch",
    "globsearch",
    "filesearch",
    "codesearch",
    "codebasesearch",
    "searchfiles",
    "searchfile",
    "searchfilecontent",
    "searchcode",
    "searchdir",
    "searchtext",
    "findfile",
    "findfiles",
    "findbyname",
    "websearch",
    "ls",
    "listfiles",
    "listdir",
    "listdirectory",
    "list",
    "searchweb",
    "toolsearch",
];
const QUERIES: [&str; 12] = [
    "pattern",
    "query",
    "regex",
    "searchterm",
    "searchquery",
    "q",
    "glob",
    "globpattern",
    "filename",
    "text",
    "keyword",
    "queries",
];
const PLACES: [&str; 8] = [
    "path",
    "dir",
    "directory",
    "dirpath",
    "targetdirectory",
    "searchpath",
    "folder",
    "paths",
];

pub(super) struct Search;

impl Search {
    fn query<'c>(call: &'c Call<'_>) -> Option<&'c Argument> {
        call.argument(&QUERIES)
    }
}

impl Extractor for Search {
    fn kind(&self) -> DigestKind {
        DigestKind::Search
    }

    fn recognises(&self, call: &Call<'_>) -> bool {
        let listing = call.plain.starts_with('l');
        call.is_named(&NAMES) && (Self::query(call).is_some() || listing)
    }

    fn describe(&self, call: &Call<'_>) -> Description {
        let query = Self::query(call).map(|q| one_line(&q.text, TARGET_CHARS));
        let place = call.argument(&PLACES).map(|p| one_line(&p.text, TARGET_CHARS));
        let outcome = match &call.outcome {
            None => "no result".to_owned(),
            Some(result) if result.failed() => format!("failed, {}", result.quoted_error()),
            Some(result) => match result.stated_count {
                Some(0) => "no matches".to_owned(),
                Some(n) => counted(n, "match", "matches"),
                None if result.lines == 0 => "no matches".to_owned(),
                None => counted(result.lines, "line", "lines"),
            },
        };
        let (target, text) = match (query, place) {
            (Some(query), Some(place)) => {
                let text = format!("searched {place} for \"{query}\": {outcome}");
                (Some(query), text)
            }
            (Some(query), None) => {
                let text = format!("searched for \"{query}\": {outcome}");
                (Some(query), text)
            }
            (None, place) => {
                let text = format!("listed {}: {outcome}", place.as_deref().unwrap_or("files"));
                (place, text)
            }
        };
        Description { target, outcome, text }
    }
}
