//! Where a text may be cut so that the counts of its parts add up.
//!
//! > Let a text be cut at an edge between two of its pre-tokens. If the character before the edge is no white space, or
//! > is a line feed or a carriage return, the pre-tokens of the two parts are those of the whole.
//!
//! The right part: a pattern is matched from one edge on, and neither pattern looks behind, so from the edge on all goes
//! as it did.
//!
//! The left part: take a pre-token from `s` to `t` of the whole, with `t` up to the cut `e`, and match from `s` again with
//! the text ending at `e`. A pattern tries ways in a fixed order and takes the first that holds. A way that reads no
//! character from `e` on goes as before, except for what it asserts at `e`: that no other character than white space
//! follows (`\s+(?!\S)`), or that the text ends (`\s++$`). A way that read on past `e` was not the one taken, because
//! that ended at `t`, and there is no such way now. So the way taken before is still there, and only a way with
//! an assertion at `e` can have come before it. It runs from `s` to `e` over white space alone. Then the
//! character before `e` is white space, so by the condition it is a newline, and the one way that comes from `s` over
//! white space to a newline (`\s*[\r\n]+`, `\s*[\r\n]`) went in the whole to the last newline of the run, where
//! the pre-token ended: at `e`, for it ended neither before, as the newline before `e` would be left, nor behind, as `e`
//! is an edge. The asserting ways give the same pre-token, from `s` to `e`.
//!
//! Other edges do not do: the pattern of `cl100k_base` makes `\n`, ` ` and ` b` of `\n  b`, but of `\n ` alone one pre-token.

use crate::classes::{Class, class_at};
use crate::thread_memory;
use crate::tokenizer::PublishedTokenizer;

/// A place in a text and the tokens before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefixSum {
    /// How many bytes stand before the place.
    pub bytes: usize,
    /// How many tokens they are, counted alone.
    pub tokens: usize,
}

impl PublishedTokenizer {
    /// See [`crate::Tokenizer::prefix_sums`].
    pub(crate) fn prefix_sums(&self, text: &str, every_bytes: usize) -> Vec<PrefixSum> {
        let bytes = text.as_bytes();
        let mut sums = vec![PrefixSum::default()];
        let mut due = every_bytes.max(1);
        let mut tokens = 0;
        let mut start = 0;
        thread_memory::with(|memory| {
            for end in self.piece_ends(bytes, 0) {
                tokens += self.count_piece(bytes, start, end, memory);
                start = end;
                if end >= due && adds_up(bytes, end) && end < bytes.len() {
                    sums.push(PrefixSum { bytes: end, tokens });
                    due = end.saturating_add(every_bytes.max(1));
                }
            }
        });
        if !bytes.is_empty() {
            sums.push(PrefixSum {
                bytes: bytes.len(),
                tokens,
            });
        }
        sums
    }
}

/// Whether counts add up when a text is cut at `edge`, an edge between its pre-tokens.
#[inline]
fn adds_up(text: &[u8], edge: usize) -> bool {
    let before = text.get(..edge).unwrap_or_default();
    let inner = before.iter().rev().take_while(|byte| **byte & 0xC0 == 0x80).count();
    let Some(last) = before.len().checked_sub(inner + 1) else {
        return true;
    };
    class_at(before, last).is_none_or(|(class, _)| class != Class::Space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encoding;
    use crate::naive::Naive;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static TWINS: LazyLock<[(Encoding, Naive); 2]> =
        LazyLock::new(|| [Encoding::O200kBase, Encoding::Cl100kBase].map(|e| (e, Naive::new(e))));

    fn texts() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[a-zA-Z]{1,6}",
            "[ \\t]{1,4}",
            "[ \\r\\n]{1,4}",
            "\\s{1,3}",
            "[.,/'\\-]{1,4}",
            "[0-9٣]{1,5}",
            "[中文あé\u{301}\u{94D}]{1,4}",
            "'(s|RE|ll|ſ)",
            "\\PC{1,4}",
        ];
        proptest::collection::vec(part, 1..16).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

        #[test]
        fn the_parts_are_the_whole_for_the_textbook_twin(text in texts()) {
            for (_, twin) in &*TWINS {
                let pieces = twin.pieces(&text);
                let mut edge = 0;
                for piece in &pieces {
                    edge += piece.len();
                    if adds_up(text.as_bytes(), edge) {
                        let (left, right) = text.split_at(edge);
                        let parts = [twin.pieces(left), twin.pieces(right)].concat();
                        prop_assert_eq!(&parts, &pieces, "cut at {}", edge);
                    }
                }
            }
        }

        #[test]
        fn sums_are_those_of_the_parts(text in texts(), every in 0..40_usize) {
            for (encoding, twin) in &*TWINS {
                let sums = encoding.tokenizer().prefix_sums(&text, every);
                prop_assert_eq!(sums[0], PrefixSum::default());
                prop_assert_eq!(sums.last().unwrap().bytes, text.len());
                for (i, pair) in sums.windows(2).enumerate() {
                    let part = &text[pair[0].bytes..pair[1].bytes];
                    prop_assert_eq!(twin.encode(part).len(), pair[1].tokens - pair[0].tokens);
                    prop_assert!(part.len() >= every.max(1) || i + 2 == sums.len());
                }
            }
        }
    }

    #[test]
    fn behind_white_space_pre_tokens_need_not_add_up() {
        let (encoding, twin) = &TWINS[1];
        assert!(!adds_up(b"\n  b", 2));
        assert_eq!(twin.pieces("\n  b"), ["\n", " ", " b"]);
        assert_eq!(twin.pieces("\n "), ["\n "]);
        assert!(adds_up(b"a\n\n  b", 3));
        assert!(adds_up("中 ".as_bytes(), 3));
        assert!(!adds_up("中\u{3000}".as_bytes(), 6));
        assert!(adds_up(b"", 0));
        assert_eq!(encoding.tokenizer().prefix_sums("", 1), [PrefixSum::default()]);
    }
}
