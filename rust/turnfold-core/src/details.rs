//! What a text says word for word without naming a thing: commands, lines of errors, quantities.
//!
//! Each line is looked at a fixed number of times, so the cost is linear in the text. What is longer than [`MAX_BYTES`]
//! is a script or a dump, and no detail.

use std::collections::HashSet;
use std::ops::Range;

use crate::digests::{command, error_of_line};
use crate::transcript::{BlockKind, Transcript};

/// Longest detail in bytes.
pub const MAX_BYTES: usize = 400;

/// What a detail is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DetailKind {
    /// What was run, or is to be: the argument of a call, a line behind a prompt or in a fence of a shell, a program
    /// with its arguments between backticks.
    Command,
    /// A line that says what went wrong: `TypeError: ...`, `error[E0502]: ...`, `fatal: ...`.
    Error,
    /// A number with its unit: `250 ms`, `1.5 GB`, `85%`, `$1,200`.
    Quantity,
}

impl DetailKind {
    /// The stable name: `command`, `error`, `quantity`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Error => "error",
            Self::Quantity => "quantity",
        }
    }
}

/// One detail, spelled as the text spells it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Detail {
    /// What it is.
    pub kind: DetailKind,
    /// Its text.
    pub text: String,
}

/// The details of `text`, each once, in the order first seen. Linear in its length.
///
/// ```
/// use turnfold_core::details::extract;
/// let found: Vec<String> = extract("$ make test\nfatal: no rule\ntook 2.5 s").into_iter().map(|d| d.text).collect();
/// assert_eq!(found, ["make test", "fatal: no rule", "2.5 s"]);
/// ```
pub fn extract(text: &str) -> Vec<Detail> {
    let mut found = Found::default();
    found.feed(text);
    found.details
}

/// The details of `messages` of a transcript: of every counted text, and the commands of its calls. Linear in their
/// bytes.
pub fn extract_messages(transcript: &Transcript, messages: Range<usize>) -> Vec<Detail> {
    let mut found = Found::default();
    for message in messages.filter_map(|i| transcript.message(i)) {
        for block in message.blocks() {
            if block.kind() == BlockKind::ToolCall {
                if let Some(command) = command(transcript.format(), &block) {
                    found.add(DetailKind::Command, &command);
                }
                continue;
            }
            for text in block.texts() {
                found.feed(&text);
            }
        }
    }
    found.details
}

#[derive(Default)]
struct Found {
    seen: HashSet<Detail>,
    details: Vec<Detail>,
}

impl Found {
    fn add(&mut self, kind: DetailKind, text: &str) {
        let text = text.trim();
        if text.is_empty() || text.len() > MAX_BYTES {
            return;
        }
        let detail = Detail {
            kind,
            text: text.to_owned(),
        };
        if !self.seen.contains(&detail) {
            self.seen.insert(detail.clone());
            self.details.push(detail);
        }
    }

    fn feed(&mut self, text: &str) {
        let mut fence = Fence::Outside;
        for line in text.lines() {
            let stripped = line.trim();
            if let Some(info) = stripped.strip_prefix("```") {
                fence = fence.next(info.trim());
                continue;
            }
            if let Some(error) = error_of_line(stripped) {
                self.add(DetailKind::Error, error);
            }
            if let Some(command) = prompted(stripped) {
                self.add(DetailKind::Command, command);
            } else if fence == Fence::Shell && !stripped.starts_with('#') {
                self.add(DetailKind::Command, stripped);
            } else if fence == Fence::Outside {
                quoted_commands(stripped, |command| self.add(DetailKind::Command, command));
            }
            quantities(stripped, |quantity| self.add(DetailKind::Quantity, quantity));
        }
    }
}

/// Where a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fence {
    Outside,
    Shell,
    Other,
}

impl Fence {
    fn next(self, info: &str) -> Self {
        const SHELLS: [&str; 7] = ["bash", "sh", "shell", "zsh", "console", "powershell", "shell-session"];
        match self {
            Self::Outside if SHELLS.contains(&info) => Self::Shell,
            Self::Outside => Self::Other,
            _ => Self::Outside,
        }
    }
}

/// What stands behind a prompt.
fn prompted(line: &str) -> Option<&str> {
    let command = line.strip_prefix("$ ").or_else(|| {
        let prompt = line.strip_prefix("PS ")?;
        prompt.split_once("> ").map(|(_, command)| command)
    })?;
    // A price has its digit there.
    command.starts_with(|c: char| !c.is_ascii_digit()).then_some(command)
}

/// Programs that a command between backticks is known by.
const PROGRAMS: [&str; 56] = [
    "apt",
    "aws",
    "az",
    "bash",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "cat",
    "cd",
    "chmod",
    "cmake",
    "composer",
    "cp",
    "curl",
    "deno",
    "docker",
    "dotnet",
    "find",
    "gcloud",
    "gh",
    "git",
    "go",
    "gradle",
    "grep",
    "helm",
    "java",
    "kubectl",
    "ls",
    "make",
    "mkdir",
    "mvn",
    "mypy",
    "node",
    "npm",
    "npx",
    "pip",
    "pnpm",
    "poetry",
    "psql",
    "pytest",
    "python",
    "python3",
    "rg",
    "rm",
    "ruff",
    "rustup",
    "sed",
    "ssh",
    "sudo",
    "systemctl",
    "tar",
    "terraform",
    "tox",
    "uv",
    "yarn",
];

fn quoted_commands(line: &str, mut take: impl FnMut(&str)) {
    let mut parts = line.split('`').skip(1);
    // What is open at the end of the line is no quotation.
    while let (Some(inside), Some(_)) = (parts.next(), parts.next()) {
        let is_program = |program: &str| PROGRAMS.contains(&program) || program.starts_with("./");
        if inside
            .split_once(' ')
            .is_some_and(|(program, rest)| is_program(program) && !rest.trim().is_empty())
        {
            take(inside);
        }
    }
}

/// Units that may stand behind a space, too.
const UNITS: [&str; 66] = [
    "%", "percent", "ns", "us", "µs", "μs", "ms", "sec", "secs", "second", "seconds", "min", "mins", "minute",
    "minutes", "hr", "hrs", "hour", "hours", "day", "days", "week", "weeks", "month", "months", "year", "years", "KB",
    "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "byte", "bytes", "bits", "kbit", "Mbit", "Gbit", "Mbps",
    "Gbps", "Hz", "kHz", "MHz", "GHz", "rps", "qps", "tokens", "rows", "lines", "files", "requests", "retries",
    "attempts", "users", "items", "messages", "threads", "workers", "replicas", "px", "°C", "dB",
];
/// Units that stand at their number, or behind a space where nothing goes on.
const SHORT_UNITS: [&str; 9] = ["s", "m", "h", "d", "B", "K", "M", "G", "x"];
const CURRENCIES: [char; 4] = ['$', '€', '£', '¥'];

fn quantities(line: &str, mut take: impl FnMut(&str)) {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(digit) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(u8::is_ascii_digit))
    {
        let first = at + digit;
        let mut end = first;
        while bytes.get(end).is_some_and(u8::is_ascii_digit)
            || (matches!(bytes.get(end), Some(b'.' | b',')) && bytes.get(end + 1).is_some_and(u8::is_ascii_digit))
        {
            end += 1;
        }
        at = end;
        let before = line.get(..first).and_then(|head| head.chars().next_back());
        if let Some(currency) = before.filter(|c| CURRENCIES.contains(c)) {
            take(line.get(first - currency.len_utf8()..end).unwrap_or_default());
            continue;
        }
        // Parts of names, dates and versions are no quantities.
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ',' | '/' | '#' | ':' | '@')) {
            continue;
        }
        if let Some(length) = unit_length(line.get(end..).unwrap_or_default()) {
            take(line.get(first..end + length).unwrap_or_default());
            at = end + length;
        }
    }
}

/// How many bytes a unit takes that begins there, the space before it and `/s` behind it included.
fn unit_length(text: &str) -> Option<usize> {
    let (space, rest) = match text.strip_prefix(' ') {
        Some(rest) => (1, rest),
        None => (0, text),
    };
    let length = if rest.starts_with('%') {
        1
    } else {
        let end = rest
            .find(|c: char| !c.is_alphabetic() && c != '°')
            .unwrap_or(rest.len());
        let unit = rest.get(..end)?;
        let short = SHORT_UNITS.contains(&unit) && (space == 0 || matches!(unit, "s" | "h" | "B"));
        (UNITS.contains(&unit) || short).then_some(end)?
    };
    let behind = rest.get(length..)?;
    let rate = ["/s", "/sec", "/min", "/h", "/day"].into_iter().rev().find(|rate| {
        behind
            .strip_prefix(rate)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    });
    if rate.is_none() && behind.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    Some(space + length + rate.map_or(0, str::len))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_found_stands_in_the_text(
            parts in prop::collection::vec(prop_oneof![
                "[a-z0-9 .,%`$€/:-]{0,12}", Just("$ git push".to_owned()), Just("`make test`".to_owned()),
                Just("12 ms".to_owned()), Just("\n```sh\n".to_owned()), Just("\nfatal: x\n".to_owned()), "\\PC{0,6}",
            ], 0..16),
        ) {
            let text = parts.concat();
            for detail in extract(&text) {
                prop_assert!(text.contains(&detail.text), "{:?} in {:?}", detail, text);
                prop_assert!(detail.text.len() <= MAX_BYTES && detail.text.trim() == detail.text);
            }
        }
    }
}
