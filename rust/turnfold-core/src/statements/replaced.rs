//! Which statements a later one replaces: the same said with another value, or an update about the same.

use std::collections::HashMap;

use super::characters::{is_space, is_word};
use super::values::{Value, possible};
use super::{Cue, Features, Statement, topics};

/// Words that set something to a value.
const SETTING: &[&str] = &[
    "is",
    "are",
    "was",
    "be",
    "to",
    "at",
    "of",
    "equals",
    "ist",
    "sind",
    "liegt",
    "bei",
    "auf",
    "est",
    "vaut",
    "sur",
    "es",
    "son",
    "de",
    "è",
    "равн",
    "равна",
    "равно",
    "равны",
    "на",
    "limit",
    "cap",
    "max",
    "min",
    "set",
];
/// Those that a path or an id must stand right behind to be the value.
const SET_TO: &[&str] = &["is", "to", "at", "=", "ist", "auf", "est", "es", "son", "è", "на"];
/// In the place of a value.
const MARK: char = '\0';
/// Statements of one message that differ in a value only are a list from so many on.
const LIST_LENGTH: usize = 4;

/// Sets `replaced` where a later statement says the same with another value, `doubtful` where it seems to.
pub(super) fn mark(made: &mut [Statement], features: &[Features]) {
    by_frame(made, features);
    topics::mark(made, features);
    by_reset(made, features);
}

/// Of statements that differ in the values of a setting only, the last counts; a list of them stays.
fn by_frame(made: &mut [Statement], features: &[Features]) {
    let framed: Vec<Option<Frame>> = features.iter().map(|one| Frame::of(&one.plain)).collect();
    let mut groups: HashMap<&[char], Vec<(usize, &Frame)>> = HashMap::new();
    for (index, statement) in made.iter().enumerate() {
        if let Some(Some(frame)) = framed.get(statement.features) {
            groups.entry(&frame.text).or_default().push((index, frame));
        }
    }
    for group in groups.into_values() {
        let Some((&(last, latest), earlier)) = group.split_last() else {
            continue;
        };
        let order = made.get(last).map_or(0, |one| one.order);
        if earlier.iter().all(|(_, frame)| frame.values == latest.values) {
            continue;
        }
        let in_one = earlier
            .iter()
            .all(|&(index, _)| made.get(index).is_some_and(|one| one.order == order));
        if in_one && group.len() >= LIST_LENGTH {
            continue;
        }
        for &(index, frame) in earlier {
            if let Some(one) = made.get_mut(index)
                && frame.values != latest.values
                && one.order < order
            {
                one.replaced = true;
            }
        }
    }
}

/// A statement of a setting without its quantities, and those. What names a thing (a path, an id) is part of the frame
/// unless it is what the setting is set to.
#[derive(Debug)]
struct Frame {
    text: Vec<char>,
    values: Vec<Vec<char>>,
}

impl Frame {
    fn of(plain: &str) -> Option<Self> {
        let mut text: Vec<char> = plain.chars().collect();
        let mut values = Vec::new();
        for kind in possible(&text) {
            let mut made = Vec::with_capacity(text.len());
            let mut kept = 0;
            for found in kind.find(&text) {
                let goes = match kind {
                    Value::Path | Value::Id => is_set_to(&text[..found.start]),
                    _ => !is_inside_word(&text, found.start, found.end),
                };
                if goes {
                    made.extend_from_slice(&text[kept..found.start]);
                    made.push(MARK);
                    kept = found.end;
                    values.push(text[found].to_vec());
                }
            }
            if kept > 0 {
                made.extend_from_slice(&text[kept..]);
                text = made;
            }
        }
        (!values.is_empty() && is_setting(&text)).then_some(Self { text, values })
    }
}

/// Whether a number is a part of a name: `us-west-2`, `judge-004`, `v2`.
fn is_inside_word(text: &[char], start: usize, end: usize) -> bool {
    let before = start.checked_sub(1).and_then(|at| text.get(at));
    // Scripts without spaces (from U+0E00 on) stand beside a number as a space would.
    before.is_some_and(|&c| matches!(c, '-' | '_' | '/' | '.') || (c < '\u{e00}' && is_word(c)))
        || text.get(end).is_some_and(|c| matches!(c, '-' | '_' | '/'))
}

/// Whether what `before` ends with sets something to what follows.
fn is_set_to(before: &[char]) -> bool {
    let (head, spaced) = match before.split_last() {
        Some((&last, head)) if is_space(last) => (head, true),
        _ => (before, false),
    };
    if matches!(head.last(), Some('是' | '为' | 'は')) {
        return true;
    }
    spaced
        && SET_TO.iter().any(|word| {
            let start = head.len().checked_sub(word.chars().count());
            start.is_some_and(|start| {
                head[start..].iter().copied().eq(word.chars())
                    && !start
                        .checked_sub(1)
                        .and_then(|at| head.get(at))
                        .is_some_and(|&c| is_word(c))
            })
        })
}

/// Whether what stands before the first value sets something.
fn is_setting(frame: &[char]) -> bool {
    let key = frame.split(|&c| c == MARK).next().unwrap_or_default();
    if key.len() < 3 {
        return false;
    }
    let sign = |(at, c): (usize, &char)| match c {
        '=' | ':' | '：' | '是' | '为' | 'は' | 'を' | 'に' | '—' => true,
        '이' | '가' | '은' | '는' => key.get(at + 1) == Some(&' '),
        _ => false,
    };
    key.iter().enumerate().any(sign)
        || key
            .split(|&c| !is_word(c))
            .filter(|word| !word.is_empty())
            .any(|word| SETTING.iter().any(|one| word.iter().copied().eq(one.chars())))
}

/// What takes back makes the decisions in the message of the user before it doubtful.
fn by_reset(made: &mut [Statement], features: &[Features]) {
    let mut previous: Vec<usize> = Vec::new();
    let mut current: Vec<usize> = Vec::new();
    let mut order = None;
    for index in 0..made.len() {
        let Some((own, statement)) = made.get(index).and_then(|one| Some((features.get(one.features)?, one))) else {
            continue;
        };
        if !statement.user {
            continue;
        }
        if order.is_some_and(|order| order != statement.order) {
            previous = std::mem::take(&mut current);
        }
        order = Some(statement.order);
        current.push(index);
        if own.has(Cue::Reset) {
            for &earlier in &previous {
                if let Some(one) = made.get_mut(earlier)
                    && features
                        .get(one.features)
                        .is_some_and(|own| own.has(Cue::Decide) && !own.has(Cue::Forbid))
                {
                    one.doubtful = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::characters::is_digit;
    use super::*;

    #[test]
    fn a_frame_is_a_setting_without_its_values() {
        let frame = |text: &str| Frame::of(text).map(|one| one.text.iter().collect::<String>());
        assert_eq!(frame("the limit is 40 mb."), Some("the limit is \0.".to_owned()));
        assert_eq!(frame("the branch is kestrel-40."), Some("the branch is \0.".to_owned()));
        assert_eq!(frame("close ticket abc-12."), None);
        assert_eq!(frame("us-west-2 is down"), None);
    }

    #[test]
    fn digits_of_any_script_are_digits() {
        assert!(is_digit('٣') && !is_digit('½') && !is_digit('²'));
    }
}
