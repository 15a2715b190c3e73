//! Byte spans of JSON values, read in one pass.
//!
//! A [`Document`] is a tape: one node a value (and a key), in input order, each with its byte span and the index of
//! the node after its subtree. Whoever walks it skips a subtree in O(1) and reads no byte twice.
//!
//! The bytes of the grammar are found 64 at a time (`places.rs`), and the tape is made from their places (`tape.rs`);
//! `scan.rs` reads byte by byte, is the judge of that, and says what is wrong with what is no JSON.
//!
//! Why not a reader from a crate: `sonic-rs` 0.5.10 gives the spans, but its skip accepts `"\u12G4"` and bytes after
//! the root, recurses, and reads a level again for each level entered: 2.4 ms for a 1 MB request of 1,800 messages,
//! of which this reader takes a small part. `jiter` 0.19 refuses lone surrogates, which real transcripts hold.
//!
//! Accepted is what RFC 8259 accepts, with these choices where it leaves one: a byte order mark before the root is
//! white space; lone surrogate escapes are kept; numbers have any length; of two equal keys the last one counts;
//! containers nest at most [`MAX_DEPTH`] levels.

use std::borrow::Cow;

use crate::errors::{ReadError, ReadErrorCode};
use crate::transcript::Span;

mod places;
mod scan;
mod surrogates;
mod tape;
mod text;

pub use scan::MAX_DEPTH;
pub(crate) use surrogates::has_half_character;
pub(crate) use text::Unescaping;
pub use text::{escape, is_blank, unescape};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `{...}`
    Object,
    /// `[...]`
    Array,
    /// `"..."`
    String,
    /// `-1.5e3`
    Number,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
}

/// One value or key: its bytes, and the index of the first node after its subtree. 12 bytes a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    start: u32,
    end: u32,
    next: u32,
}

/// A JSON text with the spans of all its values.
#[derive(Debug)]
pub struct Document<'a> {
    bytes: &'a [u8],
    nodes: Vec<Node>,
}

impl<'a> Document<'a> {
    /// Reads `bytes`, whole. O(bytes) time, 12 bytes of memory a value or key, no recursion.
    ///
    /// # Errors
    /// `too_large` for 4 GiB and more; `invalid_utf8`, `invalid_json` and `too_deep` with the offset of the first
    /// byte that cannot stand where it does.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ReadError> {
        Self::check(bytes)?;
        Ok(Self {
            bytes,
            nodes: match tape::document(bytes) {
                Some(nodes) => nodes,
                None => scan::scan(bytes)?,
            },
        })
    }

    fn check(bytes: &[u8]) -> Result<(), ReadError> {
        #[cfg(test)]
        crate::work::parsed(bytes.len());
        Self::check_size(bytes)?;
        if let Err(error) = simdutf8::compat::from_utf8(bytes) {
            return Err(ReadError {
                code: ReadErrorCode::InvalidUtf8,
                offset: error.valid_up_to(),
                path: String::new(),
                text: "the input is not UTF-8".to_owned(),
            });
        }
        Ok(())
    }

    /// Refuses what spans do not reach into.
    pub(crate) fn check_size(bytes: &[u8]) -> Result<(), ReadError> {
        if u32::try_from(bytes.len()).is_ok() {
            return Ok(());
        }
        Err(ReadError {
            code: ReadErrorCode::TooLarge,
            offset: u32::MAX as usize,
            path: String::new(),
            text: "the input is 4 GiB or larger".to_owned(),
        })
    }

    /// Reads the rest of an array that has items already, up to its closing bracket, which is not among the bytes: any
    /// number of items, a comma before each. The array stands `levels` deep. O(bytes), as [`Document::parse`].
    ///
    /// # Errors
    /// As [`Document::parse`]; white space after the last item is an error, too.
    pub fn parse_items(bytes: &'a [u8], levels: usize) -> Result<Self, ReadError> {
        Self::check(bytes)?;
        Ok(Self {
            bytes,
            nodes: match tape::items(bytes, levels) {
                Some(nodes) => nodes,
                None => scan::scan_items(bytes, levels)?,
            },
        })
    }

    /// One past the last byte of the value that starts at `at`, `levels` deep; `None` where there is none.
    pub(crate) fn value_end(bytes: &[u8], at: usize, levels: usize) -> Option<usize> {
        let end = scan::value_end(bytes, at, levels);
        #[cfg(test)]
        crate::work::parsed(end.map_or(bytes.len(), |end| end - at));
        end
    }

    /// Length of the text in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The values at the top: one, or those of [`Document::parse_items`].
    pub fn roots(&self) -> impl Iterator<Item = Value<'_>> + Clone {
        Children {
            of: self.root(),
            at: 0,
            end: self.nodes.len() as u32,
        }
    }

    /// The outermost value.
    pub fn root(&self) -> Value<'_> {
        Value {
            bytes: self.bytes,
            nodes: &self.nodes,
            at: 0,
        }
    }

    /// The spans without the bytes, for an owner that keeps both.
    pub fn into_tape(self) -> Tape {
        Tape { nodes: self.nodes }
    }
}

/// The spans of a [`Document`], apart from its bytes.
#[derive(Debug)]
pub struct Tape {
    nodes: Vec<Node>,
}

impl Tape {
    /// The outermost value of `bytes`, which are those that the document was parsed from. Of any other bytes, nothing
    /// sensible.
    pub fn root<'d>(&'d self, bytes: &'d [u8]) -> Value<'d> {
        Value {
            bytes,
            nodes: &self.nodes,
            at: 0,
        }
    }
}

/// One value of a [`Document`]. Spans are relative to the document's bytes.
#[derive(Clone, Copy)]
pub struct Value<'d> {
    bytes: &'d [u8],
    nodes: &'d [Node],
    at: u32,
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.raw()))
    }
}

impl<'d> Value<'d> {
    fn node(self) -> Node {
        self.nodes.get(self.at as usize).copied().unwrap_or(Node {
            start: 0,
            end: 0,
            next: u32::MAX,
        })
    }

    fn sibling(self, at: u32) -> Self {
        Self { at, ..self }
    }

    /// Where the value stands, quotes and brackets included.
    pub fn span(self) -> Span {
        let node = self.node();
        Span {
            start: node.start,
            end: node.end,
        }
    }

    /// The value's bytes.
    pub fn raw(self) -> &'d [u8] {
        self.span().of(self.bytes)
    }

    /// The bytes of any span of the same document.
    pub fn bytes_of(self, span: Span) -> &'d [u8] {
        span.of(self.bytes)
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        match self.raw().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.kind() == Kind::Object
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.kind() == Kind::Array
    }

    /// Whether it is a string.
    pub fn is_string(self) -> bool {
        self.kind() == Kind::String
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The text of a string, escapes resolved; `None` for any other kind.
    pub fn text(self) -> Option<Cow<'d, str>> {
        self.is_string().then(|| unescape(self.raw()))
    }

    /// The bytes of a string between its quotes: borrowed where nothing is escaped. Empty for any other kind.
    pub fn key(self) -> Cow<'d, [u8]> {
        let raw = self.raw();
        let [b'"', inner @ .., b'"'] = raw else {
            return Cow::Borrowed(&[]);
        };
        if memchr::memchr(b'\\', inner).is_none() {
            return Cow::Borrowed(inner);
        }
        Cow::Owned(unescape(raw).into_owned().into_bytes())
    }

    /// Whether it is a string with exactly this text.
    pub fn is_text(self, text: &str) -> bool {
        let [b'"', inner @ .., b'"'] = self.raw() else {
            return false;
        };
        let text = text.as_bytes();
        // An escape is longer than what it stands for, and what starts with none starts alike.
        let may = |first: &u8| *first == b'\\' || text.first() == Some(first);
        inner == text || (inner.len() > text.len() && inner.first().is_some_and(may) && *self.key() == *text)
    }

    /// The items of an array; nothing for any other kind.
    pub fn items(self) -> impl Iterator<Item = Value<'d>> + Clone + use<'d> {
        let (first, end) = self.children(Kind::Array);
        Children {
            of: self,
            at: first,
            end,
        }
    }

    /// Keys and values of an object in input order, equal keys included; nothing for any other kind.
    pub fn fields(self) -> impl Iterator<Item = (Value<'d>, Value<'d>)> + use<'d> {
        let (first, end) = self.children(Kind::Object);
        let mut children = Children {
            of: self,
            at: first,
            end,
        };
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// The value of a key: of the last one where several are equal. O(fields).
    pub fn get(self, key: &str) -> Option<Value<'d>> {
        self.fields().filter(|(k, _)| k.is_text(key)).last().map(|(_, v)| v)
    }

    fn children(self, kind: Kind) -> (u32, u32) {
        if self.kind() == kind {
            (self.at + 1, self.node().next)
        } else {
            (0, 0)
        }
    }
}

#[derive(Clone)]
struct Children<'d> {
    of: Value<'d>,
    at: u32,
    end: u32,
}

impl<'d> Iterator for Children<'d> {
    type Item = Value<'d>;

    fn next(&mut self) -> Option<Value<'d>> {
        if self.at >= self.end {
            return None;
        }
        let value = self.of.sibling(self.at);
        self.at = value.node().next;
        Some(value)
    }
}

#[cfg(test)]
mod tests;
