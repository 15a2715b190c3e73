//! Lines of source, markup, data or a terminal among what is said.

use super::characters::{is_space, is_word};

/// Characters of a host, a user and a path in a prompt.
const LONGEST_NAME: usize = 64;
const LONGEST_FOLDER: usize = 128;

/// Whether a statement reads like a line of code, but for what stands between backticks. Linear in it.
pub(super) fn is_code(text: &str) -> bool {
    let bare = without_ticked(text);
    let text = bare.as_str();
    begins_so(text) || ends_so(text) || has_sign(text)
}

fn without_ticked(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, opened)) = rest.split_once('`') {
        let Some((_, after)) = opened.split_once('`') else {
            break;
        };
        made.push_str(before);
        rest = after;
    }
    made + rest
}

/// How such a line begins.
fn begins_so(text: &str) -> bool {
    let letter = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic());
    let after = |word: &str| text.strip_prefix(word);
    let any = |words: [&str; 3]| words.into_iter().find_map(|word| text.strip_prefix(word));
    after("<").is_some_and(|rest| letter(rest.strip_prefix('/').unwrap_or(rest)))
        || after("$ ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
        || is_prompt(text)
        || is_mode(text)
        || after("\"")
            .is_some_and(|rest| run(rest, |c| is_word(c) || c == '-').is_some_and(|end| end.starts_with("\":")))
        || after("File \"").is_some()
        || after("from ")
            .and_then(|rest| run(rest, |c| !is_space(c)))
            .is_some_and(|end| end.starts_with(" import "))
        || after("import ").is_some_and(|rest| rest.starts_with(['{', '*', '"', '\'']))
        || any(["const ", "let ", "var "]).is_some_and(sets)
        || any(["def ", "class ", "function "])
            .and_then(|rest| run(rest, is_word))
            .is_some_and(|end| end.starts_with(['(', ':']))
        || is_item(text)
}

/// What follows one character and more of `part` at the beginning.
fn run(text: &str, part: impl Fn(char) -> bool) -> Option<&str> {
    let rest = text.trim_start_matches(part);
    (rest.len() < text.len()).then_some(rest)
}

/// `root@box:/srv# `
fn is_prompt(text: &str) -> bool {
    let part = |c: char| is_word(c) || matches!(c, '.' | '-');
    let name = |text: &str, sign: char| -> Option<usize> {
        let end = text.find(|c| !part(c))?;
        let short = text.get(..end)?.chars().nth(LONGEST_NAME).is_none();
        (end > 0 && short && text.get(end..)?.starts_with(sign)).then_some(end + 1)
    };
    let Some(host) = name(text, '@').and_then(|at| text.get(at..)) else {
        return false;
    };
    let Some(folder) = name(host, ':').and_then(|at| host.get(at..)) else {
        return false;
    };
    let mut behind = folder.chars();
    for _ in 0..=LONGEST_FOLDER {
        match behind.next() {
            Some('$' | '#') if behind.as_str().starts_with(' ') => return true,
            Some(c) if !is_space(c) => {}
            _ => return false,
        }
    }
    false
}

/// `-rw-r--r--`
fn is_mode(text: &str) -> bool {
    matches!(text.as_bytes(), [b'-' | b'd' | b'l', bits @ ..]
        if bits.get(..9).is_some_and(|bits| bits.iter().all(|bit| matches!(bit, b'-' | b'r' | b'w' | b'x'))))
}

/// `name = `, `{ a, b } = `
fn sets(text: &str) -> bool {
    let mut rest = text.chars();
    rest.next().is_some_and(|c| is_word(c) || matches!(c, '{' | '['))
        && rest
            .as_str()
            .split_once('=')
            .is_some_and(|(name, value)| name.ends_with(' ') && value.starts_with(' '))
}

/// `name,`, `key: value,`
fn is_item(text: &str) -> bool {
    let name = |text| run(text, |c| is_word(c) || c == '.');
    let Some(rest) = name(text) else { return false };
    rest.strip_prefix(": ").and_then(name).unwrap_or(rest) == ","
}

/// How such a line ends.
fn ends_so(text: &str) -> bool {
    text.ends_with(['{', '(', '[', '<'])
        || text.ends_with("=>")
        || text
            .strip_suffix([';', ','])
            .is_some_and(|rest| rest.ends_with([')', ']', '}', '"', '\'']))
}

/// What stands in nothing that is said.
fn has_sign(text: &str) -> bool {
    text.contains("/>")
        || text.contains("=> {")
        || text.contains("=> (")
        || text
            .match_indices("</")
            .any(|(at, _)| text.as_bytes().get(at + 2).is_some_and(u8::is_ascii_alphabetic))
        || text.match_indices('=').any(|(at, _)| {
            text.get(..at).is_some_and(|before| before.ends_with(is_word))
                && text.get(at + 1..).is_some_and(|value| value.starts_with(['"', '{']))
        })
}
