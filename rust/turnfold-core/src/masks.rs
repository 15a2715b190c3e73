//! Lines that stand for tool results: `[Old output of bash: 91 tokens left out]`.

use std::borrow::Borrow;
use std::fmt::Write as _;

use turnfold_tokens::Encoding;

use crate::results::OpenResult;

/// Why a line stands for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nobody has asked for it for long.
    Old,
    /// A later one says the same.
    Repeated,
    /// What it says was asked for again.
    Outdated,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::Old, Self::Repeated, Self::Outdated];

    /// The word that a line begins with.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Old => "Old",
            Self::Repeated => "Repeated",
            Self::Outdated => "Outdated",
        }
    }

    /// The one with that word.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == name)
    }
}

const OF: &str = " output of ";
const BEFORE_TOKENS: &str = ": ";
const END: &str = " tokens left out]";
/// Most characters of a tool's name that a line says.
const LONGEST_NAME: usize = 64;
/// What a line takes at most in a body, though every character of the name were escaped.
pub(crate) const MOST_BYTES: usize = 1 << 10;
/// A message with lines in the place of some of its blocks: its index, then block and line.
pub type Masked = (usize, Vec<(usize, String)>);

/// The messages of `results` with a line in the place of each that has at least `least_tokens` and more than its line.
/// Those of a message stand side by side. O(results).
pub fn masks<'a>(
    results: impl IntoIterator<Item = (&'a OpenResult, Reason)>,
    encoding: Encoding,
    least_tokens: u64,
) -> Vec<Masked> {
    masked(results, encoding, least_tokens).collect()
}

/// The same, made as they are asked for.
pub(crate) fn masked<R: Borrow<OpenResult>>(
    results: impl IntoIterator<Item = (R, Reason)>,
    encoding: Encoding,
    least_tokens: u64,
) -> impl Iterator<Item = Masked> {
    let lines = results.into_iter().filter_map(move |(result, reason)| {
        let result = result.borrow();
        let line = line_for(result, reason, encoding, least_tokens)?;
        Some((result.message, (result.block, line)))
    });
    let mut lines = lines.peekable();
    std::iter::from_fn(move || {
        let (message, first) = lines.next()?;
        let mut of = vec![first];
        while let Some((_, line)) = lines.next_if(|(other, _)| *other == message) {
            of.push(line);
        }
        Some((message, of))
    })
}

fn line_for(result: &OpenResult, reason: Reason, encoding: Encoding, least_tokens: u64) -> Option<String> {
    if result.tokens < least_tokens {
        return None;
    }
    let line = line(reason, result.name.as_deref(), result.tokens);
    // A text has no more tokens than bytes, so beside most results a line need not be counted.
    let is_shorter = result.tokens > line.len() as u64;
    (is_shorter || (encoding.tokenizer().count(&line) as u64) < result.tokens).then_some(line)
}

fn line(reason: Reason, name: Option<&str>, tokens: u64) -> String {
    let mut line = String::with_capacity(2 * LONGEST_NAME);
    line.extend(["[", reason.as_str(), OF]);
    let name = name.filter(|name| !name.is_empty()).unwrap_or("a tool");
    if name.len() <= LONGEST_NAME && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        line.push_str(name);
    } else {
        line.extend(words(name));
    }
    line.push_str(BEFORE_TOKENS);
    // A string takes all that is written.
    let _ = write!(line, "{tokens}");
    line.push_str(END);
    line
}

/// As much of a name as a line says, one space between its words.
fn words(name: &str) -> impl Iterator<Item = char> {
    let mut words = name.split(is_space).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().chars();
    let rest = words.flat_map(|word| std::iter::once(' ').chain(word.chars()));
    first.chain(rest).take(LONGEST_NAME)
}

/// White space, and the separators of ASCII.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
}

/// Whether a text is such a line.
pub(crate) fn is_line(text: &str) -> bool {
    let said = text.strip_prefix('[').and_then(|text| text.strip_suffix(END));
    let named = said.and_then(|said| {
        let mut words = Reason::ALL
            .iter()
            .filter_map(|reason| said.strip_prefix(reason.as_str()));
        words.next()?.strip_prefix(OF)
    });
    let parts = named.and_then(|named| named.rsplit_once(BEFORE_TOKENS));
    parts.is_some_and(|(name, tokens)| {
        !name.contains('\n') && !tokens.is_empty() && tokens.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn result(message: usize, block: usize, tokens: u64, name: Option<&str>) -> OpenResult {
        OpenResult {
            message,
            block,
            tokens,
            name: name.map(Into::into),
        }
    }

    #[test]
    fn a_line_says_why_of_which_tool_and_how_much() {
        assert_eq!(
            line(Reason::Old, Some("bash"), 91),
            "[Old output of bash: 91 tokens left out]"
        );
        let of = |name| line(Reason::Repeated, name, 1);
        assert_eq!(of(None), "[Repeated output of a tool: 1 tokens left out]");
        assert_eq!(of(Some("")), of(None));
        assert_eq!(
            of(Some(" a\n\u{1e}b\u{a0} ")),
            "[Repeated output of a b: 1 tokens left out]"
        );
        assert_eq!(of(Some(" \t")), "[Repeated output of : 1 tokens left out]");
        let long = "\u{e9}".repeat(65);
        assert!(of(Some(&long)).contains(&format!("of {}: ", "\u{e9}".repeat(64))));
    }

    #[test]
    fn what_is_no_line() {
        for text in [
            "",
            "[Old output of bash: 91 tokens left out",
            "[New output of bash: 91 tokens left out]",
            "[Old output of bash: many tokens left out]",
            "[Old output of bash:  tokens left out]",
            "[Old output of ba\nsh: 9 tokens left out]",
            "[Old output of bash: 9 tokens left out]\n",
            "[Old: 9 tokens left out]",
        ] {
            assert!(!is_line(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_line_says_the_words_of_a_name(name in "[a-z_.-]{1,70}|[!-~]{1,66}|[a-b \u{1f}\u{7f}\u{e9}]{1,6}", tokens: u64) {
            let words: String = words(&name).collect();
            prop_assert_eq!(
                line(Reason::Old, Some(&name), tokens),
                format!("[Old output of {words}: {tokens} tokens left out]")
            );
        }

        #[test]
        fn every_line_is_known_for_one(name in prop::option::of(".{0,80}"), tokens: u64, reason in 0_usize..3) {
            prop_assert!(is_line(&line(Reason::ALL[reason], name.as_deref(), tokens)));
        }

        #[test]
        fn a_line_stands_where_it_is_shorter(sizes in prop::collection::vec((0_usize..5, 0_u64..300), 0..40), least in 0_u64..30) {
            let mut at = 0;
            let results: Vec<OpenResult> = sizes.iter().enumerate().map(|(block, (step, tokens))| {
                at += step / 3;
                result(at, block, *tokens, (step % 2 == 0).then_some("read_file"))
            }).collect();
            let encoding = Encoding::from_name("o200k_base").expect("a vocabulary");
            let wanted: Vec<(usize, usize, String)> = results
                .iter()
                .map(|r| (r, line(Reason::Old, r.name.as_deref(), r.tokens)))
                .filter(|(r, line)| r.tokens >= least && (encoding.tokenizer().count(line) as u64) < r.tokens)
                .map(|(r, line)| (r.message, r.block, line))
                .collect();
            let found = masks(results.iter().map(|r| (r, Reason::Old)), encoding, least);
            prop_assert!(found.is_sorted_by(|one, next| one.0 < next.0));
            let found: Vec<_> = found
                .into_iter()
                .flat_map(|(message, lines)| lines.into_iter().map(move |(block, line)| (message, block, line)))
                .collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
