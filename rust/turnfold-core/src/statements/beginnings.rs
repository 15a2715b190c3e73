//! How words of lists begin, for most lists to be passed over without a search.

/// Bits of a letter that tell it from most others.
const BITS: u32 = 5;
const LETTERS: usize = 3;

/// Which lists a text may hold a word of, by its first letters. Of ASCII alone.
#[derive(Debug)]
pub(super) struct Beginnings {
    /// By the first three letters of a word, a bit for each list.
    lists: Vec<u8>,
    /// Lists whose words may begin with anything.
    always: u8,
}

impl Beginnings {
    /// `lists` are alternations, each of words with their edges.
    pub(super) fn of<'a>(lists: impl Iterator<Item = &'a str>) -> Self {
        let mut made = Self {
            lists: vec![0; 1 << (BITS * LETTERS as u32)],
            always: 0,
        };
        for (index, words) in lists.enumerate() {
            let Some(bit) = 1_u8.checked_shl(index as u32) else {
                break;
            };
            let mut heads = Vec::new();
            if heads_of(words, &mut heads).is_none() {
                made.always |= bit;
            }
            for head in heads.iter().filter(|head| head.is_ascii()) {
                made.add(head.as_bytes(), bit);
            }
        }
        made
    }

    fn add(&mut self, head: &[u8], bit: u8) {
        let known = head.len().min(LETTERS);
        // Behind a head that is shorter may stand anything.
        let free = BITS * (LETTERS - known) as u32;
        let first = key(head) >> free << free;
        for list in self.lists.iter_mut().skip(first).take(1 << free) {
            *list |= bit;
        }
    }

    /// A bit for each list that `text` may hold a word of; no list beyond the eighth has one.
    pub(super) fn possible(&self, text: &[u8]) -> u8 {
        let mut found = self.always;
        let mut inside = false;
        for (at, &byte) in text.iter().enumerate() {
            if !inside {
                let letters = text.get(at..).unwrap_or_default();
                found |= self.lists.get(key(letters)).copied().unwrap_or(u8::MAX);
            }
            inside = byte.is_ascii_alphanumeric() || byte == b'_';
        }
        found
    }
}

fn key(letters: &[u8]) -> usize {
    (0..LETTERS).fold(0, |key, at| {
        let letter = letters.get(at).copied().unwrap_or(0);
        key << BITS | usize::from(letter & ((1 << BITS) - 1))
    })
}

/// The letters that the words of an alternation begin with, one way each; `None` where one may begin with anything.
fn heads_of(words: &str, heads: &mut Vec<String>) -> Option<()> {
    for word in alternatives(words) {
        if let Some(group) = word.strip_prefix("(?:") {
            let end = closing(group)?;
            let (inside, behind) = (group.get(..end)?, group.get(end + 1..)?);
            if behind.starts_with(['?', '*', '{']) {
                return None;
            }
            heads_of(inside, heads)?;
            continue;
        }
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '\'' | '-');
        let end = word.find(|c| !is_plain(c)).unwrap_or(word.len());
        let (mut head, behind) = word.split_at(end);
        if behind.starts_with(['?', '*', '{']) {
            head = head.strip_suffix(|_| true).unwrap_or(head);
        }
        if head.is_empty() {
            return None;
        }
        heads.push(head.to_owned());
    }
    Some(())
}

/// What stands between the `|` of an alternation that are in no group.
fn alternatives(words: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut class) = (0_usize, false);
    words.split(move |c| {
        match c {
            '[' => class = true,
            ']' => class = false,
            '(' if !class => depth += 1,
            ')' if !class => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '|' && depth == 0 && !class
    })
}

/// Where the group ends that `inside` begins in.
fn closing(inside: &str) -> Option<usize> {
    let mut depth = 1_usize;
    for (at, c) in inside.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_how_words_begin() {
        let heads = |words: &str| {
            let mut heads = Vec::new();
            heads_of(words, &mut heads).map(|()| heads.join(","))
        };
        assert_eq!(
            heads("never|don't|off[- ]limits|ban(?:ned)?").as_deref(),
            Some("never,don't,off,ban")
        );
        assert_eq!(
            heads("(?:before|when) (?:you|i)|colou?r").as_deref(),
            Some("before,when,colo")
        );
        assert_eq!(heads("[ab]c|d"), None);
        assert_eq!(heads("(?:a|b)?c"), None);
        assert_eq!(heads("a?b"), None);
    }

    #[test]
    fn a_list_is_possible_where_a_word_begins_like_one_of_it() {
        let lists = Beginnings::of(["never|no", "must", "[xy]es"].into_iter());
        let possible = |text: &str| lists.possible(text.as_bytes()) & 0b011;
        assert_eq!(possible("you must"), 0b010);
        assert_eq!(possible("it is a no"), 0b001);
        assert_eq!(possible("a lemur, unnever"), 0);
        assert_eq!(lists.possible(b""), 0b100);
    }
}
