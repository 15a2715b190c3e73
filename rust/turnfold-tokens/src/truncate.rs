//! Cutting a text to a number of tokens.

use crate::classes::Class;
use crate::prefix_sums::PrefixSum;
use crate::thread_memory::{self, ThreadMemory};
use crate::tokenizer::PublishedTokenizer;
use crate::vocabulary::LONGEST_TOKEN;

/// Which part of a text [`crate::Tokenizer::truncate`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The beginning.
    Head,
    /// The end.
    Tail,
    /// The beginning with half of the tokens (the larger half), the end with the rest.
    Both,
}

/// What is kept of a text: `text[..head_bytes]` and `text[tail_start..]`, both on character edges,
/// `head_bytes <= tail_start`. Equal ends mean that nothing is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// How many bytes of the beginning are kept.
    pub head_bytes: usize,
    /// Where the kept end starts; the length of the text if none of it is kept.
    pub tail_start: usize,
}

/// Pre-tokens up to this many bytes are tried at each character edge.
const SHORT: usize = 256;
/// Parts of long pre-tokens up to this many bytes are merged again as a whole if need be.
const WHOLE: usize = 4096;
/// How many tokens beside a cut in a long pre-token are merged again to try a character edge.
const CONTEXT: usize = 16;

impl PublishedTokenizer {
    /// The end of the longest beginning of at most `max_tokens`, if the text is more.
    pub(crate) fn head(&self, text: &str, max_tokens: usize) -> usize {
        // Whatever follows, the pre-tokens up to an edge behind a character that is no white space stay the same.
        let mut settled = 0;
        let mut settled_tokens = 0;
        let mut count = 0;
        let mut start = 0;
        let mut limit = text.len();
        // The pre-token in which the tokens run out, and how many of them it may have.
        let mut long = (0..text.len(), max_tokens);
        thread_memory::with(|memory| {
            for end in self.piece_ends(text.as_bytes(), 0) {
                let before = count;
                count += self.count_piece(text.as_bytes(), start, end, memory);
                if before <= max_tokens && count > max_tokens {
                    long = (start..end, max_tokens - before);
                }
                start = end;
                if !ends_blank(text, end) {
                    if count > max_tokens {
                        limit = end;
                        break;
                    }
                    settled = end;
                    settled_tokens = count;
                }
            }
        });
        let rest = text.get(settled..limit).unwrap_or_default();
        let budget = max_tokens.saturating_sub(settled_tokens);
        if rest.len() <= SHORT {
            return settled + longest(rest.len(), |cut| fits(self, rest.get(..rest.len() - cut), budget));
        }
        let (long, left) = long;
        let piece = text.as_bytes().get(long.clone()).unwrap_or_default();
        let mut cut = long.start.saturating_sub(settled) + self.cut_in_long(piece, left, Side::Head);
        loop {
            cut = (0..=cut).rev().find(|cut| rest.is_char_boundary(*cut)).unwrap_or(0);
            if cut == 0 || fits(self, rest.get(..cut), budget) == Some(true) {
                return settled + cut;
            }
            cut -= 1;
        }
    }

    /// The start of the longest end of at most `max_tokens`, if the text is more.
    pub(crate) fn tail(&self, text: &str, max_tokens: usize) -> usize {
        let bytes = text.as_bytes();
        if max_tokens == 0 {
            return bytes.len();
        }
        let edges = Edges::new(self, text);
        let surplus = edges.total.saturating_sub(max_tokens);
        let (piece, next_tokens) = edges.piece_reaching(surplus);
        let budget = max_tokens.saturating_sub(edges.total - next_tokens);
        let rest = text.get(piece.clone()).unwrap_or_default();
        if rest.len() <= SHORT {
            return (piece.start..piece.end)
                .find(|start| text.is_char_boundary(*start) && edges.count_from(*start, &piece) <= max_tokens)
                .unwrap_or(piece.end);
        }
        let mut start = piece.end - self.cut_in_long(rest.as_bytes(), budget, Side::Tail);
        loop {
            start = (start..=piece.end)
                .find(|start| text.is_char_boundary(*start))
                .unwrap_or(piece.end);
            if start >= piece.end || edges.count_from(start, &piece) <= max_tokens {
                return start;
            }
            start += 1;
        }
    }

    /// How many bytes of one side of a long pre-token are at most `budget` tokens, less than it has in all.
    fn cut_in_long(&self, piece: &[u8], budget: usize, side: Side) -> usize {
        let tables = self.tables();
        let mut ids = Vec::new();
        thread_memory::with(|ThreadMemory { scratch, .. }| {
            tables.encode_merged(piece, scratch, &mut ids);
            if side == Side::Tail {
                ids.reverse();
            }
            let width = |id: &u32| tables.vocabulary.token(*id).map_or(0, <[u8]>::len);
            let known = budget.saturating_sub(CONTEXT);
            let base: usize = ids.iter().take(known).map(width).sum();
            let mut best = ids.iter().take(budget).map(width).sum::<usize>();
            let mut tried = best;
            // A part ends in a token of at most 128 bytes before which stands a part of one token fewer: when 128
            // parts in a row are too many tokens, so are all longer ones.
            while tried < piece.len() && tried < best + LONGEST_TOKEN {
                tried += 1;
                let part = |base: usize| match side {
                    Side::Head => piece.get(base..tried).unwrap_or_default(),
                    Side::Tail => piece.get(piece.len() - tried..piece.len() - base).unwrap_or_default(),
                };
                let mut merged = Vec::new();
                tables.encode_merged(part(base), scratch, &mut merged);
                let joint = if side == Side::Head {
                    merged.first()
                } else {
                    merged.last()
                };
                // The window must agree with the known tokens in the one they share; see `merge`.
                let fits = if known == 0 || joint == ids.get(known) {
                    merged.len() <= budget - known
                } else {
                    tried <= WHOLE && tables.count_merged(part(0), scratch) <= budget
                };
                if fits {
                    best = tried;
                }
            }
            best
        })
    }
}

/// A beginning with the larger half of the tokens and an end with the rest, which fit when joined: the end is shorter
/// by as many tokens as joining makes. `head` and `tail` say where a part of so many tokens ends and starts.
pub(crate) fn joined_ends(
    text: &str,
    max_tokens: usize,
    count: &dyn Fn(&str) -> usize,
    head: &dyn Fn(usize) -> usize,
    tail: &dyn Fn(usize) -> usize,
) -> Truncation {
    let head_bytes = head(max_tokens.div_ceil(2));
    let head = text.get(..head_bytes).unwrap_or_default();
    let mut share = max_tokens.saturating_sub(count(head));
    while share > 0 {
        let tail_start = tail(share);
        let end = text.get(tail_start..).unwrap_or_default();
        let excess = count(&[head, end].concat())
            .max(count(head) + count(end))
            .saturating_sub(max_tokens);
        if excess == 0 && tail_start >= head_bytes {
            return Truncation { head_bytes, tail_start };
        }
        share = share.saturating_sub(excess.max(1));
    }
    Truncation {
        head_bytes,
        tail_start: text.len(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Head,
    Tail,
}

/// The first length from `longest` down for which `fits` says true; `None` from it is no candidate.
fn longest(length: usize, fits: impl Fn(usize) -> Option<bool>) -> usize {
    (0..=length)
        .find(|cut| fits(*cut) == Some(true))
        .map_or(0, |cut| length - cut)
}

/// Whether a part of a text is at most `budget` tokens; `None` if it is not on character edges.
fn fits(tokenizer: &PublishedTokenizer, part: Option<&str>, budget: usize) -> Option<bool> {
    part.map(|part| tokenizer.count_up_to(part, budget).is_some())
}

/// Whether the last character of `text[..end]` is white space.
fn ends_blank(text: &str, end: usize) -> bool {
    let last = text.get(..end).and_then(|head| head.chars().next_back());
    last.is_some_and(|last| Class::of(u32::from(last)).is_space())
}

/// How many bytes at least lie between two remembered edges.
const STRIDE: usize = 1024;

/// The token count of a text with some of its pre-token edges.
struct Edges<'t> {
    tokenizer: &'t PublishedTokenizer,
    text: &'t [u8],
    /// Some edges, [`STRIDE`] bytes or more apart.
    known: Vec<PrefixSum>,
    total: usize,
}

impl<'t> Edges<'t> {
    fn new(tokenizer: &'t PublishedTokenizer, text: &'t str) -> Self {
        let known = tokenizer.prefix_sums(text, STRIDE);
        let total = known.last().map_or(0, |sum| sum.tokens);
        Self {
            tokenizer,
            text: text.as_bytes(),
            known,
            total,
        }
    }

    /// The last of the first `count` edges.
    fn last_of(&self, count: usize) -> (usize, usize) {
        let sum = count.checked_sub(1).and_then(|i| self.known.get(i));
        sum.map_or((0, 0), |sum| (sum.bytes, sum.tokens))
    }

    /// The pre-token in which the count reaches `tokens` (at least 1), and the count at its end.
    fn piece_reaching(&self, tokens: usize) -> (std::ops::Range<usize>, usize) {
        let (mut start, mut count) = self.last_of(self.known.partition_point(|sum| sum.tokens < tokens));
        thread_memory::with(|memory| {
            for end in self.tokenizer.piece_ends(self.text, start) {
                count += self.tokenizer.count_piece(self.text, start, end, memory);
                if count >= tokens {
                    return (start..end, count);
                }
                start = end;
            }
            (self.text.len()..self.text.len(), self.total)
        })
    }

    /// How many tokens the text from byte `from`, inside `piece`, is when counted alone.
    fn count_from(&self, from: usize, piece: &std::ops::Range<usize>) -> usize {
        let text = self.text;
        let rest = text.get(from..).unwrap_or_default();
        let (mut edge, mut edge_tokens) = self.last_of(self.known.partition_point(|sum| sum.bytes <= piece.start));
        let mut edges = self.tokenizer.piece_ends(text, edge);
        let mut count = 0;
        let mut start = 0;
        thread_memory::with(|memory| {
            // Counts on until an edge of the cut text is one of the whole text: from there on they are the same.
            for end in self.tokenizer.piece_ends(rest, 0) {
                count += self.tokenizer.count_piece(rest, start, end, memory);
                start = end;
                while edge < from + end
                    && let Some(next) = edges.next()
                {
                    edge_tokens += self.tokenizer.count_piece(text, edge, next, memory);
                    edge = next;
                }
                if edge == from + end {
                    return count + self.total - edge_tokens;
                }
            }
            count
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoding, Tokenizer};

    fn samples() -> Vec<String> {
        let mixed = "fn main() {\n    println!(\"Grüße, 世界 👩‍👩‍👧 don't  \\n\");\r\n}\n\n\t// 1234567 = \u{3000}x\n";
        vec![
            String::new(),
            "a".into(),
            "é".into(),
            "👩‍👩‍👧".into(),
            mixed.into(),
            "hello world ".repeat(40),
            "1234567890".repeat(20),
            "a".repeat(700),
            "=".repeat(900),
            " ".repeat(600),
            format!("{}x", " ".repeat(600)),
            "\n \t".repeat(200),
            "世界".repeat(150),
            "qzxjkvbpwm".repeat(60),
            format!("{mixed}{}{mixed}", "Zq9/x".repeat(90)),
        ]
    }

    /// The longest beginning by trying every one.
    fn slow_head(tokenizer: &Tokenizer, text: &str, max_tokens: usize) -> usize {
        let edges = (0..=text.len()).rev().filter(|edge| text.is_char_boundary(*edge));
        edges
            .into_iter()
            .find(|edge| tokenizer.count(&text[..*edge]) <= max_tokens)
            .unwrap()
    }

    fn slow_tail(tokenizer: &Tokenizer, text: &str, max_tokens: usize) -> usize {
        let edges = (0..=text.len()).filter(|edge| text.is_char_boundary(*edge));
        edges
            .into_iter()
            .find(|edge| tokenizer.count(&text[*edge..]) <= max_tokens)
            .unwrap()
    }

    #[test]
    fn each_side_is_the_longest_that_fits() {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            let tokenizer = encoding.tokenizer();
            for text in samples() {
                let total = tokenizer.count(&text);
                for max in (0..total + 2).step_by(1 + total / 9) {
                    let head = tokenizer.truncate(&text, max, Keep::Head);
                    let tail = tokenizer.truncate(&text, max, Keep::Tail);
                    assert_eq!(
                        head.head_bytes,
                        slow_head(tokenizer, &text, max),
                        "head {max} of {text:?}"
                    );
                    assert_eq!(head.tail_start, text.len());
                    if max >= total {
                        assert_eq!(tail, head);
                    } else {
                        assert_eq!(
                            tail.tail_start,
                            slow_tail(tokenizer, &text, max),
                            "tail {max} of {text:?}"
                        );
                        assert_eq!(tail.head_bytes, 0);
                    }
                }
            }
        }
    }

    #[test]
    fn both_sides_fit_apart_and_joined() {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            let tokenizer = encoding.tokenizer();
            for text in samples() {
                let total = tokenizer.count(&text);
                for max in (0..total).step_by(1 + total / 9) {
                    let cut = tokenizer.truncate(&text, max, Keep::Both);
                    let (head, tail) = (&text[..cut.head_bytes], &text[cut.tail_start..]);
                    assert!(tokenizer.count(head) + tokenizer.count(tail) <= max);
                    assert!(tokenizer.count(&[head, tail].concat()) <= max);
                    assert!(cut.head_bytes < cut.tail_start);
                }
            }
        }
    }
}
