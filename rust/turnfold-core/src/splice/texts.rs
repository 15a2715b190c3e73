//! Transcripts in which messages have other texts.

use std::sync::{Arc, Mutex, PoisonError};

use super::{SpliceError, kept, rewrite_blocks, shared};
use crate::errors::ReadError;
use crate::formats::Rows;
use crate::json::{Document, is_blank};
use crate::keyed::Keyed;
use crate::meter::CountMemo;
use crate::pairs;
use crate::transcript::{
    Block, BlockKind, ContentForm, MERGE_BYTES, Message, Place, Segment, SourceBytes, Span, TextForm, TextSpan,
    Transcript,
};

/// New texts of blocks of a message.
pub(crate) type Texts<T> = [(usize, T)];

/// Messages that were counted with other texts, by index: kept until a transcript is made with them, which need not
/// read and count them again. No more than one for each message.
#[derive(Debug, Default)]
pub(crate) struct CountedEdits(Mutex<Keyed<Counted>>);

#[derive(Debug)]
pub(crate) struct Counted {
    texts: Vec<(usize, Box<str>)>,
    place: Edited,
}

/// A message of a segment of edited ones.
type Edited = (Arc<Segment>, usize);

impl Counted {
    pub(crate) fn new(texts: &Texts<impl AsRef<str>>, place: Edited) -> Self {
        let texts = texts.iter().map(|(block, text)| (*block, text.as_ref().into()));
        Self {
            texts: texts.collect(),
            place,
        }
    }

    fn is_with(&self, texts: &Texts<impl AsRef<str>>) -> bool {
        let same = |((own, text), (block, other)): (&(usize, Box<str>), &(usize, _))| {
            own == block && **text == *AsRef::<str>::as_ref(other)
        };
        self.texts.len() == texts.len() && self.texts.iter().zip(texts).all(same)
    }
}

impl CountedEdits {
    pub(crate) fn add(&self, counted: impl IntoIterator<Item = (usize, Counted)>) {
        let counted = counted.into_iter().map(|(message, counted)| (message as u64, counted));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(counted);
    }

    fn take(&self) -> Keyed<Counted> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The transcript in which messages have other texts, each as [`rewrite_blocks`] makes it. All others stay as in
/// [`super::splice`], but where that is no more than [`MERGE_BYTES`] all are copied into one segment: whoever looks at
/// them afterwards then has one in the place of two for each edit. O(bytes).
///
/// # Errors
/// As [`rewrite_blocks`]; `Argument` for messages out of order or named twice.
pub fn edit(
    transcript: &Transcript,
    edits: &[(usize, Vec<(usize, impl AsRef<str>)>)],
) -> Result<Transcript, SpliceError> {
    let edited = edited(transcript, edits)?;
    let mut parts = Vec::with_capacity(2 * edits.len() + 1);
    let mut at = 0;
    let mut pairs_stay = true;
    for ((message, _), place) in edits.iter().zip(&edited) {
        if *message < at {
            return Err(SpliceError::Argument(format!(
                "message {message} stands after edits up to {at}: each is edited once, in order"
            )));
        }
        pairs_stay = pairs_stay && pairs_alike(transcript, *message, place);
        parts.extend(kept(transcript, &(at..*message)));
        let (segment, index) = place;
        parts.push((segment, *index..index + 1));
        at = message + 1;
    }
    parts.extend(kept(transcript, &(at..transcript.len())));
    let bytes: usize = parts.iter().map(|(segment, part)| segment.bytes_of(part)).sum();
    // A lone value is told by where it lies.
    let segments = if edits.is_empty() || bytes > MERGE_BYTES || transcript.head.lone {
        parts.into_iter().map(|(segment, part)| shared(segment, part)).collect()
    } else {
        vec![Arc::new(Segment::of_parts(&parts, true))]
    };
    let mut edited = transcript.with_segments(segments);
    let messages: Vec<usize> = edits.iter().map(|(message, _)| *message).collect();
    let evidence = transcript.evidence.as_ref();
    edited.evidence = evidence.and_then(|all| all.replaced(&messages).map(Arc::new));
    if pairs_stay {
        edited.pairs = Arc::clone(&transcript.pairs);
    }
    Ok(edited)
}

/// The messages with their other texts: as they were counted, or made now.
fn edited<T: AsRef<str>>(
    transcript: &Transcript,
    edits: &[(usize, Vec<(usize, T)>)],
) -> Result<Vec<Edited>, SpliceError> {
    let counted = transcript.counted_edits.take();
    let known = edits.iter().map(|(message, texts)| {
        let counted = counted.get(&(*message as u64)).filter(|counted| counted.is_with(texts));
        counted.map(|counted| counted.place.clone())
    });
    let known: Vec<Option<Edited>> = known.collect();
    let others = edits.iter().zip(&known).filter(|(_, known)| known.is_none());
    let others: Vec<_> = others.map(|(edit, _)| edit).collect();
    let fresh = Arc::new(rewritten(transcript, others)?);
    let mut next = 0..fresh.len();
    let places = known
        .into_iter()
        .map(|known| known.unwrap_or_else(|| (Arc::clone(&fresh), next.next().unwrap_or_default())));
    Ok(places.collect())
}

/// Messages with other texts as a segment of their own. Where the texts of a message stand in the place of results that are
/// one string each, or a list in an item of its own, it is not parsed.
///
/// # Errors
/// As [`rewrite_blocks`].
pub(crate) fn rewritten<'e, T: AsRef<str> + 'e>(
    transcript: &Transcript,
    edits: impl IntoIterator<Item = &'e (usize, Vec<(usize, T)>)>,
) -> Result<Segment, SpliceError> {
    let edits = edits.into_iter();
    let most = edits.size_hint().1.unwrap_or_default();
    let mut written = Written {
        list: vec![b'['],
        messages: Vec::with_capacity(most),
        rows: Rows::with_capacity(most),
    };
    for (message, texts) in edits {
        if !written.messages.is_empty() {
            written.list.push(b',');
        }
        if written.replace(transcript, *message, texts).is_none() {
            written.read(transcript, *message, rewrite_blocks(transcript, *message, texts)?)?;
        }
    }
    written.list.push(b']');
    let Written { list, messages, rows } = written;
    Document::check_size(&list)?;
    let source = SourceBytes(Arc::new(list));
    Ok(Segment::new(source, messages, rows, false, CountMemo::default()))
}

/// A JSON array of messages, with the rows of those that were made of other rows.
struct Written {
    list: Vec<u8>,
    messages: Vec<Message>,
    rows: Rows,
}

impl Written {
    /// Adds a message with other texts, which is what [`rewrite_blocks`] gives, and the rows that a reader would make of it:
    /// a string in the place of another one moves what stands behind it. `None`, with nothing done, where a text is blank or
    /// stands in the place of anything else.
    fn replace(&mut self, transcript: &Transcript, message: usize, texts: &Texts<impl AsRef<str>>) -> Option<()> {
        let view = transcript.message(message).filter(|_| !transcript.head.lone)?;
        let (row, source) = (view.row, view.segment.source.bytes());
        if row.content == (ContentForm::Text { blank: true }) {
            return None;
        }
        let mut replaced = Vec::with_capacity(texts.len());
        let mut end = row.span.start;
        for (block, text) in texts {
            let body = whole_text(view.segment, view.rows().get(*block)?)?;
            let literal = transcript.format.body_of(body.of(source), text.as_ref());
            if body.start < end || literal.first() != Some(&b'"') || is_blank(&literal) {
                return None;
            }
            end = body.end;
            replaced.push((body, literal));
        }
        let start = self.list.len() as u32;
        end = row.span.start;
        for (body, literal) in &replaced {
            let before = Span {
                start: end,
                end: body.start,
            };
            self.list.extend_from_slice(before.of(source));
            self.list.extend_from_slice(literal);
            end = body.end;
        }
        let rest = Span {
            start: end,
            end: row.span.end,
        };
        self.list.extend_from_slice(rest.of(source));
        let place = |at: u32| {
            let before = replaced.iter().take_while(|(body, _)| body.end <= at);
            before.fold(at - row.span.start + start, |at, (body, literal)| {
                at + literal.len() as u32 - body.len() as u32
            })
        };
        let moved = |span: Span| Span {
            start: place(span.start),
            end: place(span.end),
        };
        // What is said in the place of a body is one string.
        let new_text = |block: &Block| block.body.filter(|own| replaced.iter().any(|(body, _)| body == own));
        self.add(view.segment, row, moved, new_text);
        Some(())
    }

    /// Adds a message that is new as a whole.
    fn read(&mut self, transcript: &Transcript, message: usize, bytes: Vec<u8>) -> Result<(), ReadError> {
        let own = Segment::from_message(transcript.format, SourceBytes(Arc::new(bytes)), message, None)?;
        let start = self.list.len() as u32;
        self.list.extend_from_slice(own.source.bytes());
        for row in own.messages() {
            self.add(&own, row, |span| span.moved(0, start), |_| None);
        }
        Ok(())
    }

    /// Adds the rows of a message whose bytes stand in the list, with their spans where `moved` has them. `new_text` gives
    /// the one text of a block in the place of all that it had.
    fn add(
        &mut self,
        segment: &Segment,
        row: &Message,
        moved: impl Fn(Span) -> Span,
        new_text: impl Fn(&Block) -> Option<Span>,
    ) {
        let first_block = self.rows.block_count();
        for block in segment.blocks_of(row) {
            let first_text = self.rows.text_count();
            let new = new_text(block).map(|span| TextSpan {
                span,
                form: TextForm::JsonString,
            });
            let texts = if new.is_some() {
                new.as_slice()
            } else {
                segment.texts_of(block)
            };
            self.rows.texts.extend(texts.iter().map(|text| TextSpan {
                span: moved(text.span),
                form: text.form,
            }));
            self.rows.block(first_text, block.moved_by(first_text, &moved));
        }
        self.messages.push(row.moved_by(Span::default(), first_block, &moved));
    }
}

/// The body of a result, not a blank one, that is all that is counted of it: one string, or texts in a list that a string
/// may stand for. Where the list is the content of a message, that is another one then.
fn whole_text(segment: &Segment, row: &Block) -> Option<Span> {
    let body = row.body.filter(|_| row.kind == BlockKind::ToolResult && !row.blank)?;
    let is_body = |text: &TextSpan| text.span == body && text.form == TextForm::JsonString;
    let is_list = || matches!(row.place, Place::Item(..)) && body.of(segment.source.bytes()).first() == Some(&b'[');
    (matches!(segment.texts_of(row), [text] if is_body(text)) || is_list()).then_some(body)
}

/// Whether a message that was rewritten pairs as the one that it stands for.
fn pairs_alike(transcript: &Transcript, message: usize, (segment, index): &Edited) -> bool {
    let (Some(view), Some(own)) = (transcript.message(message), segment.messages().get(*index)) else {
        return false;
    };
    let (before, now) = (view.rows(), segment.blocks_of(own));
    let (source, own_source) = (view.segment.source.bytes(), segment.source.bytes());
    view.row.role == own.role
        && before.len() == now.len()
        && before
            .iter()
            .zip(now)
            .all(|(one, other)| pairs::is_alike(one, source, other, own_source))
}
