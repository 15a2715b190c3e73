//! A call with its arguments and result, read for the extractors.

use std::borrow::Cow;

use super::outcome::Outcome;
use crate::formats::WireFormat;
use crate::json::{Document, Kind, Value};
use crate::transcript::BlockView;

/// Bytes of an argument that are kept; the digest of more would be cut anyway.
const ARGUMENT_BYTES: usize = 16_384;

/// One argument.
#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: String,
    /// The name to compare: in lower case, without `_` and `-`.
    plain: String,
    /// The text of a string, the words of a list of strings, or the JSON of anything else; cut to 16,384 bytes.
    pub(super) text: String,
    /// Lines of the whole text.
    pub(super) lines: usize,
    /// Items, if it is a list.
    pub(super) items: Option<usize>,
    /// Whether it is a list or an object.
    pub(super) nested: bool,
}

/// A call, read.
pub(super) struct Call<'a> {
    pub(super) tool: Cow<'a, str>,
    /// The tool's name to compare: its last part in lower case, without `_` and `-`.
    pub(super) plain: String,
    /// Named arguments in order; empty where the arguments are no object.
    pub(super) arguments: Vec<Argument>,
    /// The arguments' text where they are no object (a freeform tool, broken JSON).
    pub(super) freeform: Option<String>,
    pub(super) outcome: Option<Outcome>,
}

impl<'a> Call<'a> {
    pub(super) fn read(format: &dyn WireFormat, block: &BlockView<'a>, outcome: Option<Outcome>) -> Self {
        let tool = block.name().unwrap_or_default();
        let mut call = Self {
            plain: plain(&tool),
            tool,
            arguments: Vec::new(),
            freeform: None,
            outcome,
        };
        if let Ok(document) = Document::parse(block.bytes())
            && let Some(arguments) = format.arguments(document.root())
        {
            call.take(arguments);
        }
        call
    }

    fn take(&mut self, arguments: Value<'_>) {
        if let Some(text) = arguments.text() {
            match Document::parse(text.as_bytes()) {
                Ok(inner) if inner.root().is_object() => self.arguments = named(inner.root()),
                _ => self.freeform = Some(cut(&text).to_owned()),
            }
        } else if arguments.is_object() {
            self.arguments = named(arguments);
        } else if !arguments.is_null() {
            self.freeform = Some(cut(&String::from_utf8_lossy(arguments.raw())).to_owned());
        }
    }

    /// The first argument that has one of these names and is not empty, in the order of `names`. Names are compared
    /// without case, `_` and `-`.
    pub(super) fn argument(&self, names: &[&str]) -> Option<&Argument> {
        let all = || self.arguments.iter().filter(|a| !a.text.is_empty());
        names.iter().find_map(|name| all().find(|a| a.plain == *name))
    }

    pub(super) fn is_named(&self, names: &[&str]) -> bool {
        names.contains(&self.plain.as_str())
    }

    /// The file it works on.
    pub(super) fn path(&self) -> Option<&Argument> {
        const NAMES: [&str; 14] = [
            "filepath",
            "path",
            "absolutepath",
            "targetfile",
            "notebookpath",
            "relativepath",
            "filename",
            "file",
            "paths",
            "files",
            "filepaths",
            "uri",
            "targetpath",
            "relativeworkspacepath",
        ];
        self.argument(&NAMES)
    }

    /// The action that an editor with several is asked for.
    pub(super) fn editor_action(&self) -> Option<&str> {
        const EDITORS: [&str; 5] = [
            "strreplaceeditor",
            "strreplacebasededittool",
            "texteditor",
            "editor",
            "fileeditor",
        ];
        if !self.is_named(&EDITORS) {
            return None;
        }
        self.argument(&["command", "action"]).map(|a| a.text.as_str())
    }
}

fn named(object: Value<'_>) -> Vec<Argument> {
    object
        .fields()
        .map(|(key, value)| {
            let items = value.is_array().then(|| value.items().count());
            let text = match value.kind() {
                Kind::String => value.text().unwrap_or_default(),
                Kind::Array if value.items().all(Value::is_string) => {
                    let words: Vec<_> = value.items().filter_map(Value::text).collect();
                    Cow::Owned(words.join(" "))
                }
                Kind::Array if value.items().any(|item| path_in(item).is_some()) => {
                    let paths: Vec<_> = value.items().filter_map(path_in).collect();
                    Cow::Owned(paths.join(", "))
                }
                Kind::Null => Cow::Borrowed(""),
                _ => String::from_utf8_lossy(value.raw()),
            };
            let name = String::from_utf8_lossy(&key.key()).into_owned();
            Argument {
                plain: squeezed(&name),
                name,
                lines: text.lines().count(),
                text: cut(&text).to_owned(),
                items,
                nested: value.is_array() || value.is_object(),
            }
        })
        .collect()
}

/// The path in an item of a list of files.
fn path_in(item: Value<'_>) -> Option<Cow<'_, str>> {
    ["path", "file_path", "filePath"]
        .iter()
        .find_map(|key| item.get(key))
        .and_then(Value::text)
}

/// The start of a text, cut on a character edge.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(ARGUMENT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

fn squeezed(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}

fn plain(tool: &str) -> String {
    let last = tool.rsplit(['.', '/', ':']).next().unwrap_or_default();
    let last = last.rsplit_once("__").map_or(last, |(_, tail)| tail);
    let plain = squeezed(last);
    for prefix in ["sandbox", "functions", "tool"] {
        if let Some(rest) = plain.strip_prefix(prefix)
            && rest.len() >= 3
        {
            return rest.to_owned();
        }
    }
    plain
}
