//! The pattern of a cut: one of the published ones, which have scanners by hand, or any other that runs in linear time.

use std::fmt;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use crate::scan::{cl100k, gpt2, llama3, o200k};

/// In whose words a pattern is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// tiktoken's, which runs fancy-regex over the engine used here.
    Tiktoken,
    /// That of `tokenizer.json`, which runs Oniguruma.
    Oniguruma,
}

/// Why a pattern cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong, and where.
    pub reason: String,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the pattern {:?} cannot be run exactly: {}",
            self.pattern, self.reason
        )
    }
}

impl std::error::Error for PatternError {}

/// A pattern ready to run.
pub(super) enum Pattern {
    Cl100k,
    O200k,
    Gpt2,
    Llama3 {
        single_digits: bool,
    },
    /// Any other. `blank_tail`: the second pattern of the engine stands for `\s+(?!\S)|\s+` at the end.
    Engine {
        engine: Box<Regex>,
        blank_tail: bool,
    },
}

const CONTRACTIONS: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SIGNS: &str = r"[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const CL100K: &str = concat!(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+",
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
);
const GPT2: [&str; 3] = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
];
const GPT2_POSSESSIVE: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
/// What two engines disagree on, or what this one does not know, with what to say about it.
const REFUSED: [(&str, &str); 12] = [
    (
        "(?=",
        "look-ahead other than `\\s+(?!\\S)|\\s+` at the end is not known to the engine",
    ),
    (
        "(?!",
        "look-ahead other than `\\s+(?!\\S)|\\s+` at the end is not known to the engine",
    ),
    ("(?<=", "look-behind is not known to the engine"),
    ("(?<!", "look-behind is not known to the engine"),
    ("(?>", "an atomic group is not known to the engine"),
    ("\\b", "word edges mean different things to different engines"),
    ("\\B", "word edges mean different things to different engines"),
    ("\\<", "word edges mean different things to different engines"),
    ("\\>", "word edges mean different things to different engines"),
    ("\\w", "word characters mean different things to different engines"),
    ("\\W", "word characters mean different things to different engines"),
    ("[:", "named classes mean different things to different engines"),
];
/// The same, for patterns that were written for Oniguruma.
const REFUSED_OF_ONIGURUMA: [(&str, &str); 8] = [
    ("^", "^ is the start of a line to Oniguruma"),
    ("$", "$ is the end of a line to Oniguruma"),
    ("--", "-- is a difference of classes to this engine"),
    ("~~", "~~ is a difference of classes to this engine"),
    ("{,", "{, is a count to Oniguruma only"),
    ("(?m", "the flag m means different things to different engines"),
    ("(?s", "the flag s means different things to different engines"),
    ("(?-", "flags that are taken back are not supported"),
];
/// What a letter behind a backslash may be in a pattern for Oniguruma: all others are letters to it, or mean something else
/// to it than to this engine. A code point is `\u` and four digits, or `\x` and braces or two digits of an ASCII one.
const ESCAPES_OF_ONIGURUMA: &str = "nrtfvasSdDpPxu";
/// What may stand in a group that ignores case: letters that fold into one character each, in every engine.
const FOLDED: &str = "'sdmtlrve|[]()?:";

impl Pattern {
    /// Whether it is known to leave nothing between its matches.
    pub(super) fn matches_everything(&self) -> bool {
        !matches!(self, Self::Engine { .. })
    }

    pub(super) fn new(pattern: &str, dialect: Dialect) -> Result<Self, PatternError> {
        if let Some(known) = Self::known(pattern, dialect) {
            return Ok(known);
        }
        let refuse = |reason: String| PatternError {
            pattern: pattern.to_owned(),
            reason,
        };
        let tails = [r"|\s+(?!\S)|\s+", r"|\s+(?!\S)|\s"];
        let base = tails.iter().find_map(|tail| pattern.strip_suffix(tail));
        let blank_tail = base.is_some();
        let base = base.unwrap_or(pattern);
        check(base, dialect).map_err(refuse)?;
        let patterns = [base, r"\s+"];
        let engine = Regex::builder()
            .syntax(syntax::Config::new().unicode(true).utf8(true))
            .build_many(patterns.get(..1 + usize::from(blank_tail)).unwrap_or_default())
            .map_err(|error| refuse(engine_says(&error)))?;
        let empty = engine.search(&Input::new("").anchored(Anchored::Yes)).is_some();
        if empty || base.is_empty() {
            return Err(refuse(
                "it matches nothing at all, where engines go on in different ways".to_owned(),
            ));
        }
        let engine = Box::new(engine);
        Ok(Self::Engine { engine, blank_tail })
    }

    fn known(pattern: &str, dialect: Dialect) -> Option<Self> {
        // `$` and `{1,3}+` mean something else to Oniguruma.
        let tiktokens = dialect == Dialect::Tiktoken;
        match pattern {
            O200K => return Some(Self::O200k),
            CL100K if tiktokens => return Some(Self::Cl100k),
            GPT2_POSSESSIVE if tiktokens => return Some(Self::Gpt2),
            _ if GPT2.contains(&pattern) => return Some(Self::Gpt2),
            _ => {}
        }
        let rest = pattern.strip_prefix(CONTRACTIONS)?;
        let rest = rest.strip_prefix(r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}")?;
        let (single_digits, rest) = rest.strip_prefix("{1,3}").map_or((true, rest), |rest| (false, rest));
        (rest.strip_prefix("| ?")? == SIGNS).then_some(Self::Llama3 { single_digits })
    }

    /// The first match from byte `from` on. `from` is where the match before ended, or 0.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        if from >= text.len() {
            return None;
        }
        let bytes = text.as_bytes();
        let end = match self {
            Self::Cl100k => cl100k::piece_end(bytes, from),
            Self::O200k => o200k::piece_end(bytes, from),
            Self::Gpt2 => gpt2::piece_end(bytes, from),
            Self::Llama3 { single_digits } => llama3::piece_end(bytes, from, *single_digits),
            Self::Engine { engine, blank_tail } => {
                let found = engine.search(&Input::new(text).span(from..text.len()))?;
                if !(*blank_tail && found.pattern().as_usize() == 1) {
                    return Some((found.start(), found.end()));
                }
                // White space leaves its last character to what follows, unless it is all there is.
                let run = text.get(found.range()).unwrap_or_default();
                let last = run.char_indices().next_back().map_or(0, |(at, _)| at);
                let end = if found.end() < text.len() && last > 0 {
                    found.start() + last
                } else {
                    found.end()
                };
                return Some((found.start(), end));
            }
        };
        Some((from, end))
    }
}

fn engine_says(error: &regex_automata::meta::BuildError) -> String {
    match error.syntax_error() {
        Some(syntax) => syntax.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
        None => error.to_string(),
    }
}

/// Whether two quantifiers follow each other; `?` behind another one makes it lazy and is none.
fn quantified_twice(pattern: &str) -> bool {
    let ([b'*' | b'+' | b'?' | b'}', b'?', rest @ ..] | [b'*' | b'+' | b'?' | b'}', rest @ ..]) = pattern.as_bytes()
    else {
        return false;
    };
    matches!(rest.first(), Some(b'*' | b'+' | b'?' | b'{'))
}

/// Whether the brace that ends at `at` says one number.
fn is_fixed_count(pattern: &str, at: usize) -> bool {
    let before = pattern.get(..at).unwrap_or_default();
    before
        .rsplit_once('{')
        .is_some_and(|(_, count)| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the pattern starts with a group of flags that change what the end of a pattern means, or how it is written.
fn has_unusual_flags(pattern: &str) -> bool {
    pattern.strip_prefix("(?").is_some_and(|rest| {
        let flags = rest.split([')', ':']).next().unwrap_or_default();
        let are_flags = flags.chars().all(|flag| flag.is_ascii_alphabetic() || flag == '-');
        are_flags && flags.contains(['U', 'u', 'x', 'R'])
    })
}

/// What is wrong with the escape that a pattern for Oniguruma starts with, if it does.
fn foreign_escape(pattern: &str) -> Option<&'static str> {
    let rest = pattern.strip_prefix('\\')?;
    let escaped = rest.chars().next()?;
    if !escaped.is_alphabetic() {
        return None;
    }
    let braced = rest[escaped.len_utf8()..].starts_with('{');
    match escaped {
        'p' | 'P' if !braced => Some("\\p without braces is a letter to Oniguruma"),
        'x' if !braced && !rest.get(1..2).is_some_and(|digit| ("0"..="7").contains(&digit)) => {
            Some("\\x without braces is a byte to Oniguruma")
        }
        _ if ESCAPES_OF_ONIGURUMA.contains(escaped) => None,
        _ => Some("this escape means different things to different engines"),
    }
}

/// Looks for what the engine would read otherwise than the pattern's own.
fn check(pattern: &str, dialect: Dialect) -> Result<(), String> {
    let mut in_class = 0_usize;
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let at = pattern.len() - rest.len();
        if dialect == Dialect::Oniguruma && in_class == 0 && rest.starts_with("}?") && is_fixed_count(pattern, at) {
            return Err(format!(
                "{{n}}? is an optional repetition to Oniguruma only (byte {at})"
            ));
        }
        let quantified = quantified_twice(rest);
        if quantified && in_class == 0 {
            return Err(format!(
                "a quantifier on a quantifier (possessive ones included) means different things to different engines (byte {at})"
            ));
        }
        let foreign: &[(&str, &str)] = match dialect {
            Dialect::Tiktoken => &[],
            Dialect::Oniguruma => &REFUSED_OF_ONIGURUMA,
        };
        let refused = REFUSED.iter().chain(foreign).find(|(token, _)| rest.starts_with(token));
        if let Some((token, reason)) = refused {
            // In a class these are characters; ^ there means the same to all.
            let literal = token.starts_with("(?") || ["$", "{,", "^"].contains(token);
            if in_class == 0 || !literal {
                return Err(format!("{reason} (byte {at})"));
            }
        }
        if dialect == Dialect::Oniguruma
            && let Some(reason) = foreign_escape(rest)
        {
            return Err(format!("{reason} (byte {at})"));
        }
        if in_class == 0 && has_unusual_flags(rest) {
            return Err(format!("of flags only i, m and s are supported (byte {at})"));
        }
        if rest.starts_with("(?i") && in_class == 0 {
            let inside = rest
                .strip_prefix("(?i:")
                .and_then(|rest| rest.split_once(')'))
                .map(|(inside, _)| inside);
            if dialect == Dialect::Oniguruma && !inside.is_some_and(|inside| inside.chars().all(|c| FOLDED.contains(c)))
            {
                return Err(format!(
                    "ignoring case means different things to different engines (byte {at})"
                ));
            }
        }
        match first {
            '[' => in_class += 1,
            ']' => in_class = in_class.saturating_sub(1),
            _ => {}
        }
        let step = if first == '\\' {
            let escaped = rest.chars().nth(1);
            let braced = escaped.filter(|c| "pPxu".contains(*c)).and_then(|_| rest.get(2..));
            match braced
                .filter(|rest| rest.starts_with('{'))
                .and_then(|rest| rest.find('}'))
            {
                Some(end) => 2 + end + 1,
                None => 1 + escaped.map_or(0, char::len_utf8),
            }
        } else {
            first.len_utf8()
        };
        rest = rest.get(step..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &Pattern, text: &str) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some((start, end)) = pattern.find(text, at) {
            found.push((start, end));
            at = end;
        }
        found
    }

    fn by_fancy_regex(engine: &fancy_regex::Regex, text: &str) -> Vec<(usize, usize)> {
        let found = engine.find_iter(text).map(Result::unwrap);
        found.map(|found| (found.start(), found.end())).collect()
    }

    /// Each pattern that has a scanner, and one that the engine runs with the look-ahead at its end.
    static KNOWN: LazyLock<Vec<(Pattern, fancy_regex::Regex)>> = LazyLock::new(|| {
        let llama3 = format!(r"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?{SIGNS}");
        let qwen2 = llama3.replace("{1,3}", "");
        let tailed = r"[a-z]+|\p{N}|\s+(?!\S)|\s+";
        let patterns = [
            CL100K,
            O200K,
            GPT2[0],
            GPT2[2],
            GPT2_POSSESSIVE,
            &llama3,
            &qwen2,
            tailed,
        ];
        let compiled = patterns.map(|pattern| {
            let ours = Pattern::new(pattern, Dialect::Tiktoken).unwrap();
            (ours, fancy_regex::Regex::new(pattern).unwrap())
        });
        compiled.into()
    });

    const TEXTS: &[&str] = &[
        "a", "B", "fooBar", "'s", "'T", "'re", "'Ve", "'ll", "'LL", "'", "\u{17F}", "'\u{17F}", " ", "  ", "\t", "\n",
        "\r\n", "\u{A0}", "1", "2345", "\u{663}", ".", ",/", "!!", "中", "é", "\u{301}", "\u{200D}", "👩",
    ];
    const PATTERNS: &[&str] = &[
        "a",
        "b",
        "c",
        "1",
        ".",
        " ",
        "\\n",
        "\\s",
        "\\p{L}",
        "\\p{N}",
        "[a-c",
        "[^a",
        "]",
        "[",
        "(?:",
        "(?i:",
        "(?!",
        "(?=",
        "(",
        ")",
        "|",
        "+",
        "*",
        "?",
        "{1,2}",
        "{2}",
        "^",
        "$",
        "\\",
        "\\b",
        "\\w",
        "&&",
        "--",
        "|\\s+(?!\\S)|\\s+",
        "|\\s+(?!\\S)|\\s",
    ];

    #[test]
    fn known_patterns_have_scanners_in_the_words_they_are_known_in() {
        let llama3 = format!(r"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?{SIGNS}");
        let qwen2 = llama3.replace("{1,3}", "");
        let kinds = |pattern: &str| {
            [Dialect::Tiktoken, Dialect::Oniguruma].map(|dialect| match Pattern::new(pattern, dialect) {
                Ok(Pattern::Cl100k) => "cl100k",
                Ok(Pattern::O200k) => "o200k",
                Ok(Pattern::Gpt2) => "gpt2",
                Ok(Pattern::Llama3 { single_digits: true }) => "qwen2",
                Ok(Pattern::Llama3 { single_digits: false }) => "llama3",
                Ok(Pattern::Engine { .. }) => "engine",
                Err(_) => "refused",
            })
        };
        assert_eq!(kinds(CL100K), ["cl100k", "refused"]);
        assert_eq!(kinds(GPT2_POSSESSIVE), ["gpt2", "refused"]);
        assert_eq!(kinds(O200K), ["o200k"; 2]);
        assert_eq!(GPT2.map(kinds), [["gpt2"; 2]; 3]);
        assert_eq!(kinds(&llama3), ["llama3"; 2]);
        assert_eq!(kinds(&qwen2), ["qwen2"; 2]);
        assert_eq!(kinds(r"\p{L}+|\s+(?!\S)|\s+"), ["engine"; 2]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

        #[test]
        fn scanners_find_what_the_patterns_say(parts in prop::collection::vec(prop::sample::select(TEXTS), 0..16)) {
            let text = parts.concat();
            for (ours, engine) in KNOWN.iter() {
                prop_assert_eq!(matches(ours, &text), by_fancy_regex(engine, &text), "{} of {:?}", engine.as_str(), text);
            }
        }

        #[test]
        fn any_pattern_is_refused_or_finds_what_fancy_regex_finds(
            parts in prop::collection::vec(prop::sample::select(PATTERNS), 0..7),
            text in "[a-cA-C 1\n.]{0,12}",
        ) {
            let pattern = parts.concat();
            let engine = fancy_regex::Regex::new(&pattern);
            if let (Ok(ours), Ok(engine)) = (Pattern::new(&pattern, Dialect::Tiktoken), engine) {
                prop_assert_eq!(matches(&ours, &text), by_fancy_regex(&engine, &text), "{:?} of {:?}", pattern, text);
            }
        }
    }
}
