//! A text as sentences, lines and list items. Code in fences is left out.

use std::collections::HashMap;

use super::characters::{is_digit, is_letter, is_space, is_word};

const FENCE: &str = "```";
/// Characters of a line that is a heading.
const LONGEST_HEADING: usize = 80;
/// Characters of a label behind its first.
const LONGEST_LABEL: usize = 30;
/// What a full stop follows without ending the sentence; a single letter, and two with a full stop between, too.
const ABBREVIATIONS: [&str; 16] = [
    "etc", "vs", "cf", "ca", "Dr", "Mr", "Mrs", "Ms", "No", "Nr", "z. B", "bzw", "usw", "p. ej", "p.ej", "т. е",
];

/// One statement, and the label or the heading that it stands under: its own where it begins with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut<'a> {
    pub(super) text: &'a str,
    pub(super) label: &'a str,
    /// Whether it stands in tags.
    pub(super) enclosed: bool,
}

/// Cuts `text` into statements. Linear in it.
pub(super) fn split(text: &str) -> Vec<Cut<'_>> {
    let mut found = Vec::new();
    let mut heading = "";
    let mut fenced = false;
    let mut tags = Tags::default();
    for line in text.split('\n') {
        let enclosed = tags.enclose(text, line);
        let from_first = line.trim_start_matches(is_space);
        if from_first.starts_with(FENCE) {
            fenced = !fenced;
            continue;
        }
        if fenced || from_first.is_empty() {
            continue;
        }
        let item = item(from_first);
        if item.is_none() && !line.starts_with([' ', '\t']) {
            heading = "";
        }
        let stripped = item.unwrap_or(from_first).trim_end_matches(is_space);
        if let Some(head) = stripped.strip_suffix([':', '：'])
            && stripped.chars().nth(LONGEST_HEADING).is_none()
        {
            heading = head.trim_matches(is_space);
            continue;
        }
        if stripped.starts_with('#') {
            heading = stripped.trim_start_matches(['#', ' ']).trim_matches(is_space);
            continue;
        }
        let mut label = heading;
        sentences(stripped, |sentence| {
            label = own_label(sentence).unwrap_or(label);
            found.push(Cut {
                text: sentence,
                label,
                enclosed,
            });
        });
    }
    found
}

/// Whether lines stand in tags, as output, documents and reminders do that somebody hands on.
#[derive(Debug, Default)]
struct Tags<'a> {
    open: Option<&'a str>,
    /// Where the last tag that closes stands, by name.
    ends: HashMap<&'a str, Option<usize>>,
    /// Where the next line begins.
    at: usize,
}

impl<'a> Tags<'a> {
    fn enclose(&mut self, text: &str, line: &'a str) -> bool {
        let start = self.at;
        self.at += line.len() + 1;
        if let Some(name) = self.open {
            if line.contains(&format!("</{name}>")) {
                self.open = None;
            }
            return true;
        }
        let Some(name) = opening_tag(line.trim_start_matches(is_space)) else {
            return false;
        };
        // One that is never closed is a word in angle brackets.
        let end = *self
            .ends
            .entry(name)
            .or_insert_with(|| text.rfind(&format!("</{name}>")));
        self.open = end.filter(|&end| end >= self.at).map(|_| name);
        end.is_some_and(|end| end >= start)
    }
}

/// The name of the tag that a line begins with.
fn opening_tag(line: &str) -> Option<&str> {
    let name = line
        .strip_prefix('<')
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    let rest = name.trim_start_matches(|c| is_word(c) || c == '-');
    let name = name.strip_suffix(rest)?;
    if rest.starts_with('>') {
        return Some(name);
    }
    let inside = rest.strip_prefix(is_space)?;
    let end = inside.find(['<', '>'])?;
    (inside[end..].starts_with('>') && !inside[..end].ends_with('/')).then_some(name)
}

/// What stands behind the sign of a list item: `- `, `2. `, `b) `.
fn item(line: &str) -> Option<&str> {
    let mut rest = line.chars();
    let first = rest.next()?;
    if is_digit(first) {
        let mut sign = rest.next()?;
        if is_digit(sign) {
            sign = rest.next()?;
        }
        if !matches!(sign, '.' | ')') {
            return None;
        }
    } else if first.is_ascii_lowercase() {
        if rest.next()? != ')' {
            return None;
        }
    } else if !matches!(first, '-' | '*' | '•' | '+' | '>') {
        return None;
    }
    let rest = rest.as_str();
    let body = rest.trim_start_matches(is_space);
    (body.len() < rest.len()).then_some(body)
}

/// What `sentence` has before its colon, where that is short and something follows.
fn own_label(sentence: &str) -> Option<&str> {
    if sentence.starts_with("http:") || sentence.starts_with("https:") {
        return None;
    }
    let mut at = sentence.chars();
    if !is_letter(at.next()?) {
        return None;
    }
    for _ in 0..LONGEST_LABEL {
        let next = at.next()?;
        if !(is_word(next) || matches!(next, ' ' | '.' | '\'' | '/' | '-')) {
            return None;
        }
        let rest = at.as_str();
        let label = sentence.strip_suffix(rest)?;
        let sign = rest.strip_prefix(is_space).unwrap_or(rest);
        if let Some(said) = sign.strip_prefix([':', '：']) {
            let said = said.strip_prefix(is_space).unwrap_or(said);
            if said.chars().next().is_some_and(|c| !is_space(c)) {
                return Some(label);
            }
        }
    }
    None
}

/// Hands over the sentences of a line, trimmed.
fn sentences<'a>(line: &'a str, mut take: impl FnMut(&'a str)) {
    let mut give = |part: &'a str| {
        let part = part.trim_matches(is_space);
        if !part.is_empty() {
            take(part);
        }
    };
    let (mut start, mut at) = (0, 0);
    // Where the last word before `at` ends.
    let mut word_end = 0;
    while let Some(c) = line[at..].chars().next() {
        let next = at + c.len_utf8();
        if is_word(c) {
            word_end = next;
        }
        let Some(end) = end_of_sentence(c, line, next) else {
            at = next;
            continue;
        };
        let goes_on = line[end..].chars().next().is_some_and(char::is_lowercase);
        let is_short = || is_abbreviation(&line[start..start.max(word_end)], &line[word_end..next]);
        if !goes_on && (c != '.' || !is_short()) {
            give(&line[start..end]);
            start = end;
        }
        if line[next..end].contains('_') {
            word_end = next + line[next..end].rfind('_').unwrap_or(0) + 1;
        }
        at = end;
    }
    give(&line[start..]);
}

/// Where a sentence ends whose last character `c` stands before `next`: behind what closes, and the white space.
fn end_of_sentence(c: char, line: &str, next: usize) -> Option<usize> {
    let rest = &line[next..];
    match c {
        '.' | '!' | '?' | '…' => {
            let closed = rest.trim_start_matches(['"', '\'', '”', '»', ')', ']', '*', '_']);
            let following = closed.trim_start_matches(is_space);
            (following.len() < closed.len()).then(|| line.len() - following.len())
        }
        '。' | '！' | '？' => {
            let closed = rest.trim_start_matches(['」', '』', '”', '）']);
            Some(line.len() - closed.len())
        }
        _ => None,
    }
}

/// Whether `head`, up to its last word's end, is cut short by the full stop that `tail`, without a word, begins with.
fn is_abbreviation(head: &str, tail: &str) -> bool {
    if !tail.starts_with('.') {
        return false;
    }
    let begins = |before: &str| before.chars().next_back().is_none_or(|c| is_space(c) || c == '(');
    let mut letters = head.chars();
    if letters.next_back().is_some_and(is_word) {
        if begins(letters.as_str()) {
            return true;
        }
        if letters.next_back() == Some('.') && letters.next_back().is_some_and(is_word) && begins(letters.as_str()) {
            return true;
        }
    }
    ABBREVIATIONS
        .iter()
        .any(|short| head.strip_suffix(short).is_some_and(begins))
}
