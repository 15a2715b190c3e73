//! From a model's name to the encoding that counts it.

use turnfold_tokens::Encoding;

/// How sure it is that a model uses an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelLabel {
    /// Published: tiktoken's own table names the model.
    Exact,
    /// Not published; taken over from the models before it, or because nothing is known of the name.
    Assumed,
    /// The model has another vocabulary, which is not public: counts are intervals.
    Estimate,
}

/// Prefixes of model names, the longer before the shorter. Source: tiktoken 0.14 `model.py` for every `Exact` row;
/// `gpt-6` is not in it and is assumed to keep the vocabulary, as litellm does.
const PREFIXES: &[(&str, Encoding, ModelLabel)] = &[
    ("gpt-oss", Encoding::O200kHarmony, ModelLabel::Exact),
    ("gpt-6", Encoding::O200kBase, ModelLabel::Assumed),
    ("gpt-5", Encoding::O200kBase, ModelLabel::Exact),
    ("gpt-4.5", Encoding::O200kBase, ModelLabel::Exact),
    ("gpt-4.1", Encoding::O200kBase, ModelLabel::Exact),
    ("gpt-4o", Encoding::O200kBase, ModelLabel::Exact),
    ("chatgpt-4o", Encoding::O200kBase, ModelLabel::Exact),
    ("gpt-4", Encoding::Cl100kBase, ModelLabel::Exact),
    ("gpt-3.5", Encoding::Cl100kBase, ModelLabel::Exact),
    ("gpt-35", Encoding::Cl100kBase, ModelLabel::Exact),
    ("o1", Encoding::O200kBase, ModelLabel::Exact),
    ("o3", Encoding::O200kBase, ModelLabel::Exact),
    ("o4", Encoding::O200kBase, ModelLabel::Exact),
    ("text-embedding-ada-002", Encoding::Cl100kBase, ModelLabel::Exact),
    ("text-embedding-3", Encoding::Cl100kBase, ModelLabel::Exact),
    ("claude", Encoding::O200kBase, ModelLabel::Estimate),
    ("gemini", Encoding::O200kBase, ModelLabel::Estimate),
];

/// The encoding of a model, by its name: `gpt-4o-2024-08-06`, `openai/gpt-4o`, `ft:gpt-4o:org::id`,
/// `us.anthropic.claude-sonnet-4-5`. Letter case makes no difference. A name that is not in the table is counted by
/// `o200k_base` and labelled `Assumed`.
pub fn encoding_for_model(model: &str) -> (Encoding, ModelLabel) {
    let lower = model.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let found = PREFIXES.iter().find(|(prefix, ..)| is_of(name, prefix));
    // Clouds put a region and the vendor before the name, with dots.
    let dotted = || {
        let inner = ["claude", "gemini"].iter().find(|vendor| lower.contains(*vendor));
        inner.and_then(|vendor| PREFIXES.iter().find(|(prefix, ..)| prefix == vendor))
    };
    match found.or_else(dotted) {
        Some(&(_, encoding, label)) => (encoding, label),
        None => (Encoding::O200kBase, ModelLabel::Assumed),
    }
}

/// Whether `name` is the family `prefix` or one of its members: `o1` and `o1-mini`, not `o100`.
fn is_of(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()) || prefix.starts_with("gpt-3"))
}

/// Whether the model thinks before it answers: its requests are framed otherwise by OpenAI.
pub(crate) fn is_openai_reasoning(model: &str) -> bool {
    let lower = model.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    ["o1", "o3", "o4", "gpt-5", "gpt-6"]
        .iter()
        .any(|family| is_of(name, family))
        && !name.contains("-chat")
}
