//! The tape from the places of the grammar's bytes: what [`super::scan`] makes, several times as fast, or `None`.
//!
//! Nothing is said about what is wrong: whoever gets `None` asks `scan`, which says it, or disagrees.

use super::Node;
use super::places::places;
use super::scan::{BYTE_ORDER_MARK, Expect, MAX_DEPTH, literal, number, push};
use crate::simd::Level;

/// Where the places of shorter texts cost more than they save.
const LEAST_BYTES: usize = 96;

/// As [`super::scan::scan`].
pub(super) fn document(bytes: &[u8]) -> Option<Vec<Node>> {
    if bytes.len() < LEAST_BYTES {
        return None;
    }
    document_at(Level::detect(), bytes)
}

pub(super) fn document_at(level: Level, bytes: &[u8]) -> Option<Vec<Node>> {
    let start = if bytes.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 };
    let mut walk = Walk::new(level, bytes, start)?;
    walk.value(0)?;
    (walk.next == walk.places.len()).then_some(walk.nodes)
}

/// As [`super::scan::scan_items`].
pub(super) fn items(bytes: &[u8], levels: usize) -> Option<Vec<Node>> {
    if bytes.len() < LEAST_BYTES {
        return None;
    }
    items_at(Level::detect(), bytes, levels)
}

pub(super) fn items_at(level: Level, bytes: &[u8], levels: usize) -> Option<Vec<Node>> {
    let mut walk = Walk::new(level, bytes, 0)?;
    let mut end = 0;
    while walk.next < walk.places.len() {
        let comma = walk.place()?;
        if bytes.get(comma) != Some(&b',') {
            return None;
        }
        end = walk.value(levels)?;
    }
    (end == bytes.len()).then_some(walk.nodes)
}

struct Walk<'a> {
    bytes: &'a [u8],
    places: Vec<u32>,
    next: usize,
    open: Vec<(u32, u8)>,
    nodes: Vec<Node>,
}

impl<'a> Walk<'a> {
    fn new(level: Level, bytes: &'a [u8], start: usize) -> Option<Self> {
        let places = places(level, bytes, start)?;
        Some(Self {
            bytes,
            nodes: Vec::with_capacity(places.len() / 2 + 1),
            places,
            next: 0,
            open: Vec::new(),
        })
    }

    fn place(&mut self) -> Option<usize> {
        let place = *self.places.get(self.next)?;
        self.next += 1;
        Some(place as usize)
    }

    /// One value, `levels` deep, with all in it; one past its last byte.
    fn value(&mut self, levels: usize) -> Option<usize> {
        let mut expect = Expect::Value;
        loop {
            let at = self.place()?;
            let byte = *self.bytes.get(at)?;
            let end = match (expect, byte) {
                (Expect::Value | Expect::ItemOrEnd, b'"') => self.string(at)?,
                (Expect::Key | Expect::KeyOrEnd, b'"') => {
                    self.string(at)?;
                    let colon = self.place()?;
                    if self.bytes.get(colon) != Some(&b':') {
                        return None;
                    }
                    expect = Expect::Value;
                    continue;
                }
                (Expect::CommaOrEnd, b',') => {
                    expect = match self.open.last() {
                        Some((_, b'{')) => Expect::Key,
                        _ => Expect::Value,
                    };
                    continue;
                }
                (Expect::Value | Expect::ItemOrEnd, b'{' | b'[') => {
                    if levels + self.open.len() >= MAX_DEPTH {
                        return None;
                    }
                    self.open.push((self.nodes.len() as u32, byte));
                    push(&mut self.nodes, at, at);
                    expect = if byte == b'{' {
                        Expect::KeyOrEnd
                    } else {
                        Expect::ItemOrEnd
                    };
                    continue;
                }
                (Expect::ItemOrEnd | Expect::CommaOrEnd, b']') | (Expect::KeyOrEnd | Expect::CommaOrEnd, b'}') => {
                    let (node, bracket) = self.open.pop()?;
                    if bracket != byte - 2 {
                        return None;
                    }
                    let next = self.nodes.len() as u32;
                    let node = self.nodes.get_mut(node as usize)?;
                    node.end = at as u32 + 1;
                    node.next = next;
                    at + 1
                }
                (Expect::Value | Expect::ItemOrEnd, _) => self.word(at, byte)?,
                _ => return None,
            };
            if self.open.is_empty() {
                return Some(end);
            }
            expect = Expect::CommaOrEnd;
        }
    }

    /// A string, whose closing quote is the next place.
    fn string(&mut self, at: usize) -> Option<usize> {
        let end = self.place()? + 1;
        push(&mut self.nodes, at, end);
        Some(end)
    }

    /// A number, `true`, `false` or `null`, with nothing right behind it.
    fn word(&mut self, at: usize, byte: u8) -> Option<usize> {
        let end = match byte {
            b'-' | b'0'..=b'9' => number(self.bytes, at),
            b't' => literal(self.bytes, at, b"true"),
            b'f' => literal(self.bytes, at, b"false"),
            b'n' => literal(self.bytes, at, b"null"),
            _ => return None,
        };
        let end = end.ok()?;
        // Another byte would belong to the same word, so that no place tells of it.
        let follows = self.bytes.get(end).copied().unwrap_or(b' ');
        if !matches!(follows, b' ' | b'\n' | b'\r' | b'\t' | b',' | b'}' | b']') {
            return None;
        }
        push(&mut self.nodes, at, end);
        Some(end)
    }
}
