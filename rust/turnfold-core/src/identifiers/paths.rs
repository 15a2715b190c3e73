//! Paths of files and folders, with and without a line.

use super::IdentifierKind;
use super::scan::{Sink, class};
use super::vocabulary::{DOMAINS, DOT_FILES, FILE_ENDINGS, FILE_NAMES, MEDIA_TYPES, ROOTS, is_in, is_in_any_case};
use super::words::Run;

/// What may make a run a path at all.
pub(super) const MARKS: u16 = class::SLASH | class::DOT | class::BACKSLASH;

/// Recognises a path, POSIX or Windows. True when the run is used up.
pub(super) fn path(run: &Run<'_>, sink: Sink<'_>) -> bool {
    let (text, line) = split_line(run.text);
    let text = text.trim_end_matches(['.', ':']);
    if !is_path(text, run) {
        return false;
    }
    sink(IdentifierKind::Path, text);
    if !line.is_empty() && line.len() <= 24 {
        sink(
            IdentifierKind::Location,
            run.text.get(..text.len() + line.len()).unwrap_or_default(),
        );
    }
    true
}

/// Cuts `:42`, `:42:7`, `:42-50`, `#L42` off the end, and whatever stands behind that (`a.py:42:def` as grep prints it).
fn split_line(text: &str) -> (&str, &str) {
    if let Some(at) = text.find("#L") {
        let (path, line) = text.split_at(at);
        if line
            .get(2..)
            .is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
        {
            return (path, line);
        }
    }
    let from = if text.as_bytes().get(1) == Some(&b':') { 2 } else { 0 };
    let Some(colon) = text.get(from..).and_then(|t| t.find(':')).map(|at| at + from) else {
        return (text, "");
    };
    let (path, rest) = text.split_at(colon);
    let number = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = 1 + number(rest.get(1..).unwrap_or_default());
    if end == 1 {
        return (path, "");
    }
    if let Some(tail) = rest.get(end..)
        && tail.starts_with([':', '-'])
        && number(tail.get(1..).unwrap_or_default()) > 0
    {
        end += 1 + number(tail.get(1..).unwrap_or_default());
    }
    // What goes on is no line, and [`super::Watch`] would not find a part of it again.
    let behind = rest.get(end..).unwrap_or_default();
    let joined = behind.strip_prefix(['-', '.']).unwrap_or(behind);
    if joined.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return (path, "");
    }
    (path, rest.get(..end).unwrap_or_default())
}

fn is_path(text: &str, run: &Run<'_>) -> bool {
    let wordlike = |c: char| {
        c.is_alphanumeric()
            || matches!(
                c,
                '_' | '.' | '-' | '+' | '@' | '~' | '$' | '%' | '/' | '\\' | ':' | '#'
            )
    };
    if text.len() < 3 || !text.chars().any(char::is_alphanumeric) || !text.chars().all(wordlike) {
        return false;
    }
    if text.contains('\\') || matches!(text.as_bytes(), [drive, b':', b'/', ..] if drive.is_ascii_alphabetic()) {
        return is_windows(text);
    }
    if !text.contains('/') {
        let called = run.after.first() == Some(&b'(') && !run.after.get(1).is_some_and(u8::is_ascii_digit);
        return !text.contains(':') && !called && is_file_name(text);
    }
    if text.contains(':') || text.contains("//") {
        return false;
    }
    if let Some(rest) = text.strip_prefix('/') {
        return is_absolute(rest, run.before);
    }
    if text.starts_with("./") || text.starts_with("../") || text.starts_with("~/") || text.starts_with('.') {
        return true;
    }
    is_relative(text)
}

/// `C:\a\b.txt`, `C:/a`, `src\main.rs`.
fn is_windows(text: &str) -> bool {
    let rest = match text.as_bytes() {
        [_, b':', ..] => text.get(2..).unwrap_or_default(),
        _ => text,
    };
    let drive = rest.len() < text.len();
    let parts = || rest.split(['\\', '/']).filter(|p| !p.is_empty());
    let last = parts().next_back().unwrap_or_default();
    !rest.contains(':') && parts().all(|p| p.chars().any(char::is_alphanumeric)) && (drive || is_file_name(last))
}

/// The part after the leading slash. One word of a URL's path (`/health`) counts, a closing tag (`</div>`) does not.
fn is_absolute(rest: &str, before: Option<u8>) -> bool {
    let first = rest.split('/').next().unwrap_or_default();
    let glued = before.is_some_and(|b| b == b'<' || b.is_ascii_alphanumeric() || b == b')' || b == b']');
    let named = first.starts_with(|c: char| c.is_alphabetic() || matches!(c, '.' | '_' | '~' | '$' | '@'));
    !glued && named && rest.len() >= 3
}

/// `a/b` is a path when a part looks like a name of a file system: a known root, an ending, a sign or a digit in a word.
fn is_relative(text: &str) -> bool {
    let parts = || text.split('/').filter(|p| !p.is_empty());
    let first = parts().next().unwrap_or_default();
    let last = parts().next_back().unwrap_or_default();
    let letters = |p: &str| p.chars().any(char::is_alphabetic);
    if !parts().all(|p| letters(p) || p.bytes().all(|b| b.is_ascii_digit())) || !letters(first) {
        return false;
    }
    if is_in(MEDIA_TYPES, first) && parts().count() == 2 && !is_file_name(last) {
        return false;
    }
    if text
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'/')
    {
        return false;
    }
    let signs = |p: &str| {
        p.contains(['_', '.', '@', '$'])
            || p.contains('-') && p.len() >= 4
            || p.len() >= 3 && p.starts_with(|c: char| c.is_ascii_lowercase()) && p.bytes().any(|b| b.is_ascii_digit())
    };
    is_in(ROOTS, first)
        || is_file_name(last)
        || host_path(first)
        || text.ends_with('/') && parts().all(signs)
        || parts().any(signs) && parts().count() >= 2
}

/// `example.org/a` without a scheme.
fn host_path(first: &str) -> bool {
    first
        .rsplit_once('.')
        .is_some_and(|(name, domain)| name.len() >= 2 && is_in(DOMAINS, domain))
}

/// `name.ending` with a known ending, `.dotfile`, `Makefile`.
pub(super) fn is_file_name(text: &str) -> bool {
    if is_in(FILE_NAMES, text) {
        return true;
    }
    let Some((stem, ending)) = text.rsplit_once('.') else {
        return false;
    };
    if stem.is_empty() {
        return is_in(DOT_FILES, ending) || ending.len() >= 4 && (ending.ends_with("rc") || ending.ends_with("ignore"));
    }
    let one_case = !(ending.bytes().any(|b| b.is_ascii_lowercase()) && ending.bytes().any(|b| b.is_ascii_uppercase()));
    let known = is_in(FILE_ENDINGS, ending) || ending.len() > 1 && one_case && is_in_any_case(FILE_ENDINGS, ending);
    known
        && stem
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | '@' | '$'))
        && stem.chars().any(char::is_alphanumeric)
}
