//! Counting: each text once per encoding, then prefix sums.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use turnfold_tokens::{Encoding, Tokenizer};

use super::bounds::Asked;
use super::envelope::{self, Beside, Call, Envelope};
use super::models::ModelLabel;
use super::{Counts, MessageCounts, TokenCount};
use crate::formats::{Section, WireFormat};
use crate::json::{self, Document, Unescaping};
use crate::known::{self, Adding, Found};
use crate::recent;
use crate::splice::SpliceError;
use crate::splice::texts::{self, Counted as CountedEdit};
use crate::transcript::{Block, BlockKind, Message, Segment, TextForm, TextSpan, Transcript};

/// The sums of so many segments are added up in no time.
const FEW_SEGMENTS: usize = 32;

impl Transcript {
    /// Tokens of the messages `range` (clamped), or of the whole request with `None`: tools, system, everything the
    /// provider adds. Texts are counted once per encoding and segment and remembered; after that a range costs
    /// O(segments), with no look at the messages.
    pub fn tokens(&self, encoding: Encoding, range: Option<Range<usize>>) -> TokenCount {
        self.tokens_by(encoding, &self.model().unwrap_or_default(), range)
    }

    pub(super) fn tokens_by(&self, encoding: Encoding, model: &str, range: Option<Range<usize>>) -> TokenCount {
        let whole = range.is_none();
        let sum = self.messages_by(range, |range| {
            let mut sum = TokenCount::ZERO;
            let mut is_new = false;
            for (segment, inside) in self.segments_in(range) {
                is_new |= !segment.counts.is_counted(encoding);
                sum = sum + segment.counts(self.format, encoding).range(inside);
            }
            if is_new {
                recent::add(self);
            }
            sum
        });
        self.sent(sum, encoding, model, whole)
    }

    /// Messages by `count`, which sums those of a range and sees none twice. Of the whole request, the likeliest number
    /// leaves out what the provider has folded into its latest summary, and the lower bound all that precedes that.
    pub(super) fn messages_by(
        &self,
        range: Option<Range<usize>>,
        mut count: impl FnMut(Range<usize>) -> TokenCount,
    ) -> TokenCount {
        let barrier = self.last_barrier().filter(|_| range.is_none());
        let Some(barrier) = barrier else {
            return count(range.unwrap_or(0..self.len()));
        };
        let Range { start, end } = self.folded();
        let (start, end) = (start.min(barrier), end.min(barrier));
        let folded = count(start..end);
        let kept = count(barrier..self.len());
        let left = count(0..start) + count(end..barrier) + kept;
        TokenCount::estimate(left.n, kept.lo, (left + folded).hi).later(left.more_later())
    }

    /// The segments that messages of the range (clamped) are in, and which of each segment's.
    pub(super) fn segments_in(&self, range: Range<usize>) -> impl Iterator<Item = (&Segment, Range<usize>)> {
        let Range { start, end } = range;
        self.segments
            .iter()
            .zip(&self.starts)
            .filter_map(move |(segment, &first)| {
                let first = first as usize;
                let (from, to) = (start.max(first), end.min(first + segment.len()));
                (from < to).then(|| (&**segment, from - first..to - first))
            })
    }

    /// What the messages cost where they are sent to a model: in the `whole` request with all that is beside them.
    pub(super) fn sent(&self, messages: TokenCount, encoding: Encoding, model: &str, whole: bool) -> TokenCount {
        let envelope = self.format.envelope();
        let sum = envelope.reading(model).of(messages);
        if whole {
            envelope.request(self, encoding, model, sum)
        } else {
            sum
        }
    }

    /// A count as that of a model of this label, unless the format's own intervals allow for what it says: of a whole
    /// request to `model`, with room for the template of a host that is not the format's own vendor.
    pub(super) fn labelled(&self, count: TokenCount, label: ModelLabel, model: Option<&str>) -> TokenCount {
        if self.format.envelope().spans_vocabularies() || label == ModelLabel::Exact {
            return count;
        }
        let read = count.under(label);
        model.map_or(read, |model| read + envelope::template_of_host(self, model))
    }

    /// The name of the model that is counted for: the one asked for, or the one that the body names.
    pub(super) fn counted_for<'a>(&'a self, model: Option<&'a str>) -> Cow<'a, str> {
        model.map_or_else(|| self.model().unwrap_or_default(), Cow::Borrowed)
    }

    /// [`Transcript::tokens`], read as what a model of this label counts: an interval where the vocabulary is not known
    /// to be the model's, unless the format's own intervals allow for that. `model` stands for the one that the body
    /// names.
    pub fn tokens_for(
        &self,
        encoding: Encoding,
        label: ModelLabel,
        model: Option<&str>,
        range: Option<Range<usize>>,
    ) -> TokenCount {
        let (model, whole) = (self.counted_for(model), range.is_none());
        self.labelled(self.tokens_by(encoding, &model, range), label, whole.then_some(&model))
    }

    /// Whether [`Transcript::tokens_for`] of the same would look at no text, and be done in less than a microsecond.
    pub fn is_counted(&self, asked: &Asked<'_>) -> bool {
        let range = asked.range.clone();
        let (encoding, model) = (asked.encoding, self.counted_for(asked.model));
        self.segments.len() <= FEW_SEGMENTS
            && (range.is_some() || self.head.counts.knows_outside(encoding, &model))
            && self
                .segments_in(range.unwrap_or(0..self.len()))
                .all(|(segment, _)| segment.counts.is_counted(encoding))
    }

    /// Tokens of one section of the request, without what the provider adds to the request as a whole: the parts that
    /// [`Transcript::tokens`] sums. Remembered like those.
    pub fn section_tokens(&self, encoding: Encoding, section: Section) -> TokenCount {
        self.section_tokens_for(encoding, &self.model().unwrap_or_default(), section)
    }

    pub(crate) fn section_tokens_for(&self, encoding: Encoding, model: &str, section: Section) -> TokenCount {
        let make = || self.format.envelope().section(self, section, encoding, model);
        if section == Section::Messages {
            return self.tokens_by(encoding, model, Some(0..self.len()));
        }
        self.head.counts.section(section, encoding, model, make)
    }

    /// [`Transcript::tokens_for`] of each message alone, in order.
    pub fn each_tokens(&self, asked: &Asked<'_>) -> Vec<TokenCount> {
        let reading = self.format.envelope().reading(&self.counted_for(asked.model));
        let mut each = Vec::with_capacity(self.len());
        for segment in &self.segments {
            let counts = segment.counts(self.format, asked.encoding);
            each.extend(
                (0..segment.len()).map(|k| self.labelled(reading.of(counts.range(k..k + 1)), asked.label, None)),
            );
        }
        each
    }

    /// What messages would count alone ([`Transcript::each_tokens`]), each with the texts of some of its blocks replaced
    /// as [`crate::splice::rewrite_blocks`] does. O(bytes of those messages). They are kept until a transcript is made
    /// with them by [`crate::splice::edit`], or with others, or this one goes.
    ///
    /// # Errors
    /// As [`crate::splice::rewrite_blocks`] and [`crate::splice::splice`].
    pub fn edited_tokens(
        &self,
        asked: &Asked<'_>,
        edits: &[(usize, Vec<(usize, impl AsRef<str>)>)],
    ) -> Result<Vec<TokenCount>, SpliceError> {
        let reading = self.format.envelope().reading(&self.counted_for(asked.model));
        let edited = Arc::new(texts::rewritten(self, edits)?);
        let counts = edited.counts_apart(self.format, asked.encoding);
        let found =
            (0..edits.len()).map(|index| self.labelled(reading.of(counts.range(index..index + 1)), asked.label, None));
        let found = found.collect();
        let counted = edits
            .iter()
            .enumerate()
            .map(|(index, (message, texts))| (*message, CountedEdit::new(texts, (Arc::clone(&edited), index))));
        self.counted_edits.add(counted);
        Ok(found)
    }

    /// Text tokens of each block of a message, in order; encoded data by the middle of its allowance; nothing the
    /// provider adds. Empty where there is no such message.
    pub fn block_tokens(&self, encoding: Encoding, message: usize) -> Vec<u64> {
        let Some(view) = self.message(message) else {
            return Vec::new();
        };
        let counts = view.segment.counts(self.format, encoding);
        let rows = view.row.blocks.start as usize..view.row.blocks.end as usize;
        counts.blocks.get(rows).unwrap_or_default().to_vec()
    }
}

impl Segment {
    /// The segment's counts, made on first use. Two threads that come first together both count; one result stays.
    /// Borrowed, as a count of who has them would be written to by all threads, beside what they read.
    pub(crate) fn counts(&self, format: &'static dyn WireFormat, encoding: Encoding) -> Cow<'_, Arc<Counts>> {
        self.remembered(encoding, || self.count(format, encoding.tokenizer()))
    }

    fn remembered(&self, encoding: Encoding, make: impl FnOnce() -> Counts) -> Cow<'_, Arc<Counts>> {
        match self.counts.slot(encoding) {
            Some(slot) => Cow::Borrowed(slot.get_or_init(|| Arc::new(make()))),
            None => Cow::Owned(Arc::new(make())),
        }
    }

    /// The same, with no look at what is known, where nothing is added: for messages that nobody has sent yet.
    fn counts_apart(&self, format: &'static dyn WireFormat, encoding: Encoding) -> Cow<'_, Arc<Counts>> {
        self.remembered(encoding, || {
            let mut counts = Counts::with_capacity(self.len(), self.blocks().len());
            let mut counting = Counting::new(format, encoding.tokenizer());
            for message in self.messages() {
                counts.add(&self.count_message(message, &mut counting));
            }
            counts
        })
    }

    fn count(&self, format: &'static dyn WireFormat, tokenizer: &Tokenizer) -> Counts {
        let mut counts = Counts::with_capacity(self.len(), self.blocks().len());
        let (mut counting, mut adding) = (Counting::new(format, tokenizer), Adding::new(format));
        for message in self.messages() {
            self.look_up_or_count(message, &mut counting, &mut adding, |counted| counts.add(counted));
        }
        adding.finish();
        counts
    }

    /// Hands what one message costs to `take`: remembered, or counted and remembered.
    pub(super) fn look_up_or_count<T>(
        &self,
        message: &Message,
        counting: &mut Counting<'_>,
        adding: &mut Adding,
        take: impl FnOnce(&MessageCounts) -> T,
    ) -> T {
        let encoding = counting.tokenizer.encoding();
        let bytes = message.span.of(self.source.bytes());
        let found = known::find(counting.format, bytes);
        let Some(known) = found.as_ref().and_then(Found::known) else {
            let counted = self.count_message(message, counting);
            let taken = take(&counted);
            adding.add(self, message, |known| known.learn(encoding, counted));
            return taken;
        };
        let taken = if let Some(counted) = known.counts(encoding) {
            take(counted)
        } else {
            let counted = self.count_message(message, counting);
            let taken = take(&counted);
            known.learn(encoding, counted);
            taken
        };
        if let Some(found) = found {
            adding.pass(found, self, message);
        }
        taken
    }

    /// What one message costs: remembered, or counted and remembered.
    pub(super) fn message_count(
        &self,
        index: usize,
        format: &'static dyn WireFormat,
        tokenizer: &Tokenizer,
    ) -> TokenCount {
        let Some(message) = self.messages().get(index) else {
            return TokenCount::ZERO;
        };
        let (mut counting, mut adding) = (Counting::new(format, tokenizer), Adding::new(format));
        let count = self.look_up_or_count(message, &mut counting, &mut adding, |counted| counted.count);
        adding.finish();
        count
    }

    pub(super) fn count_message(&self, message: &Message, counting: &mut Counting<'_>) -> MessageCounts {
        let count = exactly(counting.tokenizer);
        self.count_message_by(message, counting, &count)
    }

    /// What one message costs, its texts by `count`.
    pub(super) fn count_message_by(
        &self,
        message: &Message,
        counting: &mut Counting<'_>,
        count: &dyn Fn(&str) -> u64,
    ) -> MessageCounts {
        let Counting {
            format,
            tokenizer,
            texts,
            room,
        } = counting;
        let (envelope, source) = (format.envelope(), self.source.bytes());
        let mut inside = TokenCount::ZERO;
        let blocks = self.blocks_of(message).iter().map(|block| {
            texts.clear();
            let spans = self.texts_of(block).iter();
            texts.extend(spans.map(|text| count_part(*format, count, block, *text, source, room)));
            inside = inside + envelope.block(block, texts);
            texts.iter().map(|text| text.tokens).sum()
        });
        let blocks = blocks.collect();
        let cost = envelope.message(message, source, inside, tokenizer);
        let beside = self.beside(message, envelope, count);
        MessageCounts {
            blocks,
            count: beside.of(cost),
        }
    }

    /// What the calls of a message cost beside each other, and a text beside calls, by `count`.
    pub(super) fn beside(&self, message: &Message, envelope: &dyn Envelope, count: &dyn Fn(&str) -> u64) -> Beside {
        let found = self.calls_beside(message);
        found.map_or_else(Beside::default, |(calls, text)| envelope.beside(&calls, text, count))
    }

    /// The calls of a message that stand beside each other or beside a text, and whether there is one.
    fn calls_beside(&self, message: &Message) -> Option<(Vec<Call<'_>>, bool)> {
        let blocks = self.blocks_of(message);
        let is_call = |block: &&Block| block.kind == BlockKind::ToolCall;
        if blocks.len() < 2 || !blocks.iter().any(|block| is_call(&block)) {
            return None;
        }
        let source = self.source.bytes();
        let calls = blocks.iter().filter(is_call).map(|block| {
            let name = block.name.map(|name| json::unescape(name.of(source)));
            let arguments = self.texts_of(block).last().map(|text| text.read(source));
            (name.unwrap_or_default(), arguments.unwrap_or_default())
        });
        let text = blocks.iter().any(|block| block.kind == BlockKind::Text && !block.blank);
        Some((calls.collect(), text))
    }

    pub(crate) fn texts_of(&self, block: &Block) -> &[TextSpan] {
        let rows = block.texts.start as usize..block.texts.end as usize;
        self.texts().get(rows).unwrap_or_default()
    }
}

/// What messages are counted with, one after the other: their texts share its room.
pub(super) struct Counting<'a> {
    format: &'static dyn WireFormat,
    tokenizer: &'a Tokenizer,
    texts: Vec<Counted>,
    room: Unescaping,
}

impl<'a> Counting<'a> {
    pub(super) fn new(format: &'static dyn WireFormat, tokenizer: &'a Tokenizer) -> Self {
        Self {
            format,
            tokenizer,
            texts: Vec::new(),
            room: Unescaping::default(),
        }
    }
}

/// One counted text.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Tokens by the encoding; for encoded data the middle of its allowance.
    pub tokens: u64,
    /// What the provider makes of it.
    pub count: TokenCount,
}

impl Counted {
    /// The same text, which is sent on as one of so many tokens: the likeliest count, while bounds hold either.
    fn sent_as(self, tokens: u64) -> Self {
        let TokenCount { lo, hi, .. } = self.count;
        Self {
            count: TokenCount::estimate(tokens, lo.min(tokens), hi.max(tokens)),
            ..self
        }
    }
}

/// Counts one text or one piece of encoded data of a block. Arguments that the provider sends on otherwise count as sent;
/// the bounds allow for both, as other hosts of the format may not.
fn count_part(
    format: &dyn WireFormat,
    count: &dyn Fn(&str) -> u64,
    block: &Block,
    text: TextSpan,
    source: &[u8],
    room: &mut Unescaping,
) -> Counted {
    if block.kind != BlockKind::ToolCall || text.form != TextForm::JsonString {
        return count_text(format, count, text, source, room);
    }
    let read = text.read_in(source, room);
    let counted = count_read(format, count, &read);
    match format.envelope().arguments(&read) {
        Cow::Owned(sent) => counted.sent_as(count(&sent)),
        Cow::Borrowed(_) => counted,
    }
}

/// Counts texts by the vocabulary.
pub(super) fn exactly(tokenizer: &Tokenizer) -> impl Fn(&str) -> u64 {
    |text| {
        #[cfg(test)]
        crate::work::counted(text.len());
        tokenizer.count(text) as u64
    }
}

/// Counts one text, by `count`, or one piece of encoded data. It is read in `room`.
pub(crate) fn count_text(
    format: &dyn WireFormat,
    count: &dyn Fn(&str) -> u64,
    text: TextSpan,
    source: &[u8],
    room: &mut Unescaping,
) -> Counted {
    let envelope = format.envelope();
    if text.form == TextForm::Data {
        let count = match Document::parse(text.span.of(source)) {
            Ok(document) => envelope.data(document.root()),
            Err(_) => TokenCount::estimate(0, 0, text.span.len() as u64),
        };
        return Counted { tokens: count.n, count };
    }
    count_read(format, count, &text.read_in(source, room))
}

fn count_read(format: &dyn WireFormat, count: &dyn Fn(&str) -> u64, read: &str) -> Counted {
    let tokens = count(read);
    let count = format.envelope().text(read, tokens);
    Counted { tokens, count }
}
