//! Estimates texts by weights that are given, for `benches/fit_estimate.py`, which runs this.
//!
//! Standard input holds batches: an encoding's name on a line, a table of weights as its file has it, the number of texts
//! in 4 bytes, and each text after its length in 4 bytes. Standard output gets 8 bytes a text.

use std::io::{self, BufRead, Read, Write};

use turnfold_tokens::{Encoding, estimates_by};

fn main() -> io::Result<()> {
    let mut input = io::BufReader::new(io::stdin().lock());
    let mut output = io::BufWriter::new(io::stdout().lock());
    let mut name = String::new();
    while input.read_line(&mut name)? > 0 {
        let encoding = Encoding::from_name(name.trim_end()).ok_or(io::ErrorKind::InvalidInput)?;
        name.clear();
        let mut table = vec![0; 1 << 17];
        input.read_exact(&mut table)?;
        let texts = (0..length(&mut input)?)
            .map(|_| text(&mut input))
            .collect::<io::Result<Vec<_>>>()?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for estimate in estimates_by(&table, &texts, encoding).unwrap_or_default() {
            output.write_all(&estimate.to_le_bytes())?;
        }
    }
    output.flush()
}

fn length(input: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn text(input: &mut impl Read) -> io::Result<String> {
    let mut text = String::new();
    let length = u64::from(length(input)?);
    input.take(length).read_to_string(&mut text)?;
    Ok(text)
}
