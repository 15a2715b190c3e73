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

/// The most bytes that are merged on the stack, and the first width tried for the windows of a long piece.
const STACK: usize = 64;
/// The width from which a window is merged with a heap, in bytes.
const HEAP: usize = 1024;

/// Memory that merging uses again from call to call.
#[derive(Default)]
pub(crate) struct Scratch {
    tokens: Vec<u32>,
    ranks: Vec<u32>,
    /// The tokens of the window before, not handed out yet.
    pending: Vec<u32>,
}

impl Tables {
    /// How many tokens the piece is. The piece must not be a token itself (a token is one, however it merges).
    pub(crate) fn count_merged(&self, piece: &[u8], scratch: &mut Scratch) -> usize {
        match piece.len() {
            0..=16 => return self.merge_on_stack::<16>(piece).len(),
            17..=32 => return self.merge_on_stack::<32>(piece).len(),
            33..=STACK => return self.merge_on_stack::<STACK>(piece).len(),
            _ => {}
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
        if piece.len() <= STACK {
            out.extend(self.merge_on_stack::<STACK>(piece).tokens());
            return;
        }
        let start = out.len();
        self.merge_long(piece, scratch, &mut |step| match step {
            Step::Restart => out.truncate(start),
            Step::Tokens(tokens) => out.extend_from_slice(tokens),
        });
    }

    /// Merges at most `N` bytes, `N` a power of two up to 64. Cost: the square of `N`, by a tiny constant.
    #[inline]
    fn merge_on_stack<const N: usize>(&self, piece: &[u8]) -> Merged<N> {
        // One number a pair: its rank above its place, so that the least is the leftmost of lowest rank.
        const PLACE_BITS: u32 = 6;
        const NO_PAIR: i32 = i32::MAX;
        let key = |rank: u32, place: usize| {
            if rank == NO_RANK {
                NO_PAIR
            } else {
                (rank << PLACE_BITS | place as u32).cast_signed()
            }
        };

        let length = piece.len().min(N);
        let mut tokens = [0; N];
        let mut pairs = [NO_PAIR; N];
        for (token, byte) in tokens.iter_mut().zip(piece) {
            *token = self.byte_ranks[usize::from(*byte)];
        }
        for ((pair, bytes), place) in pairs.iter_mut().zip(piece.windows(2)).zip(0..) {
            *pair = key(self.merges.byte_rank(bytes[0], bytes[1]), place);
        }
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
                key(
                    self.merges
                        .rank(rank, tokens[after.trailing_zeros() as usize & (N - 1)]),
                    left,
                )
            };
            let before = alive & ((1 << left) - 1);
            if before != 0 {
                let previous = 63 - before.leading_zeros() as usize;
                pairs[previous & (N - 1)] = key(self.merges.rank(tokens[previous & (N - 1)], rank), previous);
            }
        }
    }

    /// Merges a piece of any length, in order, in steps. Cost: linear but for pieces built against the windows.
    fn merge_long(&self, piece: &[u8], scratch: &mut Scratch, emit: &mut impl FnMut(Step<'_>)) {
        let mut width = STACK;
        while !self.merge_in_windows(piece, width, scratch, emit) {
            emit(Step::Restart);
            width *= 4;
        }
    }

    /// Merges by windows of at least `width` bytes; `false` if they come to no agreement and must be wider.
    fn merge_in_windows(
        &self,
        piece: &[u8],
        mut width: usize,
        scratch: &mut Scratch,
        emit: &mut impl FnMut(Step<'_>),
    ) -> bool {
        scratch.pending.clear();
        // The window whose tokens are pending: where it starts and the token it shares with the one before it.
        let (mut pending_start, mut pending_shared) = (0, None);
        let (mut start, mut shared): (usize, Option<u32>) = (0, None);
        loop {
            let rest = piece.get(start..).unwrap_or_default();
            let window = rest.get(..width).unwrap_or(rest);
            self.merge_window(window, scratch);
            if shared.is_some() && scratch.tokens.first().copied() != shared {
                // The window before ended in what looked otherwise from here: take it again, wider.
                if start == pending_start {
                    return false;
                }
                scratch.pending.clear();
                (start, shared) = (pending_start, pending_shared);
                width *= 2;
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
                width *= 2;
                continue;
            }
            if next - start < width / 2 && width < HEAP / 2 {
                width *= 2;
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

    /// Merges a window into `scratch.tokens`.
    fn merge_window(&self, window: &[u8], scratch: &mut Scratch) {
        if window.len() <= STACK {
            scratch.tokens.clear();
            scratch.tokens.extend(self.merge_on_stack::<STACK>(window).tokens());
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
        let Scratch { tokens, ranks, .. } = scratch;
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
        let Scratch { tokens, ranks, .. } = scratch;
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

/// The tokens of a short piece: those of the places that are alive.
struct Merged<const N: usize> {
    tokens: [u32; N],
    alive: u64,
}

impl<const N: usize> Merged<N> {
    fn len(&self) -> usize {
        self.alive.count_ones() as usize
    }

    fn tokens(&self) -> impl Iterator<Item = u32> {
        let places = self.tokens.iter().zip(0_u32..);
        places
            .filter(|(_, place)| self.alive >> place & 1 == 1)
            .map(|(token, _)| *token)
    }
}

/// What merging a long piece hands out.
enum Step<'a> {
    /// The next tokens.
    Tokens(&'a [u32]),
    /// All tokens handed out for this piece so far are void.
    Restart,
}
