//! What stands for a piece of text that is too long to be kept: 120 bits by a random key of the process.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use crate::tables::KEY_BYTES;

/// The longest piece that has one, in bytes: so many tokens fit beside a digest.
pub(crate) const LONGEST: usize = 255;
/// The upper bits of a digest, all 0: free for a count.
pub(crate) const COUNT_BITS: u32 = 8;

const CHUNK: usize = 16;
const CHUNKS: usize = LONGEST.div_ceil(CHUNK);
/// Two words for each chunk, two more as the second sum takes each a place further on, and four to end with.
type Secret = [u64; 2 * CHUNKS + 2 + 4];

static SECRET: LazyLock<Secret> = LazyLock::new(|| std::array::from_fn(|_| RandomState::new().hash_one(0_u64)));

/// The digest of a piece of more than [`KEY_BYTES`] bytes; 0 if it is longer than [`LONGEST`].
///
/// Two sums of products (NH, as in Black et al., "UMAC: Fast and Secure Message Authentication", 1999): of two pieces,
/// whatever they are, each is the same for about one key in 2^63.
#[inline(always)]
pub(crate) fn of(piece: &[u8]) -> u128 {
    if piece.len() > LONGEST {
        return 0;
    }
    debug_assert!(piece.len() > KEY_BYTES);
    let secret = &*SECRET;
    let (words, _) = secret.as_chunks::<2>();
    let mut sums = [piece.len() as u128; 2];
    let last = piece.len().saturating_sub(CHUNK);
    for (k, keys) in words.windows(2).enumerate().take(piece.len().div_ceil(CHUNK)) {
        // The last chunk goes back to be whole.
        let at = (k * CHUNK).min(last);
        let chunk = piece.get(at..).and_then(|rest| rest.first_chunk::<CHUNK>());
        let chunk = chunk.map_or(0, |bytes| u128::from_le_bytes(*bytes));
        for (sum, key) in sums.iter_mut().zip(keys) {
            let low = (chunk as u64).wrapping_add(key[0]);
            let high = ((chunk >> 64) as u64).wrapping_add(key[1]);
            *sum = sum.wrapping_add(u128::from(low) * u128::from(high));
        }
    }
    let [.., a, b, c, d] = *secret;
    let digest = u128::from(folded(sums[0], a, b)) | u128::from(folded(sums[1], c, d)) << 64;
    (digest & u128::MAX >> COUNT_BITS) | 1
}

/// 64 bits of a sum.
#[inline(always)]
fn folded(sum: u128, a: u64, b: u64) -> u64 {
    let product = u128::from(sum as u64 ^ a) * u128::from((sum >> 64) as u64 ^ b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// The sum over all chunks with keys from `first` on.
    fn sum(piece: &[u8], first: usize) -> u128 {
        let mut sum = piece.len() as u128;
        for k in 0..piece.len().div_ceil(16) {
            let at = if piece.len() - 16 * k < 16 {
                piece.len() - 16
            } else {
                16 * k
            };
            let word = |from: usize| u64::from_le_bytes(piece[from..from + 8].try_into().expect("eight bytes"));
            let keys = &SECRET[2 * k + first..];
            let low = word(at).wrapping_add(keys[0]);
            let high = word(at + 8).wrapping_add(keys[1]);
            sum = sum.wrapping_add(u128::from(low) * u128::from(high));
        }
        sum
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), KEY_BYTES + 1..=LONGEST),
            // Chunks that are alike, and so differ by their places alone.
            (any::<[u8; 2]>(), KEY_BYTES + 1..=LONGEST).prop_map(|(unit, length)| unit
                .into_iter()
                .cycle()
                .take(length)
                .collect()),
        ]
    }

    proptest! {
        #[test]
        fn a_digest_is_of_the_two_sums(piece in pieces()) {
            let [.., a, b, c, d] = *SECRET;
            let (low, high) = (folded(sum(&piece, 0), a, b), folded(sum(&piece, 2), c, d));
            let expected = ((u128::from(high) << 64 | u128::from(low)) & u128::MAX >> COUNT_BITS) | 1;
            prop_assert_eq!(of(&piece), expected);
        }

        #[test]
        fn every_byte_and_the_length_tell(piece in pieces(), turned in 1..=u8::MAX) {
            let mut found = HashSet::from([of(&piece)]);
            for at in 0..piece.len() {
                let mut other = piece.clone();
                other[at] ^= turned;
                prop_assert!(found.insert(of(&other)), "byte {}", at);
            }
            for length in KEY_BYTES + 1..piece.len() {
                prop_assert!(found.insert(of(&piece[..length])), "{} bytes", length);
            }
        }
    }

    #[test]
    fn a_piece_of_one_byte_tells_its_length() {
        let found: HashSet<_> = (KEY_BYTES + 1..=LONGEST)
            .map(|length| of(&vec![b'a'; length]))
            .collect();
        assert_eq!(found.len(), LONGEST - KEY_BYTES);
        assert!(
            found
                .iter()
                .all(|digest| *digest != 0 && digest >> (128 - COUNT_BITS) == 0)
        );
    }

    #[test]
    fn what_is_too_long_has_none() {
        assert_eq!(of(&[b'a'; LONGEST + 1]), 0);
    }
}
