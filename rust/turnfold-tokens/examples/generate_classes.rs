//! Writes `src/class_table.rs`: `cargo run -p turnfold-tokens --example generate_classes > .../src/class_table.rs`.
//!
//! The classes are those of the `regex-syntax` crate, which is what the published patterns are run with.

#![allow(clippy::expect_used, clippy::panic, reason = "a generator that fails must stop")]

use regex_syntax::hir::{Class, HirKind};

const BLOCK: usize = 128;

/// The code points that `pattern` matches, as inclusive ranges.
fn ranges(pattern: &str) -> Vec<(u32, u32)> {
    let hir = regex_syntax::parse(pattern).expect("a valid class");
    let HirKind::Class(Class::Unicode(class)) = hir.kind() else {
        panic!("{pattern} is not a Unicode class")
    };
    class
        .iter()
        .map(|range| (u32::from(range.start()), u32::from(range.end())))
        .collect()
}

fn print(name: &str, about: &str, values: &[u8]) {
    println!(
        "\n/// {about}\n#[rustfmt::skip]\npub(crate) static {name}: [u8; {}] = [",
        values.len()
    );
    let mut line = String::from("   ");
    for value in values {
        let item = format!(" {value},");
        if line.len() + item.len() > 120 {
            println!("{line}");
            line = String::from("   ");
        }
        line.push_str(&item);
    }
    println!("{line}\n];");
}

fn main() {
    let mut classes = vec![0_u8; 0x11_0000];
    let named = [
        (r"[\p{Lu}\p{Lt}]", 1),
        (r"\p{Ll}", 2),
        (r"[\p{Lm}\p{Lo}]", 3),
        (r"\p{M}", 4),
        (r"\p{N}", 5),
        (r"\s", 6),
        (r"[\r\n]", 7),
    ];
    for (pattern, class) in named {
        for (first, last) in ranges(pattern) {
            classes[first as usize..=last as usize].fill(class);
        }
    }
    let mut index = Vec::new();
    let mut blocks: Vec<&[u8]> = Vec::new();
    for block in classes.chunks(BLOCK) {
        let place = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        index.push(u8::try_from(place).expect("at most 256 different blocks"));
    }
    println!("//! Written by `examples/generate_classes.rs`; do not edit.");
    print("INDEX", "The block of each 128 code points.", &index);
    print(
        "BLOCKS",
        "The class of each code point of a block; see `classes::Class`.",
        &blocks.concat(),
    );
}
