//! The identifiers that a summary lists where it does not name them.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::Material;
use crate::identifiers::Watch;
use crate::statements::Weighed;

/// From this worth on a statement is more than small talk.
const SAID_IN_EARNEST: f64 = 1.0;
/// Letters of a file's ending.
const LONGEST_ENDING: usize = 5;

/// They stand in it with the most telling first, without those that what stands around the summary names.
pub(super) struct Ledger<'a> {
    names: Vec<(usize, &'a str)>,
    watch: Watch,
}

impl<'a> Ledger<'a> {
    pub(super) fn new<S: AsRef<str>>(material: &Material<'a, S>, weighed: &Weighed) -> Self {
        let mut watch = Watch::new(material.names);
        watch.feed(material.quotes);
        let quoted = watch.restart();
        watch.feed(material.touched);
        let used = watch.restart();
        let mut said: HashMap<&str, f64> = HashMap::new();
        for one in &weighed.statements {
            for name in weighed.features.get(one.features).map_or(&[][..], |own| &own.names) {
                let most = said.entry(name).or_insert(one.score);
                *most = most.max(one.score);
            }
        }
        let stale = stale(material, weighed);
        let names = material.names.iter().map(AsRef::as_ref).enumerate();
        let mut names: Vec<(usize, &str)> = names
            .filter(|(index, name)| !quoted.get(*index).is_some_and(|&there| there) && !stale.contains(name))
            .collect();
        // Names that only small talk has come last, but for files: those are worked on, whoever mentions them.
        names.sort_by_cached_key(|&(index, name)| {
            let small_talk = said.get(name).is_some_and(|&score| score < SAID_IN_EARNEST);
            let file = is_file(name);
            let used = used.get(index).is_some_and(|&used| used);
            (
                small_talk && !file,
                !used,
                !file,
                !said.contains_key(name),
                Reverse(index),
            )
        });
        Self { names, watch }
    }

    /// Those that none of these texts names.
    pub(super) fn missing<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> Vec<&'a str> {
        for text in texts {
            self.watch.feed(text);
        }
        let there = self.watch.restart();
        let names = self.names.iter();
        names
            .filter(|(index, _)| !there.get(*index).is_some_and(|&there| there))
            .map(|&(_, name)| name)
            .collect()
    }
}

/// The identifiers that only replaced statements name.
fn stale<'w, S: AsRef<str>>(material: &Material<'_, S>, weighed: &'w Weighed) -> HashSet<&'w str> {
    let goes = || weighed.statements.iter().filter(|one| one.replaced || one.doubtful);
    let gone: HashSet<(usize, &str)> = goes().map(|one| (one.order, one.text.as_str())).collect();
    let naming = goes().filter_map(|one| weighed.features.get(one.features));
    let stale: HashSet<&str> = naming.flat_map(|own| own.names.iter().map(String::as_str)).collect();
    let names: Vec<&str> = stale.into_iter().collect();
    if names.is_empty() {
        return HashSet::new();
    }
    let mut watch = Watch::new(&names);
    let rest = weighed.statements.iter().map(|one| (one.order, one.text.as_str()));
    for (_, text) in rest.filter(|one| !gone.contains(one)) {
        watch.feed(text);
    }
    for text in material.elsewhere {
        watch.feed(text.as_ref());
    }
    let elsewhere = watch.restart();
    let names = names.into_iter().zip(elsewhere);
    names.filter(|(_, there)| !there).map(|(name, _)| name).collect()
}

/// Whether a name ends like a file's: `.py`.
fn is_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=LONGEST_ENDING).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}
