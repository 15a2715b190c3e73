//! Transcripts in which messages have other texts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{SpliceError, keep, rewrite_blocks};
use crate::pairs;
use crate::transcript::{Segment, Source, SourceBytes, Transcript};

/// New texts of blocks of a message.
pub(crate) type Texts<T> = [(usize, T)];

/// Messages that were counted with other texts, by index: kept until a transcript is made with them, which need not
/// read and count them again. No more than one for each message.
#[derive(Debug, Default)]
pub(crate) struct CountedEdits(Mutex<HashMap<usize, Counted>>);

#[derive(Debug)]
pub(crate) struct Counted {
    texts: Vec<(usize, Box<str>)>,
    segment: Arc<Segment>,
}

impl Counted {
    pub(crate) fn new(texts: &Texts<impl AsRef<str>>, segment: Arc<Segment>) -> Self {
        let texts = texts.iter().map(|(block, text)| (*block, text.as_ref().into()));
        Self {
            texts: texts.collect(),
            segment,
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(counted);
    }

    fn take(&self) -> HashMap<usize, Counted> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The transcript in which messages have other texts, each as [`rewrite_blocks`] makes it. All others stay as in
/// [`super::splice`]. O(rows between the edits + bytes of the edited messages).
///
/// # Errors
/// As [`rewrite_blocks`]; `Argument` for messages out of order or named twice.
pub fn edit(
    transcript: &Transcript,
    edits: &[(usize, Vec<(usize, impl AsRef<str>)>)],
) -> Result<Transcript, SpliceError> {
    let counted = transcript.counted_edits.take();
    let mut segments = Vec::with_capacity(2 * edits.len() + 1);
    let mut kept = 0;
    let mut pairs_stay = true;
    for (message, texts) in edits {
        if *message < kept {
            return Err(SpliceError::Argument(format!(
                "message {message} stands after edits up to {kept}: each is edited once, in order"
            )));
        }
        let segment = match counted.get(message).filter(|counted| counted.is_with(texts)) {
            Some(counted) => Arc::clone(&counted.segment),
            None => Arc::new(rewritten(transcript, *message, texts)?),
        };
        pairs_stay = pairs_stay && pairs_alike(transcript, *message, &segment);
        keep(transcript, &(kept..*message), &mut segments);
        segments.push(segment);
        kept = message + 1;
    }
    keep(transcript, &(kept..transcript.len()), &mut segments);
    let mut edited = transcript.with_segments(segments);
    if pairs_stay {
        edited.pairs = Arc::clone(&transcript.pairs);
    }
    Ok(edited)
}

/// A message with other texts as a segment of its own.
///
/// # Errors
/// As [`rewrite_blocks`].
pub(crate) fn rewritten(
    transcript: &Transcript,
    message: usize,
    texts: &Texts<impl AsRef<str>>,
) -> Result<Segment, SpliceError> {
    let source: Source = Arc::new(rewrite_blocks(transcript, message, texts)?);
    Ok(Segment::from_message(
        transcript.format,
        SourceBytes(source),
        message,
        None,
    )?)
}

/// Whether a message that was rewritten pairs as the one that it stands for.
fn pairs_alike(transcript: &Transcript, message: usize, segment: &Segment) -> bool {
    let (Some(view), [own]) = (transcript.message(message), segment.messages()) else {
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
