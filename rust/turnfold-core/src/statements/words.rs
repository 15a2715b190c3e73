//! What a statement's text has: stems, names of people and places, quantities, quotations.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use super::characters::{is_digit, is_letter, is_space, is_word};

/// Words that say nothing of what a text is about.
static COMMON: LazyLock<HashSet<&'static str>> = LazyLock::new(|| COMMON_WORDS.split_whitespace().collect());

const COMMON_WORDS: &str = "\
    the and for that this with from have has had are was were will would could should can not but you your our their \
    they them then than there here its into onto over under about which when what who how all any some one two just \
    also been being more most only other such very per via use used using now new instead update updated change \
    changed correction actually please \
    und der die das den dem des ein eine ist sind war mit von für auf aus bei nicht \
    les des une est sont pour avec dans sur pas que qui \
    los las una son para con por del \
    как что это для или";

const ENDINGS: [&str; 8] = ["ing", "ers", "ed", "er", "es", "en", "s", "e"];
/// Characters that are left of a word without its ending.
const SHORTEST_STEM: usize = 3;
const QUOTATION: std::ops::RangeInclusive<usize> = 2..=80;

/// The words that say what `plain` is about, cut to stems, each once and in order; pairs of characters where no spaces
/// part words.
pub(super) fn stems(plain: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = plain;
    while let Some(start) = rest.find(is_letter) {
        let from = &rest[start..];
        let mut end = word_end(from, 0);
        while let Some(quote) = from[end..].chars().next().filter(|c| matches!(c, '\'' | '’')) {
            let more = word_end(from, end + quote.len_utf8());
            if more == end + quote.len_utf8() {
                break;
            }
            end = more;
        }
        stems_of_word(&from[..end], &mut found);
        rest = &from[end..];
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn word_end(text: &str, from: usize) -> usize {
    text[from..].find(|c| !is_letter(c)).map_or(text.len(), |k| from + k)
}

fn stems_of_word(word: &str, found: &mut Vec<String>) {
    if word.contains(is_glued) {
        for run in word.split(|c| !is_glued(c)).filter(|run| !run.is_empty()) {
            let run: Vec<char> = run.chars().collect();
            if let [only] = run[..] {
                found.push(only.to_string());
            }
            found.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
        return;
    }
    let characters = word.chars().count();
    if characters <= 2 || COMMON.contains(word) {
        return;
    }
    let stem = ENDINGS
        .iter()
        .find_map(|ending| {
            word.strip_suffix(ending)
                .filter(|_| characters - ending.len() >= SHORTEST_STEM)
        })
        .unwrap_or(word);
    found.push(stem.to_owned());
}

/// Scripts that put no spaces between words.
fn is_glued(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

pub(super) fn has_quantity(text: &str) -> bool {
    text.contains(is_digit)
}

/// Whether it has a quotation of a few characters and more.
pub(super) fn has_quotation(text: &[char]) -> bool {
    let mut at = 0;
    while let Some(opens) = text[at..]
        .iter()
        .position(|c| matches!(c, '"' | '“' | '„' | '«' | '`' | '「'))
    {
        let start = at + opens + 1;
        let inside = text[start..]
            .iter()
            .position(|c| matches!(c, '"' | '”' | '“' | '»' | '`' | '」' | '\n'));
        let Some(inside) = inside else { return false };
        // What opens inside ends at the same place, and is shorter.
        let opened = text[start..start + inside].iter().enumerate();
        let mut lengths = opened
            .filter(|(_, c)| matches!(c, '„' | '«' | '「'))
            .map(|(k, _)| inside - k - 1);
        if text.get(start + inside) != Some(&'\n')
            && (QUOTATION.contains(&inside) || lengths.any(|length| QUOTATION.contains(&length)))
        {
            return true;
        }
        at = start + inside;
    }
    false
}

/// Whether it has a name of two words and more behind its beginning, or begins with one of two.
pub(super) fn has_name(text: &[char]) -> bool {
    let begins = || {
        let first = name_word(text, 0).filter(|_| text.first().is_some_and(|&c| is_western_capital(c)))?;
        let second =
            next_name_word(text, first).filter(|_| text.get(first + 1).is_some_and(|&c| is_western_capital(c)))?;
        (text.get(second) == Some(&' ')).then_some(())
    };
    let inside = |at: usize| {
        stands_behind(text, at, ":") && name_word(text, at).and_then(|end| next_name_word(text, end)).is_some()
    };
    (2..text.len()).any(inside) || begins().is_some()
}

/// The names in a text: words with a capital behind something else, and two and more of them anywhere.
pub(super) fn proper_names(text: &[char]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match proper_name(text, at) {
            Some(end) => {
                found.push(at..end);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

fn proper_name(text: &[char], at: usize) -> Option<usize> {
    if !is_capital(*text.get(at)?) {
        return None;
    }
    if stands_behind(text, at, "") {
        let mut end = name_tail(text, at + 1);
        while text.get(end) == Some(&' ') && text.get(end + 1).is_some_and(|&c| is_capital(c)) {
            end = name_tail(text, end + 2);
        }
        return Some(end);
    }
    if at > 0 && !text.get(at - 1).is_some_and(|&c| is_space(c)) {
        return None;
    }
    let mut end = name_word(text, at).and_then(|end| next_name_word(text, end))?;
    while let Some(more) = next_name_word(text, end) {
        end = more;
    }
    Some(end)
}

/// Whether a space stands before `at`, and before that the end of a word or one of some signs.
fn stands_behind(text: &[char], at: usize, also: &str) -> bool {
    at >= 2
        && text.get(at - 1) == Some(&' ')
        && text
            .get(at - 2)
            .is_some_and(|&c| is_word(c) || matches!(c, ',' | ';' | ')' | '→') || also.contains(c))
}

/// The end of a word with a capital and something behind it at `at`.
fn name_word(text: &[char], at: usize) -> Option<usize> {
    let end = text
        .get(at)
        .filter(|&&c| is_capital(c))
        .map(|_| name_tail(text, at + 1))?;
    (end > at + 1).then_some(end)
}

/// The same for the one behind a space at `at`.
fn next_name_word(text: &[char], at: usize) -> Option<usize> {
    text.get(at)
        .filter(|&&c| c == ' ')
        .and_then(|_| name_word(text, at + 1))
}

fn name_tail(text: &[char], mut at: usize) -> usize {
    while text
        .get(at)
        .is_some_and(|&c| is_word(c) || matches!(c, '\'' | '’' | '-'))
    {
        at += 1;
    }
    at
}

fn is_western_capital(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'À'..='Þ')
}

fn is_capital(c: char) -> bool {
    is_western_capital(c) || matches!(c, 'А'..='Я' | 'Ё')
}
