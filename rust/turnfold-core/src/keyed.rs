//! Hashes of bytes by a random key of the process, so that nobody can aim at a slot, and tables of them.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::LazyLock;

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_secret};

static KEY: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0_u64));

/// Bytes of the key of [`digest`]: as many as the hash has room for.
const SECRET_BYTES: usize = 192;

static SECRET: LazyLock<[u8; SECRET_BYTES]> = LazyLock::new(|| {
    let mut secret = [0; SECRET_BYTES];
    let (words, _) = secret.as_chunks_mut::<8>();
    for word in words {
        *word = RandomState::new().hash_one(0_u64).to_le_bytes();
    }
    secret
});

/// What stands for `bytes` where they are not kept: 128 bits, every step of which depends on a key that no one knows.
pub(crate) fn digest(bytes: &[u8]) -> u128 {
    xxh3_128_with_secret(bytes, &*SECRET)
}

/// The hash of `bytes`, which go on from what `after` is the hash of (0: from nothing).
pub(crate) fn hash(bytes: &[u8], after: u64) -> u64 {
    xxh3_64_with_seed(bytes, *KEY ^ after)
}

/// A table whose keys are hashes already.
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
