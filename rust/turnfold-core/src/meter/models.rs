//! From a model's name to the encoding that counts it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use turnfold_tokens::Encoding;

/// How sure it is that a model uses an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelLabel {
    /// Published (tiktoken's own table names the model), or said by the caller.
    Exact,
    /// Not published; taken over from the models before it, or because nothing is known of the name.
    Assumed,
    /// The model has another vocabulary, which does not ship with this crate: counts are intervals.
    Estimate,
}

/// What may follow the name of a family in the name of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Members {
    /// The name itself, or `-`, `:` or `@` and a variant: `o1`, `o1-mini`, `gpt-4o:free`, `gpt-4@0613`.
    Variants,
    /// Variants, and versions behind a point: `gpt-5.6`.
    Versions,
    /// Anything but a digit: `claude3`, `gemini_pro`.
    Any,
}

/// Families of models, the longer names before the shorter ones that they start with.
///
/// Source: tiktoken 0.14 `model.py` for every `Exact` row, and for the `Estimate` rows of OpenAI's, whose encodings
/// (`gpt2`, `r50k_base`, `p50k_base`) do not ship. It does not name `gpt-6`, `codex-mini` and `computer-use-preview`:
/// they are assumed to keep the vocabulary of the models they follow, as litellm does.
const FAMILIES: &[(&str, Members, Encoding, ModelLabel)] = {
    use Encoding::{Cl100kBase, O200kBase, O200kHarmony};
    use Members::{Any, Variants, Versions};
    use ModelLabel::{Assumed, Estimate, Exact};
    &[
        ("gpt-oss", Variants, O200kHarmony, Exact),
        ("gpt-6", Versions, O200kBase, Assumed),
        ("gpt-5", Versions, O200kBase, Exact),
        ("gpt-4.5", Variants, O200kBase, Exact),
        ("gpt-4.1", Variants, O200kBase, Exact),
        ("gpt-4o", Variants, O200kBase, Exact),
        ("chatgpt-4o", Variants, O200kBase, Exact),
        ("gpt-4", Variants, Cl100kBase, Exact),
        ("gpt-3.5-turbo", Variants, Cl100kBase, Exact),
        ("gpt-3.5", Variants, Cl100kBase, Exact),
        ("gpt-35-turbo", Variants, Cl100kBase, Exact),
        ("o1", Variants, O200kBase, Exact),
        ("o3", Variants, O200kBase, Exact),
        ("o4-mini", Variants, O200kBase, Exact),
        ("o4", Variants, O200kBase, Assumed),
        ("codex-mini", Variants, O200kBase, Assumed),
        ("computer-use-preview", Variants, O200kBase, Assumed),
        ("text-embedding-ada-002", Variants, Cl100kBase, Exact),
        ("text-embedding-3-small", Variants, Cl100kBase, Exact),
        ("text-embedding-3-large", Variants, Cl100kBase, Exact),
        ("davinci-002", Variants, Cl100kBase, Exact),
        ("babbage-002", Variants, Cl100kBase, Exact),
        ("text-davinci", Variants, O200kBase, Estimate),
        ("text-curie", Variants, O200kBase, Estimate),
        ("text-babbage", Variants, O200kBase, Estimate),
        ("text-ada", Variants, O200kBase, Estimate),
        ("text-similarity", Variants, O200kBase, Estimate),
        ("text-search", Variants, O200kBase, Estimate),
        ("code-search", Variants, O200kBase, Estimate),
        ("code-davinci", Variants, O200kBase, Estimate),
        ("code-cushman", Variants, O200kBase, Estimate),
        ("davinci", Variants, O200kBase, Estimate),
        ("cushman", Variants, O200kBase, Estimate),
        ("curie", Variants, O200kBase, Estimate),
        ("babbage", Variants, O200kBase, Estimate),
        ("ada", Variants, O200kBase, Estimate),
        ("gpt-2", Variants, O200kBase, Estimate),
        ("gpt2", Variants, O200kBase, Estimate),
        ("claude", Any, O200kBase, Estimate),
        ("gemini", Any, O200kBase, Estimate),
    ]
};

/// What clouds put before a name, with a point: regions, then vendors.
const DOTTED: &[&str] = &[
    "us",
    "us-gov",
    "eu",
    "apac",
    "au",
    "ca",
    "jp",
    "sa",
    "me",
    "af",
    "global",
    "anthropic",
    "openai",
    "google",
];

/// How many names callers may add.
pub const ADDED_LIMIT: usize = 4_096;

/// Names that callers added, lower case, the latest of each.
static ADDED: RwLock<Vec<(String, Encoding, ModelLabel)>> = RwLock::new(Vec::new());

/// Whether there is any. To lock is to write where all threads read, for nothing in a program that adds none.
static ANY_ADDED: AtomicBool = AtomicBool::new(false);

/// The encoding of a model, by its name: `gpt-4o-2024-08-06`, `openai/gpt-4o`, `azure/gpt-4o`, `ft:gpt-4o:org::id`,
/// `bedrock/us.anthropic.claude-sonnet-4-5`. Letter case makes no difference. A name that neither the table nor a
/// caller has is counted by `o200k_base` and labelled `Assumed`. Cost: some 100 ns, and as much for each 50 names added.
pub fn encoding_for_model(model: &str) -> (Encoding, ModelLabel) {
    let lower = model.to_ascii_lowercase();
    let names = spellings(&lower);
    if let Some(found) = added(&lower, &names) {
        return found;
    }
    let known = names.iter().find_map(|name| {
        let family = FAMILIES
            .iter()
            .find(|(family, members, ..)| is_of(name, family, *members));
        family.map(|&(_, _, encoding, label)| match label {
            ModelLabel::Exact if names_vendor(name) => NOT_PUBLIC,
            ModelLabel::Exact if is_borrowed(name) => (encoding, ModelLabel::Assumed),
            label => (encoding, label),
        })
    });
    known
        .or_else(|| names_vendor(&lower).then_some(NOT_PUBLIC))
        .unwrap_or((Encoding::O200kBase, ModelLabel::Assumed))
}

const NOT_PUBLIC: (Encoding, ModelLabel) = (Encoding::O200kBase, ModelLabel::Estimate);

/// Whether a vendor's name stands in another one, as in `my-claude-proxy`: the vocabulary is not a public one.
fn names_vendor(name: &str) -> bool {
    ["claude", "gemini"].iter().any(|vendor| name.contains(vendor))
}

/// Whether somebody else's model has a name that starts like one of `OpenAI`'s: `gpt-4-x-alpaca-13b`. It says its size, or
/// what it was made from.
fn is_borrowed(name: &str) -> bool {
    const OTHERS: [&str; 11] = [
        "alpaca",
        "community",
        "deepseek",
        "distill",
        "gemma",
        "llama",
        "mistral",
        "phi",
        "qwen",
        "vicuna",
        "wizard",
    ];
    let is_size = |part: &str| {
        let digits = part.strip_suffix('b').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts = name.split(['-', ':', '@', '.', '_']);
    !name.starts_with("gpt-oss") && parts.any(|part| OTHERS.contains(&part) || is_size(part))
}

/// Adds a model and its variants (`name`, `name-...`, `name:...`, `name@...`), or changes what was added. Names that are
/// added come before the table, longer ones before shorter ones. `false`: there are [`ADDED_LIMIT`] names already.
pub fn add_model(name: &str, encoding: Encoding, label: ModelLabel) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = added.iter_mut().find(|(known, ..)| *known == lower) {
        (known.1, known.2) = (encoding, label);
        return true;
    }
    if added.len() >= ADDED_LIMIT {
        return false;
    }
    let place = added.partition_point(|(known, ..)| known.len() >= lower.len());
    added.insert(place, (lower, encoding, label));
    ANY_ADDED.store(true, Ordering::Release);
    true
}

fn added(model: &str, names: &[&str]) -> Option<(Encoding, ModelLabel)> {
    if !ANY_ADDED.load(Ordering::Acquire) {
        return None;
    }
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    let found = added.iter().find(|(known, ..)| {
        is_of(model, known, Members::Variants) || names.iter().any(|name| is_of(name, known, Members::Variants))
    });
    found.map(|&(_, encoding, label)| (encoding, label))
}

/// What is left of a name in lower case as providers, fine-tuning and regions are taken off it.
fn spellings(lower: &str) -> Vec<&str> {
    let name = match lower.find("ft:") {
        Some(place) if place == 0 || lower.as_bytes().get(place - 1) == Some(&b'/') => {
            lower.get(place + 3..).unwrap_or_default()
        }
        _ => lower.rsplit('/').next().unwrap_or_default(),
    };
    let mut names = vec![name];
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('.')
        && DOTTED.contains(&before)
    {
        names.push(after);
        rest = after;
    }
    names
}

/// Whether `name` is the family itself or one of its members: `o1` and `o1-mini`, not `o100`.
fn is_of(name: &str, family: &str, members: Members) -> bool {
    let Some(rest) = name.strip_prefix(family) else {
        return false;
    };
    match rest.bytes().next() {
        None | Some(b'-' | b':' | b'@') => true,
        Some(b'.') => members != Members::Variants,
        Some(next) => members == Members::Any && !next.is_ascii_digit() || members == Members::Versions && next == b'_',
    }
}

/// Whether the model thinks before it answers: its requests are framed otherwise by OpenAI.
pub(crate) fn is_openai_reasoning(model: &str) -> bool {
    let lower = model.to_ascii_lowercase();
    spellings(&lower).iter().any(|name| {
        let families = ["o1", "o3", "o4", "gpt-5", "gpt-6"];
        families.iter().any(|family| is_of(name, family, Members::Versions))
            && !name.contains("-chat")
            && !is_borrowed(name)
    })
}

/// The version in the name of a vendor's model, `(4, 7)` of `us.anthropic.claude-opus-4-7-v1:0` with the vendor's
/// `claude`; `None` where the name has no such word or no number behind it. A date is no version.
pub(crate) fn version_of(model: &str, vendor: &str) -> Option<(u32, u32)> {
    let lower = model.to_ascii_lowercase();
    let behind = lower.split_once(vendor)?.1;
    let mut numbers = behind
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| (1..3).contains(&digits.len()))
        .filter_map(|digits| digits.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Encoding::{Cl100kBase, O200kBase, O200kHarmony};
    use ModelLabel::{Assumed, Estimate, Exact};

    #[test]
    fn names_lead_to_encodings() {
        for (model, encoding, label) in [
            ("gpt-4o", O200kBase, Exact),
            ("gpt-4o-2024-08-06", O200kBase, Exact),
            ("openai/gpt-4.1-mini", O200kBase, Exact),
            ("azure/eu/gpt-4o-mini", O200kBase, Exact),
            ("openrouter/openai/gpt-4o:free", O200kBase, Exact),
            ("ft:gpt-4o-mini:org::id", O200kBase, Exact),
            ("openai/ft:gpt-3.5-turbo-0125:my/org::id", Cl100kBase, Exact),
            ("ft:davinci-002:org::id", Cl100kBase, Exact),
            ("GPT-5.6", O200kBase, Exact),
            ("gpt-50", O200kBase, Assumed),
            ("o1", O200kBase, Exact),
            ("o3-mini", O200kBase, Exact),
            ("o4-mini-deep-research", O200kBase, Exact),
            ("gpt-4", Cl100kBase, Exact),
            ("gpt-4-turbo", Cl100kBase, Exact),
            ("gpt-4-0613", Cl100kBase, Exact),
            ("gpt-4x-of-somebody", O200kBase, Assumed),
            ("openrouter/x/gpt-4-x-alpaca-13b", Cl100kBase, Assumed),
            ("gpt-4:7b-community", Cl100kBase, Assumed),
            ("somebody/o1-distill-qwen-7b", O200kBase, Assumed),
            ("gpt-4o-claude", O200kBase, Estimate),
            ("my-claude-proxy", O200kBase, Estimate),
            ("claude-gateway/gpt-4o", O200kBase, Exact),
            ("gpt-4.7", O200kBase, Assumed),
            ("gpt-3.5-turbo", Cl100kBase, Exact),
            ("gpt-35-turbo-16k", Cl100kBase, Exact),
            ("gpt-oss-120b", O200kHarmony, Exact),
            ("openai.gpt-oss-20b-1:0", O200kHarmony, Exact),
            ("gpt-6-astra", O200kBase, Assumed),
            ("text-davinci-003", O200kBase, Estimate),
            ("claude-sonnet-4-5", O200kBase, Estimate),
            ("us.anthropic.claude-opus-4-7-v1:0", O200kBase, Estimate),
            ("bedrock/us.anthropic.claude-opus-4-7-v1:0", O200kBase, Estimate),
            ("vertex_ai/claude-3-5-sonnet@20240620", O200kBase, Estimate),
            ("models/gemini-2.5-pro", O200kBase, Estimate),
            ("o100-something", O200kBase, Assumed),
            ("llama-4", O200kBase, Assumed),
            ("", O200kBase, Assumed),
            ("/", O200kBase, Assumed),
            ("ft:", O200kBase, Assumed),
            ("...", O200kBase, Assumed),
        ] {
            assert_eq!(encoding_for_model(model), (encoding, label), "{model}");
        }
    }

    #[test]
    fn no_family_hides_another() {
        for (place, (family, ..)) in FAMILIES.iter().enumerate() {
            let first = FAMILIES
                .iter()
                .position(|(known, members, ..)| is_of(family, known, *members));
            assert_eq!(first, Some(place), "{family}");
        }
    }

    #[test]
    fn added_names_come_first_and_the_longest_of_them() {
        assert!(add_model("Test/House-Model", Cl100kBase, Exact));
        assert!(add_model("house-model-long", O200kHarmony, Assumed));
        assert_eq!(encoding_for_model("test/house-model-2"), (Cl100kBase, Exact));
        assert_eq!(encoding_for_model("other/house-model"), (O200kBase, Assumed));
        assert_eq!(encoding_for_model("any/house-model-long@1"), (O200kHarmony, Assumed));
        assert!(add_model("test/house-model", O200kBase, Estimate));
        assert_eq!(encoding_for_model("test/house-model"), (O200kBase, Estimate));
    }

    #[test]
    fn versions_stand_behind_the_vendors_name() {
        for (model, vendor, version) in [
            ("us.anthropic.claude-opus-4-7-v1:0", "claude", Some((4, 7))),
            ("claude-sonnet-4-20250514", "claude", Some((4, 0))),
            ("claude-3-5-sonnet@20240620", "claude", Some((3, 5))),
            ("Claude-Fable-5.1", "claude", Some((5, 1))),
            ("models/gemini-2.5-pro-preview-05-06", "gemini", Some((2, 5))),
            ("gemini-3-flash-preview", "gemini", Some((3, 0))),
            ("claude", "claude", None),
            ("gpt-4.1", "claude", None),
        ] {
            assert_eq!(version_of(model, vendor), version, "{model}");
        }
    }

    #[test]
    fn reasoning_models_are_known_by_name() {
        for (model, reasons) in [
            ("openai/o3-mini", true),
            ("gpt-5.2", true),
            ("gpt-5-chat", false),
            ("somebody/o1-distill-qwen-7b", false),
            ("gpt-4o", false),
        ] {
            assert_eq!(is_openai_reasoning(model), reasons, "{model}");
        }
    }
}
