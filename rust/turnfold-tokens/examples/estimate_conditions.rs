//! Counts the estimator's conditions for `benches/fit_estimate.py`, which runs this.
//!
//! Standard input holds texts, each after its length as 4 bytes; standard output gets a row of counts a text, 4 bytes
//! each. With `candidates`, all pairs of letters are counted, and the triples and openings that the arguments name.

use std::io::{Read, Write};

use turnfold_tokens::condition_counts;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let places = |word: &str| -> Vec<[u8; 3]> {
        let (triples, _) = word.as_bytes().as_chunks::<3>();
        triples
            .iter()
            .map(|triple| triple.map(|letter| letter - b'a'))
            .collect()
    };
    let pairs: Vec<[u8; 2]> = (0..26).flat_map(|a| (0..26).map(move |b| [a, b])).collect();
    let named = match arguments.as_slice() {
        [mode, triples, openings] if mode == "candidates" => Some((places(triples), places(openings))),
        _ => None,
    };
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut output = std::io::BufWriter::new(std::io::stdout());
    let mut rest = input.as_slice();
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let (text, after) = tail.split_at(u32::from_le_bytes(*length) as usize);
        let candidates = named
            .as_ref()
            .map(|(triples, openings)| (&pairs[..], &triples[..], &openings[..]));
        for count in condition_counts(text, candidates) {
            output.write_all(&count.to_le_bytes())?;
        }
        rest = after;
    }
    output.flush()
}
