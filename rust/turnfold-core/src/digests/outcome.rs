//! What a result says: its text, its exit code, its first error line.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::{memchr_iter, memchr2_iter};

use super::{TARGET_CHARS, counted, one_line};
use crate::json::{Document, Kind, Unescaping, Value};
use crate::transcript::BlockView;

/// A harness prints an exit code at one of the ends of a result; what lies between is the tool's own output.
const EDGE_BYTES: usize = 512;

/// A result, read once.
#[derive(Debug)]
pub(super) struct Outcome {
    flagged: bool,
    pub(super) exit: Option<i64>,
    pub(super) lines: usize,
    pub(super) bytes: usize,
    /// The start of the text.
    pub(super) head: String,
    /// The line that says what went wrong, on one line.
    error_line: Option<String>,
    /// The text starts by saying that something went wrong.
    says_error: bool,
    /// Matches or files that the result itself counts.
    pub(super) stated_count: Option<usize>,
}

impl Outcome {
    pub(super) fn read(result: &BlockView<'_>, room: &mut Unescaping) -> Self {
        Self::of(&result.text_in(room), result.row.is_error)
    }

    fn of(text: &str, flagged: bool) -> Self {
        let wrapped = Wrapped::read(text);
        let text = wrapped.as_ref().and_then(|w| w.text.as_deref()).unwrap_or(text);
        let exit = wrapped.as_ref().and_then(|w| w.exit).or_else(|| exit_code(text));
        let failed = wrapped.as_ref().is_some_and(|w| w.failed);
        let start = text.trim_start();
        Self {
            flagged: flagged || failed,
            exit,
            lines: lines_of(text.trim_end()),
            bytes: text.len(),
            head: start_of(start, 4 * TARGET_CHARS).to_owned(),
            error_line: error_line(text).map(|line| one_line(line, TARGET_CHARS)),
            says_error: starts_as_error(start),
            stated_count: stated_count(text),
        }
    }

    pub(super) fn failed(&self) -> bool {
        self.flagged || self.exit.is_some_and(|code| code != 0) || self.says_error
    }

    /// The line that says what went wrong, or the first line that says anything, in quotes.
    pub(super) fn quoted_error(&self) -> String {
        let first = || self.head.lines().find(|line| says_more(line)).unwrap_or_default();
        let line = self
            .error_line
            .clone()
            .unwrap_or_else(|| one_line(untagged(first()), TARGET_CHARS));
        if line.is_empty() {
            "no text".to_owned()
        } else {
            format!("\"{line}\"")
        }
    }

    /// Whether no line says anything beside the exit code.
    pub(super) fn is_silent(&self) -> bool {
        self.error_line.is_none() && !self.head.lines().any(says_more)
    }

    /// `empty`, `1 line`, `120 lines`.
    pub(super) fn size(&self) -> String {
        if self.lines == 0 {
            "empty".to_owned()
        } else {
            counted(self.lines, "line", "lines")
        }
    }
}

/// A result that is a JSON object around the tool's text, as several harnesses make it.
struct Wrapped {
    text: Option<String>,
    exit: Option<i64>,
    failed: bool,
}

impl Wrapped {
    fn read(text: &str) -> Option<Self> {
        if !text.trim_start().starts_with('{') {
            return None;
        }
        let document = Document::parse(text.as_bytes()).ok()?;
        let root = document.root();
        let number = |of: Value<'_>| {
            ["exit_code", "exitCode", "returncode", "return_code"]
                .iter()
                .find_map(|key| of.get(key).filter(|v| v.kind() == Kind::Number))
                .and_then(|v| String::from_utf8_lossy(v.raw()).parse().ok())
        };
        let string = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| root.get(key).and_then(Value::text))
                .map(Cow::into_owned)
        };
        let error = string(&["error", "error_message"]).filter(|e| !e.is_empty());
        let failed = error.is_some()
            || ["success", "ok"]
                .iter()
                .any(|key| root.get(key).is_some_and(|v| v.kind() == Kind::False));
        let exit = number(root).or_else(|| root.get("metadata").and_then(number));
        let text = match (
            string(&["output", "stdout", "content", "result"]),
            error,
            string(&["stderr"]),
        ) {
            (out, Some(error), _) => Some(format!("{}\n{error}", out.unwrap_or_default()).trim_start().to_owned()),
            (Some(out), None, Some(stderr)) if !stderr.is_empty() => Some(format!("{out}\n{stderr}")),
            (out, None, _) => out,
        };
        Some(Self { text, exit, failed })
    }
}

/// The exit code that a harness prints at the start or the end: `exit code 1`, `exited with status 2`,
/// `<returncode>1</returncode>`.
fn exit_code(text: &str) -> Option<i64> {
    if text.len() <= EDGE_BYTES {
        return code_in(text);
    }
    let mut start = text.len().saturating_sub(EDGE_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let mut stop = EDGE_BYTES.min(text.len());
    while !text.is_char_boundary(stop) {
        stop -= 1;
    }
    code_in(text.get(start..)?).or_else(|| code_in(text.get(..stop)?))
}

fn code_in(edge: &str) -> Option<i64> {
    if !marks_code(edge.as_bytes()) {
        return None;
    }
    let lower = edge.to_ascii_lowercase();
    let after = |mark: &str| {
        let mut found = None;
        for (at, _) in lower.match_indices(mark) {
            let rest = lower.get(at + mark.len()..).unwrap_or_default();
            let rest = rest.trim_start_matches([' ', ':', '=', '>', '(', '"', '\'']);
            let rest = rest
                .strip_prefix("code")
                .or_else(|| rest.strip_prefix("status"))
                .unwrap_or(rest);
            let rest = rest.trim_start_matches([' ', ':', '=', '>', '(', '"', '\'']);
            let digits = rest.strip_prefix('-').unwrap_or(rest);
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            if let Some(code) = digits.get(..end).and_then(|d| d.parse::<i64>().ok()) {
                found = Some(if digits.len() < rest.len() { -code } else { code });
            }
        }
        found
    };
    CODE_MARKS.into_iter().find_map(after)
}

/// What stands before an exit code; the first of them decides.
const CODE_MARKS: [&str; 6] = [
    "exit code",
    "exit_code",
    "exit status",
    "exited with",
    "return code",
    "returncode",
];

/// Whether one of [`CODE_MARKS`] stands in `edge`, in any letter case: they are looked for by the rarest of their letters.
fn marks_code(edge: &[u8]) -> bool {
    let at = |[letter, next]: [u8; 2], place: usize| {
        memchr2_iter(letter, letter.to_ascii_uppercase(), edge).any(move |at| {
            if !edge.get(at + 1).is_some_and(|byte| byte.eq_ignore_ascii_case(&next)) {
                return false;
            }
            let from = at.checked_sub(place).and_then(|start| edge.get(start..));
            from.is_some_and(|from| {
                CODE_MARKS.iter().any(|mark| {
                    let start = from.get(..mark.len());
                    start.is_some_and(|start| start.eq_ignore_ascii_case(mark.as_bytes()))
                })
            })
        })
    };
    at(*b"xi", 1) || at(*b"ur", 3)
}

/// Lines of a text that does not end with one's end.
fn lines_of(text: &str) -> usize {
    memchr_iter(b'\n', text.as_bytes()).count() + usize::from(!text.is_empty())
}

/// The first `chars` characters of `text`.
fn start_of(text: &str, chars: usize) -> &str {
    const AT_ONCE: usize = 32;
    let begins = |byte: &u8| byte.cast_signed() >= -0x40;
    let (mut stop, mut left) = (0, chars);
    for some in text.as_bytes().chunks(AT_ONCE) {
        let begun = some.iter().filter(|byte| begins(byte)).count();
        if begun > left {
            let mut starts = some.iter().enumerate().filter(|(_, byte)| begins(byte));
            stop += starts.nth(left).map_or(some.len(), |(at, _)| at);
            break;
        }
        left -= begun;
        stop += some.len();
    }
    text.get(..stop).unwrap_or_default()
}

fn starts_as_error(start: &str) -> bool {
    const STARTS: [&str; 18] = [
        "error:",
        "error[",
        "error -",
        "error executing",
        "error running",
        "error reading",
        "error writing",
        "error while",
        "error in ",
        "error calling",
        "error occurred",
        "errors:",
        "fatal:",
        "<tool_use_error>",
        "traceback (most recent",
        "invocation failed",
        "permission denied",
        "exception:",
    ];
    let head = start_of(start, 40).to_lowercase();
    STARTS.iter().any(|s| head.starts_with(s))
}

/// What every line that [`is_error_line`] or that [`speaks_of_error`] holds one of: most texts hold none.
static ERROR_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = ERROR_ENDINGS.iter().chain(&["panicked at", "E   "]).chain(&SPOKEN);
    // Only of these kinds has it a search by vectors.
    let kind = MatchKind::LeftmostFirst;
    AhoCorasick::builder().match_kind(kind).build(words).ok()
});

/// Whether `text` holds one of the words; true where nobody can tell.
fn has_any(words: &LazyLock<Option<AhoCorasick>>, text: &str) -> bool {
    words.as_ref().is_none_or(|words| words.is_match(text))
}

/// The first line that is an error by its form; else the first that speaks of one.
fn error_line(text: &str) -> Option<&str> {
    if !has_any(&ERROR_WORDS, text) {
        return None;
    }
    let mut spoken = None;
    for line in text.lines().filter(|line| has_any(&ERROR_WORDS, line)) {
        let line = untagged(line.trim());
        if is_error_line(line) {
            return Some(line);
        }
        if spoken.is_none() && speaks_of_error(line) && says_more(line) {
            spoken = Some(line);
        }
    }
    spoken
}

/// The error that a line is by its form, without blanks around it and the tag that some harnesses put there.
pub(crate) fn error_of_line(line: &str) -> Option<&str> {
    let line = untagged(line);
    (has_any(&ERROR_WORDS, line) && is_error_line(line)).then_some(line)
}

/// Whether a line says more than a heading (`ERROR:`), a frame or an exit code, which the sentence has already.
fn says_more(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let letters = lower.chars().filter(|c| c.is_alphanumeric()).count();
    letters > 0
        && !(lower.len() < 40 && code_in(&lower).is_some())
        && !(letters < 12 && lower.trim_end().ends_with(':'))
}

/// The line without the tag that some harnesses put around errors.
fn untagged(line: &str) -> &str {
    let line = line.strip_prefix("<tool_use_error>").unwrap_or(line);
    line.strip_suffix("</tool_use_error>").unwrap_or(line)
}

const ERROR_ENDINGS: [&str; 6] = ["Error", "Exception", "error", "fatal", "ERROR", "Interrupt"];

/// `TypeError: ...`, `error[E0502]: ...`, `a.c:3: error: ...`, `fatal: ...`, `E   assert ...`.
fn is_error_line(line: &str) -> bool {
    let head = line.split([':', '[']).next().unwrap_or_default();
    let names_error = head.len() + 1 < line.len()
        && head.len() <= 80
        && !head.contains(' ')
        && ERROR_ENDINGS.iter().any(|e| head.ends_with(e));
    names_error || line.contains(": error:") || line.contains("panicked at") || line.starts_with("E   ")
}

const SPOKEN: [&str; 8] = [
    "rror",
    "ailed",
    "FAILED",
    "atal",
    "not found",
    "o such file",
    "ermission denied",
    "xception",
];

fn speaks_of_error(line: &str) -> bool {
    SPOKEN.iter().any(|w| line.contains(w))
}

/// `Found 3 files`, `12 matches`, `No matches found`.
fn stated_count(text: &str) -> Option<usize> {
    let line = text.trim_start().lines().next()?;
    let lower = start_of(line, 80).to_lowercase();
    let mut words = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty());
    let first = words.next()?;
    let (amount, thing) = match first {
        "found" => (words.next()?, words.next().unwrap_or("results")),
        "no" => ("no", words.next()?),
        _ => (first, words.next()?),
    };
    let things = ["match", "file", "result", "line", "occurrence", "total"];
    if !things.iter().any(|t| thing.starts_with(t)) {
        return None;
    }
    if amount == "no" { Some(0) } else { amount.parse().ok() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_passed_over_is_no_error(
            words in prop::collection::vec(
                "Error|error|ERROR|FAILED|failed|fatal|Exception|Interrupt|not found|No such file|E   |panicked at|[a-zE: ]{0,6}",
                0..5,
            ),
        ) {
            let line = words.concat();
            prop_assert!(has_any(&ERROR_WORDS, &line) || !is_error_line(&line) && !speaks_of_error(&line));
        }

        #[test]
        fn marks_of_an_exit_code_are_found_in_any_case(
            text in "((E|e)xit(ed)?|RETURN|return|ex|[ _]|code|status|with|[:=>(]|-?[0-9]){0,8}",
        ) {
            let lower = text.to_ascii_lowercase();
            prop_assert_eq!(marks_code(text.as_bytes()), CODE_MARKS.iter().any(|mark| lower.contains(mark)));
        }

        #[test]
        fn a_start_has_so_many_characters(text in "[a\u{e9}\u{4e2d}\u{1f600}]{0,90}", chars in 0_usize..90) {
            prop_assert_eq!(start_of(&text, chars), text.chars().take(chars).collect::<String>());
        }

        #[test]
        fn lines_are_counted(text in "[a\r\n ]{0,12}") {
            let text = text.trim_end();
            prop_assert_eq!(lines_of(text), text.lines().count());
        }
    }
}
