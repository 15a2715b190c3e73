//! OpenAI's framing of Chat Completions.
//!
//! Plain text is exact: 3 tokens a message, its role, its content, 1 more and the name where it has one, and 3 for
//! the start of the reply (OpenAI cookbook, "How to count tokens with tiktoken"); reasoning models start the reply
//! with 2 (o3-mini and gpt-5 in the recordings). The recorded requests of text alone agree to the token, apart from
//! models with a prompt of their own (o1-mini, gpt-oss, search previews), which get an interval.
//!
//! Calls, tools, schemas and media are estimates: what the model reads of them is not published for these models, but the
//! likeliest count agrees to the token with what gpt-4o, gpt-4o-mini, gpt-4.1-mini and gpt-5 reported for functions, calls
//! and schemas (of several calls at once within one in a hundred), and every one of OpenAI's own models lies within its
//! interval.

use std::borrow::Cow;

use turnfold_tokens::{Encoding, Tokenizer};

use super::openai_calls::{self, SINGLE};
use super::openai_tools::{Functions, schema_tokens};
use super::{Beside, Call, Envelope, Reading, holds_tools, json_tokens, sealed, share, total};
use crate::formats::Section;
use crate::json::{self, Value};
use crate::meter::TokenCount;
use crate::meter::count::Counted;
use crate::meter::media::{Pixels, data_url_payload, image_pixels};
use crate::meter::models;
use crate::transcript::{Block, BlockKind, Message, Role, Span, Transcript};

/// The framing.
#[derive(Debug)]
pub struct OpenAiChatEnvelope;

/// The roles of nearly all messages: each is one token in every published vocabulary.
const ROLES: [&[u8]; 5] = [
    b"\"user\"",
    b"\"assistant\"",
    b"\"tool\"",
    b"\"system\"",
    b"\"developer\"",
];

/// Tiles of 512 pixels in the largest image after fitting it into 2048 x 768.
const MOST_TILES: u64 = 8;

/// What frames a system message: three tokens and its role.
pub(super) const FRAME: u64 = 4;

impl Envelope for OpenAiChatEnvelope {
    fn spans_vocabularies(&self) -> bool {
        false
    }

    fn text(&self, _text: &str, tokens: u64) -> TokenCount {
        TokenCount::exact(tokens)
    }

    fn arguments<'t>(&self, text: &'t str) -> Cow<'t, str> {
        openai_calls::compact(text)
    }

    fn beside(&self, calls: &[Call<'_>], text: bool, count: &dyn Fn(&str) -> u64) -> Beside {
        let earlier = if calls.len() > 1 {
            openai_calls::parallel(calls, count)
        } else {
            0
        };
        Beside {
            tokens: earlier + if text { FRAME.cast_signed() } else { 0 },
            earlier,
        }
    }

    fn reading(&self, model: &str) -> Reading {
        openai_calls::reading(model)
    }

    fn data(&self, value: Value<'_>) -> TokenCount {
        if let Some(image) = value.get("image_url") {
            let url = image.get("url").unwrap_or(image);
            let low = image.get("detail").is_some_and(|d| d.is_text("low"));
            return image_tokens(&url.key(), low);
        }
        if let Some(audio) = value.get("input_audio") {
            // 10 tokens a second; a second has 48,000 bytes as wave and some 16,000 as MP3, 4/3 of that in base64.
            let letters = audio.get("data").map_or(0, |d| d.span().len()) as u64;
            return TokenCount::estimate(letters / 3_000, letters / 30_000, letters / 60 + 100);
        }
        if let Some(file) = value.get("file") {
            // A page is its text, and for some models its picture. 13 KB of PDF with one page: 220.
            return match file.get("file_data") {
                Some(data) => {
                    let letters = data.span().len() as u64;
                    TokenCount::estimate(letters / 60, 0, letters * 2 + 2_000)
                }
                None => TokenCount::estimate(2_000, 0, 300_000),
            };
        }
        if value.get("id").is_some() && value.get("data").is_none() {
            // A sound that the server holds.
            return TokenCount::estimate(250, 0, 20_000);
        }
        sealed(value.span().len())
    }

    fn block(&self, block: &Block, texts: &[Counted]) -> TokenCount {
        let sum = total(texts);
        match block.kind {
            BlockKind::Text | BlockKind::Media => sum,
            BlockKind::ToolCall => {
                // The name stands in the call and again in the result's header, five tokens frame both; hosts of other
                // models take more.
                let name = if block.name.is_some() {
                    texts.first().map_or(0, |t| t.tokens)
                } else {
                    0
                };
                let lo = name + share(sum.lo - name.min(sum.lo), 50);
                TokenCount::estimate(sum.n + name + SINGLE, lo, sum.hi + name + 21)
            }
            BlockKind::ToolResult => TokenCount::estimate(sum.n, sum.lo, sum.hi + 4),
            // Whether earlier reasoning is rendered again depends on the model and on the turn.
            BlockKind::Reasoning => TokenCount::estimate(sum.n, 0, sum.hi + 8),
            BlockKind::Opaque => TokenCount::estimate(sum.n, 0, sum.hi * 2 + 16),
        }
    }

    fn message(&self, message: &Message, source: &[u8], inside: TokenCount, tokenizer: &Tokenizer) -> TokenCount {
        let count = |span: Option<Span>| {
            let text = span.map_or(Cow::Borrowed(""), |s| json::unescape(s.of(source)));
            tokenizer.count(&text) as u64
        };
        let name = message.name.map_or(0, |name| 1 + count(Some(name)));
        let is_registered = matches!(tokenizer.encoding(), Encoding::Registered(_));
        let is_one_token = |role: Span| !is_registered && ROLES.contains(&role.of(source));
        let role = match message.role_text {
            Some(role) if is_one_token(role) => 1,
            role => count(role),
        };
        let frame = 3 + name + role;
        match message.role {
            Role::Tool | Role::Other => TokenCount::estimate(frame, 3, frame + 4) + inside,
            _ => TokenCount::exact(frame) + inside,
        }
    }

    fn section(&self, transcript: &Transcript, section: Section, encoding: Encoding, model: &str) -> TokenCount {
        let head = transcript.head();
        let source = head.source.bytes();
        let tools = head.tools.filter(|_| section == Section::Tools);
        let Some((tools, functions)) = tools.and_then(|t| Some((t, Functions::of(t.of(source))?))) else {
            return TokenCount::ZERO;
        };
        // gpt-5 adds some 80 tokens of instructions of its own.
        let reasons = models::is_openai_reasoning(model);
        let (middle, most) = if reasons { (82, 200) } else { (0, 16) };
        let tokens = json_tokens(tools, source, encoding);
        let n = functions.tokens(encoding.tokenizer(), reasons, true) + middle;
        TokenCount::estimate(n, share(n.min(tokens), 30), share(n.max(tokens), 120) + most)
    }

    fn request(&self, transcript: &Transcript, encoding: Encoding, model: &str, messages: TokenCount) -> TokenCount {
        let head = transcript.head();
        let reasons = models::is_openai_reasoning(model);
        let mut sum = messages + TokenCount::exact(if reasons { 2 } else { 3 });
        if model.contains("search") {
            // The text is rewritten before it is counted: 11 where the rule says 22.
            sum = TokenCount::estimate(sum.n, share(sum.lo, 35), sum.hi + 16);
        }
        if model.starts_with("o1") {
            sum = sum + TokenCount::estimate(0, 0, 16);
        }
        if model.contains("gpt-oss") {
            // The harmony template's own system message: 60 in the recording, more with tools.
            sum = sum + TokenCount::estimate(60, 0, 160);
        }
        let memo = || {
            let mut parts = transcript.section_tokens_for(encoding, model, Section::Tools);
            if let Some(schema) = head.schema {
                parts = parts + reply_schema(schema, head.source.bytes(), encoding);
            }
            parts
        };
        let outside = head.counts.outside(encoding, model, memo);
        // Tools join a system message that opens the request, whose frame is counted with it.
        let opened = transcript.first_role() == Some(Role::System);
        if !reasons && outside.n > FRAME && opened && holds_tools(transcript) {
            sum = TokenCount::estimate(sum.n - FRAME, sum.lo - FRAME, sum.hi);
        }
        sum + outside
    }
}

/// The schema that a reply must keep to.
pub(super) fn reply_schema(schema: Span, source: &[u8], encoding: Encoding) -> TokenCount {
    let tokens = json_tokens(schema, source, encoding);
    let n = schema_tokens(schema.of(source), encoding.tokenizer()).unwrap_or(0);
    TokenCount::estimate(n, 0, share(tokens, 120) + 16)
}

/// An image by the published rules of all models at once, since messages are counted before a model is known: tiles
/// (gpt-4o 85 + 170 a tile; gpt-5 70 + 140; gpt-4o-mini 2833 + 5667) and patches of 32 pixels (at most 1,536 for the
/// small 4.1 models, at most 10,000 at original detail; 1 to 2.46 tokens each).
pub(super) fn image_tokens(url: &[u8], low: bool) -> TokenCount {
    let Some(Pixels { width, height }) = data_url_payload(url).and_then(image_pixels) else {
        let tiles = if low { 0 } else { MOST_TILES };
        return TokenCount::estimate(if low { 85 } else { 765 }, 32, 2_833 + 5_667 * tiles);
    };
    if low {
        return TokenCount::estimate(85, 32, 2_833);
    }
    let tiles = tiles(width, height);
    let patches = width.div_ceil(32).saturating_mul(height.div_ceil(32));
    let lo = (70 + 140 * tiles).min(patches.min(1_024));
    let hi = (2_833 + 5_667 * tiles).max(share(patches.min(10_000), 246));
    TokenCount::estimate(85 + 170 * tiles, lo, hi)
}

/// Tiles of 512 pixels after fitting into 2048 x 2048 and then to 768 on the short side, never enlarged.
fn tiles(width: u64, height: u64) -> u64 {
    let (mut long, mut short) = (width.max(height), width.min(height));
    if long > 2_048 {
        short = (short * 2_048 / long).max(1);
        long = 2_048;
    }
    if short > 768 {
        long = (long * 768 / short).max(1);
        short = 768;
    }
    long.div_ceil(512) * short.div_ceil(512)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_role_costs_what_is_counted_of_it() {
        let tokens = |role: &str, encoding| {
            let body = format!(r#"[{{"role":{role},"content":"Hi"}}]"#).into_bytes();
            let read = Transcript::read_whole(Arc::new(body), Some("openai.chat"));
            read.expect("a transcript").tokens(encoding, Some(0..1))
        };
        for encoding in Encoding::ALL {
            for literal in ROLES {
                assert_eq!(encoding.tokenizer().count(&json::unescape(literal)), 1);
                let plain = String::from_utf8_lossy(literal);
                let escaped = format!("\"\\u{:04x}{}", literal[1], &plain[2..]);
                assert_eq!(tokens(&plain, encoding), tokens(&escaped, encoding));
            }
        }
    }
}
