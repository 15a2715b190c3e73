//! The one pass over the bytes: grammar, spans, nesting.

use wide::{CmpEq, CmpGt, i8x16};

use super::Node;
use crate::errors::{ReadError, ReadErrorCode};

/// How deep objects and arrays may nest. Providers and Python's `json` give up in the same order of magnitude.
pub const MAX_DEPTH: usize = 512;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What may come next.
#[derive(Clone, Copy)]
pub(super) enum Expect {
    Value,
    ItemOrEnd,
    KeyOrEnd,
    Key,
    CommaOrEnd,
}

/// The tape of one JSON text. `bytes` are UTF-8 and shorter than 4 GiB.
pub(super) fn scan(bytes: &[u8]) -> Result<Vec<Node>, ReadError> {
    let mut nodes: Vec<Node> = Vec::with_capacity(bytes.len() / 64 + 8);
    let start = if bytes.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 };
    let end = values(bytes, start, Expect::Value, Vec::new(), &mut nodes)?;
    let pos = skip_white(bytes, end);
    if pos < bytes.len() {
        return Err(invalid(pos, "something stands after the JSON value"));
    }
    Ok(nodes)
}

/// The tape of the items that follow in an array, `levels` deep; each has a comma before it.
pub(super) fn scan_items(bytes: &[u8], levels: usize) -> Result<Vec<Node>, ReadError> {
    let mut nodes: Vec<Node> = Vec::with_capacity(bytes.len() / 64 + 8);
    let mut pos = 0;
    while pos < bytes.len() {
        pos = skip_white(bytes, pos);
        if bytes.get(pos) != Some(&b',') {
            return Err(invalid(pos, "a comma or a closing bracket is missing"));
        }
        // Brackets of the array and of what it stands in, which no closing one here can meet.
        let open = vec![(u32::MAX, 0); levels];
        pos = values(bytes, pos + 1, Expect::Value, open, &mut nodes)?;
    }
    Ok(nodes)
}

/// One past the last byte of the value that starts at `pos`, `levels` deep.
pub(super) fn value_end(bytes: &[u8], pos: usize, levels: usize) -> Option<usize> {
    values(bytes, pos, Expect::Value, vec![(u32::MAX, 0); levels], &mut Vec::new()).ok()
}

/// One value from `pos` on, with all in it, on the tape; one past its last byte. `open` are the brackets around it.
fn values(
    bytes: &[u8],
    mut pos: usize,
    mut expect: Expect,
    mut open: Vec<(u32, u8)>,
    nodes: &mut Vec<Node>,
) -> Result<usize, ReadError> {
    let outside = open.len();
    loop {
        pos = skip_white(bytes, pos);
        let Some(&byte) = bytes.get(pos) else {
            return Err(invalid(pos, "the JSON ends in the middle of a value"));
        };
        match (expect, byte) {
            (Expect::Value | Expect::ItemOrEnd, b'{' | b'[') => {
                if open.len() == MAX_DEPTH {
                    return Err(ReadError {
                        code: ReadErrorCode::TooDeep,
                        offset: pos,
                        path: String::new(),
                        text: format!("objects and arrays nest deeper than {MAX_DEPTH} levels"),
                    });
                }
                open.push((nodes.len() as u32, byte));
                push(nodes, pos, pos);
                pos += 1;
                expect = if byte == b'{' {
                    Expect::KeyOrEnd
                } else {
                    Expect::ItemOrEnd
                };
                continue;
            }
            (Expect::ItemOrEnd | Expect::CommaOrEnd, b']') | (Expect::KeyOrEnd | Expect::CommaOrEnd, b'}')
                if open.last().is_some_and(|&(_, bracket)| bracket == byte - 2) =>
            {
                pos += 1;
                let next = nodes.len() as u32;
                if let Some(node) = open.pop().and_then(|(at, _)| nodes.get_mut(at as usize)) {
                    node.end = pos as u32;
                    node.next = next;
                }
            }
            (Expect::CommaOrEnd, b',') => {
                pos += 1;
                expect = match open.last() {
                    Some((_, b'{')) => Expect::Key,
                    _ => Expect::Value,
                };
                continue;
            }
            (Expect::Key | Expect::KeyOrEnd, b'"') => {
                let end = string(bytes, pos)?;
                push(nodes, pos, end);
                pos = skip_white(bytes, end);
                if bytes.get(pos) != Some(&b':') {
                    return Err(invalid(pos, "a colon is missing after a key"));
                }
                pos += 1;
                expect = Expect::Value;
                continue;
            }
            (Expect::Value | Expect::ItemOrEnd, _) => {
                let end = match byte {
                    b'"' => string(bytes, pos)?,
                    b'-' | b'0'..=b'9' => number(bytes, pos)?,
                    b't' => literal(bytes, pos, b"true")?,
                    b'f' => literal(bytes, pos, b"false")?,
                    b'n' => literal(bytes, pos, b"null")?,
                    _ => return Err(invalid(pos, "a JSON value is missing")),
                };
                push(nodes, pos, end);
                pos = end;
            }
            (Expect::Key | Expect::KeyOrEnd, _) => return Err(invalid(pos, "a key in quotes is missing")),
            (Expect::CommaOrEnd, _) => return Err(invalid(pos, "a comma or a closing bracket is missing")),
        }
        if open.len() == outside {
            return Ok(pos);
        }
        expect = Expect::CommaOrEnd;
    }
}

fn invalid(offset: usize, text: &str) -> ReadError {
    ReadError {
        code: ReadErrorCode::InvalidJson,
        offset,
        path: String::new(),
        text: text.to_owned(),
    }
}

pub(super) fn push(nodes: &mut Vec<Node>, start: usize, end: usize) {
    let next = nodes.len() as u32 + 1;
    nodes.push(Node {
        start: start as u32,
        end: end as u32,
        next,
    });
}

fn skip_white(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(pos) {
        pos += 1;
    }
    pos
}

pub(super) fn literal(bytes: &[u8], pos: usize, word: &[u8]) -> Result<usize, ReadError> {
    let rest = bytes.get(pos..).unwrap_or_default();
    if rest.starts_with(word) {
        return Ok(pos + word.len());
    }
    let same = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
    Err(invalid(pos + same, "a JSON value is missing"))
}

fn digits(bytes: &[u8], pos: usize) -> Result<usize, ReadError> {
    let count = bytes
        .get(pos..)
        .unwrap_or_default()
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .count();
    if count == 0 {
        return Err(invalid(pos, "a digit is missing in a number"));
    }
    Ok(pos + count)
}

pub(super) fn number(bytes: &[u8], mut pos: usize) -> Result<usize, ReadError> {
    if bytes.get(pos) == Some(&b'-') {
        pos += 1;
    }
    pos = match bytes.get(pos) {
        Some(b'0') => pos + 1,
        _ => digits(bytes, pos)?,
    };
    if bytes.get(pos) == Some(&b'.') {
        pos = digits(bytes, pos + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(pos) {
        pos += 1;
        if let Some(b'+' | b'-') = bytes.get(pos) {
            pos += 1;
        }
        pos = digits(bytes, pos)?;
    }
    Ok(pos)
}

/// One past the closing quote of the string that opens at `pos`.
fn string(bytes: &[u8], pos: usize) -> Result<usize, ReadError> {
    let mut pos = pos + 1;
    // Most keys and names end here.
    if let Some(first) = bytes.get(pos..).and_then(<[u8]>::first_chunk::<16>) {
        let at = pos + specials_of(first).trailing_zeros() as usize;
        if at < pos + 16 && bytes.get(at) == Some(&b'"') {
            return Ok(at + 1);
        }
    }
    while let Some(block) = bytes.get(pos..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let mut next = pos + BLOCK;
        let mut waiting = specials(block);
        while waiting != 0 {
            let at = pos + waiting.trailing_zeros() as usize;
            match special_at(bytes, at)? {
                Special::End(end) => return Ok(end),
                Special::Escape(end) => {
                    let passed = end - pos;
                    next = next.max(end);
                    waiting = if passed < BLOCK { waiting >> passed << passed } else { 0 };
                }
            }
        }
        pos = next;
    }
    loop {
        let rest = bytes.get(pos..).unwrap_or_default();
        pos += rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len());
        match special_at(bytes, pos)? {
            Special::End(end) => return Ok(end),
            Special::Escape(end) => pos = end,
        }
    }
}

/// What a byte in a string that does not stand for itself is, with one past its last byte.
enum Special {
    End(usize),
    Escape(usize),
}

#[inline]
fn special_at(bytes: &[u8], pos: usize) -> Result<Special, ReadError> {
    match bytes.get(pos) {
        Some(b'"') => Ok(Special::End(pos + 1)),
        Some(b'\\') => escaped(bytes, pos).map(Special::Escape),
        Some(_) => Err(invalid(pos, "a control character stands in a string")),
        None => Err(invalid(pos, "the JSON ends inside a string")),
    }
}

/// One past the escape sequence at `pos`.
fn escaped(bytes: &[u8], pos: usize) -> Result<usize, ReadError> {
    match bytes.get(pos + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(pos + 2),
        Some(b'u') => {
            let hex = bytes.get(pos + 2..).unwrap_or_default();
            let good = hex.iter().take(4).take_while(|b| b.is_ascii_hexdigit()).count();
            if good == 4 {
                Ok(pos + 6)
            } else {
                Err(invalid(pos + 2 + good, "four hexadecimal digits are missing after \\u"))
            }
        }
        Some(_) => Err(invalid(pos + 1, "an unknown escape stands in a string")),
        None => Err(invalid(pos + 1, "the JSON ends inside a string")),
    }
}

/// How many bytes of a string are looked at together. JSON in JSON has an escape every few bytes; one mask serves them all.
const BLOCK: usize = 64;

/// Quotes, backslashes and control characters.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

/// Bit k is set where byte k of the block is special.
#[inline]
fn specials(block: &[u8; BLOCK]) -> u64 {
    let (quarters, _) = block.as_chunks::<16>();
    let mut all = 0;
    for quarter in quarters.iter().rev() {
        all = all << 16 | u64::from(specials_of(quarter));
    }
    all
}

/// The same of 16 bytes.
#[inline]
fn specials_of(quarter: &[u8; 16]) -> u32 {
    let mut signed = [0; 16];
    for (to, from) in signed.iter_mut().zip(quarter) {
        *to = from.cast_signed();
    }
    let bytes = i8x16::new(signed);
    // Bytes that are not ASCII compare as negative.
    let control = i8x16::splat(0x20).cmp_gt(bytes) & bytes.cmp_gt(i8x16::splat(-1));
    let equal = |byte: u8| bytes.cmp_eq(i8x16::splat(byte.cast_signed()));
    let special = control | equal(b'"') | equal(b'\\');
    special.move_mask().cast_unsigned() & 0xFFFF
}
