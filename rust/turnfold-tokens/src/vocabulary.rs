//! The embedded vocabularies: unpacking what `data/pack.py` packed.

use std::fmt;
use std::ops::Range;
use std::slice::Iter;

use crate::pages::{Room, Table};

/// The packed `o200k_base`.
pub(crate) static O200K_BASE: &[u8] = include_bytes!("../data/o200k_base.bin");
/// The packed `cl100k_base`.
pub(crate) static CL100K_BASE: &[u8] = include_bytes!("../data/cl100k_base.bin");

/// The longest token of a vocabulary, in bytes. Unpacking refuses longer ones.
pub(crate) const LONGEST_TOKEN: usize = 128;
/// One more than the highest rank the tables can hold.
pub(crate) const RANK_LIMIT: usize = 1 << 20;

/// A packed vocabulary that does not unpack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CorruptVocabulary {
    /// The bytes are fewer or more than the token count says.
    Length,
    /// The first 256 tokens are not the 256 bytes.
    Bytes,
    /// This token is not the join of two earlier ones, or is too long.
    Token(u32),
}

impl fmt::Display for CorruptVocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the embedded vocabulary has a wrong length"),
            Self::Bytes => f.write_str("the embedded vocabulary does not start with the 256 bytes"),
            Self::Token(rank) => write!(
                f,
                "token {rank} of the embedded vocabulary is not a join of earlier tokens"
            ),
        }
    }
}

impl std::error::Error for CorruptVocabulary {}

/// The two parts that each token from rank 256 on is merged from, as `data/pack.py` wrote them: planes of the low, the middle
/// and the high bytes of the left ranks, then of the right ones.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    planes: [&'a [u8]; 6],
}

impl<'a> Parts<'a> {
    /// The ranks of the parts of each token, in rank order.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let [low, middle, high, low_right, middle_right, high_right] = self.planes.map(<[u8]>::iter);
        let side = |low: Iter<'a, u8>, middle: Iter<'a, u8>, high: Iter<'a, u8>| {
            let bytes = low.zip(middle).zip(high);
            bytes.map(|((low, middle), high)| u32::from_le_bytes([*low, *middle, *high, 0]))
        };
        side(low, middle, high).zip(side(low_right, middle_right, high_right))
    }
}

/// The tokens of an encoding by rank.
pub(crate) struct Vocabulary {
    bytes: Table<u8>,
    /// Where each token begins in `bytes`, and where the last one ends.
    starts: Table<u32>,
}

/// For so many bytes a token there is room at first.
const TOKEN_BYTES: usize = 9;

/// Parts of at most so many bytes, which most are, are copied as if they had so many: in one step.
const COPIED: usize = 16;

impl Vocabulary {
    /// Unpacks what `data/pack.py` wrote. Cost: about 2 ms for 200,000 tokens.
    pub(crate) fn unpack<'p>(packed: &'p [u8], room: &mut Room) -> Result<(Self, Parts<'p>), CorruptVocabulary> {
        let (_, rest) = packed.split_first_chunk::<4>().ok_or(CorruptVocabulary::Length)?;
        let (singles, planes) = rest.split_first_chunk::<256>().ok_or(CorruptVocabulary::Length)?;
        let count = count_of(packed);
        let merges = count.checked_sub(256).ok_or(CorruptVocabulary::Length)?;
        if count > RANK_LIMIT || planes.len() != merges * 6 {
            return Err(CorruptVocabulary::Length);
        }
        let mut seen = [false; 256];
        for byte in singles {
            seen[usize::from(*byte)] = true;
        }
        if seen.contains(&false) {
            return Err(CorruptVocabulary::Bytes);
        }

        let mut bytes = room.table::<u8>(count * TOKEN_BYTES + 2 * LONGEST_TOKEN);
        bytes[..256].copy_from_slice(singles);
        let mut starts = room.table::<u32>(count + 1);
        for (start, at) in starts.iter_mut().zip(0..=256) {
            *start = at;
        }
        let plane = |plane: usize| planes.get(plane * merges..(plane + 1) * merges).unwrap_or_default();
        let parts = Parts {
            planes: [0, 1, 2, 3, 4, 5].map(plane),
        };
        let mut end = 256;
        for ((left, right), rank) in parts.iter().zip(256..) {
            if left >= rank || right >= rank {
                return Err(CorruptVocabulary::Token(rank));
            }
            let [left, right] = [left, right].map(|part| {
                let part = part as usize;
                starts[part] as usize..starts[part + 1] as usize
            });
            if left.len() + right.len() > LONGEST_TOKEN {
                return Err(CorruptVocabulary::Token(rank));
            }
            if end + 2 * LONGEST_TOKEN > bytes.len() {
                let mut more = room.table::<u8>(2 * bytes.len());
                more[..end].copy_from_slice(&bytes[..end]);
                bytes = more;
            }
            for part in [left, right] {
                let length = part.len();
                if length <= COPIED {
                    // What is copied too much lies behind the token, where the next one goes.
                    bytes.copy_within(part.start..part.start + COPIED, end);
                } else {
                    bytes.copy_within(part, end);
                }
                end += length;
            }
            starts[rank as usize + 1] = end as u32;
        }
        Ok((Self { bytes, starts }, parts))
    }

    /// How many tokens there are; ranks run from 0 up to this.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The bytes of a token; `None` if there is no such rank.
    #[inline]
    pub(crate) fn token(&self, rank: u32) -> Option<&[u8]> {
        let start = *self.starts.get(rank as usize)? as usize;
        let end = *self.starts.get(rank as usize + 1)? as usize;
        self.bytes.get(start..end)
    }

    /// Every token with its rank, in rank order.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let tokens = self.places().map(|place| self.bytes.get(place).unwrap_or_default());
        (0..).zip(tokens)
    }

    /// Where each token stands in `text`, in rank order.
    pub(crate) fn places(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
    }

    /// All tokens, one behind the other; what follows the last is none.
    pub(crate) fn text(&self) -> &[u8] {
        &self.bytes
    }
}

/// How many tokens a packed vocabulary says it has.
pub(crate) fn count_of(packed: &[u8]) -> usize {
    packed
        .first_chunk()
        .map_or(0, |head| u32::from_le_bytes(*head) as usize)
}

/// How many bytes of room a vocabulary of so many tokens takes.
pub(crate) fn room_for(count: usize) -> usize {
    count * (TOKEN_BYTES + size_of::<u32>()) + 4 * LONGEST_TOKEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};
    use std::fmt::Write as _;

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
            for digit in 0..4 {
                let value = (bits >> (18 - 6 * digit)) & 63;
                text.push(if digit > chunk.len() {
                    '='
                } else {
                    char::from(DIGITS[value as usize])
                });
            }
        }
        text
    }

    #[test]
    fn the_embedded_vocabularies_are_the_published_files() {
        let published = [
            (
                O200K_BASE,
                199_998,
                "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            ),
            (
                CL100K_BASE,
                100_256,
                "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            ),
        ];
        for (packed, count, sha256) in published {
            let (vocabulary, _) = Vocabulary::unpack(packed, &mut Room::new(0)).unwrap();
            assert_eq!(vocabulary.len(), count);
            let mut file = String::new();
            for (rank, token) in vocabulary.tokens() {
                writeln!(file, "{} {rank}", base64(token)).unwrap();
            }
            let digest: String = Sha256::digest(file).iter().fold(String::new(), |mut hex, byte| {
                write!(hex, "{byte:02x}").unwrap();
                hex
            });
            assert_eq!(digest, sha256);
        }
    }

    #[test]
    fn a_damaged_vocabulary_is_refused() {
        let refused = |packed: &[u8]| Vocabulary::unpack(packed, &mut Room::new(0)).err();
        let repacked = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut changed = CL100K_BASE.to_vec();
            change(&mut changed);
            refused(&changed)
        };
        assert_eq!(refused(b""), Some(CorruptVocabulary::Length));
        assert_eq!(repacked(&|_| ()), None);
        assert_eq!(repacked(&|bytes| bytes.truncate(3)), Some(CorruptVocabulary::Length));
        assert_eq!(repacked(&|bytes| bytes.push(0)), Some(CorruptVocabulary::Length));
        assert_eq!(
            repacked(&|bytes| bytes[..4].fill(0xFF)),
            Some(CorruptVocabulary::Length)
        );
        assert_eq!(repacked(&|bytes| bytes[4] = bytes[5]), Some(CorruptVocabulary::Bytes));
        let high_plane_of_the_first_left_part = 260 + 2 * 100_000;
        assert_eq!(
            repacked(&|bytes| bytes[high_plane_of_the_first_left_part] = 0xFF),
            Some(CorruptVocabulary::Token(256))
        );
    }
}
