//! A short name for the content of a transcript.

use xxhash_rust::xxh3::Xxh3Default;

use crate::transcript::Transcript;

/// The 128-bit XXH3 digest of the transcript's bytes as [`Transcript::to_json`] writes them. O(bytes), about memory
/// speed; nothing is copied.
///
/// Equal on every platform and for every way of building the same bytes. Not cryptographic: it tells transcripts
/// apart that nobody shaped to collide; where somebody may, compare the bytes too.
pub fn fingerprint(transcript: &Transcript) -> u128 {
    let mut hasher = Xxh3Default::new();
    transcript.write(&mut |bytes| hasher.update(bytes));
    hasher.digest128()
}
