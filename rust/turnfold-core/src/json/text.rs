//! String literals: their text, and the way back.
#![expect(clippy::inline_always, reason = "what is not inlined is compiled for the baseline")]

use std::borrow::Cow;
use std::ops::Range;

use crate::simd::{BLOCK, Isa, Level, Work, dispatch};

/// How many bytes are copied at once.
const CHUNK: usize = 64;

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

/// Room in which literals are unescaped one after the other, with no new string for each.
#[derive(Debug, Default)]
pub(crate) struct Unescaping {
    room: Vec<u8>,
}

impl Unescaping {
    /// What [`unescape`] gives of the literal at a place of `source`, mostly borrowed.
    pub(crate) fn text<'a>(&'a mut self, source: &'a [u8], at: Range<usize>) -> Cow<'a, str> {
        self.text_at(Level::detect(), source, at)
    }

    pub(super) fn text_at<'a>(&'a mut self, level: Level, source: &'a [u8], at: Range<usize>) -> Cow<'a, str> {
        let literal = source.get(at.clone()).unwrap_or_default();
        let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
        if memchr::memchr(b'\\', inner).is_none() {
            return unescape(literal);
        }
        let onward = source.get(at.start + 1..).unwrap_or_default();
        let length = self.resolve_all(level, inner, onward);
        match simdutf8::basic::from_utf8(self.room.get(..length).unwrap_or_default()) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => unescape(literal),
        }
    }

    /// Resolves all escapes; how many bytes that gives. Each escape stands for less than it takes.
    fn resolve_all(&mut self, level: Level, inner: &[u8], onward: &[u8]) -> usize {
        let needed = inner.len() + CHUNK;
        if self.room.len() < needed {
            self.room.resize(needed, 0);
        }
        let room = &mut self.room;
        dispatch(level, Resolving { inner, onward, room })
    }
}

/// Escapes of `inner` resolved into `room`, which has [`CHUNK`] bytes more than it.
struct Resolving<'a> {
    inner: &'a [u8],
    /// The same with all that stands behind it, which is copied along where that takes less than to stop.
    onward: &'a [u8],
    room: &'a mut [u8],
}

impl Work for Resolving<'_> {
    /// How many bytes that gives.
    type Output = usize;

    #[inline(always)]
    fn run<I: Isa>(mut self) -> usize {
        let inner = self.inner;
        let (mut from, mut to) = (0_usize, 0);
        let (blocks, tail) = inner.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        for (index, block) in blocks.iter().chain(std::iter::once(&last)).enumerate() {
            let base = index * BLOCK;
            let mut found = I::equal(I::load(block), b'\\');
            while found != 0 {
                let at = base + found.trailing_zeros() as usize;
                found &= found - 1;
                // What an escape takes is no start of another one.
                if at >= from {
                    to = self.copy(from..at, to);
                    (from, to) = self.resolve(at, to);
                }
            }
        }
        self.copy(from..inner.len(), to)
    }
}

impl Resolving<'_> {
    /// Copies a range, and maybe some bytes behind it; one past where it stands then.
    #[inline(always)]
    fn copy(&mut self, range: Range<usize>, to: usize) -> usize {
        let next = to + range.len();
        let chunk = self.onward.get(range.start..).and_then(<[u8]>::first_chunk::<CHUNK>);
        let room = self.room.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<CHUNK>);
        match (chunk, room) {
            (Some(chunk), Some(room)) if range.len() <= CHUNK => *room = *chunk,
            _ => self.copy_exactly(range, to),
        }
        next
    }

    /// For what is longer than a chunk, or stands at the end of all. Out of line, so that the loop over escapes keeps its
    /// registers.
    #[inline(never)]
    fn copy_exactly(&mut self, range: Range<usize>, to: usize) {
        let room = self.room.get_mut(to..to + range.len());
        if let (Some(room), Some(bytes)) = (room, self.inner.get(range)) {
            room.copy_from_slice(bytes);
        }
    }

    /// Resolves the escape at `at`: one past it, and one past what it stands for.
    #[inline(always)]
    fn resolve(&mut self, at: usize, to: usize) -> (usize, usize) {
        let escape = self.onward.get(at..).and_then(<[u8]>::first_chunk);
        let (letter, width, length) = escape
            .and_then(quickly_resolved)
            // None that goes on behind the literal.
            .filter(|&(_, _, length)| at + length <= self.inner.len())
            .unwrap_or_else(|| resolved(self.inner.get(at..).unwrap_or_default()));
        if let Some(room) = self.room.get_mut(to..).and_then(<[u8]>::first_chunk_mut) {
            *room = letter;
        }
        ((at + length).min(self.inner.len()), to + width)
    }
}

/// What [`resolved`] says of the escapes that stand in nearly all texts: of one letter, and of what is no surrogate.
#[inline(always)]
fn quickly_resolved(escape: &[u8; 6]) -> Option<([u8; 4], usize, usize)> {
    let [_, sign, digits @ ..] = escape;
    if *sign != b'u' {
        let short = SHORT.get(usize::from(*sign)).copied().unwrap_or_default();
        return (short != 0).then_some(([short, 0, 0, 0], 1, 2));
    }
    let unit = unit_of(digits)?;
    if unit < 0x80 {
        return Some(([unit as u8, 0, 0, 0], 1, 6));
    }
    if unit & 0xF800 == 0xD800 {
        return None;
    }
    // Two bytes or three: which, no processor can foresee, so both are made.
    let [low, middle, high] = [unit & 0x3F, unit >> 6 & 0x3F, unit >> 12];
    let two = 0xC0 | unit >> 6 | (0x80 | low) << 8;
    let three = 0xE0 | high | (0x80 | middle) << 8 | (0x80 | low) << 16;
    let wide = u32::from(unit >= 0x800);
    let letter = two & wide.wrapping_sub(1) | three & wide.wrapping_neg();
    Some((letter.to_le_bytes(), 2 + wide as usize, 6))
}

/// What escapes of one letter stand for; 0 for all others.
static SHORT: [u8; 256] = {
    let mut table = [0; 256];
    let mut letter = 0;
    while letter < 128 {
        table[letter] = match letter as u8 {
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => 0,
            letter => letter,
        };
        letter += 1;
    }
    table
};

/// A character in UTF-8, and how many bytes it has.
#[inline]
fn encoded(letter: char) -> ([u8; 4], usize) {
    let mut buffer = [0; 4];
    let width = letter.encode_utf8(&mut buffer).len();
    (buffer, width)
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
    let (letter, width, length) = resolved(tail);
    out.extend_from_slice(letter.get(..width).unwrap_or_default());
    tail.get(length..).unwrap_or_default()
}

/// What the escape at the start of `tail` stands for in UTF-8, how many bytes that is, and the length of the escape. Of a
/// broken one what it escapes stands.
#[inline(never)]
fn resolved(tail: &[u8]) -> ([u8; 4], usize, usize) {
    match escaped(tail) {
        Some((letter, length)) => {
            let (letter, width) = encoded(letter);
            (letter, width, length)
        }
        None => ([tail.get(1).copied().unwrap_or(b'\\'), 0, 0, 0], 1, 2),
    }
}

/// The character that the escape at the start of `tail` stands for, and the length of the escape; `None` for a broken one.
#[inline]
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
#[inline]
pub(super) fn code_unit(bytes: &[u8]) -> Option<u32> {
    unit_of(bytes.strip_prefix(b"\\u")?.first_chunk()?)
}

/// The value of four hexadecimal digits.
#[inline(always)]
fn unit_of(digits: &[u8; 4]) -> Option<u32> {
    let value = |digit: u8| DIGITS.get(usize::from(digit)).copied().unwrap_or(NO_DIGIT);
    let [first, second, third, last] = digits.map(value);
    let unit = first << 12 | second << 8 | third << 4 | last;
    (unit < NO_DIGIT).then_some(unit)
}

/// More than any four digits come to, wherever among them it stands.
const NO_DIGIT: u32 = 1 << 16;

/// The values of hexadecimal digits.
static DIGITS: [u32; 256] = {
    let mut table = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        let letter = b"0123456789abcdef"[value as usize];
        table[letter as usize] = value;
        table[letter.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    table
};

/// `text` as a JSON string literal with its quotes: only what must be escaped is, the rest stands as UTF-8.
pub fn escape(text: &str) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((&byte, after)) = tail.split_first() else {
            break;
        };
        rest = after;
        let short = match byte {
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
            byte => byte,
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.extend_from_slice(rest);
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
