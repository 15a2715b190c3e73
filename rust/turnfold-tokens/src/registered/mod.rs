//! Vocabularies that callers register while the program runs: any byte-level BPE, exactly.
//!
//! They share nothing with the published encodings but the classes of characters: pieces come from the cuts of the
//! definition (`cuts`, `pattern`), merging takes pairs with priorities of their own (`bpe`), as a `tokenizer.json` may
//! list several pairs for one token. A registered vocabulary stays for the life of the process.

mod bpe;
mod cuts;
mod definition;
mod pattern;
mod seen;
mod tokenizer;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

pub use cuts::{Cut, Split};
pub use definition::{Definition, VocabularyError};
pub use pattern::{Dialect, PatternError};
pub(crate) use tokenizer::RegisteredTokenizer;

use crate::Encoding;
use crate::any_tokenizer::Tokenizer;

/// How many vocabularies a process may register.
pub const REGISTERED_LIMIT: usize = 29;
/// The longest name, in bytes.
const NAME_BYTES: usize = 256;

/// A registered vocabulary: its place in the list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Registered(u8);

struct Entry {
    name: String,
    digest: [u64; 2],
    tokenizer: Tokenizer,
}

static ENTRIES: [OnceLock<Entry>; REGISTERED_LIMIT] = [const { OnceLock::new() }; REGISTERED_LIMIT];
static REGISTERING: Mutex<()> = Mutex::new(());

impl Registered {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let entries = ENTRIES.iter().map_while(OnceLock::get);
        let place = entries.zip(0_u8..).find(|(entry, _)| entry.name == name)?.1;
        Some(Self(place))
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    fn entry(self) -> Option<&'static Entry> {
        ENTRIES.get(self.index()).and_then(OnceLock::get)
    }

    pub(crate) fn name(self) -> &'static str {
        self.entry().map_or("", |entry| &entry.name)
    }

    pub(crate) fn tokenizer(self) -> Option<&'static Tokenizer> {
        self.entry().map(|entry| &entry.tokenizer)
    }
}

/// The names of all registered vocabularies, in the order they came.
pub fn registered_names() -> Vec<&'static str> {
    let entries = ENTRIES.iter().map_while(OnceLock::get);
    entries.map(|entry| entry.name.as_str()).collect()
}

/// Registers a vocabulary under a name, for good. The same definition under the same name again is the same encoding.
///
/// Cost: some 0.3 s and 30 MB for 130,000 tokens.
///
/// # Errors
///
/// A definition that cannot be represented exactly, a name that is taken, more than [`REGISTERED_LIMIT`] of them.
pub fn register(name: &str, definition: &Definition) -> Result<Encoding, VocabularyError> {
    if name.is_empty() || name.len() > NAME_BYTES {
        return Err(VocabularyError::Name);
    }
    let digest = [0_u64, 1].map(|salt| {
        let mut hasher = DefaultHasher::new();
        (salt, definition).hash(&mut hasher);
        hasher.finish()
    });
    let taken = || VocabularyError::NameTaken(name.to_owned());
    let _turn = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
    match Encoding::from_name(name) {
        Some(encoding @ Encoding::Registered(registered)) => {
            let same = registered.entry().is_some_and(|entry| entry.digest == digest);
            return if same { Ok(encoding) } else { Err(taken()) };
        }
        Some(_) => return Err(taken()),
        None => {}
    }
    let place = ENTRIES.iter().position(|entry| entry.get().is_none());
    let place = place.ok_or(VocabularyError::TooMany)?;
    let encoding = Encoding::Registered(Registered(place as u8));
    let tokenizer = Tokenizer::registered(RegisteredTokenizer::new(encoding, place as u8, definition)?);
    if let Some(entry) = ENTRIES.get(place) {
        entry.get_or_init(|| Entry {
            name: name.to_owned(),
            digest,
            tokenizer,
        });
    }
    Ok(encoding)
}
