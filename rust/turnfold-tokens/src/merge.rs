//! Byte-pair merging of one pre-token that is not itself a token.
//!
//! The definition: start from single bytes, merge the neighbouring pair of lowest rank (the leftmost of equals) until
//! no pair merges. Done as written this costs the square of the length, so long pieces go through windows, which rest
//! on one fact:
//!
//! > A sequence of tokens is the encoding of its bytes if every two neighbours in it are the encoding of theirs.
//!
//! Suppose the encoding merged across some edge of the sequence, and take the first such merge. Until then nothing
//! crossed an edge, so inside the span of the two tokens at that edge went exactly the merges of the two encoded
//! alone, and the crossing merge would be theirs too. But alone they stay two tokens. So nothing ever crosses.
//!
//! Windows therefore overlap in one token: when a window that starts with the last kept token of the one before
//! gives that same token first, every neighbouring pair of the whole is a pair of some window's encoding.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::simd::{Isa, Level, Work, dispatch};
use crate::tables::{NO_RANK, Tables};

/// The most parts that are merged on the stack.
const STACK: usize = 64;
/// The first width tried for the windows of a long piece, in bytes: of ASCII, and of other text, where a part to start
/// from is mostly a character of up to three bytes.
const WINDOW: usize = STACK;
const WIDE_WINDOW: usize = 3 * STACK;
/// The number of parts from which a window is merged with a heap.
const HEAP: usize = 1024;

/// Memory that merging uses again from call to call.
#[derive(Default)]
pub(crate) struct Scratch {
    tokens: Vec<u32>,
    ranks: Vec<u32>,
    /// The tokens of the window before, not handed out yet.
    pending: Vec<u32>,
    /// How many bytes went into windows.
    #[cfg(test)]
    windowed: usize,
}

impl Tables {
    /// How many tokens the piece is. The piece must not be a token itself (a token is one, however it merges).
    #[inline(always)]
    pub(crate) fn count_merged(&self, piece: &[u8], scratch: &mut Scratch) -> usize {
        if let Some(count) = self.with_short(piece, Counted) {
            return count;
        }
        self.count_long(piece, scratch)
    }

    #[inline(never)]
    fn count_long(&self, piece: &[u8], scratch: &mut Scratch) -> usize {
        let mut count = 0;
        self.merge_long(piece, scratch, &mut |step| match step {
            Step::Restart => count = 0,
            Step::Tokens(tokens) => count += tokens.len(),
        });
        count
    }

    /// Appends the tokens of the piece. The piece must not be a token itself.
    pub(crate) fn encode_merged(&self, piece: &[u8], scratch: &mut Scratch, out: &mut Vec<u32>) {
        if self.with_short(piece, Listed(out)).is_some() {
            return;
        }
        let start = out.len();
        self.merge_long(piece, scratch, &mut |step| match step {
            Step::Restart => out.truncate(start),
            Step::Tokens(tokens) => out.extend_from_slice(tokens),
        });
    }

    /// Merges a piece of at most 64 parts on the stack; `None` if it has more.
    #[inline(always)]
    fn with_short<U: UseMerged>(&self, piece: &[u8], use_merged: U) -> Option<U::Result> {
        if piece.len() > WIDE_WINDOW {
            return None;
        }
        if piece.is_ascii() {
            return match piece.len() {
                0..=16 => Some(use_merged.apply(&self.merge_bytes::<16>(piece))),
                17..=32 => Some(use_merged.apply(&self.merge_bytes::<32>(piece))),
                33..=STACK => Some(use_merged.apply(&self.merge_bytes::<STACK>(piece))),
                _ => None,
            };
        }
        let mut parts = [0; STACK];
        let mut length = 0;
        self.characters.starts(&self.byte_ranks, piece, |part| {
            if let Some(slot) = parts.get_mut(length) {
                *slot = part;
            }
            length += 1;
        });
        let parts = parts.get(..length)?;
        Some(match length {
            0..=16 => use_merged.apply(&self.merge_parts::<16>(parts)),
            17..=32 => use_merged.apply(&self.merge_parts::<32>(parts)),
            _ => use_merged.apply(&self.merge_parts::<STACK>(parts)),
        })
    }

    /// Merges at most `N` bytes.
    #[inline(always)]
    fn merge_bytes<const N: usize>(&self, piece: &[u8]) -> Merged<N> {
        let mut tokens = [0; N];
        let mut pairs = [NO_PAIR; N];
        for (token, byte) in tokens.iter_mut().zip(piece) {
            *token = self.byte_ranks[usize::from(*byte)];
        }
        for ((pair, bytes), place) in pairs.iter_mut().zip(piece.windows(2)).zip(0..) {
            *pair = pair_key(self.merges.byte_rank(bytes[0], bytes[1]), place);
        }
        self.merge_on_stack(tokens, pairs, piece.len().min(N))
    }

    /// Merges at most `N` tokens.
    #[inline(always)]
    fn merge_parts<const N: usize>(&self, parts: &[u32]) -> Merged<N> {
        let mut tokens = [0; N];
        let mut pairs = [NO_PAIR; N];
        for (token, part) in tokens.iter_mut().zip(parts) {
            *token = *part;
        }
        for ((pair, parts), place) in pairs.iter_mut().zip(parts.windows(2)).zip(0..) {
            *pair = pair_key(self.merges.rank(parts[0], parts[1]), place);
        }
        self.merge_on_stack(tokens, pairs, parts.len().min(N))
    }

    /// Merges the first `length` of the tokens, `N` a power of two up to 64. Cost: the square of `N`, by a tiny
    /// constant.
    #[inline(always)]
    fn merge_on_stack<const N: usize>(&self, mut tokens: [u32; N], mut pairs: [i32; N], length: usize) -> Merged<N> {
        let mut alive = if length == 64 { u64::MAX } else { (1 << length) - 1 };
        loop {
            let least = pairs.iter().fold(NO_PAIR, |least, pair| least.min(*pair));
            if least == NO_PAIR {
                return Merged { tokens, alive };
            }
            let least = least.cast_unsigned();
            let (rank, left) = (least >> PLACE_BITS, least as usize & (N - 1));
            let above = u64::MAX << left << 1;
            let right = (alive & above).trailing_zeros() as usize & (N - 1);
            alive &= !(1 << right);
            tokens[left] = rank;
            pairs[right] = NO_PAIR;
            let after = alive & above;
            pairs[left] = if after == 0 {
                NO_PAIR
            } else {
                let next = tokens[after.trailing_zeros() as usize & (N - 1)];
                pair_key(self.merges.rank(rank, next), left)
            };
            let before = alive & ((1 << left) - 1);
            if before != 0 {
                let previous = 63 - before.leading_zeros() as usize;
                pairs[previous & (N - 1)] = pair_key(self.merges.rank(tokens[previous & (N - 1)], rank), previous);
            }
        }
    }

    /// Merges a piece of any length, in order, in steps. Cost: linear but for pieces built against the windows.
    fn merge_long(&self, piece: &[u8], scratch: &mut Scratch, emit: &mut impl FnMut(Step<'_>)) {
        let mut width = if piece.is_ascii() { WINDOW } else { WIDE_WINDOW };
        while !self.merge_in_windows(piece, width, scratch, emit) {
            emit(Step::Restart);
            width *= 4;
        }
    }

    /// Merges by windows of at least `least_width` bytes; `false` if they come to no agreement and must be wider.
    fn merge_in_windows(
        &self,
        piece: &[u8],
        mut least_width: usize,
        scratch: &mut Scratch,
        emit: &mut impl FnMut(Step<'_>),
    ) -> bool {
        let mut width = least_width;
        scratch.pending.clear();
        // The window whose tokens are pending: where it starts and the token it shares with the one before it.
        let (mut pending_start, mut pending_shared) = (0, None);
        let (mut start, mut shared): (usize, Option<u32>) = (0, None);
        loop {
            let rest = piece.get(start..).unwrap_or_default();
            let window = self.merge_window(rest, width, scratch);
            if shared.is_some() && scratch.tokens.first().copied() != shared {
                // The window before ended in what looked otherwise from here: take it again, wider.
                if start == pending_start {
                    return false;
                }
                scratch.pending.clear();
                (start, shared) = (pending_start, pending_shared);
                // For good, so that this happens a few times only.
                least_width = least_width.max(WIDE_WINDOW) * 2;
                width = width.max(least_width);
                continue;
            }
            emit(Step::Tokens(&scratch.pending));
            let tokens = scratch.tokens.get(usize::from(shared.is_some())..).unwrap_or_default();
            if window.len() == rest.len() {
                emit(Step::Tokens(tokens));
                return true;
            }
            // What lies near the window's end was merged without knowing what follows.
            let trusted = window.len() - window.len() / 4;
            let mut end = shared.map_or(0, |token| self.width(token));
            let mut kept = 0;
            for token in tokens {
                if end + self.width(*token) > trusted {
                    break;
                }
                end += self.width(*token);
                kept += 1;
            }
            scratch.pending.clear();
            scratch.pending.extend(tokens.iter().take(kept));
            let last = scratch.pending.last().copied();
            let next = last.map_or(start, |token| start + end - self.width(token));
            if next == start {
                // Nothing new: the next, wider window hands these tokens out.
                scratch.pending.clear();
                (pending_start, pending_shared) = (start, shared);
                width = width.max(WIDE_WINDOW) * 2;
                continue;
            }
            if tokens.len() > window.len() / 8 {
                width = least_width;
            } else if next - start < window.len() / 2 && width < HEAP / 2 {
                width = width.max(WIDE_WINDOW) * 2;
            }
            (pending_start, pending_shared) = (start, shared);
            (start, shared) = (next, last);
        }
    }

    /// How many bytes a token has.
    #[inline]
    fn width(&self, token: u32) -> usize {
        self.vocabulary.token(token).map_or(1, <[u8]>::len)
    }

    /// See [`Tables::merge_window_here`], compiled for what the machine has.
    fn merge_window<'p>(&self, rest: &'p [u8], width: usize, scratch: &mut Scratch) -> &'p [u8] {
        let tables = self;
        dispatch(
            Level::detect(),
            MergeWindow {
                tables,
                rest,
                width,
                scratch,
            },
        )
    }

    /// Merges a window at the start of `rest` into `scratch.tokens`: as much as the stack holds, unless it was widened.
    #[inline(always)]
    fn merge_window_here<'p>(&self, rest: &'p [u8], width: usize, scratch: &mut Scratch) -> &'p [u8] {
        let mut window = rest.get(..width).unwrap_or(rest);
        #[cfg(test)]
        {
            scratch.windowed += window.len();
        }
        scratch.tokens.clear();
        if self.with_short(window, Listed(&mut scratch.tokens)).is_some() {
            return window;
        }
        if width <= WIDE_WINDOW && window.len() > WINDOW {
            window = window.get(..WINDOW).unwrap_or(window);
            if self.with_short(window, Listed(&mut scratch.tokens)).is_some() {
                return window;
            }
        }
        let Scratch { tokens, ranks, .. } = scratch;
        ranks.clear();
        if window.is_ascii() {
            tokens.extend(window.iter().map(|byte| self.byte_ranks[usize::from(*byte)]));
            ranks.extend(window.windows(2).map(|pair| self.merges.byte_rank(pair[0], pair[1])));
        } else {
            self.characters
                .starts(&self.byte_ranks, window, |part| tokens.push(part));
            ranks.extend(tokens.windows(2).map(|pair| self.merges.rank(pair[0], pair[1])));
        }
        ranks.push(NO_RANK);
        if tokens.len() < HEAP {
            self.merge_in_passes(tokens, ranks);
        } else {
            self.merge_with_heap(tokens, ranks);
        }
        window
    }

    /// Each pass makes every merge of the lowest rank, left to right: a merge makes only pairs of higher rank, as a
    /// token outranks its parts. Few passes on monotonous text.
    #[inline(always)]
    fn merge_in_passes(&self, tokens: &mut Vec<u32>, ranks: &mut Vec<u32>) {
        loop {
            let best = ranks.iter().copied().min().unwrap_or(NO_RANK);
            if best == NO_RANK {
                return;
            }
            let first = ranks.iter().position(|rank| *rank == best).unwrap_or(0);
            let (mut read, mut write) = (first, first);
            while let (Some(token), Some(rank)) = (tokens.get(read).copied(), ranks.get(read).copied()) {
                let merged = rank == best;
                let kept = if merged { best } else { token };
                if let Some(slot) = tokens.get_mut(write) {
                    *slot = kept;
                }
                // The pair to the right is looked up when its right half is known.
                if let Some(slot) = ranks.get_mut(write) {
                    *slot = if merged { NO_RANK - 1 } else { rank };
                }
                if let Some(left) = write.checked_sub(1)
                    && let (Some(before), Some(slot)) = (tokens.get(left).copied(), ranks.get_mut(left))
                    && (merged || *slot == NO_RANK - 1)
                {
                    *slot = self.merges.rank(before, kept);
                }
                read += if merged { 2 } else { 1 };
                write += 1;
            }
            tokens.truncate(write);
            ranks.truncate(write);
            if let Some(last) = ranks.last_mut() {
                *last = NO_RANK;
            }
        }
    }

    /// Cost: n log n, whatever the bytes.
    fn merge_with_heap(&self, tokens: &mut Vec<u32>, ranks: &mut [u32]) {
        let length = tokens.len();
        let mut before: Vec<u32> = (0..length as u32).map(|place| place.wrapping_sub(1)).collect();
        let mut after: Vec<u32> = (1..=length as u32).collect();
        let candidates = ranks.iter().zip(0_u32..).filter(|(rank, _)| **rank != NO_RANK);
        let mut heap: BinaryHeap<Reverse<(u32, u32)>> =
            candidates.map(|(rank, place)| Reverse((*rank, place))).collect();
        while let Some(Reverse((rank, place))) = heap.pop() {
            let left = place as usize;
            if ranks.get(left) != Some(&rank) {
                continue;
            }
            // A token merged away is marked by the rank of no pair and the number of no token.
            let right = after[left] as usize;
            tokens[left] = rank;
            tokens[right] = NO_RANK;
            ranks[right] = NO_RANK;
            let next = after[right] as usize;
            after[left] = next as u32;
            ranks[left] = NO_RANK;
            if next < length {
                before[next] = place;
                ranks[left] = self.merges.rank(rank, tokens[next]);
                if ranks[left] != NO_RANK {
                    heap.push(Reverse((ranks[left], place)));
                }
            }
            if let Some(previous) = ranks.get_mut(before[left] as usize) {
                *previous = self.merges.rank(tokens[before[left] as usize], rank);
                if *previous != NO_RANK {
                    heap.push(Reverse((*previous, before[left])));
                }
            }
        }
        tokens.retain(|token| *token != NO_RANK);
    }
}

struct MergeWindow<'t, 'p, 's> {
    tables: &'t Tables,
    rest: &'p [u8],
    width: usize,
    scratch: &'s mut Scratch,
}

impl<'p> Work for MergeWindow<'_, 'p, '_> {
    type Output = &'p [u8];
    #[inline(always)]
    fn run<I: Isa>(self) -> &'p [u8] {
        self.tables.merge_window_here(self.rest, self.width, self.scratch)
    }
}

/// A pair that does not merge.
const NO_PAIR: i32 = i32::MAX;
const PLACE_BITS: u32 = 6;

/// One number for a pair: its rank above its place, so that the least is the leftmost of lowest rank.
#[inline(always)]
fn pair_key(rank: u32, place: usize) -> i32 {
    if rank == NO_RANK {
        NO_PAIR
    } else {
        (rank << PLACE_BITS | place as u32).cast_signed()
    }
}

/// What is wanted of the tokens of a short piece.
trait UseMerged {
    type Result;
    fn apply<const N: usize>(self, merged: &Merged<N>) -> Self::Result;
}

/// How many there are.
struct Counted;

impl UseMerged for Counted {
    type Result = usize;
    #[inline]
    fn apply<const N: usize>(self, merged: &Merged<N>) -> usize {
        merged.alive.count_ones() as usize
    }
}

/// All of them, appended.
struct Listed<'a>(&'a mut Vec<u32>);

impl UseMerged for Listed<'_> {
    type Result = ();
    #[inline]
    fn apply<const N: usize>(self, merged: &Merged<N>) {
        let places = merged.tokens.iter().zip(0_u32..);
        self.0.extend(
            places
                .filter(|(_, place)| merged.alive >> place & 1 == 1)
                .map(|(token, _)| *token),
        );
    }
}

/// The tokens of a short piece: those of the places that are alive.
struct Merged<const N: usize> {
    tokens: [u32; N],
    alive: u64,
}

/// What merging a long piece hands out.
enum Step<'a> {
    /// The next tokens.
    Tokens(&'a [u32]),
    /// All tokens handed out for this piece so far are void.
    Restart,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encoding;
    use proptest::prelude::*;

    /// The tokens of a piece by the heap alone, from bytes.
    fn by_heap(tables: &Tables, piece: &[u8]) -> Vec<u32> {
        let mut tokens: Vec<u32> = piece.iter().map(|byte| tables.byte_ranks[usize::from(*byte)]).collect();
        let mut ranks: Vec<u32> = piece
            .windows(2)
            .map(|pair| tables.merges.byte_rank(pair[0], pair[1]))
            .collect();
        ranks.push(NO_RANK);
        tables.merge_with_heap(&mut tokens, &mut ranks);
        tokens
    }

    fn merged(tables: &Tables, piece: &[u8]) -> Vec<u32> {
        let mut tokens = Vec::new();
        tables.encode_merged(piece, &mut Scratch::default(), &mut tokens);
        tokens
    }

    proptest! {
        #[test]
        fn windows_and_characters_change_nothing(
            runs in proptest::collection::vec((prop_oneof![
                "[a-z]{1,12}", "[=*_.#-]{1,3}", "[ \t\n]{1,3}", "[А-Яа-я]{1,8}", "[一-龥]{1,8}", "[가-힣]{1,8}", "[ก-๎]{1,4}",
                "[☀-➿]{1,2}", "[👀-🙏]{1,2}", "\\PC{1,6}",
            ], 1..40_usize), 1..12),
            cut in 0..4_usize,
        ) {
            let text: String = runs.iter().map(|(part, times)| part.repeat(*times)).collect();
            // Windows start and end inside characters, so pieces may too.
            let piece = &text.as_bytes()[cut.min(text.len())..];
            for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
                let tables = encoding.tokenizer().as_published().unwrap().tables();
                let tokens = by_heap(tables, piece);
                prop_assert_eq!(merged(tables, piece), &tokens[..]);
                prop_assert_eq!(tables.count_merged(piece, &mut Scratch::default()), tokens.len());
            }
        }
    }

    #[test]
    fn twice_the_bytes_are_twice_the_work() {
        let mut state = 1_u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let size = 1 << 16;
        let mut of = |alphabet: &str| -> String {
            let characters: Vec<char> = alphabet.chars().collect();
            (0..size)
                .map(|_| characters[random(characters.len() as u64) as usize])
                .collect()
        };
        let texts = [
            of("abcdefghijklmnopqrstuvwxyz"),
            of("ABab"),
            of("=-"),
            of(" \t\n"),
            of("的一是在不了有和人龘靐齉"),
            of("=a中"),
            "a".repeat(size),
            "=".repeat(size),
            " ".repeat(size),
            "\n".repeat(size),
            "=-".repeat(size / 2),
            "\u{301}".repeat(size / 2),
            format!("{}{}", "=".repeat(900), "qxz").repeat(size / 903),
        ];
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            let tables = encoding.tokenizer().as_published().unwrap().tables();
            for text in &texts {
                let work = |piece: &[u8]| {
                    let mut scratch = Scratch::default();
                    tables.count_merged(piece, &mut scratch);
                    scratch.windowed
                };
                let (half, whole) = (work(&text.as_bytes()[..text.len() / 2]), work(text.as_bytes()));
                assert!(
                    whole <= 6 * text.len(),
                    "{whole} for {} of {:?}",
                    text.len(),
                    text.chars().next()
                );
                assert!(
                    2 * whole <= 5 * half,
                    "{half}, then {whole} of {:?}",
                    text.chars().next()
                );
            }
        }
    }
}
