//! Bytes to rows: a whole body, or one more message.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Head, Segment, Source, SourceBytes, Span, Transcript};
use crate::errors::{ReadError, ReadErrorCode};
use crate::formats::{self, Evidence, Rows, WireFormat};
use crate::json::{Document, Value};
use crate::meter::{CountMemo, HeadMemo};
use crate::recent;

/// Why a format is what it is, where the caller named it.
pub(super) const NAMED: &str = "named by the caller";

impl Transcript {
    /// Reads a request body, or a bare array of messages. `format` is a public name (`openai.chat`,
    /// `anthropic.messages`, or an alias); `None` detects it and says why in [`Transcript::format_reason`].
    ///
    /// One pass over the bytes, then O(messages + blocks); keeps `source` alive and copies none of it. Unknown fields
    /// and kinds are kept as bytes. An empty array of messages is a transcript.
    ///
    /// A body that goes on from one that was counted lately is read as [`Transcript::extend_from`] reads it, and one of
    /// messages that were counted from what is known of them.
    ///
    /// # Errors
    /// All codes of [`ReadErrorCode`], with byte offset and, past the JSON grammar, the JSON path.
    pub fn from_json(source: Source, format: Option<&str>) -> Result<Self, ReadError> {
        let known = format.and_then(formats::by_name);
        let landmarks = recent::landmarks((*source).as_ref());
        if known.is_some() || format.is_none() {
            if let Some(found) = recent::find(&landmarks).filter(|found| found.transcript.is_read_as(known))
                && let Some(extended) = found.transcript.extended((*source).as_ref())
            {
                return Ok(Self { landmarks, ..extended });
            }
            if let Some(recalled) = Self::recalled(&SourceBytes(Arc::clone(&source)), known) {
                return Ok(Self { landmarks, ..recalled });
            }
        }
        let read = Self::read_whole(source, format)?;
        Ok(Self { landmarks, ..read })
    }

    /// Whether it was read with this format named, or with none.
    fn is_read_as(&self, named: Option<&dyn WireFormat>) -> bool {
        match named {
            Some(format) => self.named && self.format.name() == format.name(),
            None => !self.named,
        }
    }

    /// [`Transcript::from_json`] without a look at what was read before: the same, and never faster.
    ///
    /// # Errors
    /// As [`Transcript::from_json`].
    pub fn read_whole(source: Source, format: Option<&str>) -> Result<Self, ReadError> {
        let source = SourceBytes(source);
        let document = Document::parse(source.bytes())?;
        let root = document.root();
        let named = format.map(by_name).transpose()?;
        let (conversation, candidates) = formats::conversation(root, named)?;
        let mut evidence = None;
        let (format, reason) = if let Some(format) = named {
            (format, Cow::Borrowed(NAMED))
        } else {
            let found = evidence.insert(Evidence::of_body(root, conversation.value, &candidates));
            let messages = conversation.value.items();
            found.add(0, &messages);
            found.weigh(messages.enumerate())?
        };
        let count = conversation.value.items().count();
        let mut rows = Rows {
            blocks: Vec::with_capacity(count),
            texts: Vec::with_capacity(count + count / 2),
        };
        let mut read = Vec::with_capacity(count);
        let place = conversation.value.span();
        let mut edge = if conversation.lone {
            place.start
        } else {
            place.start + 1
        };
        let start = edge;
        let mut add = |index, value: Value<'_>| {
            let mut message = read_message(format, value, conversation.lone, &mut rows, &|path| {
                join(format, index, path)
            })?;
            message.gap = Span {
                start: edge,
                end: message.span.start,
            };
            edge = message.span.end;
            read.push(message);
            Ok(())
        };
        if conversation.lone {
            add(0, conversation.value)?;
        }
        for (index, value) in conversation.value.items().enumerate() {
            add(index, value)?;
        }
        let head = Head {
            before: Span { start: 0, end: start },
            after: Span {
                start: edge,
                end: source.bytes().len() as u32,
            },
            lone: conversation.lone,
            source: source.clone(),
            ..Head::of_body(&document, start as usize, format)
        };
        let segment = Segment::new(source, read, rows, true, CountMemo::default());
        let read = Self::from_segments(format, reason, Arc::new(head), vec![Arc::new(segment)]);
        Ok(Self {
            named: named.is_some(),
            evidence: evidence.map(Arc::new),
            ..read
        })
    }

    /// This transcript and one more message at its end, `message` being the JSON of that message. The segments before
    /// are shared, except that small ones at the tail are merged so that n appends leave O(log n) of them; amortised
    /// O(bytes of the message · log n), and O(segments) for the handles.
    ///
    /// # Errors
    /// As [`Transcript::from_json`]; paths say `messages[n]`.
    pub fn append(&self, message: Source) -> Result<Self, ReadError> {
        let mut evidence = self.evidence.as_deref().cloned();
        let segment = Segment::from_message(self.format, SourceBytes(message), self.len(), evidence.as_mut())?;
        let mut segments = self.segments.clone();
        segments.push(Arc::new(segment));
        // A lone value is known by where it stands.
        Segment::merge_tail(&mut segments, usize::from(self.head.lone));
        Ok(Self {
            evidence: evidence.map(Arc::new),
            pairs: self.pairs.grown(),
            ..self.with_segments(segments)
        })
    }

    /// The same request with other segments; nothing is known of their pairs.
    pub(crate) fn with_segments(&self, segments: Vec<Arc<Segment>>) -> Self {
        let (reason, head) = (self.format_reason.clone(), Arc::clone(&self.head));
        Self {
            named: self.named,
            ..Self::from_segments(self.format, reason, head, segments)
        }
    }

    /// A transcript of the given head and segments; segments without a message are dropped.
    pub(crate) fn from_segments(
        format: &'static dyn WireFormat,
        format_reason: Cow<'static, str>,
        head: Arc<Head>,
        mut segments: Vec<Arc<Segment>>,
    ) -> Self {
        segments.retain(|s| !s.is_empty());
        let mut starts = Vec::with_capacity(segments.len() + 1);
        let mut count = 0;
        starts.push(count);
        for segment in &segments {
            count += segment.len() as u32;
            starts.push(count);
        }
        Self {
            format,
            format_reason,
            head,
            segments,
            starts,
            named: false,
            evidence: None,
            pairs: Arc::default(),
            counted_edits: Arc::default(),
            landmarks: Arc::default(),
        }
    }
}

impl Head {
    /// What stands beside the messages of a body whose list of messages is empty and opens before `start`. The source is
    /// for the caller to set.
    pub(super) fn of_body(document: &Document<'_>, start: usize, format: &dyn WireFormat) -> Self {
        let root = document.root();
        let mut head = Self {
            source: SourceBytes(Arc::new([])),
            before: Span {
                start: 0,
                end: start as u32,
            },
            after: Span {
                start: start as u32,
                end: document.len() as u32,
            },
            bare: root.is_array(),
            lone: false,
            model: None,
            system: None,
            tools: None,
            system_path: "",
            tools_path: "",
            output_limit: None,
            remote: None,
            schema: None,
            handed_on: None,
            thinking: false,
            demands_call: false,
            caches: false,
            compacts: false,
            continued: false,
            unstored: false,
            system_texts: Vec::new(),
            counts: HeadMemo::default(),
        };
        if !head.bare {
            head.model = root.get("model").filter(|v| v.is_string()).map(Value::span);
            format.read_head(root, &mut head);
        }
        head
    }
}

impl Segment {
    /// A segment of the one message that `source` is; `index` is the message's place, for the paths of errors. What it
    /// says of the format goes to `evidence`.
    ///
    /// # Errors
    /// As [`Transcript::from_json`].
    pub(crate) fn from_message(
        format: &dyn WireFormat,
        source: SourceBytes,
        index: usize,
        evidence: Option<&mut Evidence>,
    ) -> Result<Self, ReadError> {
        let document = Document::parse(source.bytes())?;
        if let Some(evidence) = evidence {
            evidence.add(index, &std::iter::once(document.root()));
        }
        let mut rows = Rows::with_capacity(1);
        let message = read_message(format, document.root(), false, &mut rows, &|path| {
            join(format, index, path)
        })?;
        drop(document);
        Ok(Self::new(source, vec![message], rows, false, CountMemo::default()))
    }
}

pub(super) fn join(format: &dyn WireFormat, index: usize, path: &str) -> String {
    let list = format.list_field();
    if path.is_empty() {
        format!("{list}[{index}]")
    } else {
        format!("{list}[{index}].{path}")
    }
}

fn by_name(name: &str) -> Result<&'static dyn WireFormat, ReadError> {
    formats::by_name(name).ok_or_else(|| {
        let known: Vec<_> = formats::ALL.iter().map(|f| f.name()).collect();
        ReadError {
            code: ReadErrorCode::UnknownFormat,
            offset: 0,
            path: String::new(),
            text: format!("no wire format is called {name:?}; known are {}", known.join(", ")),
        }
    })
}

pub(super) fn read_message(
    format: &dyn WireFormat,
    value: Value<'_>,
    lone: bool,
    rows: &mut Rows,
    path: &dyn Fn(&str) -> String,
) -> Result<super::Message, ReadError> {
    let invalid = |at: Value<'_>, field: &str, text: &str| ReadError {
        code: ReadErrorCode::InvalidMessage,
        offset: at.span().start as usize,
        path: path(field),
        text: text.to_owned(),
    };
    if !value.is_object() && !lone {
        return Err(invalid(value, "", "a message is not an object"));
    }
    let message = format.read_message(value, rows);
    if message.role_text.is_none() && format.needs_role() {
        return Err(match value.get("role") {
            None => invalid(value, "", "a message has no role"),
            Some(role) => invalid(role, "role", "a message's role is not a string"),
        });
    }
    Ok(message)
}
