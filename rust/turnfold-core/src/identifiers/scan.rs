//! Cuts a text into runs of identifier characters and hands each to the rules.

use std::ops::Range;

use super::marks::Marks;
use super::survival::{is_wide_letter, stands_alone};
use super::words::{self, LEAST_DIGITS, Run};
use super::{IdentifierKind, KnownRuns, MAX_BYTES, MAX_URL_BYTES, ShortRun};

/// Receives each identifier, in text order, repeats included.
pub(super) type Sink<'a> = &'a mut dyn FnMut(IdentifierKind, &str);

/// Classes of characters in a run; their union over a run decides which rules are tried.
pub(super) mod class {
    pub(in super::super) const LOWER: u16 = 1;
    pub(in super::super) const UPPER: u16 = 1 << 1;
    pub(in super::super) const DIGIT: u16 = 1 << 2;
    pub(in super::super) const UNDERSCORE: u16 = 1 << 3;
    pub(in super::super) const SLASH: u16 = 1 << 4;
    pub(in super::super) const DOT: u16 = 1 << 5;
    pub(in super::super) const COLON: u16 = 1 << 6;
    pub(in super::super) const AT: u16 = 1 << 7;
    pub(in super::super) const HASH: u16 = 1 << 8;
    pub(in super::super) const DASH: u16 = 1 << 9;
    pub(in super::super) const BACKSLASH: u16 = 1 << 10;
    /// `$ % + ~`.
    pub(in super::super) const SIGN: u16 = 1 << 11;
    /// A letter beyond ASCII of a script that puts spaces between words.
    pub(in super::super) const WIDE: u16 = 1 << 12;
}

/// The class of a byte; 0 ends a run, as do all bytes beyond ASCII.
pub(super) const fn class_of(byte: u8) -> u16 {
    match byte {
        b'a'..=b'z' => class::LOWER,
        b'A'..=b'Z' => class::UPPER,
        b'0'..=b'9' => class::DIGIT,
        b'_' => class::UNDERSCORE,
        b'/' => class::SLASH,
        b'.' => class::DOT,
        b':' => class::COLON,
        b'@' => class::AT,
        b'#' => class::HASH,
        b'-' => class::DASH,
        b'$' | b'%' | b'+' | b'~' => class::SIGN,
        _ => 0,
    }
}

/// `class_of` as a table: this is asked for every byte of a text.
static CLASSES: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = class_of(byte as u8);
        byte += 1;
    }
    table
};

fn class_at(byte: u8) -> u16 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Letters of scripts written without spaces (from U+0E00 on: Thai, Han, kana, ...) end a run, so that a path glued to
/// such text is still found.
fn class_of_wide(c: char) -> u16 {
    if is_wide_letter(c) { class::WIDE } else { 0 }
}

/// Hands each identifier of `text` to `sink`, but for those of runs that are `known` from texts with the same sink.
///
/// Of the runs between two that `marks` would have looked at, none has an identifier in it, or a part in the phrase of an
/// exit code.
pub(super) fn scan(text: &str, known: &mut KnownRuns, marks: &mut Marks, sink: Sink<'_>) {
    let bytes = text.as_bytes();
    marks.read(text);
    let mut at = 0;
    // Whether `at` may be within what is one run to the marks.
    let mut within = false;
    let mut phrase = ExitPhrase::default();
    // None where they are to be asked for from `at` on.
    let mut looks = None;
    while at < bytes.len() {
        let mut end = if within || phrase.open.is_some() {
            looks = None;
            marks.run_end(at)
        } else {
            let looks = looks.get_or_insert_with(|| marks.looks(at));
            let Some((start, end)) = marks.next_look(looks) else {
                return;
            };
            at = at.max(start);
            end
        };
        within = false;
        let mut classes = 0;
        if end == at || bytes.get(end) == Some(&b'\\') {
            looks = None;
            (end, classes) = run_at(text, at);
            if end == at {
                within = bytes.get(at) == Some(&b'\\');
                at = skip(text, at);
                continue;
            }
        }
        if ShortRun::at(bytes, at, end).is_some_and(|run| known.has(run)) {
            phrase.step(text, at, end, sink);
        } else if let Some(stop) = look(text, at..end, classes, known, &mut phrase, sink) {
            end = stop;
            within = true;
        }
        at = end;
    }
}

/// Hands over what a run names that is not among the known short ones. If that is a URL, one past it and the run. Out of
/// line, so that the loop over known runs keeps its registers.
#[inline(never)]
fn look(
    text: &str,
    Range { start, end }: Range<usize>,
    mut classes: u16,
    known: &mut KnownRuns,
    phrase: &mut ExitPhrase,
    sink: Sink<'_>,
) -> Option<usize> {
    let bytes = text.as_bytes();
    let own = bytes.get(start..end).unwrap_or_default();
    if classes == 0 {
        classes = classes_of(own);
    }
    let url = if classes & class::COLON == 0 {
        None
    } else {
        hand_url(text, start, end, classes, sink)
    };
    if url.is_none() && own.len() <= MAX_BYTES {
        phrase.step(text, start, end, sink);
        let after = bytes.get(end..).unwrap_or_default();
        if !is_nothing(own, classes, after) && !is_known(bytes, start, end, classes, known) {
            words::classify(&run(text, start, end, classes), sink);
        }
    }
    url
}

/// The classes in a run without a backslash.
fn classes_of(run: &[u8]) -> u16 {
    let of = |byte: u8| if byte < 0x80 { class_at(byte) } else { class::WIDE };
    run.iter().fold(0, |all, &byte| all | of(byte))
}

/// Whether a run was looked at before; from now on it was.
fn is_known(bytes: &[u8], start: usize, end: usize, classes: u16, known: &mut KnownRuns) -> bool {
    const MAYBE_URL: u16 = class::COLON | class::SLASH;
    match ShortRun::at(bytes, start, end) {
        // That it was not was asked already, before it was known that it is no URL: that depends on all behind it.
        Some(_) if classes & MAYBE_URL == MAYBE_URL => false,
        Some(run) => {
            known.remember(run);
            false
        }
        None => surroundings(bytes, start, end).is_some_and(|run| known.is_known(run)),
    }
}

/// Whether a run is a word of prose or a number, so that no rule names it.
fn is_nothing(run: &[u8], classes: u16, after: &[u8]) -> bool {
    if classes == class::DIGIT {
        return run.len() < LEAST_DIGITS;
    }
    if classes == class::LOWER {
        return !after.starts_with(b"()");
    }
    after.first() != Some(&b'(') && is_plain_word(run, classes)
}

/// A run with all that the rules look at around it: the byte before and the two behind. None at the edges of a text.
fn surroundings(bytes: &[u8], start: usize, end: usize) -> Option<&[u8]> {
    bytes.get(start.checked_sub(1)?..end + 2)
}

/// A word of prose: lower case but for its first letter, hyphens and closing punctuation allowed.
fn is_plain_word(run: &[u8], classes: u16) -> bool {
    const PROSE: u16 = class::LOWER | class::UPPER | class::DASH | class::DOT | class::COLON;
    if classes == class::LOWER {
        return true;
    }
    if classes & !PROSE != 0 {
        return false;
    }
    let Some((_, rest)) = run.split_first() else {
        return true;
    };
    let end = rest.iter().rposition(|b| !b".:-".contains(b)).map_or(0, |at| at + 1);
    run.first().is_some_and(u8::is_ascii_alphabetic)
        && rest.iter().take(end).all(|&b| b.is_ascii_lowercase() || b == b'-')
}

fn run(text: &str, start: usize, end: usize, classes: u16) -> Run<'_> {
    Run {
        text: text.get(start..end).unwrap_or_default(),
        classes,
        before: start.checked_sub(1).and_then(|i| text.as_bytes().get(i).copied()),
        after: text.as_bytes().get(end..).unwrap_or_default(),
    }
}

/// The end of the run that starts at `start`, and the classes in it.
#[inline(never)]
fn run_at(text: &str, start: usize) -> (usize, u16) {
    let bytes = text.as_bytes();
    let mut at = start;
    let mut classes = 0;
    while let Some(&byte) = bytes.get(at) {
        let quick = class_at(byte);
        let one = if quick != 0 {
            quick
        } else if byte == b'\\' {
            let run = bytes.get(start..at).unwrap_or_default();
            if goes_on_after_backslash(run, classes, bytes.get(at + 1).copied()) {
                class::BACKSLASH
            } else {
                0
            }
        } else if byte < 0x80 {
            0
        } else {
            match text.get(at..).and_then(|rest| rest.chars().next()) {
                Some(c) if class_of_wide(c) != 0 => {
                    at += c.len_utf8() - 1;
                    class::WIDE
                }
                _ => 0,
            }
        };
        if one == 0 {
            break;
        }
        classes |= one;
        at += 1;
    }
    (at, classes)
}

/// A backslash belongs to a run after a drive (`C:`), or between names when it cannot be a JSON escape: arguments of
/// calls are JSON inside text, where `\n` before a name is far more common than a folder that starts with n.
fn goes_on_after_backslash(run: &[u8], classes: u16, next: Option<u8>) -> bool {
    let drive = matches!(run, [letter, b':', ..] if letter.is_ascii_alphabetic());
    if drive {
        return true;
    }
    let name_before = run.last().is_some_and(u8::is_ascii_alphanumeric) && classes & class::SLASH == 0;
    name_before && next.is_some_and(|b| b.is_ascii_alphanumeric() && !b"nrtbfu0".contains(&b))
}

/// The next position to look at after a character that starts no run. A backslash takes the letter of its escape along.
fn skip(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let Some(&byte) = bytes.get(at) else {
        return at + 1;
    };
    if byte < 0x80 && byte != b'\\' {
        return at + 1;
    }
    if byte != b'\\' {
        return at + text.get(at..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8);
    }
    let mut at = at;
    while bytes.get(at) == Some(&b'\\') {
        at += 1;
    }
    match bytes.get(at) {
        Some(b'u')
            if bytes
                .get(at + 1..at + 5)
                .is_some_and(|h| h.iter().all(u8::is_ascii_hexdigit)) =>
        {
            at + 5
        }
        Some(b'n' | b'r' | b't' | b'b' | b'f') => at + 1,
        _ => at,
    }
}

/// Hands over the first URL whose scheme lies in a run, and what stands before it there; one past both.
fn hand_url(text: &str, at: usize, end: usize, classes: u16, sink: Sink<'_>) -> Option<usize> {
    let (start, stop) = url(text, at, end)?;
    if start > at {
        words::classify(&run(text, at, start, classes), sink);
    }
    if stop - start <= MAX_URL_BYTES
        && let Some(url) = text.get(start..stop)
    {
        sink(IdentifierKind::Url, url);
    }
    Some(stop.max(end))
}

/// The first URL whose scheme lies in the run: its span, without closing punctuation.
fn url(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let run = text.get(start..end)?;
    let mark = start + run.find("://")?;
    let mut scheme = mark;
    while scheme > start && is_scheme(*bytes.get(scheme - 1)?) {
        scheme -= 1;
    }
    while scheme < mark && !bytes.get(scheme)?.is_ascii_alphabetic() {
        scheme += 1;
    }
    if mark - scheme < 2 {
        return None;
    }
    let mut stop = mark + 3;
    let (mut opened, mut closed) = (0_usize, 0_usize);
    while let Some(&byte) = bytes.get(stop) {
        let width = if byte < 0x80 {
            usize::from(byte.is_ascii_graphic() && !b"\"'<>`|\\^{}[],".contains(&byte))
        } else {
            let c = text.get(stop..)?.chars().next()?;
            if class_of_wide(c) == 0 { 0 } else { c.len_utf8() }
        };
        if width == 0 {
            break;
        }
        opened += usize::from(byte == b'(');
        closed += usize::from(byte == b')');
        stop += width;
    }
    while stop > mark + 3 {
        match bytes.get(stop - 1)? {
            b')' if closed > opened => closed -= 1,
            b'.' | b',' | b';' | b':' | b'!' | b'?' | b'*' | b'_' | b'~' | b'#' | b'&' => {}
            _ => break,
        }
        stop -= 1;
    }
    // Of a part of a longer token nobody could say again whether it is there.
    (stop > mark + 3 && stands_alone(text, scheme, stop)).then_some((scheme, stop))
}

fn is_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+.-".contains(&byte)
}

/// Finds `exit code 101`, `exit status: 2`: three runs in a row; a zero says nothing went wrong and is left out.
#[derive(Default)]
struct ExitPhrase {
    /// Start of `exit`, and whether `code` or `status` has followed.
    open: Option<(usize, bool)>,
}

impl ExitPhrase {
    #[inline]
    fn step(&mut self, text: &str, start: usize, end: usize, sink: Sink<'_>) {
        if self.open.is_some() || matches!(text.as_bytes().get(start), Some(b'e' | b'E')) {
            self.go_on(text, start, end, sink);
        }
    }

    #[inline(never)]
    fn go_on(&mut self, text: &str, start: usize, end: usize, sink: Sink<'_>) {
        let Some(run) = text.get(start..end) else { return };
        let word = run.trim_end_matches([':', '.']);
        self.open = match self.open {
            _ if word.eq_ignore_ascii_case("exit") || word.eq_ignore_ascii_case("exited") => Some((start, false)),
            Some((at, false)) if word.eq_ignore_ascii_case("with") => Some((at, false)),
            Some((at, false)) if word.eq_ignore_ascii_case("code") || word.eq_ignore_ascii_case("status") => {
                Some((at, true))
            }
            Some((at, true)) if word.len() <= 5 && word.bytes().all(|b| b.is_ascii_digit()) => {
                let phrase = text.get(at..start + word.len()).unwrap_or_default();
                if word.bytes().any(|b| b != b'0') && phrase.len() <= 32 && !phrase.contains('\n') {
                    sink(IdentifierKind::Error, phrase);
                }
                None
            }
            _ => None,
        };
    }
}

/// The slow twin of [`scan`]: looks at every byte.
#[cfg(test)]
fn scan_slowly(text: &str, sink: Sink<'_>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut phrase = ExitPhrase::default();
    while at < bytes.len() {
        let (end, classes) = run_at(text, at);
        if end == at {
            at = skip(text, at);
            continue;
        }
        if classes & class::COLON != 0
            && let Some(stop) = hand_url(text, at, end, classes, sink)
        {
            at = stop;
            continue;
        }
        if end - at <= MAX_BYTES {
            phrase.step(text, at, end, sink);
            let called = bytes.get(end) == Some(&b'(');
            if called || !is_plain_word(bytes.get(at..end).unwrap_or_default(), classes) {
                words::classify(&run(text, at, end, classes), sink);
            }
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Extractor, Found};
    use super::scan_slowly;

    const BITS: [&str; 82] = [
        " ",
        " ",
        " ",
        " ",
        "  ",
        "\n",
        "\t",
        "\\n",
        "\\t",
        "\\\\",
        "\\",
        "\\u00e9",
        "\\\"",
        "\"",
        "'",
        "`",
        "(",
        ")",
        "()",
        "[",
        "{",
        ",",
        ";",
        ".",
        "...",
        ":",
        "::",
        "://",
        "-",
        "--",
        "-D",
        "_",
        "__",
        "/",
        "./",
        "../",
        "@",
        "#",
        "$",
        "%",
        "+",
        "~",
        "=",
        "a",
        "e",
        "x",
        "word",
        "The",
        "exit",
        "Exited",
        "EXIT",
        "exception",
        "code",
        "status",
        "with",
        "1",
        "101",
        "0",
        "12345678",
        "2024-05-16",
        "0x1f",
        "deadbeef1",
        "call_8fK2x",
        "ENOENT",
        "TypeError",
        "getUser",
        "HTTPServer",
        "MAX_RETRIES",
        "src/a.py",
        "Makefile",
        "C:",
        "http",
        "example.com",
        "na\u{ef}ve",
        "\u{c9}t\u{e9}",
        "\u{448}",
        "\u{3b1}",
        "\u{2c1}",
        "\u{d7}",
        "\u{939}\u{93f}",
        "\u{e01}",
        "\u{4e2d}",
    ];

    fn texts() -> impl Strategy<Value = Vec<String>> {
        let bits = prop::collection::vec(prop::sample::select(BITS.to_vec()), 0..60).prop_map(|bits| bits.concat());
        let any = prop_oneof![
            4 => bits,
            1 => "[ -~\u{80}-\u{1000}\u{1F600}\n]{0,200}",
            1 => "([a-z]{1,9}[ .,:(/_-]){0,40}",
            1 => "([a-z]{1,60}[-.:_]?){0,9}",
        ];
        prop::collection::vec(any, 1..5)
    }

    proptest! {
        #[test]
        fn looking_at_few_runs_finds_what_looking_at_all_finds(texts in texts()) {
            let (mut fast, mut slow) = (Extractor::new(), Found::default());
            for text in &texts {
                fast.feed(text);
                scan_slowly(text, &mut |kind, text| slow.add(kind, text));
            }
            prop_assert_eq!(fast.finish(), slow.identifiers, "{:?}", texts);
        }
    }
}
