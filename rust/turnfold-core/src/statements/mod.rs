//! Texts as statements: sentences, lines and list items, each with what it is worth to somebody who reads only it.

mod beginnings;
mod characters;
mod code;
mod cues;
mod replaced;
mod split;
mod topics;
mod values;
mod words;

use std::collections::HashMap;

pub use cues::Cues;

use crate::identifiers;
pub(crate) use characters::is_space;
use characters::is_upper;

/// Which of the lists that a text is looked up in; their order in [`Cues::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cue {
    /// It forbids or denies.
    Forbid,
    /// It demands.
    Oblige,
    /// It says what somebody likes or asks for.
    Wish,
    /// It says what was decided, found, or is whose.
    Decide,
    /// It says that something is other than before.
    Update,
    /// It takes back what was said before.
    Reset,
    /// It says of itself that it leads away.
    Aside,
    /// It says how to go about things from then on.
    Stand,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "what is known of it, each on its own")]
pub struct Statement {
    /// Whether the user said it, else the model.
    pub user: bool,
    /// Its text's place among the texts.
    pub order: usize,
    /// Its own in that text.
    pub place: usize,
    /// What it says, with its label if that is its own.
    pub text: String,
    /// What stands before its colon, or the colon of its line, or the line that heads its list.
    pub label: String,
    /// Whether it stands in tags.
    pub enclosed: bool,
    /// What it is worth; 0 and less is small talk.
    pub score: f64,
    /// Whether a later one takes its place.
    pub replaced: bool,
    /// Whether one seems to.
    pub doubtful: bool,
    /// The place of the sentence without which it says too little.
    pub after: Option<usize>,
    /// Its place in [`Weighed::features`].
    pub features: usize,
}

impl Statement {
    fn is_labelled(&self) -> bool {
        !self.label.is_empty() && self.text.starts_with(&self.label)
    }
}

/// What a statement's text alone tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    /// What it is compared by: in lower case, with single spaces.
    pub plain: String,
    /// The identifiers in it.
    pub names: Vec<String>,
    stems: Vec<String>,
    cues: Vec<usize>,
    characters: usize,
    /// Whether it has a quantity, a name, a quotation.
    values: [bool; 3],
    asks: bool,
    code: bool,
}

impl Features {
    fn of(text: &str, cues: &Cues) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let plain = characters::plain(text);
        Self {
            names: identifiers::extract(text).into_iter().map(|one| one.text).collect(),
            stems: words::stems(&plain),
            cues: cues.counts(&plain),
            values: [
                words::has_quantity(text),
                words::has_name(&characters),
                words::has_quotation(&characters),
            ],
            asks: asks(text),
            code: code::is_code(text),
            characters: characters.len(),
            plain,
        }
    }

    fn count(&self, cue: Cue) -> usize {
        self.cues.get(cue as usize).copied().unwrap_or(0)
    }

    fn has(&self, cue: Cue) -> bool {
        self.count(cue) > 0
    }

    fn has_value(&self) -> bool {
        !self.names.is_empty() || self.values.contains(&true)
    }
}

/// Statements in order, and what their texts tell, each text once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weighed {
    /// The statements.
    pub statements: Vec<Statement>,
    /// By [`Statement::features`].
    pub features: Vec<Features>,
}

/// Stems of a statement that says too little alone.
const FEW_STEMS: usize = 5;
const LEAST_TO_HANG_ON: f64 = 2.0;
const LEAST_TO_LEND: f64 = 2.0;
/// Statements before one that points back that may be meant.
const LENT_TO: usize = 3;
/// Statements that a stem is in at most to be rare.
const RARE: usize = 2;
/// What is left of the worth of what stands in tags, and of code.
const ENCLOSED_PART: f64 = 0.6;
const CODE_PART: f64 = 0.3;
const SHORT_CHARACTERS: usize = 12;
/// What a quantity, a name and a quotation are worth.
const VALUES_WORTH: [f64; 3] = [1.0, 0.9, 0.5];

/// Cuts texts, the oldest first and each with whether the user said it, into statements, and says what each is worth
/// and which a later one replaces. Linear in the texts.
pub fn weigh<S: AsRef<str>>(texts: &[(bool, S)], cues: &Cues) -> Weighed {
    let mut features: Vec<Features> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut made: Vec<Statement> = Vec::new();
    for (order, (user, text)) in texts.iter().enumerate() {
        for (place, cut) in split::split(text.as_ref()).into_iter().enumerate() {
            let own = *places.entry(cut.text).or_insert_with(|| {
                features.push(Features::of(cut.text, cues));
                features.len() - 1
            });
            made.push(Statement {
                user: *user,
                order,
                place,
                text: cut.text.to_owned(),
                label: cut.label.to_owned(),
                enclosed: cut.enclosed,
                score: 0.0,
                replaced: false,
                doubtful: false,
                after: None,
                features: own,
            });
        }
    }
    hang_on_labels(&mut made);
    score(&mut made, &features, texts);
    lend(&mut made, &features, cues);
    hang_on_others(&mut made, &features);
    replaced::mark(&mut made, &features);
    Weighed {
        statements: made,
        features,
    }
}

/// The sentences of a text that say what must, must not or shall be from then on; none of them a question, code, or what
/// somebody handed on in tags. Linear in the text.
pub fn rules<'t>(text: &'t str, cues: &Cues) -> Vec<&'t str> {
    let said = split::split(text).into_iter().filter(|cut| !cut.enclosed);
    let rules = said.filter(|cut| {
        let own = Features::of(cut.text, cues);
        !own.asks
            && !own.code
            && [Cue::Forbid, Cue::Oblige, Cue::Stand]
                .into_iter()
                .any(|cue| own.has(cue))
    });
    rules.map(|cut| cut.text).collect()
}

/// Has what goes on with what stands behind a label hang on that.
fn hang_on_labels(made: &mut [Statement]) {
    for index in 1..made.len() {
        let Some([before, statement]) = made.get_mut(index - 1..=index) else {
            continue;
        };
        if before.order == statement.order && statement.label == before.label && !statement.is_labelled() {
            statement.after = if before.is_labelled() {
                Some(before.place)
            } else {
                before.after
            };
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no transcript has 2^52 statements")]
fn score<S: AsRef<str>>(made: &mut [Statement], features: &[Features], texts: &[(bool, S)]) {
    let mut often: HashMap<&str, usize> = HashMap::new();
    let mut said: HashMap<&str, usize> = HashMap::new();
    for own in made.iter().filter_map(|one| features.get(one.features)) {
        *said.entry(&own.plain).or_default() += 1;
        for stem in &own.stems {
            *often.entry(stem).or_default() += 1;
        }
    }
    let rare: Vec<usize> = features
        .iter()
        .map(|own| {
            own.stems
                .iter()
                .filter(|stem| often.get(stem.as_str()).is_some_and(|&n| n <= RARE))
                .count()
        })
        .collect();
    let last = (texts.len().max(2) - 1) as f64;
    let asked: Vec<bool> = texts.iter().map(|(user, text)| !user && asks(text.as_ref())).collect();
    for statement in made {
        let (Some(own), Some(&rare)) = (features.get(statement.features), rare.get(statement.features)) else {
            continue;
        };
        let label = if statement.after.is_none() {
            &*statement.label
        } else {
            ""
        };
        let mut score = worth(statement.user, own, label, said.get(&*own.plain).copied().unwrap_or(1));
        if !own.stems.is_empty() {
            score += 1.2 * rare as f64 / own.stems.len() as f64;
        }
        score += 0.6 * statement.order as f64 / last;
        let answers = statement
            .order
            .checked_sub(1)
            .and_then(|k| asked.get(k))
            .is_some_and(|&asked| asked);
        if answers && statement.user {
            score += 0.8;
        }
        statement.score = if statement.enclosed && score > 0.0 {
            ENCLOSED_PART * score
        } else {
            score
        };
    }
}

/// What a statement is worth by its text, said so many times in all.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn worth(user: bool, own: &Features, label: &str, times: usize) -> f64 {
    let (forbids, obliges) = (own.count(Cue::Forbid).min(2), own.count(Cue::Oblige).min(2));
    let one = |there: bool| f64::from(u8::from(there));
    let mut score = 1.6 * forbids as f64
        + 1.4 * obliges as f64
        + 1.5 * one(own.has(Cue::Wish))
        + 1.5 * one(own.has(Cue::Decide))
        + 0.8 * one(own.has(Cue::Update));
    score += 1.8 * one(own.has(Cue::Stand));
    if !label.is_empty() {
        score += if is_upper(label) { 2.0 } else { 0.8 };
    }
    score += (own.names.len() as f64).min(2.4);
    for (there, worth) in own.values.into_iter().zip(VALUES_WORTH) {
        score += worth * one(there);
    }
    if own.asks {
        score = 0.4 * score - 1.5;
    }
    if own.has(Cue::Aside) {
        score -= 1.5;
    }
    if times > 1 && forbids == 0 && obliges == 0 && !own.has(Cue::Wish) {
        score -= (0.7 * times as f64).min(3.0);
    }
    if own.characters < SHORT_CHARACTERS && own.names.is_empty() {
        score -= 1.0;
    }
    if score > 0.0 && own.code {
        score *= CODE_PART;
    }
    if user { score + 0.8 } else { 0.6 * score - 1.0 }
}

fn asks(text: &str) -> bool {
    text.trim_end_matches(is_space).ends_with(['?', '？'])
}

/// Lets a statement that points back lend its worth to the one that it points to, some of it to those before.
fn lend(made: &mut [Statement], features: &[Features], cues: &Cues) {
    for index in 0..made.len() {
        let (earlier, rest) = made.split_at_mut(index);
        let Some(statement) = rest.first_mut() else { break };
        let points = |own: &Features| cues.points_back(&own.plain);
        if statement.score < LEAST_TO_LEND || !features.get(statement.features).is_some_and(points) {
            continue;
        }
        let (mut strength, mut lent) = (1.0, false);
        for earlier in earlier.iter_mut().rev().take(LENT_TO) {
            if earlier.order != statement.order {
                break;
            }
            earlier.score = earlier.score.max(strength * statement.score);
            strength *= 0.85;
            lent = true;
        }
        if lent {
            // It says little alone.
            statement.score *= 0.6;
        }
    }
}

/// Has what says too little hang on what is worth something right before it.
fn hang_on_others(made: &mut [Statement], features: &[Features]) {
    for index in 1..made.len() {
        let Some([before, statement]) = made.get_mut(index - 1..=index) else {
            continue;
        };
        let Some(own) = features.get(statement.features) else {
            continue;
        };
        if before.order == statement.order
            && statement.after.is_none()
            && before.score >= LEAST_TO_HANG_ON
            && own.stems.len() <= FEW_STEMS
            && !own.has_value()
            && !own.has(Cue::Decide)
            && !own.has(Cue::Update)
        {
            statement.after = Some(before.place);
        }
    }
}
