//! Identifiers that a summary must carry: paths, addresses, ids, names of code and errors.
//!
//! A hand scanner over runs of word-like characters; each run is looked at a fixed number of times, so the cost is
//! linear in the text. Plain words of a language, numbers, dates and units are not identifiers. A run longer than
//! [`MAX_BYTES`] is data (base64, a minified file) and gives nothing.

mod marks;
mod paths;
mod prefilter;
mod scan;
mod survival;
mod vocabulary;
mod words;

use std::ops::Range;

pub use survival::{Watch, occurring};

use marks::Marks;

use crate::json::Unescaping;
use crate::keyed::{Keyed, hash};
use crate::transcript::Transcript;

/// Longest identifier in bytes; a URL may have [`MAX_URL_BYTES`].
pub const MAX_BYTES: usize = 256;
/// Longest URL in bytes.
pub const MAX_URL_BYTES: usize = 2048;

/// What an identifier names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IdentifierKind {
    /// `https://example.org/a?b=1`, `git@host:owner/repo.git`.
    Url,
    /// `someone@example.org`.
    Email,
    /// A UUID in its 8-4-4-4-12 form.
    Uuid,
    /// A git hash or a hex digest, also `sha256:...` and `0x...`.
    Digest,
    /// An issue or pull request: `#12`, `ABC-123`, `owner/repo#12`.
    Reference,
    /// `1.2.3`, `v2.0`, `name@1.2.3`, `2.0.0-rc.1`.
    Version,
    /// A host name, `host:port`, an IPv4 or IPv6 address.
    Address,
    /// A file or folder, without a line number.
    Path,
    /// A file with a line: `src/a.py:42`, `a.c:10:3`. Its path is listed beside it.
    Location,
    /// An environment variable or a constant: `MAX_RETRIES`, `$HOME` (listed without the dollar sign).
    Constant,
    /// The name or code of an error: `TypeError`, `E0502`, `ENOENT`, `exit code 101`.
    Error,
    /// A name of code: `snake_case`, `CamelCase`, `dotted.name`, `a::b`, `call()`.
    Symbol,
    /// An id of letters and digits: `call_8fK2x`, `HAT012`, `#W2378156`; or eight digits and more.
    Id,
}

impl IdentifierKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Url,
        Self::Email,
        Self::Uuid,
        Self::Digest,
        Self::Reference,
        Self::Version,
        Self::Address,
        Self::Path,
        Self::Location,
        Self::Constant,
        Self::Error,
        Self::Symbol,
        Self::Id,
    ];

    /// The stable name: `url`, `email`, ...
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Email => "email",
            Self::Uuid => "uuid",
            Self::Digest => "digest",
            Self::Reference => "reference",
            Self::Version => "version",
            Self::Address => "address",
            Self::Path => "path",
            Self::Location => "location",
            Self::Constant => "constant",
            Self::Error => "error",
            Self::Symbol => "symbol",
            Self::Id => "id",
        }
    }
}

/// One identifier, spelled as the text spells it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identifier {
    /// What it names.
    pub kind: IdentifierKind,
    /// Its text.
    pub text: String,
}

/// Collects identifiers over many texts, each once, in the order first seen.
#[derive(Debug, Default)]
pub struct Extractor {
    found: Found,
    known: KnownRuns,
    marks: Marks,
}

/// Identifiers in the order first seen, and by hash their place.
#[derive(Debug, Default)]
struct Found {
    places: Keyed<u32>,
    identifiers: Vec<Identifier>,
}

impl Found {
    fn add(&mut self, kind: IdentifierKind, text: &str) {
        let mut key = hash(text.as_bytes(), 0);
        while let Some(&place) = self.places.get(&key) {
            if self
                .identifiers
                .get(place as usize)
                .is_none_or(|known| known.text == text)
            {
                return;
            }
            // Another text with this hash.
            key = hash(text.as_bytes(), key);
        }
        self.places.insert(key, self.identifiers.len() as u32);
        let text = text.to_owned();
        self.identifiers.push(Identifier { kind, text });
    }
}

/// Runs that were looked at, each with the bytes around it that the rules ask for: looked at again they would give
/// nothing new.
#[derive(Debug, Default)]
struct KnownRuns {
    /// The last two short ones of each hash, side by side; none at first.
    short: Vec<u128>,
    /// Longer ones by hash, with what was hashed.
    places: Keyed<Range<usize>>,
    bytes: Vec<u8>,
}

/// A short run with all that the rules look at around it, and how much of that the edges of its text cut off.
#[derive(Clone, Copy)]
struct ShortRun(u128);

impl ShortRun {
    /// Most bytes of it: the byte beside them is for the length and the edges.
    const MOST: usize = size_of::<u128>() - 1;

    /// The run at `start..end`; none where it is long.
    #[inline]
    fn at(bytes: &[u8], start: usize, end: usize) -> Option<Self> {
        let (from, to) = (start.saturating_sub(1), (end + 2).min(bytes.len()));
        let length = to - from;
        if length > Self::MOST {
            return None;
        }
        let rest = bytes.get(from..)?;
        let around = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut around = [0; size_of::<u128>()];
            around.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            around
        });
        let kept = u128::from_le_bytes(around) & ((1 << (8 * length)) - 1);
        let cut_off = (end + 2 - to) << 1 | usize::from(start == 0);
        Some(Self(kept | ((cut_off << 4 | length) as u128) << (8 * Self::MOST)))
    }

    /// The first of its two places.
    fn slot(self) -> usize {
        const ODD: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];
        let mixed = (self.0 as u64).wrapping_mul(ODD[0]) ^ ((self.0 >> 64) as u64).wrapping_mul(ODD[1]);
        (mixed.wrapping_mul(ODD[0]) >> (u64::BITS - KnownRuns::SHORT.ilog2())) as usize & !1
    }
}

impl KnownRuns {
    /// Most runs that are remembered.
    const MOST: usize = 1 << 14;
    /// Most short runs that are.
    const SHORT: usize = 1 << 10;

    /// Whether a short run was remembered, and is yet.
    #[inline]
    fn has(&self, run: ShortRun) -> bool {
        let slot = run.slot();
        self.short
            .get(slot..slot + 2)
            .is_some_and(|places| places.contains(&run.0))
    }

    /// Remembers a short run, and forgets the older one of two others for it.
    fn remember(&mut self, run: ShortRun) {
        if self.short.is_empty() {
            self.short = vec![0; Self::SHORT];
        }
        let slot = run.slot();
        if let Some([newer, older]) = self.short.get_mut(slot..slot + 2) {
            *older = std::mem::replace(newer, run.0);
        }
    }

    /// Whether `run`, which is remembered from now on, was seen before.
    fn is_known(&mut self, run: &[u8]) -> bool {
        let key = hash(run, 0);
        if let Some(known) = self.places.get(&key) {
            return self.bytes.get(known.clone()) == Some(run);
        }
        if self.places.len() < Self::MOST {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(run);
            self.places.insert(key, start..self.bytes.len());
        }
        false
    }
}

impl Extractor {
    /// An empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the identifiers of `text`. Linear in its length.
    pub fn feed(&mut self, text: &str) {
        let Self { found, known, marks } = self;
        scan::scan(text, known, marks, &mut |kind, text| found.add(kind, text));
    }

    /// What was found.
    pub fn finish(self) -> Vec<Identifier> {
        self.found.identifiers
    }
}

/// The identifiers of `text`, each once, in the order first seen. Linear in its length.
///
/// ```
/// use turnfold_core::identifiers::extract;
/// let found: Vec<String> = extract("see src/a.py:42, it raised TypeError").into_iter().map(|i| i.text).collect();
/// assert_eq!(found, ["src/a.py", "src/a.py:42", "TypeError"]);
/// ```
pub fn extract(text: &str) -> Vec<Identifier> {
    let mut extractor = Extractor::new();
    extractor.feed(text);
    extractor.finish()
}

/// The identifiers of ranges of messages of a transcript, in their order: of every counted text, call ids left out.
/// Linear in their bytes.
pub fn extract_messages(transcript: &Transcript, ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<Identifier> {
    let mut extractor = Extractor::new();
    let mut room = Unescaping::default();
    for message in ranges.into_iter().flatten().filter_map(|i| transcript.message(i)) {
        for block in message.blocks() {
            block.each_text(&mut room, |text| extractor.feed(text));
        }
    }
    extractor.finish()
}

/// Which identifiers occur in the messages of `transcript` before `tail`, and which only in those from it on: one flag
/// each. Linear in all bytes.
pub fn around_tail<S: AsRef<str>>(identifiers: &[S], transcript: &Transcript, tail: usize) -> (Vec<bool>, Vec<bool>) {
    let mut watch = Watch::new(identifiers).for_literals();
    let mut before = None;
    let mut room = Unescaping::default();
    for message in transcript.messages() {
        if message.index == tail {
            before = Some(watch.found().to_vec());
        }
        for block in message.blocks() {
            let source = block.segment.source.bytes();
            for text in block.text_spans() {
                if watch.may_find_in(text.span.of(source)) {
                    watch.feed(&text.read_in(source, &mut room));
                }
            }
        }
    }
    let found = watch.found();
    let before = before.unwrap_or_else(|| found.to_vec());
    let both = found.iter().zip(&before);
    let only_behind = both.map(|(&found, &before)| found && !before).collect();
    (before, only_behind)
}
