//! How often a text holds words of closed lists: one pass a list, however many words it has.

use std::sync::OnceLock;

use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::util::syntax;

use super::beginnings::Beginnings;
use super::characters::{is_digit, is_word};

/// What a word must not stand behind, written before it in a list.
const GUARD: &str = "(?<!i )";

/// The closed lists, each two alternations as regular expressions: of words with their edges, and of words of scripts
/// that put no spaces between them.
#[derive(Debug)]
pub struct Cues {
    lists: Vec<List>,
    beginnings: Beginnings,
    back: Regex,
    back_glued: Vec<String>,
}

#[derive(Debug)]
struct List {
    words: String,
    glued: String,
    plain: Regex,
    /// In other scripts. Few processes need it, and it takes long to compile.
    wide: OnceLock<Option<(Regex, Regex)>>,
    guarded: Option<Regex>,
}

impl Cues {
    /// Compiles the lists, and the words that point back. Of two words at one place, the first in its list counts.
    ///
    /// # Errors
    ///
    /// For a list that is no regular expression, or one that looks around but for [`GUARD`].
    pub fn new<S: AsRef<str>>(lists: &[(S, S)], back: &str, back_glued: Vec<String>) -> Result<Self, Box<BuildError>> {
        let lists: Vec<List> = lists
            .iter()
            .map(|(words, glued)| List::new(words.as_ref(), glued.as_ref()))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            beginnings: Beginnings::of(lists.iter().map(|list| list.words.as_str())),
            lists,
            back: compiled(&format!("^(?:{back})$"))?,
            back_glued,
        })
    }

    /// How many words of each list `text`, in lower case, holds, none of which overlap.
    pub fn counts(&self, text: &str) -> Vec<usize> {
        // A dash, a quotation mark, an emoji: no list asks for one.
        let bare = (!text.is_ascii()).then(|| text.replace(|c: char| !c.is_ascii() && !is_word(c), "\0"));
        let bare = bare.as_deref().unwrap_or(text);
        if bare.is_ascii() {
            let possible = self.beginnings.possible(bare.as_bytes());
            let may = |index: usize| 1_u8.checked_shl(index as u32).is_none_or(|bit| possible & bit > 0);
            let lists = self.lists.iter().enumerate();
            return lists
                .map(|(index, list)| if may(index) { list.count(bare) } else { 0 })
                .collect();
        }
        let bare = without_signs(text);
        self.lists.iter().map(|list| list.count_wide(text, &bare)).collect()
    }

    /// Whether one of its first six words stands for something that was said before.
    pub fn points_back(&self, text: &str) -> bool {
        let words = text.split(|c| !is_word(c)).filter(|word| !word.is_empty());
        words.take(6).any(|word| self.back.is_match(word)) || self.back_glued.iter().any(|one| text.starts_with(one))
    }
}

impl List {
    fn new(words: &str, glued: &str) -> Result<Self, Box<BuildError>> {
        let guarded: Vec<&str> = words
            .split(GUARD)
            .skip(1)
            .filter_map(|one| one.split(['|', ')']).next())
            .collect();
        let words = words.replace(GUARD, "");
        let plain = compiled(&format!(r"(?-u:\b{{start-half}})(?:{words})(?-u:\b{{end-half}})"))?;
        let guarded = match guarded[..] {
            [] => None,
            _ => Some(compiled(&format!("i (?:{})", guarded.join("|")))?),
        };
        Ok(Self {
            words,
            glued: glued.to_owned(),
            plain,
            wide: OnceLock::new(),
            guarded,
        })
    }

    fn count(&self, text: &str) -> usize {
        match self.unguarded(text) {
            None => self.plain.find_iter(text).count(),
            Some(text) => self.plain.find_iter(&text).count(),
        }
    }

    /// `text` with no word of the list where one must not stand; `None` where there is none anyway.
    fn unguarded(&self, text: &str) -> Option<String> {
        let guarded = self.guarded.as_ref()?;
        let mut made: Option<Vec<u8>> = None;
        for found in guarded.find_iter(text) {
            let made = made.get_or_insert_with(|| text.as_bytes().to_vec());
            if let Some(first) = made.get_mut(found.start() + 2) {
                // Begins a word as what stood there did, and none of a list.
                *first = b'_';
            }
        }
        made.and_then(|made| String::from_utf8(made).ok())
    }

    /// The same in any script. `bare` is `text` without the signs that the engine takes for parts of words.
    fn count_wide(&self, text: &str, bare: &str) -> usize {
        let wide = self.wide.get_or_init(|| {
            let words = compiled(&format!(r"\b{{start-half}}(?:{})\b{{end-half}}", self.words)).ok()?;
            Some((words, compiled(&self.glued).ok()?))
        });
        let Some((words, glued)) = wide else { return 0 };
        let unguarded = self.unguarded(bare);
        let bare = unguarded.as_deref().unwrap_or(bare);
        // A word's edge is one for the fast engine, which takes letters beyond ASCII for edges too.
        let bare = if self.plain.is_match(bare) { bare } else { "" };
        let mut words = words.find_iter(bare).peekable();
        let mut glued = glued.find_iter(text).peekable();
        let (mut count, mut end) = (0, 0);
        loop {
            let word_is_next = match (words.peek(), glued.peek()) {
                (None, None) => return count,
                (Some(word), Some(run)) => word.start() <= run.start(),
                (word, _) => word.is_some(),
            };
            let next = if word_is_next { words.next() } else { glued.next() };
            if let Some(next) = next
                && next.start() >= end
            {
                count += 1;
                end = next.end();
            }
        }
    }
}

fn compiled(pattern: &str) -> Result<Regex, Box<BuildError>> {
    Regex::builder()
        .syntax(syntax::Config::new().utf8(false))
        .configure(Config::new().utf8_empty(false))
        .build(pattern)
        .map_err(Box::new)
}

/// `text` as the engine has it: a sign of the same width, which is no part of a word for anybody, in the place of each
/// that the engine takes for one, and a letter that no list has for the numbers that it does not.
fn without_signs(text: &str) -> String {
    let put = |c: char, by_width: [char; 3]| match c.len_utf8() {
        2 => by_width[0],
        3 => by_width[1],
        4 => by_width[2],
        _ => c,
    };
    text.chars()
        .map(|c| {
            if !is_word(c) {
                put(c, ['\u{a1}', '\u{2010}', '\u{1f600}'])
            } else if c.is_alphabetic() || is_digit(c) {
                c
            } else {
                put(c, ['\u{1bf}', '\u{a66e}', '\u{10900}'])
            }
        })
        .collect()
}
