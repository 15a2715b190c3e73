//! Files written, edited, patched and deleted.

use super::call::Call;
use super::{Description, DigestKind, Extractor, TARGET_CHARS, counted, one_line};

const NAMES: [&str; 25] = [
    "write",
    "writefile",
    "writetofile",
    "createfile",
    "create",
    "savefile",
    "edit",
    "editfile",
    "multiedit",
    "notebookedit",
    "strreplace",
    "replace",
    "replaceinfile",
    "searchreplace",
    "insert",
    "inserteditintofile",
    "append",
    "appendfile",
    "delete",
    "deletefile",
    "removefile",
    "update",
    "updatefile",
    "filewrite",
    "fileedit",
];
const PATCHES: [&str; 5] = ["applypatch", "applydiff", "patch", "applypatchfreeform", "gitapply"];
const OLD: [&str; 6] = ["oldstring", "oldstr", "oldtext", "search", "find", "target"];
const NEW: [&str; 8] = [
    "newstring",
    "newstr",
    "newtext",
    "replace",
    "replacement",
    "replacementtext",
    "replacewith",
    "newsource",
];
const CONTENT: [&str; 8] = [
    "content", "filetext", "contents", "text", "body", "code", "codeedit", "data",
];
/// Files of a patch that the sentence names; more are counted.
const NAMED_FILES: usize = 4;

pub(super) struct Write;

impl Extractor for Write {
    fn kind(&self) -> DigestKind {
        DigestKind::Write
    }

    fn recognises(&self, call: &Call<'_>) -> bool {
        let editing = call.editor_action().is_some_and(|action| action != "view");
        let named = call.is_named(&NAMES) || editing;
        let by_arguments = call.argument(&["oldstring", "oldstr", "oldtext"]).is_some();
        call.path().is_some() && (named || by_arguments) || call.is_named(&PATCHES) && !patched_files(call).is_empty()
    }

    fn describe(&self, call: &Call<'_>) -> Description {
        let files = patched_files(call);
        let path = match call.path() {
            Some(path) if !call.is_named(&PATCHES) || files.is_empty() => one_line(&path.text, TARGET_CHARS),
            _ => listed(&files),
        };
        let (verb, done, amount) = what(call);
        let outcome = match &call.outcome {
            None => "no result".to_owned(),
            Some(result) if result.failed() => format!("failed, {}", result.quoted_error()),
            Some(_) => amount.clone().unwrap_or_else(|| "done".to_owned()),
        };
        let fine = call.outcome.as_ref().is_some_and(|o| !o.failed());
        let text = match (fine, amount) {
            (true, Some(amount)) => format!("{done} {path} ({amount})"),
            (true, None) => format!("{done} {path}"),
            (false, _) => format!("tried to {verb} {path}: {outcome}"),
        };
        Description {
            target: Some(path),
            outcome,
            text,
        }
    }
}

/// What was to be done, what then was done, and how much of it.
fn what(call: &Call<'_>) -> (&'static str, &'static str, Option<String>) {
    if call.is_named(&PATCHES) {
        return ("patch", "patched", None);
    }
    if call.plain.starts_with("delete") || call.plain.starts_with("remove") {
        return ("delete", "deleted", None);
    }
    let edits = call.argument(&["edits", "replacements", "changes"]);
    if let Some(edits) = edits.and_then(|e| e.items) {
        return ("edit", "edited", Some(counted(edits, "edit", "edits")));
    }
    let lines = |names: &[&str]| call.argument(names).map(|a| a.lines);
    let counted_lines = |n| counted(n, "line", "lines");
    let action = call.editor_action().unwrap_or(&call.plain);
    if action.starts_with("insert") || action.starts_with("append") {
        let added = lines(&NEW)
            .or_else(|| lines(&["inserttext"]))
            .or_else(|| lines(&CONTENT));
        return ("edit", "edited", added.map(|n| format!("{} added", counted_lines(n))));
    }
    if let Some(old) = lines(&OLD) {
        let amount = format!("{} replaced by {}", counted_lines(old), lines(&NEW).unwrap_or(0));
        return ("edit", "edited", Some(amount));
    }
    if action.starts_with("undo") {
        return ("undo the last edit of", "undid the last edit of", None);
    }
    let amount = lines(&CONTENT).map(counted_lines);
    if ["edit", "replace", "update"].iter().any(|word| action.contains(word)) {
        ("edit", "edited", amount)
    } else {
        ("write", "wrote", amount)
    }
}

/// The files that a patch names, in the two forms that agents use.
fn patched_files(call: &Call<'_>) -> Vec<String> {
    let named = call
        .argument(&["patch", "input", "diff", "patchtext", "command"])
        .map(|a| a.text.as_str());
    let Some(patch) = named.or(call.freeform.as_deref()) else {
        return Vec::new();
    };
    let mut files: Vec<String> = Vec::new();
    for line in patch.lines() {
        let file = [
            "*** Update File: ",
            "*** Add File: ",
            "*** Delete File: ",
            "+++ b/",
            "+++ ",
        ]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .map(|file| one_line(file, TARGET_CHARS));
        if let Some(file) = file.filter(|f| !f.is_empty() && f != "/dev/null")
            && !files.contains(&file)
        {
            files.push(file);
        }
    }
    files
}

fn listed(files: &[String]) -> String {
    let named = files.iter().take(NAMED_FILES).map(String::as_str);
    let text = named.collect::<Vec<_>>().join(", ");
    match files.len().checked_sub(NAMED_FILES) {
        None | Some(0) => text,
        Some(more) => format!("{text} and {more} more"),
    }
}
