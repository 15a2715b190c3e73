//! Mistral's framing. The vocabularies (tekken, and those of sentencepiece before it) are not shipped, so every count is an
//! interval over `o200k_base`.
//!
//! Measured with `mistral-common` 1.13 on recorded texts of all kinds: tekken 240911 costs 0.95 to 2.1 of `o200k_base`
//! (half of the texts under 1.16), the older vocabularies up to 2.2; every digit is a token of its own, and scripts
//! other than Latin cost up to 3.6 with the older ones. The framing is the package's instruct templates: 2 tokens
//! around what the user says, 1 after each answer, marks around tools, calls and results, a call's id letter by letter.
//! Held by the two recorded requests that there are (64 and 110 tokens; the second with a PDF of 13 KB that cost next to
//! nothing).

use turnfold_tokens::{Encoding, Tokenizer};

use super::{Envelope, holds_items, json_tokens, sealed, share, total};
use crate::formats::Section;
use crate::json::Value;
use crate::meter::TokenCount;
use crate::meter::count::Counted;
use crate::meter::media::{Pixels, data_url_payload, image_pixels};
use crate::transcript::{Block, BlockKind, Message, Transcript};

/// The framing.
#[derive(Debug)]
pub struct MistralEnvelope;

impl Envelope for MistralEnvelope {
    fn spans_vocabularies(&self) -> bool {
        true
    }

    fn text(&self, text: &str, tokens: u64) -> TokenCount {
        if tokens == 0 {
            return TokenCount::ZERO;
        }
        let (mut foreign, mut digits) = (0u64, 0u64);
        for byte in text.bytes() {
            foreign += u64::from(!byte.is_ascii());
            digits += u64::from(byte.is_ascii_digit());
        }
        let lo = share(tokens, 90)
            .saturating_sub(share(foreign, 20))
            .max(share(tokens, 50));
        let n = share(tokens, 108) + share(digits, 50) + share(foreign, 5);
        let hi = share(tokens, 170) + share(digits, 75) + share(foreign, 65) + 3;
        TokenCount::estimate(n, lo, hi)
    }

    fn data(&self, value: Value<'_>) -> TokenCount {
        if let Some(image) = value.get("image_url") {
            let url = image.get("url").unwrap_or(image);
            return image_tokens(data_url_payload(&url.key()).and_then(image_pixels));
        }
        if let Some(document) = value.get("document_url") {
            // Its text, and for most models its pictures; from nothing, where a model reads none.
            let payload = data_url_payload(&document.key()).map(|letters| letters.len() as u64);
            return match payload {
                Some(letters) => TokenCount::estimate(40 + letters / 60, 0, letters * 2 + 6_000),
                None => TokenCount::estimate(2_500, 0, 300_000),
            };
        }
        if let Some(audio) = value.get("input_audio") {
            // 12.5 tokens a second (mistral-common); a second has 16,000 bytes as MP3, or four times that as wave.
            let letters = audio.span().len() as u64;
            return TokenCount::estimate(30 + letters / 2_000, 0, letters / 50 + 30_000);
        }
        if value.get("file_id").is_some() {
            return TokenCount::estimate(2_500, 0, 300_000);
        }
        sealed(value.span().len())
    }

    fn block(&self, block: &Block, texts: &[Counted]) -> TokenCount {
        let sum = total(texts);
        let (n, lo, hi) = match block.kind {
            BlockKind::Text => (0, 0, 2),
            // Marks, the id and the braces of a call.
            BlockKind::ToolCall => (18, 2, 60),
            BlockKind::ToolResult => (14, 2, 60),
            BlockKind::Media => (2, 0, 20),
            // Whether earlier reasoning is rendered again depends on the model.
            BlockKind::Reasoning => return TokenCount::estimate(sum.n + 2, 0, sum.hi + 8),
            BlockKind::Opaque => return TokenCount::estimate(sum.n, 0, sum.hi * 2 + 16),
        };
        TokenCount::estimate(sum.n + n, sum.lo + lo, sum.hi + hi)
    }

    fn message(&self, _message: &Message, _source: &[u8], inside: TokenCount, _tokenizer: &Tokenizer) -> TokenCount {
        TokenCount::estimate(2, 0, 8) + inside
    }

    fn section(&self, transcript: &Transcript, section: Section, encoding: Encoding, _model: &str) -> TokenCount {
        let head = transcript.head();
        let source = head.source.bytes();
        match head
            .tools
            .filter(|tools| section == Section::Tools && holds_items(tools.of(source)))
        {
            Some(tools) => {
                // The definitions as JSON between two marks.
                let tokens = json_tokens(tools, source, encoding);
                TokenCount::estimate(share(tokens, 105) + 4, share(tokens, 40), share(tokens, 180) + 60)
            }
            None => TokenCount::ZERO,
        }
    }

    fn request(&self, transcript: &Transcript, encoding: Encoding, model: &str, messages: TokenCount) -> TokenCount {
        let head = transcript.head();
        let memo = || {
            // The start of the text; models that reason add a prompt of their own where none is given.
            let mut parts =
                TokenCount::estimate(1, 1, 400) + transcript.section_tokens_for(encoding, model, Section::Tools);
            if let Some(schema) = head.schema {
                let tokens = json_tokens(schema, head.source.bytes(), encoding);
                parts = parts + TokenCount::estimate(share(tokens, 65), 0, share(tokens, 250) + 100);
            }
            parts
        };
        messages + head.counts.outside(encoding, model, memo)
    }
}

/// An image: patches of 16 pixels, or of 28 in newer models, after fitting into 1,024 or 1,540 pixels, and one token a
/// row (mistral-common).
fn image_tokens(pixels: Option<Pixels>) -> TokenCount {
    let Some(pixels) = pixels else {
        return TokenCount::estimate(1_500, 2, 9_500);
    };
    let small = patches(pixels, 1_540, 28);
    let large = patches(pixels, 1_540, 16).max(patches(pixels, 1_024, 16));
    TokenCount::estimate(small, share(small, 40), share(large, 115) + 40)
}

fn patches(pixels: Pixels, edge: u64, patch: u64) -> u64 {
    let long = pixels.width.max(pixels.height).max(1);
    let fit = |side: u64| if long > edge { (side * edge / long).max(1) } else { side };
    (fit(pixels.width).div_ceil(patch) + 1) * fit(pixels.height).div_ceil(patch)
}
