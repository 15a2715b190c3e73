//! String literals: their text, and the way back.

use std::borrow::Cow;

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The text of a JSON string literal (with its quotes): escapes resolved. Two surrogate escapes in a row that form a
/// pair join; any other surrogate becomes U+FFFD. Borrowed where nothing is escaped. O(bytes).
///
/// Never fails: bytes that are no literal give their text with every broken escape taken as it stands.
pub fn unescape(literal: &[u8]) -> Cow<'_, str> {
    let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
    if memchr::memchr(b'\\', inner).is_none() {
        return simdutf8::basic::from_utf8(inner).map_or_else(|_| String::from_utf8_lossy(inner), Cow::Borrowed);
    }
    if let Some(text) = simdutf8::basic::from_utf8(inner).ok().and_then(unescape_valid) {
        return Cow::Owned(text);
    }
    let mut out: Vec<u8> = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain);
        rest = resolve(tail, &mut out);
    }
    out.extend_from_slice(rest);
    match String::from_utf8(out) {
        Ok(text) => Cow::Owned(text),
        Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

/// The same for UTF-8 without a broken escape; `None` for any other.
fn unescape_valid(inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (plain, tail) = rest.split_at(at);
        let (letter, length) = escaped(tail.as_bytes())?;
        out.push_str(plain);
        out.push(letter);
        rest = tail.get(length..)?;
    }
    out.push_str(rest);
    Some(out)
}

/// Resolves the escape that `tail` starts with; returns what follows it.
fn resolve<'a>(tail: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let length = if let Some((letter, length)) = escaped(tail) {
        let mut buffer = [0; 4];
        out.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
        length
    } else {
        out.push(tail.get(1).copied().unwrap_or(b'\\'));
        2
    };
    tail.get(length..).unwrap_or_default()
}

/// The character that the escape at the start of `tail` stands for, and the length of the escape; `None` for a broken one.
fn escaped(tail: &[u8]) -> Option<(char, usize)> {
    let simple = match tail.get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return escaped_by_number(tail),
        &byte => return byte.is_ascii().then_some((char::from(byte), 2)),
    };
    Some((simple, 2))
}

fn escaped_by_number(tail: &[u8]) -> Option<(char, usize)> {
    let unit = code_unit(tail)?;
    let low = || tail.get(6..).and_then(code_unit);
    let (letter, length) = match unit {
        0xD800..=0xDBFF => match low() {
            Some(low @ 0xDC00..=0xDFFF) => (char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)), 12),
            _ => (None, 6),
        },
        _ => (char::from_u32(unit), 6),
    };
    Some((letter.unwrap_or(REPLACEMENT), length))
}

/// The value of a `\uXXXX` that `bytes` start with.
fn code_unit(bytes: &[u8]) -> Option<u32> {
    let [b'\\', b'u', hex @ ..] = bytes else { return None };
    hex.first_chunk::<4>()?
        .iter()
        .try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
}

/// `text` as a JSON string literal with its quotes: only what must be escaped is, the rest stands as UTF-8.
pub fn escape(text: &str) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'"');
    for &byte in text.as_bytes() {
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0C => b'f',
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.extend([byte >> 4, byte & 15].iter().filter_map(|&h| HEX.get(usize::from(h))));
                continue;
            }
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.push(b'"');
    out
}

/// Whether a JSON string literal holds nothing but white space. Looks only as far as the first other character.
pub fn is_blank(literal: &[u8]) -> bool {
    let mut rest = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
    while let Some(&byte) = rest.first() {
        if byte < 0x80 && byte != b'\\' {
            if !char::from(byte).is_whitespace() {
                return false;
            }
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        if let [b'\\', b'n' | b'r' | b't', after @ ..] = rest {
            rest = after;
            continue;
        }
        let mut letter = Vec::with_capacity(4);
        if byte == b'\\' {
            rest = resolve(rest, &mut letter);
        } else {
            let width = match byte {
                0xF0.. => 4,
                0xE0.. => 3,
                _ => 2,
            };
            let (head, tail) = rest.split_at(width.min(rest.len()));
            letter.extend_from_slice(head);
            rest = tail;
        }
        if !String::from_utf8_lossy(&letter).chars().all(char::is_whitespace) {
            return false;
        }
    }
    true
}
