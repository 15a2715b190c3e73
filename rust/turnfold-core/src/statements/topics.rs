//! Which earlier statement an update is about: the one that shares most of its telling words.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::values::{Value, possible};
use super::words::{proper_names, stems};
use super::{Cue, Features, Statement};

/// The share of a statement's telling words that an update has in common with it, where their values differ or anyway.
const LEAST_LIKENESS: f64 = 0.16;
const LIKENESS: f64 = 0.55;
/// What values of one kind which are not the same count beside that share.
const ALIKE: f64 = 0.4;
/// Earlier statements that share a stem and are looked at: what stands everywhere tells nothing.
const MOST_WITH_A_STEM: usize = 12;

/// An update replaces the earlier statement that shares most of its telling words, if their values are of a kind.
pub(super) fn mark(made: &mut [Statement], features: &[Features]) {
    let mut doubtful = Vec::new();
    {
        let mut topics = Topics::of(made, features);
        let mut at: Vec<Vec<usize>> = vec![Vec::new(); topics.tells.len()];
        for (index, statement) in made.iter().enumerate() {
            let Some(own) = features.get(statement.features) else {
                continue;
            };
            if statement.replaced {
                continue;
            }
            if statement.user && own.has(Cue::Update) {
                doubtful.extend(topics.closest(index, &at));
            }
            if statement.score > 0.0 {
                for place in own.stems.iter().filter_map(|stem| topics.places.get(stem.as_str())) {
                    if let Some(at) = at.get_mut(*place) {
                        at.push(index);
                    }
                }
            }
        }
    }
    for index in doubtful {
        if let Some(one) = made.get_mut(index) {
            one.doubtful = true;
        }
    }
}

/// What a statement says beside its label.
#[derive(Debug)]
struct Said {
    /// Its values by kind; names are under `None`.
    values: BTreeMap<Option<Value>, BTreeSet<Vec<char>>>,
    /// The words that say what it is about, without its values, and what they tell together.
    telling: Vec<usize>,
    weight: f64,
}

/// What statements are about. Each is looked at once, however many updates it is compared with.
struct Topics<'a> {
    made: &'a [Statement],
    features: &'a [Features],
    /// Of each stem, in their order, how much it tells: the logarithm of how few statements have it.
    tells: Vec<f64>,
    places: HashMap<&'a str, usize>,
    said: HashMap<(usize, &'a str), Said>,
}

impl<'a> Topics<'a> {
    fn of(made: &'a [Statement], features: &'a [Features]) -> Self {
        let mut often: BTreeMap<&str, usize> = BTreeMap::new();
        for statement in made {
            for stem in features.get(statement.features).map_or(&[][..], |one| &one.stems) {
                *often.entry(stem).or_default() += 1;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "no transcript has 2^52 statements")]
        let tells = often
            .values()
            .map(|&times| ((made.len() + 1) as f64 / times as f64).ln())
            .collect();
        let places = often.keys().enumerate().map(|(place, &stem)| (stem, place)).collect();
        Self {
            made,
            features,
            tells,
            places,
            said: HashMap::new(),
        }
    }

    /// What identifies what is said: the same text under the same label.
    fn key(&self, index: usize) -> Option<(usize, &'a str)> {
        self.made.get(index).map(|one| (one.features, one.label.as_str()))
    }

    fn look(&mut self, index: usize) -> Option<()> {
        let key = self.key(index)?;
        if !self.said.contains_key(&key) {
            let statement = self.made.get(index)?;
            let said = self.said_by(statement, self.features.get(statement.features)?);
            self.said.insert(key, said);
        }
        Some(())
    }

    fn said(&self, index: usize) -> Option<&Said> {
        self.said.get(&self.key(index)?)
    }

    fn said_by(&self, statement: &Statement, features: &Features) -> Said {
        let mut values: BTreeMap<Option<Value>, BTreeSet<Vec<char>>> = BTreeMap::new();
        without_values(features.plain.chars().collect(), |kind, value| {
            values.entry(Some(kind)).or_default().insert(value.to_vec());
        });
        let own = statement
            .text
            .strip_prefix(&*statement.label)
            .unwrap_or(&statement.text);
        let own: Vec<char> = own.trim_start_matches([' ', ':', '：']).chars().collect();
        let mut rest = String::new();
        let mut kept = 0;
        for name in proper_names(&own) {
            rest.extend(&own[kept..name.start]);
            rest.push(' ');
            kept = name.end;
            values.entry(None).or_default().insert(own[name].to_vec());
        }
        rest.extend(&own[kept..]);
        let rest = without_values(rest.to_lowercase().chars().collect(), |_, _| {});
        let about: HashSet<String> = stems(&rest.iter().collect::<String>()).into_iter().collect();
        let telling: Vec<usize> = features
            .stems
            .iter()
            .filter(|stem| about.contains(*stem))
            .filter_map(|stem| self.places.get(stem.as_str()).copied())
            .collect();
        let weight = exact_sum(telling.iter().filter_map(|&stem| self.tells.get(stem).copied()));
        Said {
            values,
            telling,
            weight: if weight == 0.0 { 1.0 } else { weight },
        }
    }

    /// The statement before the update at `index` that it is about, if there is one. `at` has, by stem, those before.
    fn closest(&mut self, index: usize, at: &[Vec<usize>]) -> Option<usize> {
        self.look(index)?;
        let mut shares: Vec<(usize, f64)> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        for &stem in &self.said(index)?.telling {
            let earlier = at.get(stem).map_or(&[][..], Vec::as_slice);
            let tells = self.tells.get(stem).copied().unwrap_or(0.0);
            for &earlier in earlier.iter().rev().take(MOST_WITH_A_STEM).rev() {
                let place = *places.entry(earlier).or_insert(shares.len());
                match shares.get_mut(place) {
                    Some((_, share)) => *share += tells,
                    None => shares.push((earlier, tells)),
                }
            }
        }
        let mut best: Option<(f64, usize)> = None;
        for (earlier, shared) in shares {
            let (update, statement) = (self.made.get(index)?, self.made.get(earlier)?);
            let plain = |one: &Statement| self.features.get(one.features).map(|one| &one.plain);
            if statement.order == update.order || plain(statement) == plain(update) {
                continue;
            }
            self.look(earlier)?;
            let (own, theirs) = (self.said(index)?, self.said(earlier)?);
            let likeness = shared / theirs.weight;
            // Too little in common, whatever their values.
            if likeness < LEAST_LIKENESS {
                continue;
            }
            // Values of one kind which are not the same.
            let alike = theirs
                .values
                .iter()
                .any(|(kind, found)| own.values.get(kind).is_some_and(|own| own != found));
            if alike || likeness >= LIKENESS {
                let score = likeness + if alike { ALIKE } else { 0.0 };
                if best.is_none_or(|(most, _)| score > most) {
                    best = Some((score, earlier));
                }
            }
        }
        best.map(|(_, statement)| statement)
    }
}

/// The sum, rounded once: the same in whatever order, so that what is close does not hang on it. After Shewchuk.
#[expect(clippy::float_cmp, reason = "what is compared is exact")]
fn exact_sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut parts: Vec<f64> = Vec::new();
    for mut sum in values {
        parts.retain_mut(|part| {
            let (large, small) = if sum.abs() < part.abs() {
                (*part, sum)
            } else {
                (sum, *part)
            };
            sum = large + small;
            *part = small - (sum - large);
            *part != 0.0
        });
        parts.push(sum);
    }
    // From the largest part on, until one is too small to change the sum.
    let mut sum = 0.0;
    while let Some(part) = parts.pop() {
        let before = sum;
        sum = before + part;
        let rest = part - (sum - before);
        if rest != 0.0 {
            // A half was rounded to the even side; what is left of the parts says whether that was the wrong one.
            let twice = rest * 2.0;
            if parts.last().is_some_and(|part| part.signum() == rest.signum()) && sum + twice - sum == twice {
                sum += twice;
            }
            break;
        }
    }
    sum
}

/// `text` with a space in the place of each value, which are handed over.
fn without_values(mut text: Vec<char>, mut take: impl FnMut(Value, &[char])) -> Vec<char> {
    for kind in possible(&text) {
        let found = kind.find(&text);
        if found.is_empty() {
            continue;
        }
        let mut made = Vec::with_capacity(text.len());
        let mut kept = 0;
        for value in found {
            take(kind, &text[value.clone()]);
            made.extend_from_slice(&text[kept..value.start]);
            made.push(' ');
            kept = value.end;
        }
        made.extend_from_slice(&text[kept..]);
        text = made;
    }
    text
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "sums are exact")]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_rounded_once() {
        assert_eq!(exact_sum([0.1; 10].into_iter()), 1.0);
        assert_eq!(exact_sum([1e100, 1.0, -1e100, 1e-30].into_iter()), 1.0);
        assert_eq!(
            exact_sum([1.0, 2_f64.powi(-53), 2_f64.powi(-106)].into_iter()),
            1.0 + f64::EPSILON
        );
        assert_eq!(exact_sum(std::iter::empty()), 0.0);
    }
}
