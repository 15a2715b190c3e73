//! What a provider adds around the text, and what it makes of images and other encoded data: one file a vendor.
//!
//! Only plain text in OpenAI's framing is a fact. Everything else is an interval, fitted so that it holds the usage
//! that providers reported in public recordings (the HTTP cassettes of pydantic-ai's, OpenTelemetry's and llm's test
//! suites); each constant says what it rests on.

use std::borrow::Cow;
use std::fmt;

use turnfold_tokens::{Encoding, Tokenizer};

use super::TokenCount;
use super::count::{Counted, count_text, exactly};
use super::models;
use crate::formats::Section;
use crate::json::{Document, Unescaping, Value};
use crate::transcript::{Block, Message, Span, TextForm, TextSpan, Transcript};

pub(crate) use openai_calls::Call;

pub mod anthropic_messages;
pub mod bedrock_converse;
pub mod gemini_contents;
pub mod mistral_chat;
mod openai_calls;
pub mod openai_chat;
pub mod openai_responses;
mod openai_tools;

/// A vendor's framing.
pub trait Envelope: Sync + fmt::Debug {
    /// Whether its intervals allow for vocabularies that are not public already.
    fn spans_vocabularies(&self) -> bool;

    /// What the provider makes of a text that has `tokens` tokens by the encoding.
    fn text(&self, text: &str, tokens: u64) -> TokenCount;

    /// What the provider makes of encoded data: an image, a sound, a file, a sealed text.
    fn data(&self, value: Value<'_>) -> TokenCount;

    /// The arguments of a call as the model reads them, where they are a text.
    fn arguments<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }

    /// How far the likeliest count of a message with several calls, or with a text beside calls, lies from what its parts
    /// cost each alone. Bounds hold both.
    fn beside(&self, _calls: &[Call<'_>], _text: bool, _count: &dyn Fn(&str) -> u64) -> Beside {
        Beside::default()
    }

    /// A block with its texts. A call's first text is its name where it has one.
    fn block(&self, block: &Block, texts: &[Counted]) -> TokenCount;

    /// A message whose blocks cost `inside`.
    fn message(&self, message: &Message, source: &[u8], inside: TokenCount, tokenizer: &Tokenizer) -> TokenCount;

    /// A section outside the messages: tools, or instructions beside the messages. `model` may be empty: not known.
    fn section(&self, transcript: &Transcript, section: Section, encoding: Encoding, model: &str) -> TokenCount;

    /// The whole request: its messages, and outside them tools, system, schema and the start of the reply.
    fn request(&self, transcript: &Transcript, encoding: Encoding, model: &str, messages: TokenCount) -> TokenCount;

    /// How counts of messages, which are counted before a model is known, are read as those of that model.
    fn reading(&self, _model: &str) -> Reading {
        Reading::AsCounted
    }
}

/// How a count becomes that of a model: `n` moves, the bounds hold for every model already.
#[derive(Clone, Copy, Debug)]
pub enum Reading {
    /// As it is.
    AsCounted,
    /// As later models count.
    Later,
    /// So many hundredths of it.
    Percent(u64),
}

impl Reading {
    /// The count as that of the model.
    pub(super) fn of(self, count: TokenCount) -> TokenCount {
        match self {
            Self::Later => count.read_later(),
            // Nothing stays nothing, which an interval would not be.
            Self::Percent(percent) if count.hi > 0 => TokenCount::estimate(share(count.n, percent), count.lo, count.hi),
            Self::AsCounted | Self::Percent(_) => count,
        }
    }
}

/// What parts of a message cost beside each other beyond what each costs alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// By every model.
    pub tokens: i64,
    /// Of that, what later models do not count.
    pub earlier: i64,
}

impl Beside {
    /// The count of a message with such parts. Its bounds hold both.
    pub(super) fn of(self, message: TokenCount) -> TokenCount {
        message.moved(self.tokens).later(message.more_later() - self.earlier)
    }
}

/// `percent` of `tokens`, rounded down.
fn share(tokens: u64, percent: u64) -> u64 {
    tokens.saturating_mul(percent) / 100
}

/// Tokens of a JSON value as its bytes stand.
fn json_tokens(span: Span, source: &[u8], encoding: Encoding) -> u64 {
    let form = TextForm::Json;
    encoding.tokenizer().count(&TextSpan { span, form }.read(source)) as u64
}

/// Whether the value of `tools` lists any.
fn holds_items(tools: &[u8]) -> bool {
    Document::parse(tools).is_ok_and(|document| document.root().items().next().is_some())
}

/// Whether a request sends tools. Remembered.
fn holds_tools(transcript: &Transcript) -> bool {
    let head = transcript.head();
    let find = || {
        let tools = head.tools.map(|tools| tools.of(head.source.bytes()));
        tools.is_some_and(holds_items)
    };
    head.counts.holds_tools(find)
}

/// What the template of somebody else's model adds to a request in `OpenAI`'s formats: words of its own, and a prompt for
/// tools. Recorded beyond what `OpenAI`'s own models read of one tool: 250 tokens (Qwen 3 Coder at Cerebras), 660 (Llama 4
/// at Groq), up to 900 (Nova, see [`bedrock_converse`]).
pub(super) fn template_of_host(transcript: &Transcript, model: &str) -> TokenCount {
    if models::is_openai_reasoning(model) {
        return TokenCount::ZERO;
    }
    TokenCount::estimate(0, 0, if holds_tools(transcript) { 1_000 } else { 100 })
}

/// The texts of the instructions that stand beside the messages.
fn system_tokens(transcript: &Transcript, encoding: Encoding) -> TokenCount {
    let head = transcript.head();
    let (source, tokenizer) = (head.source.bytes(), encoding.tokenizer());
    let count = exactly(tokenizer);
    let mut room = Unescaping::default();
    let texts = head.system_texts.iter();
    texts
        .map(|text| count_text(transcript.format(), &count, *text, source, &mut room).count)
        .sum()
}

/// How many bytes of a text stand for characters beyond ASCII. Summed in bytes, sixteen at a time: a stretch has no more
/// than one holds.
fn foreign_bytes(text: &str) -> u64 {
    const STRETCH: usize = 240;
    let stretches = text.as_bytes().chunks(STRETCH);
    stretches
        .map(|stretch| u64::from(stretch.iter().map(|byte| byte >> 7).sum::<u8>()))
        .sum()
}

/// The sum of a block's texts.
fn total(texts: &[Counted]) -> TokenCount {
    texts.iter().map(|t| t.count).sum()
}

/// Sealed bytes in base64: from nothing (the provider drops them) to a token a letter; five letters a token between.
fn sealed(letters: usize) -> TokenCount {
    let letters = letters as u64;
    TokenCount::estimate(letters / 5, 0, letters + 16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn foreign_bytes_are_those_beyond_ascii(text in "[a\u{e9}\u{4e2d}\u{1f600}]{0,400}|\u{4e2d}{0,400}") {
            let wanted = text.bytes().filter(|byte| !byte.is_ascii()).count();
            prop_assert_eq!(foreign_bytes(&text), wanted as u64);
        }
    }
}
