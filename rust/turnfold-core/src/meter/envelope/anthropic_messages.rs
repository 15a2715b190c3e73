//! Anthropic's framing of Messages. Neither vocabulary nor framing is public, so every count is an interval.
//!
//! The text's interval spans the tokenizers from Claude 4 to Claude 5: recorded English text costs 1.00 to 1.15 of
//! `o200k_base` up to Opus 4.6 and Haiku 4.5, 1.25 to 1.45 from Opus 4.7 on. Anthropic's own notes put code higher
//! and the newer tokenizer at up to 1.35 of the older. Text outside ASCII gets more room on both sides, a recording
//! of it was not found.
//!
//! Held by the input tokens (cache reads and writes included) of all 106 recorded requests whose tools ran at the
//! client; requests with tools that the provider runs (search, fetch, code execution, MCP, advisor) are left out, as
//! their usage counts what the tools returned during the request, which no body shows.

use turnfold_tokens::{Encoding, Tokenizer};

use super::{Envelope, Reading, foreign_bytes, json_tokens, sealed, share, system_tokens, total};
use crate::formats::Section;
use crate::json::{Document, Value};
use crate::meter::TokenCount;
use crate::meter::count::Counted;
use crate::meter::media::{Pixels, image_pixels};
use crate::meter::models::version_of;
use crate::transcript::{Block, BlockKind, Head, Message, Transcript};

/// The framing.
#[derive(Debug)]
pub struct AnthropicEnvelope;

/// Percent of `o200k_base` that prose costs by the tokenizer up to Claude 4.6. Recorded: 102 for English prose, 124 for
/// the arguments of coding tools, 112 for what such tools return (medians of some 1,200 answers of four models).
const OLDER: u64 = 104;

/// Percent of that for what coding tools return, and for the arguments of their calls.
const RETURNED: u64 = 108;
const ARGUMENTS: u64 = 115;

/// Percent of the older tokenizer by the one from Claude 4.7 on: 140 of `o200k_base` for prose, 153 for arguments.
const NEWER: u64 = 133;

/// Whether the model has the tokenizer from Claude 4.7 on.
fn is_newer(model: &str) -> bool {
    version_of(model, "claude").is_some_and(|version| version >= (4, 7))
}

impl Envelope for AnthropicEnvelope {
    fn spans_vocabularies(&self) -> bool {
        true
    }

    fn text(&self, text: &str, tokens: u64) -> TokenCount {
        if tokens == 0 {
            return TokenCount::ZERO;
        }
        let foreign = foreign_bytes(text);
        let n = share(tokens, OLDER) + share(foreign, 5);
        let lo = share(tokens, 80)
            .saturating_sub(share(foreign, 20))
            .max(share(tokens, 30));
        TokenCount::estimate(n, lo, share(tokens, 180) + share(foreign, 30) + 2)
    }

    fn data(&self, value: Value<'_>) -> TokenCount {
        let source = value.get("source");
        let data = source.and_then(|s| s.get("data")).filter(|d| d.is_string());
        let is = |kind: &str| value.get("type").is_some_and(|t| t.is_text(kind));
        if is("image") {
            return image_tokens(data.and_then(|d| image_pixels(&d.key())));
        }
        if is("document") {
            // A page is its text and its picture, some 1,500 to 3,000 together; 100 pages at most. Recorded: one page
            // in 13 KB 1,600, another 2,700.
            return match data {
                Some(data) => {
                    let letters = data.span().len() as u64;
                    TokenCount::estimate(1_600 + letters / 60, 100, letters * 2 + 6_000)
                }
                None => TokenCount::estimate(2_500, 0, 300_000),
            };
        }
        if is("container_upload") {
            return TokenCount::estimate(50, 0, 2_000);
        }
        sealed(value.span().len())
    }

    fn block(&self, block: &Block, texts: &[Counted]) -> TokenCount {
        let sum = total(texts);
        let (n, lo, hi) = match block.kind {
            BlockKind::Text => (sum.n, 0, 2),
            // Marks around the call, its name and each argument.
            BlockKind::ToolCall => (share(sum.n, ARGUMENTS) + 40, 5, 90),
            // What a tool of the provider returned: how much of it stays in the prompt is the provider's choice.
            BlockKind::ToolResult if block.server_side => {
                let letters = block.span.len() as u64;
                return TokenCount::estimate(sum.n + 15, 0, sum.hi.max(letters) + 60);
            }
            BlockKind::ToolResult => (share(sum.n, RETURNED) + 12, 0, 60),
            BlockKind::Media => (sum.n + 10, 0, 80),
            // Thinking of earlier turns is dropped by most models and kept by the newest.
            BlockKind::Reasoning => return TokenCount::estimate(sum.n, 0, sum.hi + 40),
            // A kind that loads tools costs their definitions.
            BlockKind::Opaque => return TokenCount::estimate(sum.n, 0, sum.hi * 2 + 400),
        };
        TokenCount::estimate(n, sum.lo + lo, sum.hi + hi)
    }

    fn message(&self, _message: &Message, _source: &[u8], inside: TokenCount, _tokenizer: &Tokenizer) -> TokenCount {
        TokenCount::estimate(3, 2, 8) + inside
    }

    fn reading(&self, model: &str) -> Reading {
        if is_newer(model) {
            Reading::Percent(NEWER)
        } else {
            Reading::AsCounted
        }
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
        let memo = || {
            let mut parts = TokenCount::estimate(3, 0, 8)
                + transcript.section_tokens_for(encoding, model, Section::System)
                + transcript.section_tokens_for(encoding, model, Section::Tools);
            if let Some(schema) = head.schema {
                // Recorded: 187 for a schema of 68.
                let tokens = json_tokens(schema, head.source.bytes(), encoding);
                parts = parts + TokenCount::estimate(share(tokens, 120) + 80, 0, share(tokens, 250) + 300);
            }
            parts = parts + demand_of(head);
            if head.thinking {
                parts = parts + TokenCount::estimate(if is_newer(model) { 0 } else { 28 }, 0, 60);
            }
            parts
        };
        messages + head.counts.outside(encoding, model, memo)
    }
}

/// The hidden prompt of tools, and the percent of `o200k_base` that their definitions cost. Recorded: a prompt of 320 of
/// Claude up to 4.6 at first and 490 later, 310 to 380 of Claude 5.
pub(super) fn prompt_of(model: &str) -> (u64, u64) {
    if is_newer(model) { (320, 140) } else { (490, 105) }
}

/// What a demand for a call adds to the prompt of tools.
pub(super) fn demand_of(head: &Head) -> TokenCount {
    if head.demands_call && head.tools.is_some() {
        TokenCount::estimate(100, 0, 150)
    } else {
        TokenCount::ZERO
    }
}

/// Tool definitions and their prompt of 150 to 530 tokens. A tool that the provider defines hides a definition of up to
/// 12,000 tokens (recorded: memory 1,570, web search 2,200 to 10,800, code execution 4,600).
pub(super) fn tool_tokens(tools: &[u8], tokens: u64, model: &str) -> TokenCount {
    let Ok(document) = Document::parse(tools) else {
        return TokenCount::ZERO;
    };
    let (mut own, mut hosted) = (0u64, 0u64);
    for tool in document.root().items() {
        match tool.get("input_schema") {
            Some(_) => own += 1,
            None => hosted += 1,
        }
    }
    if own + hosted == 0 {
        return TokenCount::ZERO;
    }
    let (prompt, definitions) = prompt_of(model);
    TokenCount::estimate(
        prompt + share(tokens, definitions) + 2_000 * hosted,
        150 + share(tokens, 30),
        800 + share(tokens, 250) + 12_000 * hosted,
    )
}

/// An image by both published rules: patches of 28 pixels after fitting to 1,568 on the long edge and 1,568 tokens
/// (before 4.7) or 2,576 and 4,784 (from 4.7), with a tenth of room.
fn image_tokens(pixels: Option<Pixels>) -> TokenCount {
    let Some(pixels) = pixels else {
        return TokenCount::estimate(1_000, 4, 4_784 + 500);
    };
    let older = patches(pixels, 1_568).min(1_568);
    let newer = patches(pixels, 2_576).min(4_784);
    TokenCount::estimate(older, share(older.min(newer), 80), share(older.max(newer), 115) + 20)
}

fn patches(pixels: Pixels, edge: u64) -> u64 {
    let long = pixels.width.max(pixels.height).max(1);
    let fit = |side: u64| if long > edge { (side * edge / long).max(1) } else { side };
    fit(pixels.width).div_ceil(28) * fit(pixels.height).div_ceil(28)
}
