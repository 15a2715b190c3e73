//! OpenAI's framing of Responses. It is not published, so every count is an interval. Recorded usage of gpt-4o, gpt-4.1,
//! gpt-5 to gpt-5.6 and the o-series agrees with the framing of Chat Completions for text, functions and schemas.
//!
//! What precedes the provider's latest summary is counted, and the lower bound leaves it out: `OpenAI`'s guide
//! ("Compaction") has the server carry on from the item that it appended, after which a body may drop what is before it,
//! and the one recording of such a body (gpt-4.1) counts none of it; but `/responses/compact` hands out the user's messages
//! before the item as the next request's input, and whether those count is not on record.
//!
//! What the server holds of a conversation widens the interval by the largest window there is. Left out is what hosted
//! tools (search, files, MCP, code) bring in while the request runs: usage counts it, and no body shows it.

use std::borrow::Cow;

use turnfold_tokens::{Encoding, Tokenizer};

use super::openai_calls;
use super::openai_chat::{FRAME, image_tokens, reply_schema};
use super::openai_tools::Functions;
use super::{Envelope, Reading, json_tokens, sealed, share, system_tokens, total};
use crate::formats::Section;
use crate::json::Value;
use crate::meter::count::Counted;
use crate::meter::models;
use crate::meter::{CountSource, TokenCount};
use crate::transcript::{Binding, Block, BlockKind, Message, Transcript};

/// The framing.
#[derive(Debug)]
pub struct OpenAiResponsesEnvelope;

/// Letters of encrypted content that say nothing.
const SEAL_LETTERS: u64 = 950;

/// The largest input of a model: what the server may hold of a conversation.
const MOST_HELD: u64 = 1_050_000;

impl Envelope for OpenAiResponsesEnvelope {
    fn spans_vocabularies(&self) -> bool {
        false
    }

    fn text(&self, _text: &str, tokens: u64) -> TokenCount {
        TokenCount::exact(tokens)
    }

    fn arguments<'t>(&self, text: &'t str) -> Cow<'t, str> {
        openai_calls::compact(text)
    }

    fn reading(&self, model: &str) -> Reading {
        openai_calls::reading(model)
    }

    fn data(&self, value: Value<'_>) -> TokenCount {
        if value.is_string() {
            // Recorded of gpt-5.5 and, within the 64 that it rounds to, of gpt-5: behind the first 950 letters, a token of
            // reasoning in some 6.25.
            let letters = value.span().len() as u64;
            let n = letters.saturating_sub(SEAL_LETTERS) * 4 / 25;
            return TokenCount::estimate(n, 0, letters + 16);
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
                // The name stands in the result's header again. Recorded: three tokens more by gpt-4o, twelve by gpt-5 and
                // later.
                let name = if block.name.is_some() {
                    texts.first().map_or(0, |t| t.tokens)
                } else {
                    0
                };
                let lo = if block.whole { 0 } else { share(sum.lo, 50) };
                TokenCount::estimate(sum.n + name + 3, lo, sum.hi + name + 24).later(9)
            }
            (BlockKind::ToolResult, Binding::Sticky) => {
                TokenCount::estimate(sum.n, share(sum.lo, 30), share(sum.hi, 130) + 200)
            }
            (BlockKind::ToolResult, _) => TokenCount::estimate(sum.n, sum.lo, sum.hi + 12),
            // Recorded in the turn that it belongs to: what is encrypted is rendered again, its summary is not. Earlier
            // reasoning may be left out.
            (BlockKind::Reasoning, _) => {
                let encrypted = texts.iter().filter(|text| text.count.source == CountSource::Estimate);
                let n = encrypted.map(|text| text.tokens).sum();
                TokenCount::estimate(n, 0, sum.hi + 8)
            }
            // A summary has 7 letters a token, where reasoning has 6.25.
            (BlockKind::Opaque, Binding::Barrier) => {
                TokenCount::estimate(share(sum.n, 89), 0, share(sum.hi, 130) + 200)
            }
            (BlockKind::Opaque, Binding::Both) => TokenCount::estimate(sum.n, 0, sum.hi * 2 + 16),
            (BlockKind::Opaque, _) => TokenCount::estimate(sum.n, 0, share(sum.hi, 130) + 200),
        }
    }

    fn message(&self, _message: &Message, _source: &[u8], inside: TokenCount, _tokenizer: &Tokenizer) -> TokenCount {
        TokenCount::estimate(4, 0, 8) + inside
    }

    fn section(&self, transcript: &Transcript, section: Section, encoding: Encoding, model: &str) -> TokenCount {
        let head = transcript.head();
        let source = head.source.bytes();
        match (section, head.tools) {
            (Section::System, _) => {
                let tokens = system_tokens(transcript, encoding);
                if tokens.n == 0 {
                    return TokenCount::ZERO;
                }
                tokens + TokenCount::estimate(FRAME, 0, 8)
            }
            (Section::Tools, Some(tools)) => {
                let Some(functions) = Functions::of(tools.of(source)) else {
                    return TokenCount::ZERO;
                };
                let tokens = json_tokens(tools, source, encoding);
                let reasons = models::is_openai_reasoning(model);
                let n = functions.tokens(encoding.tokenizer(), reasons, reasons);
                // Recorded for one function: 286 in all where the texts have 60, with gpt-4o.
                let most = if reasons { 200 } else { 320 };
                TokenCount::estimate(n, share(n.min(tokens), 30), share(n.max(tokens), 120) + most)
            }
            _ => TokenCount::ZERO,
        }
    }

    fn request(&self, transcript: &Transcript, encoding: Encoding, model: &str, messages: TokenCount) -> TokenCount {
        let head = transcript.head();
        let reasons = models::is_openai_reasoning(model);
        let mut sum = messages + TokenCount::estimate(if reasons { 2 } else { 3 }, 1, 8);
        if head.continued {
            sum = sum + TokenCount::estimate(0, 0, MOST_HELD);
        }
        let memo = || {
            let mut parts = transcript.section_tokens_for(encoding, model, Section::Tools);
            parts = parts + transcript.section_tokens_for(encoding, model, Section::System);
            if let Some(schema) = head.schema {
                parts = parts + reply_schema(schema, head.source.bytes(), encoding);
            }
            parts
        };
        sum + head.counts.outside(encoding, model, memo)
    }
}
