//! Google's framing of generateContent. The vocabulary of Gemini up to 3 is Gemma's, that of later models is not
//! public, and neither is the framing, so every count is an interval around `o200k_base`.
//!
//! Recorded English text costs 0.9 to 1.12 of `o200k_base`. Gemma's vocabulary has no token of several digits, so each
//! digit may cost one; text outside ASCII gets more room, as a letter without a token of its own costs its bytes.
//! Definitions of tools are rendered without their JSON: they cost 0.2 to 1.0 of it, 2.3 where a schema refers to itself.
//! Signatures of calls cost some 20 tokens before Gemini 3; from 3 on they cost what the model thought, which their length
//! tells; beside a text they cost nothing. From 3 on a call has a frame of 7 tokens and a result one of 15, its name
//! included, and a schema of the reply costs nothing. Vertex AI counted neither until spring 2026, whatever the model.
//!
//! Media by the documented allowances: 258 tokens a tile of an image or a page of a document before Gemini 3, 64 to
//! 2,240 an image and 280 to 1,120 a page from 3 on; 32 a second of sound, 70 to 258 a frame of video. What a URI stands
//! for only the server knows: from nothing (recorded for Cloud Storage) to a full window; so does `cachedContent`.
//!
//! Held by `promptTokenCount` of all 114 recorded requests. What tools returned that the provider ran during a request
//! stands in another field (`toolUsePromptTokenCount`), but their definitions and first results count here.

use turnfold_tokens::{Encoding, Tokenizer};

use super::openai_tools;
use super::{Envelope, Reading, json_tokens, sealed, share, system_tokens, total};
use crate::formats::Section;
use crate::json::{Document, Value};
use crate::meter::TokenCount;
use crate::meter::count::Counted;
use crate::meter::media::{Pixels, image_pixels, pdf_pages};
use crate::meter::models::version_of;
use crate::transcript::{Block, BlockKind, Message, Transcript};

/// A page of a document, before Gemini 3 and from 3 on ("Document understanding", "Media resolution").
const PAGE: u64 = 258;
const LATER_PAGE: u64 = 560;
const MOST_PAGE: u64 = 1_120;

/// An image from Gemini 3 on, where the request sets no resolution.
const LATER_IMAGE: u64 = 1_120;

/// Letters of a signature that say nothing.
const SEAL_LETTERS: u64 = 100;

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
            } else if let Some(pages) = pdf_pages(&data.key()) {
                let n = pages * PAGE;
                TokenCount::estimate(n, 0, (letters * 3 + 2_000).max(pages * MOST_PAGE))
                    .later((pages * LATER_PAGE).cast_signed() - n.cast_signed())
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
            // A signature. Recorded from Gemini 2.5: some 20 tokens, however long; from 3: a token of thought in 4.8 letters
            // behind the first 100. Shorter ones are the documented ways to skip the check, which cost nothing.
            let letters = value.span().len() as u64;
            let n = if letters < SEAL_LETTERS { 0 } else { 20 };
            let thought = letters.saturating_sub(SEAL_LETTERS) * 5 / 24;
            return TokenCount::estimate(n, 0, letters / 2 + 64).later(thought.cast_signed() - n.cast_signed());
        }
        sealed(value.span().len())
    }

    fn block(&self, block: &Block, texts: &[Counted]) -> TokenCount {
        let sum = total(texts);
        // The name of a result's tool is not among its texts, nor are the names of its fields.
        let name = block.name.map_or(0, |name| name.len() as u64);
        let named = name / 5 + 2;
        let (count, framing) = match block.kind {
            BlockKind::Text => {
                // A signature, which alone costs later models otherwise, costs nothing here.
                let texts = texts.iter().filter(|text| text.count.more_later() == 0);
                let n = texts.map(|text| text.count.n).sum();
                return TokenCount::estimate(n, sum.lo, sum.hi + 3);
            }
            // What the provider ran itself may not be shown to the model again.
            BlockKind::ToolCall | BlockKind::ToolResult if block.server_side => {
                (TokenCount::estimate(sum.n + 10, 0, sum.hi + name + 60), 0)
            }
            BlockKind::ToolCall => (TokenCount::estimate(sum.n, sum.lo, sum.hi + 40), 7),
            BlockKind::ToolResult => {
                let count = TokenCount::estimate(sum.n + named, sum.lo, sum.hi + name + 40);
                (count, 15 - named.cast_signed())
            }
            BlockKind::Media => (TokenCount::estimate(sum.n, sum.lo, sum.hi + 30), 0),
            BlockKind::Reasoning => (TokenCount::estimate(sum.n, 0, sum.hi + 40), 0),
            BlockKind::Opaque => (TokenCount::estimate(sum.n, 0, sum.hi * 2 + 400), 0),
        };
        count.later(sum.more_later() + framing)
    }

    fn message(&self, _message: &Message, _source: &[u8], inside: TokenCount, _tokenizer: &Tokenizer) -> TokenCount {
        TokenCount::estimate(0, 0, 6) + inside
    }

    fn reading(&self, model: &str) -> Reading {
        if is_before_3(model) {
            Reading::AsCounted
        } else {
            Reading::Later
        }
    }

    fn section(&self, transcript: &Transcript, section: Section, encoding: Encoding, model: &str) -> TokenCount {
        let head = transcript.head();
        let source = head.source.bytes();
        match (section, head.tools) {
            (Section::Tools, Some(tools)) => tool_tokens(tools.of(source), encoding, model),
            (Section::System, _) => {
                let tokens = system_tokens(transcript, encoding);
                let frame = if tokens.n > 0 && is_before_3(model) { 2 } else { 0 };
                TokenCount::estimate(tokens.n + frame, tokens.lo, tokens.hi)
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

/// Tool definitions. A tool that the provider runs brings a prompt of its own from Gemini 3 on, and what it found in the
/// first rounds of this request (recorded: 20 to 420).
fn tool_tokens(tools: &[u8], encoding: Encoding, model: &str) -> TokenCount {
    let Ok(document) = Document::parse(tools) else {
        return TokenCount::ZERO;
    };
    let root = document.root();
    let lone = Some(root).filter(|tool| tool.is_object());
    let declares = |key: Value<'_>| key.is_text("functionDeclarations") || key.is_text("function_declarations");
    let (mut hosted, mut functions, mut tokens) = (0, 0, 0);
    for (key, value) in root.items().chain(lone).flat_map(Value::fields) {
        if declares(key) {
            tokens += encoding.tokenizer().count(&String::from_utf8_lossy(value.raw())) as u64;
            functions += value
                .items()
                .map(|function| function_tokens(function, encoding))
                .sum::<u64>();
        } else if !value.is_null() {
            hosted += 1;
        }
    }
    // Medians of what is on record before Gemini 3: 2.0 reads little more than names and descriptions.
    let n = match version_of(model, "gemini") {
        Some((2, 0)) => share(tokens, 28),
        Some((..3, _)) => share(tokens, 65),
        _ => functions + 40 * hosted,
    };
    let (lo, hi) = (share(tokens, 10), share(tokens, 260) + 60 + 1_500 * hosted);
    TokenCount::estimate(n.clamp(lo, hi), lo, hi)
}

/// A declaration as Gemini reads it from 3 on: some 15 tokens, its name, its description and, where it has parameters,
/// their schema. Read off eight recorded requests, of which two have parameters.
fn function_tokens(function: Value<'_>, encoding: Encoding) -> u64 {
    let count = |text: &str| encoding.tokenizer().count(text) as u64;
    let text = |key| function.get(key).and_then(Value::text).map_or(0, |text| count(&text));
    let schema = ["parameters", "parametersJsonSchema", "parameters_json_schema"]
        .into_iter()
        .find_map(|key| function.get(key));
    let schema = schema.filter(|schema| schema.get("properties").is_some_and(|p| p.fields().next().is_some()));
    let parameters = schema.map_or(0, |schema| {
        let mut written = String::new();
        openai_tools::compact(schema, &mut written);
        share(count(&written), 120)
    });
    15 + text("name") + text("description") + parameters
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
    let n = tiles.saturating_mul(258);
    let hi = n.max(2_240).saturating_add(n / 10 + 20);
    TokenCount::estimate(n, 0, hi).later(LATER_IMAGE.cast_signed().saturating_sub_unsigned(n))
}
