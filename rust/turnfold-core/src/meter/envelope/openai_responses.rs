//! OpenAI's framing of Responses. It is not published, so every count is an interval, fitted on the recorded usage of
//! gpt-4o, gpt-4.1, gpt-5 to gpt-5.6 and the o-series.
//!
//! What precedes the provider's latest summary may be left out of the count. What the server holds of a conversation
//! widens the interval by the largest window there is. Left out is what hosted tools (search, files, MCP, code) bring
//! in while the request runs: usage counts it, and no body shows it.

use turnfold_tokens::{Encoding, Tokenizer};

use super::openai_chat::image_tokens;
use super::{Envelope, holds_items, json_tokens, sealed, share, system_tokens, total};
use crate::formats::Section;
use crate::json::Value;
use crate::meter::TokenCount;
use crate::meter::count::Counted;
use crate::meter::models;
use crate::transcript::{Binding, Block, BlockKind, Message, Transcript};

/// The framing.
#[derive(Debug)]
pub struct OpenAiResponsesEnvelope;

/// The largest input of a model: what the server may hold of a conversation.
const MOST_HELD: u64 = 1_050_000;

impl Envelope for OpenAiResponsesEnvelope {
    fn spans_vocabularies(&self) -> bool {
        false
    }

    fn text(&self, _text: &str, tokens: u64) -> TokenCount {
        TokenCount::exact(tokens)
    }

    fn data(&self, value: Value<'_>) -> TokenCount {
        if value.is_string() {
            return sealed(value.span().len());
        }
        let is = |name: &str| value.get("type").is_some_and(|t| t.is_text(name));
        if is("input_image") || is("computer_screenshot") {
            let low = value.get("detail").is_some_and(|d| d.is_text("low"));
            let url = value.get("image_url").map(Value::key).unwrap_or_default();
            return image_tokens(&url, low);
        }
        if is("input_file") {
            // A page is its text, and for some models its picture.
            return match value.get("file_data") {
                Some(data) => {
                    let letters = data.span().len() as u64;
                    TokenCount::estimate(letters / 60, 0, letters * 2 + 2_000)
                }
                None => TokenCount::estimate(2_000, 0, 300_000),
            };
        }
        if value.get("id").is_some() {
            // An item or a prompt that only the server holds.
            return TokenCount::estimate(200, 0, 400_000);
        }
        sealed(value.span().len())
    }

    fn block(&self, block: &Block, texts: &[Counted]) -> TokenCount {
        let sum = total(texts);
        match (block.kind, block.binding) {
            (BlockKind::Text | BlockKind::Media, _) => sum,
            (BlockKind::ToolCall, _) => {
                let lo = if block.whole { 0 } else { share(sum.lo, 50) };
                TokenCount::estimate(sum.n + 5, lo, sum.hi + 24)
            }
            (BlockKind::ToolResult, Binding::Sticky) => {
                TokenCount::estimate(sum.n, share(sum.lo, 30), share(sum.hi, 130) + 200)
            }
            (BlockKind::ToolResult, _) => TokenCount::estimate(sum.n, sum.lo, sum.hi + 12),
            // Whether earlier reasoning is rendered again depends on the model and on the turn.
            (BlockKind::Reasoning, _) => TokenCount::estimate(share(sum.n, 50), 0, sum.hi + 8),
            (BlockKind::Opaque, Binding::Both) => TokenCount::estimate(sum.n, 0, sum.hi * 2 + 16),
            (BlockKind::Opaque, _) => TokenCount::estimate(sum.n, 0, share(sum.hi, 130) + 200),
        }
    }

    fn message(&self, _message: &Message, _source: &[u8], inside: TokenCount, _tokenizer: &Tokenizer) -> TokenCount {
        TokenCount::estimate(4, 0, 8) + inside
    }

    fn section(&self, transcript: &Transcript, section: Section, encoding: Encoding) -> TokenCount {
        let head = transcript.head();
        let source = head.source.bytes();
        match (section, head.tools) {
            (Section::System, _) => system_tokens(transcript, encoding),
            (Section::Tools, Some(tools)) if holds_items(tools.of(source)) => {
                let tokens = json_tokens(tools, source, encoding);
                let reasons = models::is_openai_reasoning(&transcript.model().unwrap_or_default());
                // Recorded for one function: 286 in all where the texts have 60, with gpt-4o.
                let (middle, most) = if reasons { (80, 200) } else { (60, 320) };
                TokenCount::estimate(share(tokens, 55) + middle, share(tokens, 30), share(tokens, 120) + most)
            }
            _ => TokenCount::ZERO,
        }
    }

    fn request(&self, transcript: &Transcript, encoding: Encoding, messages: TokenCount) -> TokenCount {
        let head = transcript.head();
        let mut sum = messages + TokenCount::estimate(3, 2, 8);
        if let Some(barrier) = last_barrier(transcript) {
            let kept = transcript.tokens(encoding, Some(barrier..transcript.len()));
            sum = TokenCount::estimate(sum.n, kept.lo, sum.hi);
        }
        if head.continued {
            sum = sum + TokenCount::estimate(0, 0, MOST_HELD);
        }
        let memo = || {
            let mut parts = transcript.section_tokens(encoding, Section::Tools);
            parts = parts + transcript.section_tokens(encoding, Section::System);
            if let Some(schema) = head.schema {
                let tokens = json_tokens(schema, head.source.bytes(), encoding);
                parts = parts + TokenCount::estimate(share(tokens, 65), 0, share(tokens, 120) + 16);
            }
            parts
        };
        sum + head.counts.outside(encoding, memo)
    }
}

/// The message with the provider's latest summary.
fn last_barrier(transcript: &Transcript) -> Option<usize> {
    let blocks = transcript.messages().flat_map(|message| message.blocks());
    let barriers = blocks.filter(|block| block.row.binding == Binding::Barrier);
    barriers.last().map(|block| block.message)
}
