//! How much of one request another shares from the start: what a provider's prompt cache can still hit.
//!
//! Requests are compared part by part in the provider's render order (`WireFormat::render_order`: tools, system,
//! messages). A part is the own bytes of its JSON value; what stands between parts is not compared, nor is any other
//! field of the request. A provider that changes model, tool choice or thinking may drop its cache all the same, and
//! one that keeps blocks or breakpoints hits at most this prefix, never more.

use std::borrow::Cow;
use std::fmt::Write as _;

use turnfold_tokens::Encoding;

use crate::formats::{Section, WireFormat};
use crate::json::{self, Document, Value};
use crate::transcript::Transcript;

/// The first place where two requests differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The part of the request.
    pub section: Section,
    /// The message, when it lies in the messages. `after.len()` when `after` ends first.
    pub message: Option<usize>,
    /// JSON path of the deepest value that holds the first differing byte in both requests:
    /// `messages[3].content[0].text`, `tools[1].function.name`, `system`. A key that differs names its object; white
    /// space before a value counts to the value.
    pub path: String,
}

/// The part that two requests share from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixReport {
    /// Shared bytes in render order, up to the first differing byte.
    pub bytes: usize,
    /// Whole messages shared.
    pub messages: usize,
    /// Tokens of the sections and messages that are shared whole, as the meter counts them (`TokenCount::n`), without
    /// what the provider adds to the request as a whole.
    pub tokens: u64,
    /// The first difference; `None` when `before` is a prefix of `after` (or equal to it).
    pub first_difference: Option<Difference>,
    /// Whether all of `before` stands at the start of `after`.
    pub before_is_prefix: bool,
    /// The same question with the fields that only mark a cache breakpoint (`WireFormat::cache_markers`) removed.
    pub ignoring_cache_markers: bool,
}

/// Compares `before` with `after`, part by part.
///
/// Messages that both hold by reference to the same bytes (after `append` or `splice`) cost O(1) each, others one
/// memory comparison up to the first difference; each encoding is counted once per segment.
pub fn compare(before: &Transcript, after: &Transcript, encoding: Encoding) -> PrefixReport {
    let mut shared = Shared::default();
    let first = first_difference(before, after, &mut shared);
    let ignoring_cache_markers = first.is_none() || is_prefix_without_markers(before, after, shared.messages);
    PrefixReport {
        bytes: shared.bytes,
        messages: shared.messages,
        tokens: shared.tokens(before, encoding),
        before_is_prefix: first.is_none(),
        first_difference: first,
        ignoring_cache_markers,
    }
}

/// What was found equal so far.
#[derive(Default)]
struct Shared {
    bytes: usize,
    messages: usize,
    sections: Vec<Section>,
}

impl Shared {
    fn tokens(&self, before: &Transcript, encoding: Encoding) -> u64 {
        let whole = self.sections.iter().filter(|&&section| section != Section::Messages);
        let outside: u64 = whole.map(|&section| before.section_tokens(encoding, section).n).sum();
        outside + before.tokens(encoding, Some(0..self.messages)).n
    }
}

fn first_difference(before: &Transcript, after: &Transcript, shared: &mut Shared) -> Option<Difference> {
    for &section in before.format().render_order() {
        let found = match section {
            Section::Messages => messages(before, after, shared),
            Section::Tools | Section::System => head_part(before, after, section, shared),
        };
        if found.is_some() {
            return found;
        }
        shared.sections.push(section);
    }
    None
}

/// The bytes of a section that stands outside the messages.
pub(crate) fn part(transcript: &Transcript, section: Section) -> Option<&[u8]> {
    let head = transcript.head();
    let span = match section {
        Section::Tools => head.tools,
        Section::System => head.system,
        Section::Messages => None,
    };
    span.map(|s| s.of(head.source.bytes()))
}

fn head_part(before: &Transcript, after: &Transcript, section: Section, shared: &mut Shared) -> Option<Difference> {
    let (old, new) = (part(before, section), part(after, section));
    let (old_bytes, new_bytes) = (old.unwrap_or_default(), new.unwrap_or_default());
    if old.is_some() == new.is_some() && same(old_bytes, new_bytes) {
        shared.bytes += old_bytes.len();
        return None;
    }
    let at = common_prefix(old_bytes, new_bytes);
    shared.bytes += at;
    // Where a request may have it in several places, the one that has it says where.
    let holder = if old.is_some() { before } else { after };
    Some(Difference {
        section,
        message: None,
        path: path_at(section_path(holder, section), old_bytes, new_bytes, at),
    })
}

/// Where a section stands in the body.
pub(crate) fn section_path(transcript: &Transcript, section: Section) -> String {
    let head = transcript.head();
    let path = match section {
        Section::Tools => head.tools_path,
        Section::System => head.system_path,
        Section::Messages => "",
    };
    let usual = transcript.format().section_field(section);
    if path.is_empty() { usual } else { path }.to_owned()
}

fn messages(before: &Transcript, after: &Transcript, shared: &mut Shared) -> Option<Difference> {
    let mut news = after.messages();
    for old in before.messages() {
        let (index, old) = (old.index, old.bytes());
        let new = news.next().map(|new| new.bytes());
        if new.is_some_and(|new| same(old, new)) {
            shared.bytes += old.len();
            shared.messages += 1;
            continue;
        }
        let base = format!("{}[{index}]", before.list_field());
        let path = match new {
            Some(new) => {
                let at = common_prefix(old, new);
                shared.bytes += at;
                path_at(base, old, new, at)
            }
            None => base,
        };
        return Some(Difference {
            section: Section::Messages,
            message: Some(index),
            path,
        });
    }
    None
}

fn same(a: &[u8], b: &[u8]) -> bool {
    std::ptr::eq(a, b) || a == b
}

/// Length of the common start. Whole blocks go through the system's comparison, which is as fast as memory.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let blocks = equal_steps::<4096>(a, b);
    let (a, b) = (a.get(blocks..).unwrap_or_default(), b.get(blocks..).unwrap_or_default());
    let words = equal_steps::<8>(a, b);
    let rest = a.iter().zip(b).skip(words).take_while(|(x, y)| x == y).count();
    blocks + words + rest
}

/// Bytes of the equal steps of `N` bytes from the start on.
fn equal_steps<const N: usize>(a: &[u8], b: &[u8]) -> usize {
    let (a, _) = a.as_chunks::<N>();
    let (b, _) = b.as_chunks::<N>();
    a.iter().zip(b).take_while(|(x, y)| x == y).count() * N
}

/// Whether `before` is a prefix of `after` once markers are removed, given that the first `skip` messages are equal.
fn is_prefix_without_markers(before: &Transcript, after: &Transcript, skip: usize) -> bool {
    if before.len() > after.len() {
        return false;
    }
    let format = before.format();
    let equal = |old: &[u8], new: &[u8]| same(old, new) || without_markers(format, old) == without_markers(format, new);
    let sections = format.render_order().iter().all(|&section| {
        let (old, new) = (part(before, section), part(after, section));
        old.is_some() == new.is_some() && equal(old.unwrap_or_default(), new.unwrap_or_default())
    });
    sections
        && before
            .messages()
            .zip(after.messages())
            .skip(skip)
            .all(|(old, new)| equal(old.bytes(), new.bytes()))
}

/// The JSON text without members that are named like a marker, and without items that hold nothing else, each taken out
/// with its comma.
fn without_markers<'a>(format: &dyn WireFormat, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    if !names_marker(format, bytes) {
        return Cow::Borrowed(bytes);
    }
    let Ok(document) = Document::parse(bytes) else {
        return Cow::Borrowed(bytes);
    };
    let mut cuts = Vec::new();
    let mut open = vec![document.root()];
    while let Some(value) = open.pop() {
        let mut list = Members::default();
        for item in value.items() {
            let marker = only_markers(format, item);
            list.add(item.span().start, item.span().end, marker, &mut cuts);
            if !marker {
                open.push(item);
            }
        }
        list.end(&mut cuts);
        let mut object = Members::default();
        for (key, member) in value.fields() {
            let marker = is_marker(format, key);
            object.add(key.span().start, member.span().end, marker, &mut cuts);
            if !marker && !format.foreign_fields().iter().any(|f| key.is_text(f)) {
                open.push(member);
            }
        }
        object.end(&mut cuts);
    }
    cuts.sort_unstable();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for (start, end) in cuts {
        out.extend_from_slice(bytes.get(at..start as usize).unwrap_or_default());
        at = end as usize;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// Whether the name of a field that marks where the cache may end stands in these bytes, be it one or not. O(bytes).
pub(crate) fn names_marker(format: &dyn WireFormat, bytes: &[u8]) -> bool {
    let named = |marker: &&str| memchr::memmem::find(bytes, marker.as_bytes()).is_some();
    format.cache_markers().iter().any(named)
}

/// How many fields of the JSON text mark where the cache may end. O(bytes), and one search where none is named.
pub(crate) fn count_markers(format: &dyn WireFormat, bytes: &[u8]) -> usize {
    if !names_marker(format, bytes) {
        return 0;
    }
    let Ok(document) = Document::parse(bytes) else { return 0 };
    let mut count = 0;
    let mut open = vec![document.root()];
    while let Some(value) = open.pop() {
        open.extend(value.items());
        for (key, member) in value.fields() {
            if is_marker(format, key) {
                count += usize::from(!member.is_null());
            } else if !format.foreign_fields().iter().any(|field| key.is_text(field)) {
                open.push(member);
            }
        }
    }
    count
}

fn is_marker(format: &dyn WireFormat, key: Value<'_>) -> bool {
    format.cache_markers().iter().any(|marker| key.is_text(marker))
}

/// Whether an item of a list is an object of markers and nothing else.
fn only_markers(format: &dyn WireFormat, item: Value<'_>) -> bool {
    item.fields().next().is_some() && item.fields().all(|(key, _)| is_marker(format, key))
}

/// Walks the members of one object or list, and notes the byte ranges of its markers.
#[derive(Default)]
struct Members {
    /// End of the last member that stays; before there is one, the markers wait for it.
    kept_end: Option<u32>,
    /// The markers before the first member that stays.
    leading: Option<(u32, u32)>,
}

impl Members {
    fn add(&mut self, start: u32, end: u32, marker: bool, cuts: &mut Vec<(u32, u32)>) {
        match (marker, self.kept_end) {
            (true, Some(from)) => cuts.push((from, end)),
            (true, None) => self.leading = Some((self.leading.map_or(start, |(first, _)| first), end)),
            (false, None) => cuts.extend(self.leading.take().map(|(first, _)| (first, start))),
            (false, Some(_)) => {}
        }
        if !marker || self.kept_end.is_some() {
            self.kept_end = Some(end);
        }
    }

    fn end(self, cuts: &mut Vec<(u32, u32)>) {
        cuts.extend(self.leading);
    }
}

enum Frame<'a> {
    Object { key: Option<&'a [u8]>, in_value: bool },
    Array { index: usize },
}

/// The JSON path of the deepest value that holds byte `at` in both `old` and `new`, which are equal up to there.
/// O(`at`).
fn path_at(mut path: String, old: &[u8], new: &[u8], at: usize) -> String {
    let shared = old.get(..at).unwrap_or_default();
    let next = [old.get(at).copied(), new.get(at).copied()];
    let mut frames: Vec<Frame<'_>> = Vec::new();
    // Whether the value at the cursor has ended; a number may still go on.
    let mut done = false;
    let mut open_string = false;
    let mut i = 0;
    while let Some(&byte) = shared.get(i) {
        match byte {
            b'{' => frames.push(Frame::Object {
                key: None,
                in_value: false,
            }),
            b'[' => frames.push(Frame::Array { index: 0 }),
            b'}' | b']' => {
                frames.pop();
            }
            b':' => {
                if let Some(Frame::Object { in_value, .. }) = frames.last_mut() {
                    *in_value = true;
                }
            }
            b',' => match frames.last_mut() {
                Some(Frame::Object { key, in_value }) => (*key, *in_value) = (None, false),
                Some(Frame::Array { index }) => *index += 1,
                None => {}
            },
            b'"' => {
                let Some(end) = string_end(shared, i) else {
                    open_string = true;
                    break;
                };
                if let Some(Frame::Object { key, in_value: false }) = frames.last_mut() {
                    *key = shared.get(i..end);
                }
                i = end - 1;
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            done = !matches!(byte, b'{' | b'[' | b',' | b':');
        }
        i += 1;
    }
    let scalar = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let goes_on = scalar(shared.last().copied()) && next.into_iter().any(scalar);
    let inside = open_string || !done || goes_on;
    let depth = frames.len();
    for (level, frame) in frames.iter().enumerate() {
        let last = level + 1 == depth;
        match frame {
            Frame::Object {
                key: Some(key),
                in_value: true,
            } if !last || inside => member(&mut path, key),
            Frame::Array { index } if !last || inside && !(*index == 0 && next.contains(&Some(b']'))) => {
                // Writing to a String does not fail.
                let _ = write!(path, "[{index}]");
            }
            _ => {}
        }
    }
    path
}

/// The end of the string that starts at `start`, closing quote included, if it ends.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn member(path: &mut String, key: &[u8]) {
    let name = json::unescape(key);
    if !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    {
        path.push('.');
        path.push_str(&name);
    } else {
        path.push('[');
        path.push_str(&String::from_utf8_lossy(key));
        path.push(']');
    }
}
