//! Google's framing of generateContent. The vocabulary of Gemini up to 3 is Gemma's, that of later models is not
//! public, and neither is the framing, so every count is an interval around `o200k_base`.
//!
//! Recorded English text costs 0.9 to 1.12 of `o200k_base`. Gemma's vocabulary has no token of several digits, so each
//! digit may cost one; text outside ASCII gets more room, as a letter without a token of its own costs its bytes.
//! Definitions of tools are rendered without their JSON: they cost 0.2 to 1.0 of it, 2.3 where schemas refer to others.
//! Signatures cost some 20 tokens before Gemini 3, and more the longer they are from 3 on (none at all on Vertex).
//! From 3 on calls and results have a frame of some 15 tokens each, and a schema of the reply costs nothing.
//!
//! Media by the documented allowances: 258 tokens a tile of an image or a page of a document before Gemini 3, 64 to
//! 2,240 an image and 280 to 1,120 a page from 3 on; 32 a second of sound, 70 to 258 a frame of video. What a URI stands
//! for only the server knows: from nothing (recorded for Cloud Storage) to a full window; so does `cachedContent`.
//!
//! Held by `promptTokenCount` of all 114 recorded requests. What tools returned that the provider ran during a request
//! stands in another field (`toolUsePromptTokenCount`), but their definitions and first results count here.

use turnfold_tokens::{Encoding, Tokenizer};

use super::{Envelope, json_tokens, sealed, share, system_tokens, total};
use crate::formats::Section;
use crate::json::{Document, Value};
use crate::meter::TokenCount;
use crate::meter::count::Counted;
use crate::meter::media::{Pixels, image_pixels};
use crate::meter::models::version_of;
use crate::transcript::{Block, BlockKind, Message, Transcript};

/// The largest window that is on record: no content that the server holds counts more.
const WINDOW_TOKENS: u64 = 1_048_576;

/// The framing.
#[derive(Debug)]
pub struct GeminiEnvelope;

impl Envelope for GeminiEnvelope {
    fn spans_vocabularies(&self) -> bool {
        true
    }

    fn text(&self, text: &str, tokens: u64) -> TokenCount {
        if tokens == 0 {
            return TokenCount::ZERO;
        }
        let (mut digits, mut foreign) = (0, 0);
        for byte in text.bytes() {
            digits += u64::from(byte.is_ascii_digit());
            foreign += u64::from(!byte.is_ascii());
        }
        let lo = share(tokens, 75)
            .saturating_sub(share(foreign, 20))
            .max(share(tokens, 25));
        let hi = share(tokens, 140) + digits + share(foreign, 60) + 2;
        TokenCount::estimate((tokens + digits / 2).min(hi), lo, hi)
    }

    fn data(&self, value: Value<'_>) -> TokenCount {
        let field = |camel, snake| value.get(camel).or_else(|| value.get(snake));
        let kind = field("mimeType", "mime_type").map(Value::key).unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        let is = |start: &[u8]| kind.starts_with(start);
        if let Some(data) = value.get("data").filter(|data| data.is_string()) {
            let letters = data.span().len() as u64;
            return if is(b"image/") {
                image_tokens(image_pixels(&data.key()))
            } else if is(b"audio/") {
                TokenCount::estimate(letters / 660, 0, letters / 10 + 100)
            } else if is(b"video/") {
                TokenCount::estimate(letters / 200, 0, letters + 2_000)
            } else if is(b"text/") {
                TokenCount::estimate(letters / 6, letters / 60, letters + 100)
            } else {
                // A page of a document takes some 400 letters at least.
                TokenCount::estimate(260 + letters / 60, 0, letters * 3 + 2_000)
            };
        }
        if field("fileUri", "file_uri").is_some() {
            return match () {
                () if is(b"image/") => TokenCount::estimate(1_100, 0, 8_000),
                () => TokenCount::estimate(3_000, 0, WINDOW_TOKENS),
            };
        }
        if value.is_string() {
            // A signature. Recorded from Gemini 2.5: some 20 tokens, however long; from 3: a token in five letters more.
            let letters = value.span().len() as u64;
            return TokenCount::estimate(20, 0, letters / 2 + 64).later(letters.saturating_sub(300) / 5);
        }
        sealed(value.span().len())
    }

    fn block(&self, block: &Block, texts: &[Counted]) -> TokenCount {
        let sum = total(texts);
        // The name of a result's tool is not among its texts.
        let name = block.name.map_or(0, |name| name.len() as u64);
        let (count, framing) = match block.kind {
            BlockKind::Text => (TokenCount::estimate(sum.n, sum.lo, sum.hi + 3), 0),
            // What the provider ran itself may not be shown to the model again.
            BlockKind::ToolCall | BlockKind::ToolResult if block.server_side => {
                (TokenCount::estimate(sum.n + 10, 0, sum.hi + name + 60), 0)
            }
            BlockKind::ToolCall => (TokenCount::estimate(sum.n, sum.lo, sum.hi + 40), 15),
            BlockKind::ToolResult => (TokenCount::estimate(sum.n, sum.lo, sum.hi + name + 40), 15),
            BlockKind::Media => (TokenCount::estimate(sum.n, sum.lo, sum.hi + 30), 0),
            BlockKind::Reasoning => (TokenCount::estimate(sum.n, 0, sum.hi + 40), 0),
            BlockKind::Opaque => (TokenCount::estimate(sum.n, 0, sum.hi * 2 + 400), 0),
        };
        count.later(u64::from(sum.later) + framing)
    }

    fn message(&self, _message: &Message, _source: &[u8], inside: TokenCount, _tokenizer: &Tokenizer) -> TokenCount {
        TokenCount::estimate(0, 0, 6) + inside
    }

    fn read_as(&self, count: TokenCount, model: &str) -> TokenCount {
        let later = if is_before_3(model) { 0 } else { u64::from(count.later) };
        // Nothing stays nothing, which an interval would not be.
        if count.hi > 0 {
            TokenCount::estimate((count.n + later).min(count.hi), count.lo, count.hi)
        } else {
            count
        }
    }

    fn section(&self, transcript: &Transcript, section: Section, encoding: Encoding, model: &str) -> TokenCount {
        let head = transcript.head();
        let source = head.source.bytes();
        match (section, head.tools) {
            (Section::Tools, Some(tools)) => tool_tokens(tools.of(source), json_tokens(tools, source, encoding), model),
            (Section::System, _) => {
                let tokens = system_tokens(transcript, encoding);
                TokenCount::estimate(tokens.n + if tokens.n == 0 { 0 } else { 2 }, tokens.lo, tokens.hi)
            }
            _ => TokenCount::ZERO,
        }
    }

    fn request(&self, transcript: &Transcript, encoding: Encoding, model: &str, messages: TokenCount) -> TokenCount {
        let head = transcript.head();
        let memo = || {
            let mut parts = TokenCount::estimate(0, 0, 12)
                + transcript.section_tokens_for(encoding, model, Section::System)
                + transcript.section_tokens_for(encoding, model, Section::Tools);
            if let Some(schema) = head.schema {
                let tokens = json_tokens(schema, head.source.bytes(), encoding);
                let percent = if is_before_3(model) { 50 } else { 0 };
                parts = parts + TokenCount::estimate(share(tokens, percent), 0, share(tokens, 260) + 100);
            }
            if head.remote.is_some() {
                parts = parts + TokenCount::estimate(0, 0, WINDOW_TOKENS);
            }
            parts
        };
        messages + head.counts.outside(encoding, model, memo)
    }
}

/// Whether a model is of a generation before Gemini 3; of a name that says no version nobody knows.
fn is_before_3(model: &str) -> bool {
    matches!(version_of(model, "gemini"), Some((..3, _)))
}

/// Tool definitions. A tool that the provider runs brings a prompt of its own, and what it found in the first rounds of
/// this request (recorded: 20 to 420).
fn tool_tokens(tools: &[u8], tokens: u64, model: &str) -> TokenCount {
    let Ok(document) = Document::parse(tools) else {
        return TokenCount::ZERO;
    };
    let root = document.root();
    let lone = Some(root).filter(|tool| tool.is_object());
    let declares = |key: Value<'_>| key.is_text("functionDeclarations") || key.is_text("function_declarations");
    let hosted = root
        .items()
        .chain(lone)
        .flat_map(Value::fields)
        .filter(|(key, value)| !declares(*key) && !value.is_null())
        .count() as u64;
    // Medians of what is on record: 2.0 reads little more than names and descriptions.
    let percent = match version_of(model, "gemini") {
        Some((2, 0)) => 26,
        Some((2, _)) => 65,
        Some(_) => 50,
        None => 60,
    };
    TokenCount::estimate(
        share(tokens, percent) + 40 * hosted,
        share(tokens, 10),
        share(tokens, 260) + 60 + 1_500 * hosted,
    )
}

/// An image by both published rules: before Gemini 3, 258 tokens if neither side is over 384 pixels, else 258 a tile,
/// tiles being two thirds of the shorter side, but 256 to 768 pixels; from 3 on at most 2,240.
fn image_tokens(pixels: Option<Pixels>) -> TokenCount {
    let Some(Pixels { width, height }) = pixels else {
        return TokenCount::estimate(1_100, 0, 8_000);
    };
    let tiles = if width <= 384 && height <= 384 {
        1
    } else {
        let side = (width.min(height) * 2 / 3).clamp(256, 768);
        width.div_ceil(side).saturating_mul(height.div_ceil(side))
    };
    let tokens = tiles.saturating_mul(258);
    TokenCount::estimate(tokens.min(1_100), 0, tokens.max(2_240).saturating_add(tokens / 10 + 20))
}
