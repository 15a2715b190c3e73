//! What one run names.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::IdentifierKind;
use super::paths;
use super::scan::{Sink, class, class_of};
use super::vocabulary::{
    DOMAINS, ERRNO, ERROR_ENDINGS, FILE_ENDINGS, ORDINARY, SIZED, STANDARDS, is_in, is_in_any_case,
};

/// Fewest digits that are an id.
pub(super) const LEAST_DIGITS: usize = 8;

/// A run of identifier characters and what stands around it.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) text: &'a str,
    /// Classes in it (of the untrimmed run: an upper bound).
    pub(super) classes: u16,
    pub(super) before: Option<u8>,
    pub(super) after: &'a [u8],
}

impl Run<'_> {
    fn has(&self, classes: u16) -> bool {
        self.classes & classes != 0
    }
}

/// Names what the run is, or splits it at its separators and names the parts.
pub(super) fn classify(run: &Run<'_>, sink: Sink<'_>) {
    let (text, cut) = trim(run.text);
    if text.len() < 2 {
        return;
    }
    let after = if cut.is_empty() { run.after } else { cut.as_bytes() };
    if define(run, sink) {
        return;
    }
    let run = &Run { text, after, ..*run };
    if whole(run, sink) || word(run, sink) {
        return;
    }
    split(run, sink);
}

/// `-Dlog.dir`, `-DBUILD_TYPE`: a name that is defined on a command line, whose letter D is no part of it. With its dash,
/// for nobody to take it for a file. At the beginning of a line it is more often a line that a diff takes away.
fn define(run: &Run<'_>, sink: Sink<'_>) -> bool {
    if !run.before.is_some_and(|b| b" \"'`,([".contains(&b)) {
        return false;
    }
    let text = run.text.trim_end_matches(['.', ':', '-']);
    let Some(name) = text.strip_prefix("-D") else {
        return false;
    };
    let kind = if is_constant(name) {
        IdentifierKind::Constant
    } else if name.len() >= 3 && name.contains(['.', '_']) && name.split('.').all(is_name) {
        IdentifierKind::Symbol
    } else {
        return false;
    };
    sink(kind, text);
    true
}

/// Strips punctuation that belongs to the sentence; also what was stripped off the end.
fn trim(text: &str) -> (&str, &str) {
    let kept = text.trim_end_matches(['.', ':', '-', '#', '@', '$', '%', '+', '~']);
    let cut = text.get(kept.len()..).unwrap_or_default();
    let kept = kept.trim_start_matches([':', '-', '%', '+']);
    if kept.starts_with("...") {
        return (kept.trim_start_matches('.'), cut);
    }
    (kept, cut)
}

/// Rules for runs with separators in them. True when the run is used up.
fn whole(run: &Run<'_>, sink: Sink<'_>) -> bool {
    let text = run.text;
    if run.has(class::AT) && at_sign(text, sink) {
        return true;
    }
    if text.len() == 36 && is_uuid(text) {
        sink(IdentifierKind::Uuid, text);
        return true;
    }
    if run.has(class::HASH) && reference(run, sink) {
        return true;
    }
    if run.has(class::DIGIT) && (digest(text, sink) || address(text, sink) || version(text, sink)) {
        return true;
    }
    if run.has(paths::MARKS) && paths::path(run, sink) {
        return true;
    }
    if run.has(class::COLON) && text.contains("::") {
        let text = text.trim_start_matches(':');
        if text.contains("::") && text.split("::").all(is_name) {
            sink(IdentifierKind::Symbol, text);
            return true;
        }
    }
    false
}

/// Splits at the strongest separator the run has, and asks again for each part. Every level removes one kind of
/// separator, so a run is read at most three times. Not at dots and hyphens: what stands between those is no token of
/// its own, and [`super::Watch`] would not find it again.
fn split(run: &Run<'_>, sink: Sink<'_>) {
    let text = run.text;
    let levels: [&[char]; 2] = [&[':', '@', '%', '+', '~', '$', '#', '\\'], &['/']];
    let Some(separators) = levels.into_iter().find(|level| text.contains(*level)) else {
        return;
    };
    let mut rest = text;
    while !rest.is_empty() {
        let cut = rest.find(separators).unwrap_or(rest.len());
        let (part, tail) = rest.split_at(cut);
        if part.len() > 1 {
            let classes = part
                .bytes()
                .fold(0, |all, b| all | if b < 0x80 { class_of(b) } else { class::WIDE });
            let after = if tail.is_empty() { run.after } else { tail.as_bytes() };
            classify(
                &Run {
                    text: part,
                    classes,
                    before: Some(b' '),
                    after,
                },
                sink,
            );
        }
        rest = tail.get(1..).unwrap_or_default();
    }
}

/// `a@b.c`, `git@host:owner/repo`, `name@1.2.3`, `@scope/name`.
fn at_sign(text: &str, sink: Sink<'_>) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    if !local.is_empty() && is_version(domain, 1) {
        sink(IdentifierKind::Version, text);
        return true;
    }
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_alphanumeric() || b"._%+-".contains(&b));
    if !local.is_empty() && plain(local) && !local.contains('@') {
        if let Some((host, path)) = domain.split_once(':')
            && is_host(host)
            && path.contains('/')
        {
            sink(IdentifierKind::Url, text);
            return true;
        }
        if is_host(domain) {
            sink(IdentifierKind::Email, text);
            return true;
        }
    }
    if local.is_empty()
        && let Some((scope, name)) = domain.split_once('/')
        && !scope.is_empty()
        && !name.is_empty()
        && plain(scope)
        && plain(name)
    {
        sink(IdentifierKind::Symbol, text);
        return true;
    }
    false
}

/// A dotted host name whose last label is alphabetic.
fn is_host(text: &str) -> bool {
    let mut labels = text.split('.');
    let last = labels.next_back().unwrap_or_default();
    let label = |l: &str| !l.is_empty() && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    text.contains('.') && last.len() >= 2 && last.bytes().all(|b| b.is_ascii_alphabetic()) && labels.all(label)
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(i, b)| match i {
        8 | 13 | 18 | 23 => b == b'-',
        _ => b.is_ascii_hexdigit(),
    })
}

/// `#12`, `owner/repo#12`, `#W2378156`.
fn reference(run: &Run<'_>, sink: Sink<'_>) -> bool {
    let Some((owner, number)) = run.text.rsplit_once('#') else {
        return false;
    };
    let digits = !number.is_empty() && number.len() <= 7 && number.bytes().all(|b| b.is_ascii_digit());
    if digits {
        let repository = |s: &str| s.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/".contains(&b));
        if owner.is_empty() || (repository(owner) && owner.bytes().any(|b| b.is_ascii_alphabetic())) {
            sink(IdentifierKind::Reference, run.text);
            return true;
        }
    }
    let colour = matches!(number.len(), 3 | 6 | 8) && number.bytes().all(|b| b.is_ascii_hexdigit());
    if owner.is_empty() && !colour && is_mixed_id(number) {
        sink(IdentifierKind::Id, run.text);
        return true;
    }
    owner.is_empty() && colour
}

/// `sha256:<hex>`, `0x<hex>`, a bare hash.
fn digest(text: &str, sink: Sink<'_>) -> bool {
    let hex = |s: &str| s.bytes().all(|b| b.is_ascii_hexdigit());
    let yes = if let Some((algorithm, value)) = text.split_once(':') {
        matches!(algorithm, "sha1" | "sha256" | "sha384" | "sha512" | "md5" | "blake3")
            && value.len() >= 7
            && hex(value)
    } else if let Some(value) = text.strip_prefix("0x") {
        value.len() >= 4 && hex(value)
    } else {
        let one_case = !(text.bytes().any(|b| b.is_ascii_lowercase()) && text.bytes().any(|b| b.is_ascii_uppercase()));
        let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
        let digits = text.len() - letters;
        // A short run with one letter in it is more often a number with an exponent or a unit.
        (7..=128).contains(&text.len()) && one_case && letters >= 2 && digits >= 1 && hex(text)
    };
    if yes {
        sink(IdentifierKind::Digest, text);
    }
    yes
}

/// IP addresses, `host:port`, and host names under a known domain.
fn address(text: &str, sink: Sink<'_>) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let port_fits = port.is_none_or(|p| (1..=5).contains(&p.len()) && p.parse::<u16>().is_ok());
    let named = port.is_some()
        && (host == "localhost" || is_host(host) && !host.rsplit('.').next().is_some_and(|e| is_in(FILE_ENDINGS, e)));
    let yes = port_fits && (named || host.parse::<Ipv4Addr>().is_ok())
        || (6..=45).contains(&text.len()) && text.matches(':').count() >= 2 && text.parse::<Ipv6Addr>().is_ok();
    if yes {
        sink(IdentifierKind::Address, text);
    }
    yes
}

fn version(text: &str, sink: Sink<'_>) -> bool {
    let (bare, least) = match text.strip_prefix(['v', 'V']) {
        Some(bare) => (bare, 2),
        None => (text, 3),
    };
    let yes = is_version(bare, least);
    if yes {
        sink(IdentifierKind::Version, text);
    }
    yes
}

/// `least` to four numeric parts, then an optional pre-release or build.
fn is_version(text: &str, least: usize) -> bool {
    let numeric = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (numbers, suffix) = text.split_at(numeric);
    let numbers = numbers.strip_suffix('.').unwrap_or(numbers);
    let count = numbers.split('.').count();
    let parts = numbers.split('.').all(|p| !p.is_empty() && p.len() <= 8);
    let tail = suffix.is_empty()
        || suffix.len() <= 32
            && (suffix.starts_with(['-', '+'])
                || ["a", "b", "rc", "alpha", "beta", "dev", "post"]
                    .iter()
                    .any(|tag| suffix.starts_with(tag)))
            && suffix.bytes().all(|b| b.is_ascii_alphanumeric() || b".-+".contains(&b));
    parts && (least..=4).contains(&count) && tail
}

/// Rules for one word, dots and dashes included. True when it is used up.
fn word(run: &Run<'_>, sink: Sink<'_>) -> bool {
    let text = run.text.trim_start_matches('$');
    if text.is_empty()
        || run.has(class::WIDE)
        || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
    {
        return false;
    }
    // Each is asked only where the run has what it needs: most runs are words with one sign in them.
    let upper = run.has(class::UPPER);
    let digit = run.has(class::DIGIT);
    let dash = run.has(class::DASH);
    let dot = run.has(class::DOT);
    if upper && is_in(ORDINARY, text) || dash && is_standard(text) || (digit || dot) && is_number(text) {
        return true;
    }
    let dollar = text.len() < run.text.len();
    let kind = if dollar && is_constant_name(text) || upper && run.has(class::UNDERSCORE) && is_constant(text) {
        IdentifierKind::Constant
    } else if upper && (is_in(ERRNO, text) || digit && is_error_code(text) || is_error_name(text)) {
        IdentifierKind::Error
    } else if upper && digit && dash && is_ticket(text) {
        IdentifierKind::Reference
    } else if digit && is_id(text) {
        IdentifierKind::Id
    } else if run.has(class::UNDERSCORE) && is_snake(text) || upper && is_camel(text) {
        IdentifierKind::Symbol
    } else if dot && is_known_host(text) {
        IdentifierKind::Address
    } else if dot && is_dotted(text, run.after) {
        IdentifierKind::Symbol
    } else if is_name(text) && text.len() >= 3 && run.after.starts_with(b"()") {
        let called = format!("{text}()");
        sink(IdentifierKind::Symbol, &called);
        return true;
    } else {
        return false;
    };
    sink(kind, text);
    true
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_constant_name(text: &str) -> bool {
    is_name(text) && text.bytes().all(|b| !b.is_ascii_lowercase())
}

/// `MAX_RETRIES`: upper case with an inner underscore.
fn is_constant(text: &str) -> bool {
    let inner = text.trim_matches('_');
    text.len() >= 4 && is_constant_name(inner) && inner.contains('_')
}

/// `E0502`, `TS2304`, `CS0103`, `LNK2019`, `F401`: a linter's or compiler's letters, then three to five digits.
fn is_error_code(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = text.len() - digits.len();
    let prefix = text.get(..letters).unwrap_or_default();
    matches!(
        prefix,
        "E" | "W" | "F" | "C" | "TS" | "CS" | "LNK" | "SC" | "PLR" | "PLW" | "PLE" | "RUF" | "MSB" | "NU"
    ) && (3..=5).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// `TypeError`, `java.io.IOException`, `KeyboardInterrupt`.
fn is_error_name(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or_default();
    last.starts_with(|c: char| c.is_ascii_uppercase())
        && ERROR_ENDINGS.iter().any(|e| last.len() > e.len() && last.ends_with(e))
        && text.split('.').all(is_name)
}

/// `ABC-123`, `CVE-2024-1234`.
fn is_ticket(text: &str) -> bool {
    let Some((project, number)) = text.split_once('-') else {
        return false;
    };
    let upper = (2..=10).contains(&project.len())
        && project.starts_with(|c: char| c.is_ascii_uppercase())
        && project.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let numbers = number
        .split('-')
        .all(|n| (1..=7).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_digit()));
    upper && numbers && number.matches('-').count() <= 1 && !is_in(STANDARDS, project)
}

/// `ISO-8601`, `UTF-8`, `SHA-256`.
fn is_standard(text: &str) -> bool {
    text.split_once('-').is_some_and(|(name, number)| {
        is_in(STANDARDS, &name.to_ascii_uppercase()) && number.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    })
}

/// A decimal number, whose long fraction is no id, or a size such as `640x480`.
fn is_number(text: &str) -> bool {
    let numeric = |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
    text.contains('.') && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        || text.contains('x') && text.split('x').all(numeric)
}

/// Ids of letters and digits. Dates, sizes and names such as `int32` are not ids.
fn is_id(text: &str) -> bool {
    if text.contains('.') || is_timestamp(text) {
        return false;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return (LEAST_DIGITS..=24).contains(&text.len());
    }
    if !text.contains(['_', '-']) {
        return is_mixed_id(text);
    }
    let parts = || text.split(['_', '-']);
    let numeric = |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
    let last = parts().next_back().unwrap_or_default();
    let named_number = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && (numeric(last) && last.len() >= 3 || parts().filter(|p| numeric(p)).count() >= 2)
        && parts().all(|p| !p.is_empty());
    let strong = parts().any(|p| is_mixed_id(p) || p.len() >= 2 && alternations(p) >= 1 && !is_counted(p));
    let shape = text.contains('-') || parts().next_back().is_some_and(is_mixed_id);
    let model = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.matches('-').count() >= 2
        && parts().any(|p| alternations(p) >= 1)
        && parts().all(|p| !p.is_empty());
    named_number || model || strong && shape && !text.ends_with(['-', '_'])
}

/// One run of letters and digits that is no word with a number or number with a unit.
fn is_mixed_id(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let mixed_case = text.bytes().any(|b| b.is_ascii_lowercase()) && text.bytes().any(|b| b.is_ascii_uppercase());
    let random = alternations(text) >= 3 || mixed_case && alternations(text) >= 2;
    text.bytes().all(|b| b.is_ascii_alphanumeric())
        && (5..=64).contains(&text.len())
        && digits >= 2
        && digits < text.len()
        && !is_counted(text)
        && (random || alternations(text) == 2 && text.len() >= 6 || is_lettered_number(text))
        && !(text.len() > 40 && mixed_case)
}

/// `HAT012`, `W2378156`, `order12345`: letters, then digits enough to be a number of its own.
fn is_lettered_number(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let letters = text.get(..text.len() - digits.len()).unwrap_or_default();
    let upper = !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_uppercase());
    digits.bytes().all(|b| b.is_ascii_digit())
        && if upper {
            digits.len() >= 3 && !is_in(SIZED, letters)
        } else {
            !letters.is_empty() && digits.len() >= 5
        }
}

/// How often letters turn to digits or back.
fn alternations(text: &str) -> usize {
    let bytes = text.as_bytes();
    bytes
        .iter()
        .zip(bytes.iter().skip(1))
        .filter(|(a, b)| a.is_ascii_digit() != b.is_ascii_digit())
        .count()
}

/// A number with a unit or an ordinal (`1024px`, `2nd`), or a word with a size (`int32`, `python3`).
fn is_counted(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let with_unit = unit.len() < text.len() && unit.len() <= 5 && unit.bytes().all(|b| b.is_ascii_alphabetic());
    let size = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let letters = text.get(..text.len() - size.len()).unwrap_or_default();
    let sized = !letters.is_empty()
        && size.len() <= 4
        && size.bytes().all(|b| b.is_ascii_digit())
        && (letters.bytes().any(|b| b.is_ascii_lowercase()) || is_in(SIZED, letters));
    with_unit && !(unit.bytes().all(|b| b.is_ascii_uppercase()) && text.len() >= 7) || sized
}

/// `2024-05-16`, `2024-05-16T14:30:00Z`, `20240516T143000`.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|d| d.iter().all(u8::is_ascii_digit));
    digits(0..4) && bytes.get(4) == Some(&b'-') && digits(5..7) || digits(0..8) && bytes.get(8) == Some(&b'T')
}

/// `snake_case`, `__init__`, `Mixed_Case`.
fn is_snake(text: &str) -> bool {
    let inner = text.trim_matches('_');
    let dunder = text.starts_with("__") && text.ends_with("__") && inner.len() >= 2;
    let named = text.split('.').all(is_name) && text.bytes().any(|b| b.is_ascii_alphabetic());
    let parts = || inner.split(['_', '.']).filter(|p| !p.is_empty());
    named && text.len() >= 4 && (dunder || inner.contains('_') && parts().count() >= 2 && !is_emphasis(text, inner))
}

/// `_two_words_`: Markdown emphasis rather than a name.
fn is_emphasis(text: &str, inner: &str) -> bool {
    text.len() == inner.len() + 2 && text.starts_with('_') && text.ends_with('_') && !inner.contains('.')
}

/// Two humps and more: `getUser`, `TypeScriptish`, `HTTPServer`; not `APIs`, `McDonald`, `iPhone`.
fn is_camel(text: &str) -> bool {
    let bytes = text.as_bytes();
    if text.len() < 5 || !is_name(text) || text.contains('_') || text.starts_with("Mc") || text.starts_with("Mac") {
        return false;
    }
    // Names of this length are data in base64.
    if text.len() > 50 {
        return false;
    }
    let lower_start = bytes.iter().take_while(|b| b.is_ascii_lowercase()).count();
    if lower_start == 1 {
        return false;
    }
    let hump = bytes
        .iter()
        .zip(bytes.iter().skip(1))
        .any(|(a, b)| (a.is_ascii_lowercase() || a.is_ascii_digit()) && b.is_ascii_uppercase());
    let lower = bytes.iter().filter(|b| b.is_ascii_lowercase()).count();
    let acronym = bytes.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let ends_lower = bytes.len() - acronym >= 3 && bytes.iter().skip(acronym).all(u8::is_ascii_lowercase);
    hump && lower >= 2 || acronym >= 3 && ends_lower
}

fn is_known_host(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or_default();
    is_in(DOMAINS, last) && is_host(text) && !text.contains('_') && text.split('.').next().is_some_and(|l| l.len() >= 2)
}

/// `os.path.join`; not `end.Start`, a missing space, nor `e.g.`
fn is_dotted(text: &str, after: &[u8]) -> bool {
    let mut labels = text.split('.');
    let count = labels.clone().count();
    if count < 2 || text.len() < 6 || !labels.clone().all(is_name) || labels.clone().all(|l| l.len() < 2) {
        return false;
    }
    if count > 2 || after.first() == Some(&b'(') {
        return labels.all(|l| !l.is_empty());
    }
    let (first, second) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
    let sentence =
        second.starts_with(|c: char| c.is_ascii_uppercase()) && second.bytes().skip(1).all(|b| b.is_ascii_lowercase());
    !sentence && first.len() >= 2 && second.len() >= 2 && !is_in_any_case(FILE_ENDINGS, first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BITS: &str = "a b is get User HTTP E TS SHA UTF ISO RFC ABC 12 123 2304 8 x 0x deadbeef _ __ - . $ io com py \
                        Error Exception ENOENT GitHub NumPy OAuth2 MAX 2024 T v px rc";

    proptest! {
        #[test]
        fn no_rule_is_left_out_that_names_a_word(
            bits in prop::collection::vec(prop::sample::select(BITS.split_whitespace().collect::<Vec<_>>()), 1..7),
            after in "(\\(\\)|\\(|\\.| )?",
        ) {
            let text = bits.concat();
            let own = text.bytes().fold(0, |all, byte| all | class_of(byte));
            let named = |classes| {
                let mut found = Vec::new();
                let run = Run { text: &text, classes, before: None, after: after.as_bytes() };
                let used = word(&run, &mut |kind, text| found.push((kind, text.to_owned())));
                (used, found)
            };
            prop_assert_eq!(named(own), named(!class::WIDE), "{:?}", text);
        }
    }
}
