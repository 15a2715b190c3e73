//! Hashes of bytes by a random key of the process, so that nobody can aim at a slot, and tables of them.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::LazyLock;

use twox_hash::{XxHash3_64, XxHash3_128};

use crate::simd::{BLOCK, Level};
use turnfold_tokens::prefetch;

mod long;

static KEY: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0_u64));

/// Bytes of the key of [`digest`]: as many as the hash has room for.
const SECRET_BYTES: usize = 192;
type Secret = [u8; SECRET_BYTES];

/// With what the machine has for it.
static SECRET: LazyLock<(Secret, Level)> = LazyLock::new(|| {
    let mut secret = [0; SECRET_BYTES];
    let (words, _) = secret.as_chunks_mut::<8>();
    for word in words {
        *word = RandomState::new().hash_one(0_u64).to_le_bytes();
    }
    (secret, Level::detect())
});

/// What stands for `bytes` where they are not kept: 128 bits, every step of which depends on a key that no one knows. In
/// halves, which ask for no more than eight bytes of alignment.
pub(crate) fn digest(bytes: &[u8]) -> [u64; 2] {
    digest_and_fetch(bytes, &[])
}

/// How far ahead of what is digested a text is fetched.
pub(crate) const AHEAD_BYTES: usize = 8 << 10;

/// The digest of `bytes`. As much of `ahead` is fetched meanwhile, for who goes on there [`AHEAD_BYTES`] later.
pub(crate) fn digest_and_fetch(bytes: &[u8], ahead: &[u8]) -> [u64; 2] {
    let (secret, level) = &*SECRET;
    if *level != Level::Baseline && bytes.len() >= long::LEAST_BYTES {
        return long::digest(*level, secret, bytes, ahead);
    }
    let lines = ahead.iter().take(bytes.len()).step_by(BLOCK);
    lines.for_each(prefetch);
    of_any(secret, bytes)
}

/// By the library, which has every processor's baseline.
fn of_any(secret: &Secret, bytes: &[u8]) -> [u64; 2] {
    // The key is as long as the hash asks for.
    let digest = XxHash3_128::oneshot_with_secret(secret, bytes).unwrap_or_default();
    [digest as u64, (digest >> 64) as u64]
}

/// The hash of `bytes`, which go on from what `after` is the hash of (0: from nothing).
pub(crate) fn hash(bytes: &[u8], after: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(*KEY ^ after, bytes)
}

/// A table whose keys are hashes already, or indexes, which spread as well.
pub(crate) type Keyed<T> = HashMap<u64, T, BuildHasherDefault<AsIs>>;

/// Takes a hash as it is.
#[derive(Default)]
pub(crate) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes
            .iter()
            .fold(self.0, |hash, &byte| hash.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
