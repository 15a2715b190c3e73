//! What a summarizer was shown, for a reply to be compared with.

use std::sync::OnceLock;

use memchr::memmem;

use crate::identifiers;
use crate::statements::is_space;

/// Whose a text is, as far as it tells how much the names in it matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speaker {
    /// The user wrote it.
    pub user: bool,
    /// It is a result that reports a failure.
    pub failed: bool,
}

/// The texts as one, and the forms of them that comparisons need, each made when it is first asked for.
#[derive(Debug)]
pub struct Shown {
    all: String,
    /// Where the texts end that a reply replaces; what was shown beside them follows.
    conversation: usize,
    users: String,
    failures: String,
    line: OnceLock<String>,
    lower: OnceLock<String>,
}

impl Shown {
    /// Of the texts of a conversation with whose they are, and of what was shown beside them.
    pub fn new<S: AsRef<str>, B: AsRef<str>>(
        conversation: &[(S, Speaker)],
        beside: impl IntoIterator<Item = B>,
    ) -> Self {
        let of = |wanted: &dyn Fn(Speaker) -> bool| {
            let texts = conversation.iter().filter(|(_, speaker)| wanted(*speaker));
            join(texts.map(|(text, _)| text.as_ref()), "\n")
        };
        let mut all = of(&|_| true);
        let end = all.len();
        for text in beside {
            if text.as_ref().is_empty() {
                continue;
            }
            all.push('\n');
            all.push_str(text.as_ref());
        }
        Self {
            all,
            conversation: end,
            users: of(&|speaker| speaker.user),
            failures: of(&|speaker| speaker.failed),
            line: OnceLock::new(),
            lower: OnceLock::new(),
        }
    }

    /// Whether `text` stands in what was shown.
    pub fn holds(&self, text: &str) -> bool {
        holds(&self.all, text)
    }

    /// Whether `text` stands in the conversation.
    pub fn says(&self, text: &str) -> bool {
        holds(self.all.get(..self.conversation).unwrap_or_default(), text)
    }

    /// How many of `pieces` stand in the conversation with single spaces for all that is blank in it.
    pub fn copied<S: AsRef<str>>(&self, pieces: &[S]) -> usize {
        let line = self.line.get_or_init(|| {
            let conversation = self.all.get(..self.conversation).unwrap_or_default();
            join(conversation.split(is_space).filter(|word| !word.is_empty()), " ")
        });
        pieces.iter().filter(|piece| holds(line, piece.as_ref())).count()
    }

    /// Whether one of `words` stands in what was shown, in any letter case.
    pub fn any_of<S: AsRef<str>>(&self, words: &[S]) -> bool {
        let lower = self.lower.get_or_init(|| lower(&self.all));
        words.iter().any(|word| holds(lower, &self::lower(word.as_ref())))
    }

    /// Which identifiers occur in what was shown: one flag each.
    pub fn occurring<S: AsRef<str>>(&self, identifiers: &[S]) -> Vec<bool> {
        identifiers::occurring(identifiers, &self.all)
    }

    /// By whom identifiers are named: one each.
    pub fn speakers<S: AsRef<str>>(&self, identifiers: &[S]) -> Vec<Speaker> {
        let users = identifiers::occurring(identifiers, &self.users);
        let failures = identifiers::occurring(identifiers, &self.failures);
        let both = users.into_iter().zip(failures);
        both.map(|(user, failed)| Speaker { user, failed }).collect()
    }
}

fn holds(text: &str, part: &str) -> bool {
    memmem::find(text.as_bytes(), part.as_bytes()).is_some()
}

fn join<'a>(texts: impl Iterator<Item = &'a str>, between: &str) -> String {
    let mut joined = String::new();
    for (index, text) in texts.enumerate() {
        if index > 0 {
            joined.push_str(between);
        }
        joined.push_str(text);
    }
    joined
}

/// In lower case, letter by letter: a sigma is the same at the end of a word as within.
fn lower(text: &str) -> String {
    let mut lower = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ς' | 'Σ' => lower.push('σ'),
            c if c.is_ascii() => lower.push(c.to_ascii_lowercase()),
            c => lower.extend(c.to_lowercase()),
        }
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::{Shown, Speaker};

    const USER: Speaker = Speaker {
        user: true,
        failed: false,
    };
    const FAILED: Speaker = Speaker {
        user: false,
        failed: true,
    };

    fn shown() -> Shown {
        let said = [
            ("Read  /src/a.py\tnow", USER),
            ("no such file: /src/b.py", FAILED),
            ("ΟΔΟΣ /src/c.py", Speaker::default()),
        ];
        Shown::new(&said, ["", "/src/d.py"])
    }

    #[test]
    fn texts_stand_in_what_was_shown() {
        let shown = shown();
        assert!(shown.says("now\nno such") && shown.says("") && !shown.says("/src/d.py"));
        assert!(shown.holds("c.py\n/src/d.py") && !shown.holds("a.py now"));
        assert_eq!(shown.copied(&["a.py now no", "b.py ΟΔΟΣ", "a.py\tnow", "d.py"]), 2);
        assert!(shown.any_of(&["absent", "οδος"]) && shown.any_of(&["READ"]) && !shown.any_of(&["absent"]));
        assert!(!Shown::new::<&str, &str>(&[], []).any_of(&["a"]));
    }

    #[test]
    fn names_are_by_whom_they_are() {
        let names = ["/src/a.py", "/src/b.py", "/src/c.py", "/src/d.py", "/src/e.py"];
        assert_eq!(shown().occurring(&names), [true, true, true, true, false]);
        let none = Speaker::default();
        assert_eq!(shown().speakers(&names), [USER, FAILED, none, none, none]);
    }
}
