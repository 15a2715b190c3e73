//! New transcripts from the parts of one: kept messages leave as their own bytes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::errors::ReadError;
use crate::json;
use crate::transcript::{Segment, Source, SourceBytes, Span, Transcript};

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
    let mut segments = Vec::new();
    let mut kept = 0..0;
    let mut index = 0;
    for (position, part) in parts.iter().enumerate() {
        match part {
            Part::Keep(range) => {
                if range.start > range.end || range.end > transcript.len() || range.start < kept.end {
                    return Err(SpliceError::Argument(format!(
                        "part {position} keeps messages {}..{}, but the parts before it end at {} and there are {} messages",
                        range.start,
                        range.end,
                        kept.end,
                        transcript.len()
                    )));
                }
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
                let segment = Segment::from_message(transcript.format, SourceBytes(source), index)?;
                segments.push(Arc::new(segment));
                index += 1;
            }
        }
    }
    keep(transcript, &kept, &mut segments);
    Ok(Transcript::from_segments(
        transcript.format,
        transcript.format_reason.clone(),
        Arc::clone(&transcript.head),
        segments,
    ))
}

/// Adds the segments of `range`: shared where it takes one whole, sliced where it takes a part.
fn keep(transcript: &Transcript, range: &Range<usize>, segments: &mut Vec<Arc<Segment>>) {
    if range.is_empty() {
        return;
    }
    let first = transcript
        .starts
        .partition_point(|&s| s as usize <= range.start)
        .saturating_sub(1);
    for (segment, &start) in transcript.segments.iter().zip(&transcript.starts).skip(first) {
        let (start, len) = (start as usize, segment.messages.len());
        if start >= range.end {
            return;
        }
        let part = range.start.saturating_sub(start)..(range.end - start).min(len);
        if part == (0..len) {
            segments.push(Arc::clone(segment));
        } else if !part.is_empty() {
            segments.push(Arc::new(segment.slice(part)));
        }
    }
}

/// The bytes of one message with the `body` of the given blocks replaced by JSON strings of the given texts. Every
/// other byte stays. Pass the result to [`splice`] as an `Insert`.
///
/// # Errors
/// `Argument` when there is no such message or block, a block has no body to replace (a call, an image), or two
/// replacements meet.
pub fn rewrite_blocks(
    transcript: &Transcript,
    message: usize,
    texts: &[(usize, String)],
) -> Result<Vec<u8>, SpliceError> {
    let view = transcript.message(message).ok_or_else(|| {
        SpliceError::Argument(format!("there is no message {message}; there are {}", transcript.len()))
    })?;
    let blocks: Vec<_> = view.blocks().collect();
    let mut edits: Vec<(Span, &str)> = Vec::with_capacity(texts.len());
    for (index, text) in texts {
        let block = blocks.get(*index).ok_or_else(|| {
            SpliceError::Argument(format!(
                "message {message} has no block {index}; it has {}",
                blocks.len()
            ))
        })?;
        let body = block.row.body.ok_or_else(|| {
            SpliceError::Argument(format!(
                "{} has no text that could be replaced",
                block.path(transcript.list_field())
            ))
        })?;
        edits.push((body, text));
    }
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    let source = view.segment.source.bytes();
    let mut out = Vec::with_capacity(view.row.span.len());
    let mut at = view.row.span.start;
    for (span, text) in edits {
        if span.start < at || span.end > view.row.span.end {
            return Err(SpliceError::Argument(format!(
                "two replacements meet in message {message}"
            )));
        }
        out.extend_from_slice(
            Span {
                start: at,
                end: span.start,
            }
            .of(source),
        );
        out.extend_from_slice(&json::escape(text));
        at = span.end;
    }
    out.extend_from_slice(
        Span {
            start: at,
            end: view.row.span.end,
        }
        .of(source),
    );
    Ok(out)
}
