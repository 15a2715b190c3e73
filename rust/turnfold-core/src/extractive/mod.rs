//! A summary by rule: all that was said and done where it fits a number of tokens, else what is worth most for them.

mod choice;
mod ledger;
mod sections;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use turnfold_tokens::{Tokenizer, is_letter_or_number};

use crate::quoting::neutralise;
use crate::statements::{Cues, Statement, Weighed, is_space, weigh};
use crate::truncate::{notice, truncate_middle};
use choice::{Candidate, Chooser};
use ledger::Ledger;
pub use sections::{Layout, Section, Topic};
use sections::{Lines, heading, item};

/// What the model's last text is worth, on the scale of statements, and one of so many tokens of the summary is the most
/// that it takes.
const STATE_WORTH: f64 = 6.0;
const STATE_PART: usize = 6;
const STATE_TOKENS: usize = 300;
const STATEMENT_TOKENS: usize = 120;
/// What a line loses of its worth by each of its topic behind it.
const AGE: f64 = 0.08;
/// At most one token of so many is kept free for the ledger.
const LEDGER_PART: usize = 3;
/// Tokens that two texts may take more where they meet.
const EDGES: isize = 2;
const FINDING_WORDS: usize = 80;
const FINDING_CHARACTERS: usize = 240;
/// Rounds of filling what is left with identifiers, and then with lines again.
const ROUNDS: usize = 3;

/// One text that somebody said.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Whether the user said it, else the model.
    pub user: bool,
    /// What was said.
    pub text: &'a str,
    /// Whether what stands around the summary quotes it already.
    pub quoted: bool,
}

/// One line of another topic.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// What it is about.
    pub topic: Topic,
    /// What it says; delimiters that it imitates are made plain.
    pub text: &'a str,
    /// What it is worth, on the scale of statements.
    pub worth: f64,
    /// Whether it is worth less, the more of its topic come behind it.
    pub fades: bool,
}

/// What there is to say, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a, S> {
    /// What was said.
    pub texts: &'a [Said<'a>],
    /// What was done, and what an earlier summary has.
    pub lines: &'a [Line<'a>],
    /// Identifiers that the summary should name.
    pub names: &'a [S],
    /// What stands around the summary.
    pub quotes: &'a str,
    /// What tools worked on.
    pub touched: &'a str,
    /// All else that was there, where an identifier may stand that nobody took back.
    pub elsewhere: &'a [S],
}

/// Writes the summary, of at most `max_tokens`; empty where nothing fits. Linear in the material, but for the lines that
/// are chosen: three rounds over all.
pub fn write<S: AsRef<str>>(
    material: &Material<'_, S>,
    cues: &Cues,
    layout: &Layout,
    tokenizer: &Tokenizer,
    max_tokens: usize,
) -> String {
    let said: Vec<(bool, &str)> = material.texts.iter().map(|one| (one.user, one.text)).collect();
    let weighed = weigh(&said, cues);
    let lines = latest_of_equals(material.lines);
    let writing = Writing {
        texts: material.texts,
        weighed: &weighed,
        lines: &lines,
        layout,
        tokenizer,
        max_tokens,
    };
    let mut ledger = Ledger::new(material, &weighed);
    writing
        .whole(&mut ledger)
        .unwrap_or_else(|| writing.chosen(&mut ledger))
}

/// Of lines that say the same of one topic, the last, without delimiters.
fn latest_of_equals<'a>(lines: &[Line<'a>]) -> Vec<(Line<'a>, Cow<'a, str>)> {
    let mut seen: HashSet<(Topic, Cow<'a, str>)> = HashSet::new();
    let mut latest: Vec<_> = lines
        .iter()
        .rev()
        .filter_map(|line| {
            let text = neutralise(line.text).map_or(Cow::Borrowed(line.text), Cow::Owned);
            let says = !text.trim_matches(is_space).is_empty();
            (says && seen.insert((line.topic, text.clone()))).then_some((*line, text))
        })
        .collect();
    latest.reverse();
    latest
}

struct Writing<'a> {
    texts: &'a [Said<'a>],
    weighed: &'a Weighed,
    lines: &'a [(Line<'a>, Cow<'a, str>)],
    layout: &'a Layout,
    tokenizer: &'a Tokenizer,
    max_tokens: usize,
}

impl<'a> Writing<'a> {
    fn count(&self, text: &str) -> isize {
        self.tokenizer.count(text).cast_signed()
    }

    fn cut(&self, text: &'a str, max_tokens: usize) -> Cow<'a, str> {
        let short = truncate_middle(text, max_tokens, self.tokenizer, &notice);
        if short.removed_tokens == 0 {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(short.text)
        }
    }

    /// Everything, as it was said but for what was replaced; `None` where that is over the cap.
    fn whole(&self, ledger: &mut Ledger<'_>) -> Option<String> {
        let mut stale: HashMap<usize, Vec<&str>> = HashMap::new();
        for statement in self.weighed.statements.iter().filter(|one| one.replaced) {
            stale.entry(statement.order).or_default().push(&statement.text);
        }
        let last = self.texts.iter().rposition(|one| !one.user);
        let mut lines = Lines::default();
        for (order, one) in self.texts.iter().enumerate() {
            let mut text = Cow::Borrowed(one.text);
            for sentence in stale.get(&order).map_or(&[][..], Vec::as_slice) {
                text = Cow::Owned(text.replacen(sentence, "", 1).trim_matches(is_space).to_owned());
            }
            if one.quoted || text.trim_matches(is_space).is_empty() {
                continue;
            }
            if one.user {
                lines.add(Topic::Users, text.into_owned());
            } else if Some(order) == last {
                let short = truncate_middle(&text, STATE_TOKENS, self.tokenizer, &notice);
                lines.set(Topic::State, short.text);
            } else {
                lines.add(Topic::Findings, first_words(&text));
            }
        }
        for (line, text) in self.lines {
            lines.add(line.topic, text.clone().into_owned());
        }
        lines.keep_latest();
        // Most often it is far too much: then nothing else needs to be known.
        if !self.tokenizer.fits(&self.layout.render(&lines), self.max_tokens) {
            return None;
        }
        let missing = ledger.missing(lines.all());
        if !missing.is_empty() {
            lines.set(Topic::Identifiers, missing.join(", "));
        }
        let text = self.rendered(&lines);
        self.tokenizer.fits(&text, self.max_tokens).then_some(text)
    }

    fn rendered(&self, lines: &Lines) -> String {
        if lines.is_empty() {
            String::new()
        } else {
            self.layout.render(lines)
        }
    }

    fn rendered_with(&self, lines: &Lines, names: &[&str]) -> String {
        if names.is_empty() {
            return self.rendered(lines);
        }
        let mut lines = lines.clone();
        lines.set(Topic::Identifiers, names.join(", "));
        self.layout.render(&lines)
    }

    /// What is worth most, within the cap.
    fn chosen(&self, ledger: &mut Ledger<'_>) -> String {
        let most = self.max_tokens.cast_signed();
        let mut chooser = Chooser::new(self.candidates(), &self.heading_costs());
        // What the best statements name needs no place in the ledger.
        chooser.take(most);
        let missing = ledger.missing([self.rendered(&chooser.joined()).as_str()]);
        let heading = chooser.heading(Topic::Identifiers).unwrap_or(0);
        let reserve = if missing.is_empty() {
            0
        } else {
            let costs: isize = missing.iter().map(|name| self.count(&format!(", {name}"))).sum();
            (costs + heading).min((self.max_tokens / LEDGER_PART).cast_signed())
        };
        chooser.clear();
        chooser.take(most - reserve);
        let mut names = Vec::new();
        for _ in 0..ROUNDS {
            let lines = chooser.joined();
            let held = self.rendered(&lines);
            let room = most - self.count(&held) - heading - EDGES;
            names = self.fitting(ledger.missing([held.as_str()]), room);
            let text = self.rendered_with(&lines, &names);
            if !chooser.take(most - self.count(&text)) {
                return self.trimmed(&mut chooser, names, text);
            }
        }
        let text = self.rendered_with(&chooser.joined(), &names);
        self.trimmed(&mut chooser, names, text)
    }

    fn fitting<'n>(&self, mut names: Vec<&'n str>, mut room: isize) -> Vec<&'n str> {
        names.retain(|name| {
            let tokens = self.count(&format!(", {name}"));
            let fits = tokens <= room;
            if fits {
                room -= tokens;
            }
            fits
        });
        names
    }

    /// `text` without the last that were chosen where their costs did not add up.
    fn trimmed(&self, chooser: &mut Chooser<'_>, mut names: Vec<&str>, mut text: String) -> String {
        loop {
            let over = self.tokenizer.count(&text).saturating_sub(self.max_tokens);
            if over == 0 || (names.is_empty() && !chooser.drops()) {
                return text;
            }
            if names.is_empty() {
                chooser.drop_last();
            } else {
                names.truncate(names.len().saturating_sub((over / 8).max(1)));
            }
            text = self.rendered_with(&chooser.joined(), &names);
        }
    }

    fn candidates(&self) -> Vec<Candidate<'a>> {
        let mut found = Vec::new();
        let state = self.state();
        let mut latest: HashMap<&str, usize> = HashMap::new();
        for (index, statement) in self.weighed.statements.iter().enumerate() {
            latest.insert(self.plain(statement), index);
        }
        for (index, statement) in self.weighed.statements.iter().enumerate() {
            let quoted = self.texts.get(statement.order).is_some_and(|one| one.quoted);
            let said_again = latest.get(self.plain(statement)) != Some(&index);
            if quoted || said_again || statement.replaced || statement.doubtful || Some(statement.order) == state {
                continue;
            }
            if statement.score <= 0.0 && !statement.user {
                continue;
            }
            let long = statement.text.chars().nth(4 * STATEMENT_TOKENS).is_some();
            let text = if long {
                self.cut(&statement.text, STATEMENT_TOKENS)
            } else {
                Cow::Borrowed(statement.text.as_str())
            };
            if !text.contains(is_letter_or_number) {
                continue;
            }
            found.push(Candidate {
                topic: if statement.user { Topic::Users } else { Topic::Findings },
                order: (statement.order, statement.place),
                text,
                worth: statement.score,
                label: &statement.label,
                after: statement.after.map(|after| (statement.order, after)),
                tokens: 0,
                label_tokens: 0,
            });
        }
        if let Some(order) = state
            && let Some(one) = self.texts.get(order)
        {
            let room = STATE_TOKENS.min(self.max_tokens / STATE_PART);
            found.push(Candidate::line(
                Topic::State,
                order,
                self.cut(one.text, room),
                STATE_WORTH,
            ));
        }
        let mut ages: HashMap<Topic, u32> = HashMap::new();
        for (order, (line, text)) in self.lines.iter().enumerate().rev() {
            let age = ages.entry(line.topic).or_default();
            let worth = if line.fades {
                line.worth / (1.0 + AGE * f64::from(*age))
            } else {
                line.worth
            };
            *age += 1;
            found.push(Candidate::line(line.topic, order, Cow::Borrowed(text), worth));
        }
        let mut labels: HashMap<&str, isize> = HashMap::new();
        for candidate in &mut found {
            candidate.tokens = self.count(&item(&candidate.text));
            if candidate.begins_with_label() {
                let label = candidate.label;
                candidate.label_tokens = *labels.entry(label).or_insert_with(|| self.count(&format!("{label}:")));
            }
        }
        found
    }

    fn plain(&self, statement: &Statement) -> &'a str {
        self.weighed
            .features
            .get(statement.features)
            .map_or("", |own| &own.plain)
    }

    /// The last text of the model, unless it says what it has said before.
    fn state(&self) -> Option<usize> {
        let mut said = self.texts.iter().enumerate().rev().filter(|(_, one)| !one.user);
        let (order, last) = said.next()?;
        said.all(|(_, one)| one.text != last.text).then_some(order)
    }

    /// By topic, the place of the section it stands in and what that costs.
    fn heading_costs(&self) -> Vec<(Topic, usize, isize)> {
        let first = self
            .layout
            .heading
            .as_ref()
            .map_or(0, |line| self.count(&format!("{line}\n")));
        let costs = self.layout.sections.iter().enumerate().flat_map(|(place, section)| {
            let tokens = self.count(&heading(&section.title)) + first;
            section.topics.iter().map(move |&topic| (topic, place, tokens))
        });
        costs.collect()
    }
}

/// The first words of a text on one line.
fn first_words(text: &str) -> String {
    let words = text.split(is_space).filter(|word| !word.is_empty()).take(FINDING_WORDS);
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(FINDING_CHARACTERS) {
        None => line,
        Some((end, _)) => {
            let head = line.get(..end).unwrap_or_default();
            format!("{} ...", head.rsplit_once(' ').map_or("", |(before, _)| before))
        }
    }
}
