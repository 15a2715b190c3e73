//! The special tokens of each encoding. They are decoded, never encoded: text that looks like one is ordinary text.

use std::borrow::Cow;

use crate::Encoding;

const CL100K_BASE: [(u32, &str); 5] = [
    (100_257, "<|endoftext|>"),
    (100_258, "<|fim_prefix|>"),
    (100_259, "<|fim_middle|>"),
    (100_260, "<|fim_suffix|>"),
    (100_276, "<|endofprompt|>"),
];
const O200K_BASE: [(u32, &str); 2] = [(199_999, "<|endoftext|>"), (200_018, "<|endofprompt|>")];
const O200K_HARMONY: [(u32, &str); 10] = [
    (199_998, "<|startoftext|>"),
    (199_999, "<|endoftext|>"),
    (200_002, "<|return|>"),
    (200_003, "<|constrain|>"),
    (200_005, "<|channel|>"),
    (200_006, "<|start|>"),
    (200_007, "<|end|>"),
    (200_008, "<|message|>"),
    (200_012, "<|call|>"),
    (200_018, "<|endofprompt|>"),
];

/// The ids of `o200k_harmony` that have no name of their own are `<|reserved_ID|>`, up to this one.
const LAST_RESERVED: u32 = 201_087;

/// The text of a special token; `None` if the encoding has none of this id.
pub(crate) fn text(encoding: Encoding, id: u32) -> Option<Cow<'static, str>> {
    let named: &[(u32, &str)] = match encoding {
        Encoding::Cl100kBase => &CL100K_BASE,
        Encoding::O200kBase => &O200K_BASE,
        Encoding::O200kHarmony => &O200K_HARMONY,
        Encoding::Registered(_) => &[],
    };
    if let Some((_, text)) = named.iter().find(|(known, _)| *known == id) {
        return Some(Cow::Borrowed(text));
    }
    let reserved = encoding == Encoding::O200kHarmony && (200_000..=LAST_RESERVED).contains(&id);
    reserved.then(|| Cow::Owned(format!("<|reserved_{id}|>")))
}
