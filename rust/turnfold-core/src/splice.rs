//! New transcripts from the parts of one: kept messages leave as their own bytes.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::errors::ReadError;
use crate::json::Document;
use crate::transcript::{Block, BlockKind, Place, Segment, Source, SourceBytes, Transcript};

pub(crate) mod edits;
pub(crate) mod texts;

pub use texts::edit;

use edits::Edits;

/// One part of a splice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// These messages of the source transcript, byte for byte.
    Keep(Range<usize>),
    /// A new message: the JSON of one message in the transcript's format.
    Insert(Vec<u8>),
}

/// Why a splice was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpliceError {
    /// An index is out of range, out of order or named twice; the sentence says which.
    Argument(String),
    /// Inserted bytes cannot be read as a message; the path names the message's place in the result.
    Read(ReadError),
}

impl fmt::Display for SpliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(text) => f.write_str(text),
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SpliceError {}

impl From<ReadError> for SpliceError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// The transcript made of `parts`, in their order. Ranges are half-open, ascending and do not overlap; empty ones are
/// allowed. Everything outside the messages stays.
///
/// Kept messages keep their bytes, their rows, the counts made so far and the white space before them; only inserted
/// ones are read. O(kept rows + inserted bytes); no kept byte is copied, and an all-keep splice shares every segment.
///
/// # Errors
/// `Argument` for a range that ends before it starts, past the end, or before an earlier one; `Read` for inserted
/// bytes that are no message.
pub fn splice(transcript: &Transcript, parts: &[Part]) -> Result<Transcript, SpliceError> {
    let mut kept_end = 0;
    for (position, part) in parts.iter().enumerate() {
        if let Part::Keep(range) = part {
            if range.start > range.end || range.end > transcript.len() || range.start < kept_end {
                return Err(SpliceError::Argument(format!(
                    "part {position} keeps messages {}..{}, but the parts before it end at {kept_end} and there are {} messages",
                    range.start,
                    range.end,
                    transcript.len()
                )));
            }
            kept_end = range.end;
        }
    }
    assemble(transcript, parts)
}

/// [`splice`] without its order: ranges may stand anywhere and name a message twice. They end within the transcript.
pub(crate) fn assemble(transcript: &Transcript, parts: &[Part]) -> Result<Transcript, SpliceError> {
    let mut segments = Vec::new();
    let mut kept = 0..0;
    let mut index = 0;
    for part in parts {
        match part {
            Part::Keep(range) => {
                index += range.len();
                if range.start == kept.end {
                    kept.end = range.end;
                } else {
                    keep(transcript, &kept, &mut segments);
                    kept = range.clone();
                }
            }
            Part::Insert(bytes) => {
                keep(transcript, &kept, &mut segments);
                kept = kept.end..kept.end;
                let source: Source = Arc::new(bytes.clone());
                let segment = Segment::from_message(transcript.format, SourceBytes(source), index, None)?;
                segments.push(Arc::new(segment));
                index += 1;
            }
        }
    }
    if kept == (0..transcript.len()) && segments.is_empty() {
        return Ok(transcript.clone());
    }
    keep(transcript, &kept, &mut segments);
    Ok(transcript.with_segments(segments))
}

/// Adds the segments of `range`: shared where it takes one whole, sliced where it takes a part.
fn keep(transcript: &Transcript, range: &Range<usize>, segments: &mut Vec<Arc<Segment>>) {
    segments.extend(kept(transcript, range).map(|(segment, part)| shared(segment, part)));
}

/// The segments of `range`, and which of each segment's messages it takes.
fn kept<'t>(
    transcript: &'t Transcript,
    range: &Range<usize>,
) -> impl Iterator<Item = (&'t Arc<Segment>, Range<usize>)> + use<'t> {
    let Range { start, end } = *range;
    let first = transcript
        .starts
        .partition_point(|&s| s as usize <= start)
        .saturating_sub(1);
    let segments = transcript.segments.iter().zip(&transcript.starts).skip(first);
    segments
        .map(|(segment, &at)| (segment, at as usize))
        .take_while(move |&(_, at)| at < end)
        .map(move |(segment, at)| (segment, start.saturating_sub(at)..(end - at).min(segment.len())))
        .filter(|(_, part)| !part.is_empty())
}

fn shared(segment: &Arc<Segment>, part: Range<usize>) -> Arc<Segment> {
    if part == (0..segment.len()) {
        Arc::clone(segment)
    } else {
        Arc::new(segment.slice(part))
    }
}

/// The bytes of one message with the `body` of the given blocks replaced by the given texts. Every
/// other byte stays. Pass the result to [`splice`] as an `Insert`.
///
/// # Errors
/// `Argument` when there is no such message or block, a block has no body to replace (a call, an image), or two
/// replacements meet.
pub fn rewrite_blocks(
    transcript: &Transcript,
    message: usize,
    texts: &[(usize, impl AsRef<str>)],
) -> Result<Vec<u8>, SpliceError> {
    let view = transcript.message(message).ok_or_else(|| {
        SpliceError::Argument(format!("there is no message {message}; there are {}", transcript.len()))
    })?;
    if let Some(own) = transcript.of_lone(&view)? {
        return rewrite_blocks(&own, 0, texts);
    }
    let start = view.row.span.start as usize;
    let mut edits = Edits::default();
    for (index, text) in texts {
        let block = view.block(*index).ok_or_else(|| {
            SpliceError::Argument(format!(
                "message {message} has no block {index}; it has {}",
                view.rows().len()
            ))
        })?;
        let body = block.row.body.ok_or_else(|| {
            SpliceError::Argument(format!(
                "{} has no text that could be replaced",
                block.path(transcript.list_field())
            ))
        })?;
        let new = transcript
            .format
            .body_of(body.of(view.segment.source.bytes()), text.as_ref());
        let body = edits::range(body);
        edits.replace(body.start - start..body.end - start, new);
    }
    edits
        .apply(view.bytes())
        .ok_or_else(|| SpliceError::Argument(format!("two replacements meet in message {message}")))
}

/// The bytes of one message without the given blocks: items of lists go with their comma, a field goes as a whole when
/// it was one block or loses its last item, and every other byte stays. `None` where nothing would be left that counts
/// as content (no block, or only reasoning and blank text): the message must go. O(bytes of the message).
///
/// A block that shares its place in the message with another (two readings of one item) takes it along.
///
/// # Errors
/// `Argument` when there is no such message or block.
pub fn remove_blocks(
    transcript: &Transcript,
    message: usize,
    blocks: &[usize],
) -> Result<Option<Vec<u8>>, SpliceError> {
    let view = transcript.message(message).ok_or_else(|| {
        SpliceError::Argument(format!("there is no message {message}; there are {}", transcript.len()))
    })?;
    if let Some(own) = transcript.of_lone(&view)? {
        return remove_blocks(&own, 0, blocks);
    }
    let rows: Vec<_> = view.blocks().map(|block| block.row).collect();
    let mut gone: HashSet<Place> = HashSet::with_capacity(blocks.len());
    for &index in blocks {
        let row = rows.get(index).ok_or_else(|| {
            SpliceError::Argument(format!("message {message} has no block {index}; it has {}", rows.len()))
        })?;
        gone.insert(row.place);
    }
    if gone.is_empty() {
        return Ok(Some(view.bytes().to_vec()));
    }
    let stays = |row: &Block| !gone.contains(&row.place) && !is_hollow(row);
    if gone.contains(&Place::Message) || !rows.iter().any(|row| stays(row)) {
        return Ok(None);
    }
    let document = Document::parse(view.bytes())?;
    let root = document.root();
    let mut edits = Edits::default();
    let mut fields_gone: HashSet<&str> = HashSet::new();
    let mut thinned: HashSet<&str> = HashSet::new();
    for place in &gone {
        match *place {
            Place::Message => {}
            Place::Field(field) => drop(fields_gone.insert(field)),
            Place::Item(field, _) => drop(thinned.insert(field)),
        }
    }
    for field in thinned.difference(&fields_gone.clone()).copied() {
        let Some(list) = root.get(field) else { continue };
        let items = edits::items(list);
        let is_gone = |k: usize| gone.contains(&Place::Item(field, k as u32));
        if (0..items.len()).all(is_gone) {
            fields_gone.insert(field);
        } else {
            edits.take_out(&items, is_gone);
        }
    }
    let names: Vec<_> = root.fields().map(|(key, _)| key.key()).collect();
    // Of equal keys the last counts: without it an earlier one would.
    edits.take_out(&edits::fields(root), |k| {
        names
            .get(k)
            .is_some_and(|name| fields_gone.iter().any(|field| field.as_bytes() == &**name))
    });
    edits
        .apply(view.bytes())
        .map(Some)
        .ok_or_else(|| SpliceError::Argument(format!("two blocks of message {message} lie in each other")))
}

/// Whether a block alone is no content: reasoning, or blank text.
fn is_hollow(row: &Block) -> bool {
    row.kind == BlockKind::Reasoning || (row.kind == BlockKind::Text && row.blank)
}
