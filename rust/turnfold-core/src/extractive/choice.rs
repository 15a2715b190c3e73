//! Choosing lines for their worth within a number of tokens, and setting what was chosen.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use super::sections::{Lines, Topic};

const FEW_TOKENS: f64 = 8.0;
/// So many that share a label stand under it.
const SHARED_LABEL: usize = 2;

/// Where a line stands among all others of its topic: its message, and its place in that.
pub(super) type Order = (usize, usize);

/// One line that may go in. With a `worth` of 0 and less it waits for room that nothing else wants.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) topic: Topic,
    pub(super) order: Order,
    pub(super) text: Cow<'a, str>,
    pub(super) worth: f64,
    pub(super) label: &'a str,
    /// The place of the line without which it says nothing.
    pub(super) after: Option<Order>,
    pub(super) tokens: isize,
    /// What the label costs where the line begins with it.
    pub(super) label_tokens: isize,
}

impl<'a> Candidate<'a> {
    pub(super) fn line(topic: Topic, order: usize, text: Cow<'a, str>, worth: f64) -> Self {
        Self {
            topic,
            order: (order, 0),
            text,
            worth,
            label: "",
            after: None,
            tokens: 0,
            label_tokens: 0,
        }
    }

    /// Whether it has a label and says it first.
    pub(super) fn begins_with_label(&self) -> bool {
        !self.label.is_empty() && self.text.starts_with(self.label)
    }
}

/// Takes the lines with the most worth for their tokens.
pub(super) struct Chooser<'a> {
    ranked: Vec<Candidate<'a>>,
    /// By place in `ranked`, the line that it needs.
    needed: Vec<Option<usize>>,
    taken: Vec<bool>,
    /// By topic, the place of its section and what that costs.
    headings: [Option<(usize, isize)>; Topic::ALL.len()],
    /// By section, how many lines of it are taken.
    open: Vec<usize>,
    labels: HashMap<(Topic, &'a str), usize>,
    least: isize,
    chosen: Vec<usize>,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(candidates: Vec<Candidate<'a>>, headings: &[(Topic, usize, isize)]) -> Self {
        let mut costs = [None; Topic::ALL.len()];
        for (topic, section, tokens) in headings {
            if let Some(cost) = costs.get_mut(*topic as usize) {
                *cost = Some((*section, *tokens));
            }
        }
        let at: HashMap<(Topic, Order), usize> = places(&candidates, |_| true);
        let mut sharing: HashMap<(Topic, &str), isize> = HashMap::new();
        for one in candidates.iter().filter(|one| one.label_tokens > 0 && one.worth > 0.0) {
            *sharing.entry((one.topic, one.label)).or_default() += 1;
        }
        let ranks = candidates.iter().map(|one| {
            let needed = one.after.and_then(|after| at.get(&(one.topic, after)));
            let needed = needed.and_then(|&index| candidates.get(index));
            rank(one, needed, sharing.get(&(one.topic, one.label)).copied().unwrap_or(0))
        });
        let ranks: Vec<Rank> = ranks.collect();
        let mut ranked: Vec<_> = candidates.into_iter().zip(ranks).collect();
        ranked.sort_by(|(_, one), (_, other)| by_rank(one, other));
        let ranked: Vec<Candidate<'a>> = ranked.into_iter().map(|(one, _)| one).collect();
        let at = places(&ranked, |one| one.worth > 0.0);
        let needed = ranked
            .iter()
            .map(|one| one.after.and_then(|after| at.get(&(one.topic, after)).copied()));
        Self {
            needed: needed.collect(),
            taken: vec![false; ranked.len()],
            least: ranked
                .iter()
                .map(|one| one.tokens - one.label_tokens)
                .min()
                .unwrap_or(0),
            headings: costs,
            open: vec![0; headings.iter().map(|(_, section, _)| section + 1).max().unwrap_or(0)],
            labels: HashMap::new(),
            chosen: Vec::new(),
            ranked,
        }
    }

    fn section(&self, topic: Topic) -> Option<(usize, isize)> {
        self.headings.get(topic as usize).copied().flatten()
    }

    /// What it costs to begin with `topic`; nothing where its section is there already, `None` where it has none.
    pub(super) fn heading(&self, topic: Topic) -> Option<isize> {
        let (section, tokens) = self.section(topic)?;
        let is_open = self.open.get(section).is_some_and(|&lines| lines > 0);
        Some(if is_open { 0 } else { tokens })
    }

    /// Takes what fits `room` tokens beside what is taken; says whether that was anything.
    pub(super) fn take(&mut self, mut room: isize) -> bool {
        let before = self.chosen.len();
        for index in 0..self.ranked.len() {
            if room < self.least {
                break;
            }
            if self.is_taken(index) {
                continue;
            }
            let needed = self.needed.get(index).copied().flatten();
            let needed = needed.filter(|&needed| !self.is_taken(needed));
            let Some(tokens) = self.cost_with(index, needed) else {
                continue;
            };
            if tokens <= room {
                room -= tokens;
                for one in needed.into_iter().chain([index]) {
                    self.choose(one);
                }
            }
        }
        self.chosen.len() > before
    }

    fn is_taken(&self, index: usize) -> bool {
        self.taken.get(index).is_some_and(|&taken| taken)
    }

    fn cost_with(&self, index: usize, needed: Option<usize>) -> Option<isize> {
        let one = self.ranked.get(index)?;
        let needed = needed.and_then(|needed| self.ranked.get(needed));
        Some(self.heading(one.topic)? + self.cost(one) + needed.map_or(0, |needed| self.cost(needed)))
    }

    /// What a line costs; a label that stands there already is not paid for again.
    fn cost(&self, one: &Candidate<'_>) -> isize {
        let stands = one.label_tokens > 0 && self.labels.get(&(one.topic, one.label)).is_some_and(|&lines| lines > 0);
        if stands {
            one.tokens - one.label_tokens
        } else {
            one.tokens
        }
    }

    fn choose(&mut self, index: usize) {
        self.note(index, true);
        self.chosen.push(index);
    }

    fn note(&mut self, index: usize, taken: bool) {
        let Some(one) = self.ranked.get(index) else { return };
        let section = self.section(one.topic);
        let change = |lines: &mut usize| *lines = if taken { *lines + 1 } else { lines.saturating_sub(1) };
        if let Some(is) = self.taken.get_mut(index) {
            *is = taken;
        }
        if let Some(lines) = section.and_then(|(section, _)| self.open.get_mut(section)) {
            change(lines);
        }
        if one.label_tokens > 0 {
            change(self.labels.entry((one.topic, one.label)).or_default());
        }
    }

    /// Whether there is anything to give back.
    pub(super) fn drops(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// Gives back what was taken last.
    pub(super) fn drop_last(&mut self) {
        if let Some(index) = self.chosen.pop() {
            self.note(index, false);
        }
    }

    /// Gives everything back.
    pub(super) fn clear(&mut self) {
        self.chosen.clear();
        self.taken.fill(false);
        self.open.fill(0);
        self.labels.clear();
    }

    /// What is taken, by topic, in order: sentences of one message as one item, and under one label what shares it.
    pub(super) fn joined(&self) -> Lines {
        let mut chosen: Vec<&Candidate<'_>> = self.chosen.iter().filter_map(|&index| self.ranked.get(index)).collect();
        chosen.sort_by_key(|one| (one.topic, one.order));
        let mut lines = Lines::default();
        for own in chosen.chunk_by(|one, next| one.topic == next.topic) {
            let mut joined: Vec<(&Candidate<'_>, String)> = Vec::new();
            let mut last: Option<&Candidate<'_>> = None;
            for &one in own {
                let labelled = one.begins_with_label() && last.is_none_or(|last| one.label != last.label);
                let goes_on = last.filter(|last| {
                    last.order.0 == one.order.0 && matches!(one.topic, Topic::Users | Topic::Findings) && !labelled
                });
                match (goes_on, joined.last_mut()) {
                    (Some(last), Some((_, text))) => {
                        text.push_str(if one.order.1 == last.order.1 + 1 { " " } else { " ... " });
                        text.push_str(&one.text);
                    }
                    _ => joined.push((one, one.text.clone().into_owned())),
                }
                last = Some(one);
            }
            under_labels(joined, &mut lines);
        }
        lines
    }
}

fn places<'a>(candidates: &[Candidate<'a>], counts: impl Fn(&Candidate<'a>) -> bool) -> HashMap<(Topic, Order), usize> {
    let counted = candidates.iter().enumerate().filter(|(_, one)| counts(one));
    counted.map(|(index, one)| ((one.topic, one.order), index)).collect()
}

/// Whether it waits, its density or what it lacks with the sign turned, and its place.
type Rank = (bool, f64, isize, isize);

fn by_rank(one: &Rank, other: &Rank) -> Ordering {
    one.partial_cmp(other).unwrap_or(Ordering::Equal)
}

fn rank(one: &Candidate<'_>, needed: Option<&Candidate<'_>>, sharing: isize) -> Rank {
    let (message, place) = (one.order.0.cast_signed(), one.order.1.cast_signed());
    if one.worth <= 0.0 {
        return (true, -one.worth, -message, place);
    }
    let mut tokens = one.tokens;
    if one.label_tokens > 0 && sharing > 1 {
        tokens -= one.label_tokens * (sharing - 1) / sharing;
    }
    let mut most = density(one.worth, tokens);
    if let Some(needed) = needed {
        // Where it is worth more for its tokens than what it needs, they come together.
        most = most.min(density(one.worth + needed.worth.max(0.0), tokens + needed.tokens));
    }
    (false, -most, message, place)
}

#[expect(clippy::cast_precision_loss, reason = "no line has 2^52 tokens")]
fn density(worth: f64, tokens: isize) -> f64 {
    // The root: a long statement is worth more than its length says.
    worth / (tokens as f64 + FEW_TOKENS).sqrt()
}

fn under_labels(joined: Vec<(&Candidate<'_>, String)>, lines: &mut Lines) {
    let Some(topic) = joined.first().map(|(one, _)| one.topic) else {
        return;
    };
    let mut labels: HashMap<&str, usize> = HashMap::new();
    for (one, _) in joined.iter().filter(|(one, _)| one.begins_with_label()) {
        *labels.entry(one.label).or_default() += 1;
    }
    let mut texts: Vec<String> = Vec::with_capacity(joined.len());
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (one, text) in joined {
        let shares = one.begins_with_label() && labels.get(one.label).is_some_and(|&n| n >= SHARED_LABEL);
        if !shares {
            texts.push(text);
            continue;
        }
        let said = text.strip_prefix(one.label).unwrap_or(&text);
        let said = said.trim_start_matches([' ', ':', '：']);
        let place = *places.entry(one.label).or_insert_with(|| {
            texts.push(format!("{}:", one.label));
            texts.len() - 1
        });
        if let Some(line) = texts.get_mut(place) {
            line.push('\n');
            line.push_str(said);
        }
    }
    for text in texts {
        lines.add(topic, text);
    }
}
