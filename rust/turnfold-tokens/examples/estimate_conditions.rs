//! Counts the estimator's conditions for `benches/fit_estimate.py`, which runs this.
//!
//! Standard input holds texts, each after its length as 4 bytes; standard output gets a row of counts a text, 4 bytes
//! each.

use std::io::{Read, Write};

use turnfold_tokens::condition_counts;

fn main() -> std::io::Result<()> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut output = std::io::BufWriter::new(std::io::stdout());
    let mut rest = input.as_slice();
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let (text, after) = tail.split_at(u32::from_le_bytes(*length) as usize);
        for count in condition_counts(text) {
            output.write_all(&count.to_le_bytes())?;
        }
        rest = after;
    }
    output.flush()
}
