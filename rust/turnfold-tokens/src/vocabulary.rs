//! The embedded vocabularies: unpacking what `data/pack.py` packed.

use std::fmt;

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
    /// The stream does not inflate, or its checksum is wrong.
    Compression,
    /// The inflated bytes are shorter or longer than the token count says.
    Length,
    /// The first 256 tokens are not the 256 bytes.
    Bytes,
    /// This token is not the join of two earlier ones, or is too long.
    Token(u32),
}

impl fmt::Display for CorruptVocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compression => f.write_str("the embedded vocabulary does not inflate"),
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

/// The tokens of an encoding by rank, with the two parts each is merged from.
pub(crate) struct Vocabulary {
    bytes: Vec<u8>,
    /// Where each token ends in `bytes`.
    ends: Vec<u32>,
    /// The ranks of the two parts of each token from rank 256 on.
    parts: Vec<(u32, u32)>,
}

impl Vocabulary {
    /// Unpacks what `data/pack.py` wrote. Cost: about 10 ms for 200,000 tokens.
    pub(crate) fn unpack(packed: &[u8]) -> Result<Self, CorruptVocabulary> {
        let inflated =
            miniz_oxide::inflate::decompress_to_vec_zlib(packed).map_err(|_| CorruptVocabulary::Compression)?;
        let (head, rest) = inflated.split_first_chunk::<4>().ok_or(CorruptVocabulary::Length)?;
        let (singles, planes) = rest.split_first_chunk::<256>().ok_or(CorruptVocabulary::Length)?;
        let count = u32::from_le_bytes(*head) as usize;
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

        let mut bytes = Vec::with_capacity(count * 9);
        bytes.extend_from_slice(singles);
        let mut ends = Vec::with_capacity(count);
        ends.extend(1..=256_u32);
        let mut parts = Vec::with_capacity(merges);
        let plane = |plane: usize, merge: usize| planes.get(plane * merges + merge).map_or(0, |byte| u32::from(*byte));
        for merge in 0..merges {
            let rank = ends.len() as u32;
            let left = plane(0, merge) | plane(1, merge) << 8 | plane(2, merge) << 16;
            let right = plane(3, merge) | plane(4, merge) << 8 | plane(5, merge) << 16;
            if left >= rank || right >= rank {
                return Err(CorruptVocabulary::Token(rank));
            }
            let start = bytes.len();
            bytes.extend_from_within(span(&ends, left));
            bytes.extend_from_within(span(&ends, right));
            if bytes.len() - start > LONGEST_TOKEN {
                return Err(CorruptVocabulary::Token(rank));
            }
            ends.push(bytes.len() as u32);
            parts.push((left, right));
        }
        Ok(Self { bytes, ends, parts })
    }

    /// How many tokens there are; ranks run from 0 up to this.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of a token; `None` if there is no such rank.
    #[inline]
    pub(crate) fn token(&self, rank: u32) -> Option<&[u8]> {
        let end = *self.ends.get(rank as usize)? as usize;
        let start = if rank == 0 {
            0
        } else {
            *self.ends.get(rank as usize - 1)? as usize
        };
        self.bytes.get(start..end)
    }

    /// Every token with its rank, in rank order.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.len() as u32).filter_map(|rank| Some((rank, self.token(rank)?)))
    }

    /// Every merge in rank order: left part, right part, the token they make.
    pub(crate) fn merges(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        self.parts
            .iter()
            .zip(256..)
            .map(|((left, right), rank)| (*left, *right, rank))
    }
}

fn span(ends: &[u32], rank: u32) -> std::ops::Range<usize> {
    let rank = rank as usize;
    let start = if rank == 0 {
        0
    } else {
        ends.get(rank - 1).map_or(0, |end| *end as usize)
    };
    start..ends.get(rank).map_or(start, |end| *end as usize)
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
            let vocabulary = Vocabulary::unpack(packed).unwrap();
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
        let refused = |packed: &[u8]| Vocabulary::unpack(packed).err();
        assert_eq!(refused(b""), Some(CorruptVocabulary::Compression));
        assert_eq!(
            refused(&CL100K_BASE[..CL100K_BASE.len() - 1]),
            Some(CorruptVocabulary::Compression)
        );
        for at in [2, 1_000, CL100K_BASE.len() / 2, CL100K_BASE.len() - 3] {
            let mut damaged = CL100K_BASE.to_vec();
            damaged[at] ^= 0x10;
            assert_eq!(refused(&damaged), Some(CorruptVocabulary::Compression), "byte {at}");
        }

        let inflated = miniz_oxide::inflate::decompress_to_vec_zlib(CL100K_BASE).unwrap();
        let repacked = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut changed = inflated.clone();
            change(&mut changed);
            refused(&miniz_oxide::deflate::compress_to_vec_zlib(&changed, 1))
        };
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
