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

use crate::tables::{NO_RANK, Tables};

/// Pieces up to this many bytes are merged on the stack.
const SMALL: usize = 32;
/// The first width tried for the windows of a long piece, in bytes.
const WINDOW: usize = 96;
/// The width up to which windows are merged on the stack.
const STACK: usize = 128;
/// The width from which a window is merged with a heap.
const HEAP: usize = 1024;

/// Memory that merging uses again from call to call.
#[derive(Default)]
pub(crate) struct Scratch {
    tokens: Vec<u32>,
    ranks: Vec<u32>,
}

impl Tables {
    /// How many tokens the piece is. The piece must not be a token itself (a token is one, however it merges).
    pub(crate) fn count_merged(&self, piece: &[u8], scratch: &mut Scratch) -> usize {
        if piece.len() <= SMALL {
            return self.merge_on_stack::<SMALL>(piece).1;
        }
        let mut count = 0;
        self.merge_long(piece, scratch, &mut |step| match step {
            Step::Restart => count = 0,
            Step::Tokens(tokens) => count += tokens.len(),
        });
        count
    }

    /// Appends the tokens of the piece. The piece must not be a token itself.
    pub(crate) fn encode_merged(&self, piece: &[u8], scratch: &mut Scratch, out: &mut Vec<u32>) {
        if piece.len() <= SMALL {
            let (tokens, count) = self.merge_on_stack::<SMALL>(piece);
            out.extend(tokens.iter().take(count));
            return;
        }
        let start = out.len();
        self.merge_long(piece, scratch, &mut |step| match step {
            Step::Restart => out.truncate(start),
            Step::Tokens(tokens) => out.extend_from_slice(tokens),
        });
    }

    /// Merges at most `N` bytes: the tokens and how many of them count. Cost: the square of the length, tiny constant.
    #[inline]
    fn merge_on_stack<const N: usize>(&self, piece: &[u8]) -> ([u32; N], usize) {
        let mut tokens = [0; N];
        let mut ranks = [NO_RANK; N];
        let mut length = piece.len().min(N);
        for (token, byte) in tokens.iter_mut().zip(piece) {
            *token = self.byte_ranks[usize::from(*byte)];
        }
        for (rank, pair) in ranks.iter_mut().zip(piece.windows(2)) {
            *rank = self.merges.byte_rank(pair[0], pair[1]);
        }
        loop {
            let mut best = NO_RANK;
            let mut at = 0;
            for (place, rank) in ranks.iter().enumerate().take(length.saturating_sub(1)) {
                if *rank < best {
                    best = *rank;
                    at = place;
                }
            }
            if best == NO_RANK {
                return (tokens, length);
            }
            tokens[at] = best;
            tokens.copy_within(at + 2..length, at + 1);
            ranks.copy_within(at + 2..length, at + 1);
            length -= 1;
            ranks[length - 1] = NO_RANK;
            if at + 1 < length {
                ranks[at] = self.merges.rank(best, tokens[at + 1]);
            }
            if at > 0 {
                ranks[at - 1] = self.merges.rank(tokens[at - 1], best);
            }
        }
    }

    /// Merges a piece of any length, in order, in steps. Cost: linear but for pieces built against the windows.
    fn merge_long(&self, piece: &[u8], scratch: &mut Scratch, emit: &mut impl FnMut(Step<'_>)) {
        let mut width = WINDOW;
        while !self.merge_in_windows(piece, width, scratch, emit) {
            emit(Step::Restart);
            width *= 4;
        }
    }

    /// Merges by windows of at least `width` bytes; `false` if two of them disagreed, so that wider ones are needed.
    fn merge_in_windows(
        &self,
        piece: &[u8],
        mut width: usize,
        scratch: &mut Scratch,
        emit: &mut impl FnMut(Step<'_>),
    ) -> bool {
        let mut start = 0;
        let mut carried: Option<u32> = None;
        loop {
            let rest = piece.get(start..).unwrap_or_default();
            let window = rest.get(..width).unwrap_or(rest);
            self.merge_window(window, scratch);
            let tokens = scratch.tokens.as_slice();
            if carried.is_some() && tokens.first().copied() != carried {
                return false;
            }
            let known = usize::from(carried.is_some());
            if window.len() == rest.len() {
                emit(Step::Tokens(tokens.get(known..).unwrap_or_default()));
                return true;
            }
            // What lies near the window's end was merged without knowing what follows.
            let trusted = window.len() - window.len() / 4;
            let mut end = 0;
            let mut keep = 0_usize;
            for token in tokens {
                let next = end + self.vocabulary.token(*token).map_or(1, <[u8]>::len);
                if next > trusted {
                    break;
                }
                end = next;
                keep += 1;
            }
            let Some(last) = keep.checked_sub(1).filter(|last| *last > 0) else {
                width *= 2;
                continue;
            };
            emit(Step::Tokens(tokens.get(known..=last).unwrap_or_default()));
            carried = tokens.get(last).copied();
            let advance = end
                - carried
                    .and_then(|token| self.vocabulary.token(token))
                    .map_or(0, <[u8]>::len);
            start += advance;
            if advance < width / 2 && width < HEAP / 2 {
                width *= 2;
            }
        }
    }

    /// Merges a window into `scratch.tokens`.
    fn merge_window(&self, window: &[u8], scratch: &mut Scratch) {
        if window.len() <= STACK {
            let (tokens, count) = self.merge_on_stack::<STACK>(window);
            scratch.tokens.clear();
            scratch.tokens.extend(tokens.iter().take(count));
        } else if window.len() < HEAP {
            self.merge_in_passes(window, scratch);
        } else {
            self.merge_with_heap(window, scratch);
        }
    }

    fn start(&self, window: &[u8], scratch: &mut Scratch) {
        scratch.tokens.clear();
        scratch
            .tokens
            .extend(window.iter().map(|byte| self.byte_ranks[usize::from(*byte)]));
        scratch.ranks.clear();
        scratch
            .ranks
            .extend(window.windows(2).map(|pair| self.merges.byte_rank(pair[0], pair[1])));
        scratch.ranks.push(NO_RANK);
    }

    /// Each pass makes every merge of the lowest rank, left to right: a merge makes only pairs of higher rank, as a
    /// token outranks its parts. Few passes on monotonous text.
    fn merge_in_passes(&self, window: &[u8], scratch: &mut Scratch) {
        self.start(window, scratch);
        let Scratch { tokens, ranks } = scratch;
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
    fn merge_with_heap(&self, window: &[u8], scratch: &mut Scratch) {
        self.start(window, scratch);
        let Scratch { tokens, ranks } = scratch;
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

/// What merging a long piece hands out.
enum Step<'a> {
    /// The next tokens.
    Tokens(&'a [u32]),
    /// All tokens handed out for this piece so far are void.
    Restart,
}
