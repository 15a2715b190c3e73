//! A short name for the content of a transcript.

use twox_hash::XxHash3_128;

use crate::transcript::Transcript;

/// The 128-bit XXH3 digest of the transcript's bytes as [`Transcript::to_json`] writes them. O(bytes), about memory
/// speed; nothing is copied.
///
/// Equal on every platform and for every way of building the same bytes. Not cryptographic: it tells transcripts
/// apart that nobody shaped to collide; where somebody may, compare the bytes too.
pub fn fingerprint(transcript: &Transcript) -> u128 {
    let mut hasher = XxHash3_128::new();
    transcript.write(&mut |bytes| hasher.write(bytes));
    hasher.finish_128()
}
