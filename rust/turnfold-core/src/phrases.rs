//! How often a text holds phrases of closed lists: one linear pass a list, however many phrases it has.

use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::util::syntax;

/// Lists of phrases, each an alternation as a regular expression.
#[derive(Debug)]
pub struct Phrases(Vec<Regex>);

impl Phrases {
    /// Compiles the lists. A phrase stands between characters that are no word characters of ASCII; of two at one
    /// place, the first in its list counts.
    ///
    /// # Errors
    ///
    /// For a list that is no regular expression, or one with groups that look around.
    pub fn new<S: AsRef<str>>(lists: &[S]) -> Result<Self, Box<BuildError>> {
        let compiled = lists.iter().map(|list| {
            let list = list.as_ref();
            Regex::builder()
                .syntax(syntax::Config::new().utf8(false))
                .configure(Config::new().utf8_empty(false))
                .build(&format!(r"(?-u:\b{{start-half}})(?:{list})(?-u:\b{{end-half}})"))
                .map_err(Box::new)
        });
        Ok(Self(compiled.collect::<Result<_, _>>()?))
    }

    /// How many phrases of each list `text` holds, none of which overlap. Linear in the text, times the lists.
    pub fn counts(&self, text: &str) -> Vec<usize> {
        self.0.iter().map(|list| list.find_iter(text).count()).collect()
    }
}
