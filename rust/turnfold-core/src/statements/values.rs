//! The values in a statement: dates, sums of money, paths, ids, sizes, numbers. Each kind is one scan without going
//! back, linear in the text.

use std::ops::Range;

use super::characters::{is_digit, is_letter, is_space, is_word};

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Value {
    Date,
    Money,
    Path,
    Id,
    Size,
    Number,
}

impl Value {
    /// The order in which they are looked for: what one takes, the next does not see.
    const ALL: [Self; 6] = [Self::Date, Self::Money, Self::Path, Self::Id, Self::Size, Self::Number];

    /// Where such values stand in `text`, none over another.
    pub(super) fn find(self, text: &[char]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut scan = Scan::default();
        let mut at = 0;
        while at < text.len() {
            let end = match self {
                Self::Date => date(text, at),
                Self::Money => scan.money(text, at),
                Self::Path => scan.path(text, at),
                Self::Id => scan.id(text, at),
                Self::Size => scan.size(text, at),
                Self::Number => number(text, at),
            };
            if let Some(end) = end {
                found.push(at..end);
                at = end;
            } else {
                at += 1;
            }
        }
        found
    }
}

/// The kinds of value that a text may hold, by what each of them has: most texts have none.
pub(super) fn possible(text: &[char]) -> impl Iterator<Item = Value> + use<> {
    let (mut digit, mut slash, mut hex, mut money) = (false, false, false, false);
    let mut letters = 0;
    for (at, &c) in text.iter().enumerate() {
        digit |= is_digit(c);
        slash |= c == '/';
        letters = if matches!(c, 'a'..='f') { letters + 1 } else { 0 };
        hex |= letters == HEX.start;
        money |= match c {
            '$' | '€' | '£' | '¥' | '₽' => true,
            'd' | 'e' | 'u' | 'y' => CURRENCIES.iter().any(|one| starts_with(text, at, one).is_some()),
            _ => false,
        };
    }
    Value::ALL.into_iter().filter(move |kind| match kind {
        Value::Date | Value::Size | Value::Number => digit,
        Value::Money => money,
        Value::Path => slash,
        Value::Id => digit || hex,
    })
}

const CURRENCIES: [&str; 5] = ["usd", "eur", "dollar", "euro", "yen"];
const MONTHS: [&str; 24] = [
    "january",
    "jan",
    "february",
    "feb",
    "march",
    "mar",
    "april",
    "apr",
    "may",
    "june",
    "jun",
    "july",
    "jul",
    "august",
    "aug",
    "september",
    "sept",
    "sep",
    "october",
    "oct",
    "november",
    "nov",
    "december",
    "dec",
];
const NUMBERS: [&str; 17] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twenty", "thirty", "forty",
    "fifty", "hundred", "thousand", "million",
];
const UNITS: [&str; 7] = ["usd", "eur", "dollars", "dollar", "euros", "euro", "yen"];
/// Letters of a unit that belong to a size.
const LONGEST_UNIT: usize = 12;
const HEX: Range<usize> = 7..41;

/// What is known of the run that a scan is in.
#[derive(Debug, Default)]
struct Scan {
    /// Up to where nothing begins.
    barren: usize,
    /// The run of an id or a sum in words, and the last place in it that may end one.
    run_end: usize,
    last: Option<usize>,
    /// The end of the letters and dashes that the look-ahead of an id is in.
    ahead: usize,
}

fn is(text: &[char], at: usize, wanted: char) -> bool {
    text.get(at) == Some(&wanted)
}

fn starts_with(text: &[char], at: usize, word: &str) -> Option<usize> {
    let mut end = at;
    for c in word.chars() {
        if !is(text, end, c) {
            return None;
        }
        end += 1;
    }
    Some(end)
}

fn run(text: &[char], at: usize, holds: impl Fn(char) -> bool) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|&c| !holds(c)).unwrap_or(rest.len())
}

fn word_at(text: &[char], at: usize) -> bool {
    text.get(at).is_some_and(|&c| is_word(c))
}

/// The end of the one or two digits at `at`, which no third one follows.
fn two_digits(text: &[char], at: usize) -> Option<usize> {
    let digit = |at: usize| text.get(at).is_some_and(|&c| is_digit(c));
    match (digit(at), digit(at + 1), digit(at + 2)) {
        (true, false, _) => Some(at + 1),
        (true, true, false) => Some(at + 2),
        _ => None,
    }
}

/// `2026-05-04`, `5-4`, `may 4`, `4.5.2026`.
fn date(text: &[char], at: usize) -> Option<usize> {
    let first = *text.get(at)?;
    if !is_word(first) || (at > 0 && word_at(text, at - 1)) {
        return None;
    }
    let last = |end: usize| (!word_at(text, end)).then_some(end);
    if !is_digit(first) {
        // A month begins with few of the letters, and this is asked at every word.
        if !matches!(first, 'j' | 'f' | 'm' | 'a' | 's' | 'o' | 'n' | 'd') {
            return None;
        }
        return MONTHS.iter().find_map(|month| {
            let end = starts_with(text, at, month)?;
            let space = end + usize::from(is(text, end, '.'));
            is(text, space, ' ')
                .then(|| two_digits(text, space + 1))
                .flatten()
                .and_then(last)
        });
    }
    if let Some(end) = two_digits(text, at) {
        if is(text, end, '-') {
            return two_digits(text, end + 1).and_then(last);
        }
        let second = is(text, end, '.').then(|| two_digits(text, end + 1)).flatten()?;
        return is(text, second, '.').then(|| run(text, second + 1, is_digit));
    }
    let year = (at..at + 4).all(|k| text.get(k).is_some_and(|&c| is_digit(c)));
    let month = (year && is(text, at + 4, '-'))
        .then(|| two_digits(text, at + 5))
        .flatten()?;
    let day = is(text, month, '-').then(|| two_digits(text, month + 1)).flatten()?;
    last(day)
}

/// The end of ` dollars` or ` euro` without its space.
fn currency(text: &[char], at: usize) -> Option<usize> {
    let end = starts_with(text, at, "dollar").or_else(|| starts_with(text, at, "euro"))?;
    Some(end + usize::from(is(text, end, 's')))
}

fn number(text: &[char], at: usize) -> Option<usize> {
    text.get(at)
        .is_some_and(|&c| is_digit(c))
        .then(|| run(text, at + 1, |c| is_digit(c) || matches!(c, '.' | ',' | ':')))
}

fn amount(text: &[char], at: usize) -> usize {
    run(text, at + 1, |c| is_digit(c) || matches!(c, '.' | ','))
}

fn behind_space(text: &[char], at: usize) -> usize {
    at + usize::from(text.get(at).is_some_and(|&c| is_space(c)))
}

impl Scan {
    /// `$300`, `300 usd`, `three hundred dollars`.
    fn money(&mut self, text: &[char], at: usize) -> Option<usize> {
        let first = *text.get(at)?;
        if matches!(first, '$' | '€' | '£' | '¥' | '₽') {
            let digit = behind_space(text, at + 1);
            return text
                .get(digit)
                .is_some_and(|&c| is_digit(c))
                .then(|| amount(text, digit));
        }
        if is_digit(first) {
            if at < self.barren {
                return None;
            }
            self.barren = amount(text, at);
            let unit = behind_space(text, self.barren);
            return UNITS
                .iter()
                .filter_map(|one| starts_with(text, unit, one))
                .find(|&end| !word_at(text, end));
        }
        let number = NUMBERS.iter().find_map(|one| starts_with(text, at, one))?;
        if number > self.run_end {
            self.run_end = run(text, number, |c| is_word(c) || matches!(c, ' ' | '-'));
            self.last = (number..self.run_end)
                .rev()
                .find(|&k| is(text, k, ' ') && currency(text, k + 1).is_some());
        }
        let space = self.last.filter(|&space| space >= number)?;
        currency(text, space + 1)
    }

    /// `src/a.py`, `https://host/a`.
    fn path(&mut self, text: &[char], at: usize) -> Option<usize> {
        let part = |c: char| is_word(c) || matches!(c, '.' | '-');
        if at > 0 && text.get(at - 1).is_some_and(|&c| is_word(c) || c == '/') {
            return None;
        }
        let whole = |start: usize| {
            let first = run(text, start, part);
            let mut end = first;
            while first > start && is(text, end, '/') {
                let more = run(text, end + 1, part);
                if more == end + 1 {
                    break;
                }
                end = more;
            }
            (first, (end > first).then_some(end))
        };
        let scheme = starts_with(text, at, "https://").or_else(|| starts_with(text, at, "http://"));
        if let Some(end) = scheme.and_then(|behind| whole(behind).1) {
            return Some(end);
        }
        if at < self.barren {
            return None;
        }
        let (first, end) = whole(at);
        self.barren = first;
        end
    }

    /// `kestrel-40`, `abc-12-x`, a digest.
    fn id(&mut self, text: &[char], at: usize) -> Option<usize> {
        if !word_at(text, at) || (at > 0 && word_at(text, at - 1)) {
            return None;
        }
        let word = run(text, at, is_word);
        if is(text, word, '-') {
            if word >= self.run_end {
                self.run_end = run(text, word, |c| is_word(c) || c == '-');
                self.last = (word..self.run_end)
                    .rev()
                    .find(|&k| text.get(k).is_some_and(|&c| is_digit(c)));
            }
            if word >= self.ahead {
                self.ahead = run(text, word, |c| matches!(c, 'a'..='z' | '-'));
            }
            let digit = |k: usize| text.get(k).is_some_and(|&c| is_digit(c));
            if self.last.is_some_and(|last| last > word) && ((at..word).any(digit) || digit(self.ahead)) {
                let inside = word..self.run_end;
                return inside.rev().find(|&k| word_at(text, k)).map(|k| k + 1);
            }
        }
        let hex = run(text, at, |c| matches!(c, '0'..='9' | 'a'..='f'));
        (HEX.contains(&(hex - at)) && !word_at(text, hex)).then_some(hex)
    }

    /// `40 MB`, `12%`.
    fn size(&mut self, text: &[char], at: usize) -> Option<usize> {
        if at < self.barren || !text.get(at).is_some_and(|&c| is_digit(c)) {
            return None;
        }
        self.barren = amount(text, at);
        let unit = behind_space(text, self.barren);
        let letters = run(text, unit, is_letter).min(unit + LONGEST_UNIT);
        if letters > unit {
            return Some(letters);
        }
        is(text, unit, '%').then_some(unit + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fancy_regex::Regex;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    /// The kinds as regular expressions, which go back where they must.
    static PATTERNS: LazyLock<Vec<(Value, Regex)>> = LazyLock::new(|| {
        let month = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|\
                     oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";
        let number = NUMBERS.join("|");
        let date = [
            r"\b\d{4}-\d\d?-\d\d?\b|\b\d\d?-\d\d?\b|\b(?:",
            month,
            r")\.? \d{1,2}\b|\b\d{1,2}\.\d{1,2}\.\d*",
        ];
        let money = [
            r"[$€£¥₽]\s?\d[\d.,]*|\d[\d.,]*\s?(?:usd|eur|dollars?|euros?|yen)\b|(?:",
            &number,
            r")[\w -]* (?:dollars?|euros?)",
        ];
        [
            (Value::Date, date.concat()),
            (Value::Money, money.concat()),
            (Value::Path, r"(?<![\w/])(?:https?://)?[\w.-]+(?:/[\w.-]+)+".to_owned()),
            (
                Value::Id,
                r"\b(?=\w*[a-z-]*\d)[\w]+-[\w-]*\d[\w-]*\b|\b[0-9a-f]{7,40}\b".to_owned(),
            ),
            (Value::Size, r"\d[\d.,]*\s?[^\W\d_]{1,12}|\d[\d.,]*\s?%".to_owned()),
            (Value::Number, r"\d[\d.,:]*".to_owned()),
        ]
        .into_iter()
        .map(|(kind, pattern)| (kind, Regex::new(&pattern).unwrap()))
        .collect()
    });

    const BITS: &[&str] = &[
        "a", "f", "z", "é", "б", "了", "_", "-", "--", ".", "..", ",", ":", "/", "//", " ", "  ", "%", "$", "€", "0",
        "7", "12", "345", "2026", "٣", "may", "sept", "sep", "january", "jun", "june", "usd", "eur", "dollar",
        "dollars", "euros", "yen", "one", "two", "hundred", "http", "https://", "://", "deadbee", "cafe", "0123456",
        "mb", "s",
    ];

    proptest! {
        #[test]
        fn values_are_those_of_the_patterns(bits in prop::collection::vec(prop::sample::select(BITS), 0..24)) {
            let text = bits.concat();
            let characters: Vec<char> = text.chars().collect();
            let possible: Vec<Value> = possible(&characters).collect();
            for (kind, pattern) in PATTERNS.iter() {
                let wanted: Vec<Range<usize>> = pattern
                    .find_iter(&text)
                    .map(|found| {
                        let found = found.unwrap();
                        text[..found.start()].chars().count()..text[..found.end()].chars().count()
                    })
                    .collect();
                prop_assert_eq!(kind.find(&characters), wanted.clone(), "{:?} in {:?}", kind, text);
                prop_assert!(possible.contains(kind) || wanted.is_empty(), "{:?} in {:?}", kind, text);
            }
        }
    }
}
