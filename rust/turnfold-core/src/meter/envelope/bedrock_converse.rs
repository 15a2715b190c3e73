//! Bedrock's framing. The models behind it have vocabularies and templates of their own, and a body mostly does not say
//! which model it goes to, so every count is an interval that allows for all of them.
//!
//! Held by the input tokens (cache reads and writes included) of all recorded requests to Claude 3 to 4.6, Nova, Llama
//! 4, Kimi K2, Qwen 3, R1, M2, Palmyra X4, Pixtral and gpt-oss. English text costs 0.9 to 1.3 of
//! `o200k_base`; a template's own words up to 70 tokens, with tools 50 to 500 and for Nova up to 900; a document of 13
//! KB from 59 tokens (its text alone) to 2,600 (its picture as well).

use turnfold_tokens::{Encoding, Tokenizer};

use super::anthropic_messages::{self, AnthropicEnvelope, demand_of, prompt_of};
use super::{Envelope, Reading, foreign_bytes, json_tokens, sealed, share, system_tokens, total};
use crate::formats::Section;
use crate::json::{Document, Value};
use crate::meter::TokenCount;
use crate::meter::count::Counted;
use crate::meter::media::{Pixels, image_pixels};
use crate::transcript::{Block, BlockKind, Message, Transcript};

/// The framing.
#[derive(Debug)]
pub struct BedrockEnvelope;

impl Envelope for BedrockEnvelope {
    fn spans_vocabularies(&self) -> bool {
        true
    }

    fn text(&self, text: &str, tokens: u64) -> TokenCount {
        if tokens == 0 {
            return TokenCount::ZERO;
        }
        let foreign = foreign_bytes(text);
        let n = share(tokens, 104) + share(foreign, 5);
        let lo = share(tokens, 75)
            .saturating_sub(share(foreign, 20))
            .max(share(tokens, 30));
        TokenCount::estimate(n, lo, share(tokens, 180) + share(foreign, 30) + 2)
    }

    fn data(&self, value: Value<'_>) -> TokenCount {
        let source = |kind: &str| value.get(kind).and_then(|media| media.get("source"));
        let guarded = || value.get("guardContent")?.get("image")?.get("source");
        if let Some(source) = source("image").or_else(guarded) {
            let bytes = source.get("bytes").filter(|b| b.is_string());
            return image_tokens(bytes.and_then(|b| image_pixels(&b.key())));
        }
        if let Some(source) = source("document") {
            // Text is read as it stands, four letters of base64 for three; a page of a PDF is its text, and for some
            // models its picture of 1,500 to 3,000 tokens.
            return match source.get("bytes") {
                Some(bytes) => {
                    let letters = bytes.span().len() as u64;
                    TokenCount::estimate(40 + letters / 20, 0, letters * 2 + 6_000)
                }
                None => TokenCount::estimate(2_500, 0, 300_000),
            };
        }
        if value.get("video").is_some() || value.get("audio").is_some() {
            // Nova: 288 tokens a second of video at the least; what an encoder makes of a second is not known.
            let letters = value.span().len() as u64;
            return TokenCount::estimate(1_000 + letters / 300, 0, letters + 300_000);
        }
        sealed(value.span().len())
    }

    fn block(&self, block: &Block, texts: &[Counted]) -> TokenCount {
        let sum = total(texts);
        let (n, lo, hi) = match block.kind {
            BlockKind::Text => (0, 0, 4),
            BlockKind::ToolCall => (30, 0, 90),
            BlockKind::ToolResult => (15, 0, 80),
            BlockKind::Media => (10, 0, 100),
            // Reasoning of earlier turns is dropped by most models and kept by the newest.
            BlockKind::Reasoning => return TokenCount::estimate(sum.n, 0, sum.hi + 40),
            // A kind that loads tools costs their definitions.
            BlockKind::Opaque => return TokenCount::estimate(sum.n, 0, sum.hi * 2 + 400),
        };
        TokenCount::estimate(sum.n + n, sum.lo + lo, sum.hi + hi)
    }

    fn message(&self, message: &Message, source: &[u8], inside: TokenCount, _tokenizer: &Tokenizer) -> TokenCount {
        let framed = TokenCount::estimate(4, 1, 10) + inside;
        // Templates of open models drop all of an answer up to its last `</think>`.
        let thought = memchr::memmem::find(message.span.of(source), b"</think>").is_some();
        let lo = if thought { 1 } else { framed.lo };
        TokenCount::estimate(framed.n, lo, framed.hi)
    }

    fn reading(&self, model: &str) -> Reading {
        AnthropicEnvelope.reading(model)
    }

    fn section(&self, transcript: &Transcript, section: Section, encoding: Encoding, model: &str) -> TokenCount {
        let head = transcript.head();
        let source = head.source.bytes();
        match (section, head.tools) {
            (Section::Tools, Some(tools)) => tool_tokens(tools.of(source), json_tokens(tools, source, encoding), model),
            (Section::System, _) => self.reading(model).of(system_tokens(transcript, encoding)),
            _ => TokenCount::ZERO,
        }
    }

    fn request(&self, transcript: &Transcript, encoding: Encoding, model: &str, messages: TokenCount) -> TokenCount {
        let head = transcript.head();
        let source = head.source.bytes();
        let memo = || {
            let mut parts = TokenCount::estimate(8, 0, 100)
                + transcript.section_tokens_for(encoding, model, Section::System)
                + transcript.section_tokens_for(encoding, model, Section::Tools);
            if let Some(schema) = head.schema {
                let tokens = json_tokens(schema, source, encoding);
                parts = parts + TokenCount::estimate(share(tokens, 120) + 80, 0, share(tokens, 250) + 400);
            }
            if let Some(fields) = head.handed_on {
                parts = parts + handed_on_tokens(fields.of(source), json_tokens(fields, source, encoding), model);
            }
            if model.contains("claude") {
                parts = parts + demand_of(head);
            }
            if head.thinking {
                parts = parts + TokenCount::estimate(25, 0, 60);
            }
            parts
        };
        messages + head.counts.outside(encoding, model, memo)
    }
}

/// Fields for the model's own API: Claude's tools may stand there, the ones that its provider defines too. Which others it
/// reads is not known.
fn handed_on_tokens(fields: &[u8], tokens: u64, model: &str) -> TokenCount {
    let Ok(document) = Document::parse(fields) else {
        return TokenCount::ZERO;
    };
    let tools = document.root().get("tools").filter(|tools| tools.is_array());
    let tools = tools.map_or(TokenCount::ZERO, |tools| {
        anthropic_messages::tool_tokens(tools.raw(), tokens, model)
    });
    TokenCount::estimate(tools.n, tools.lo, tools.hi + tokens)
}

/// Tool definitions: a hidden prompt of the model's own and the definitions. A tool that the provider runs hides a
/// definition of its own.
fn tool_tokens(tools: &[u8], tokens: u64, model: &str) -> TokenCount {
    let Ok(document) = Document::parse(tools) else {
        return TokenCount::ZERO;
    };
    let (mut own, mut hosted) = (0u64, 0u64);
    for tool in document.root().items() {
        match (tool.get("toolSpec"), tool.get("cachePoint")) {
            (Some(_), _) => own += 1,
            (None, None) => hosted += 1,
            (None, Some(_)) => {}
        }
    }
    if own + hosted == 0 {
        return TokenCount::ZERO;
    }
    let (prompt, definitions) = if model.contains("claude") {
        prompt_of(model)
    } else if model.is_empty() || model.contains("nova") {
        (300, 110)
    } else {
        (40, 110)
    };
    TokenCount::estimate(
        prompt + share(tokens, definitions) + 500 * hosted,
        share(tokens, 40),
        1_000 + share(tokens, 250) + 12_000 * hosted,
    )
}

/// An image by Claude's published rules (patches of 28 pixels, at most 4,784) and Nova's (some 1,300 to 2,600).
fn image_tokens(pixels: Option<Pixels>) -> TokenCount {
    let Some(Pixels { width, height }) = pixels else {
        return TokenCount::estimate(1_300, 4, 5_300);
    };
    let patches = width.div_ceil(28).saturating_mul(height.div_ceil(28)).min(4_784);
    TokenCount::estimate(
        patches.min(1_568),
        share(patches.min(1_568), 50),
        share(patches, 115) + 2_700,
    )
}
