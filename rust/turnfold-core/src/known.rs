//! Messages that were counted before, in whatever transcript: all that they yield, found by their bytes.
//!
//! One table for the whole process, which all tenants of a gateway share. It holds no text: a message is the same if its
//! length and a 128-bit digest are, which, as the hash that leads to it, has a random key of the process, so that nobody
//! can aim at a slot or at another's message. A message that is found is not parsed: its rows, counts, call ids and what
//! it says of its format are known. The table is in parts with a lock each, holds at most [`LIMIT_BYTES`] and lets go of
//! what was not asked for since its turn came last. What it holds changes what a call costs, never what it says.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use crate::formats::{Leaning, Rows, WireFormat};
use crate::json::Document;
use crate::keyed::{self, Keyed};
use crate::meter::{MessageCounts, Slots, slot_of};
use crate::pairs::Pairing;
use crate::transcript::{Block, Message, Role, Segment, Span, TextSpan};
use turnfold_tokens::Encoding;

/// How much the table holds, in bytes of rows.
const LIMIT_BYTES: usize = 64 << 20;
const SHARDS: usize = 64;
/// Messages that start alike are told apart by this many bytes; of shorter ones, all count.
const START_BYTES: usize = 128;
/// How many messages with one start are kept.
const ALIKE: usize = 8;

/// A message, its spans from its own start on. What metering asks for stands in front, the rows elsewhere.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Known {
    pub(crate) format: &'static dyn WireFormat,
    /// How many bytes it has.
    pub(crate) len: u32,
    pub(crate) role: Role,
    leaning: OnceLock<Option<Leaning>>,
    /// Its calls and results.
    pub(crate) pairing: Pairing,
    counts: [OnceLock<MessageCounts>; Encoding::ALL.len()],
    /// By all slots, for those that the encodings of callers have: few messages are counted in one.
    others: OnceLock<Box<Slots<MessageCounts>>>,
    pub(crate) rows: Box<KnownRows>,
}

/// The rows of a message.
#[derive(Debug)]
pub(crate) struct KnownRows {
    pub(crate) message: Message,
    pub(crate) blocks: Box<[Block]>,
    pub(crate) texts: Box<[TextSpan]>,
}

impl Known {
    /// A message that was read from `bytes`, alone.
    pub(crate) fn new(format: &'static dyn WireFormat, bytes: &[u8], message: Message, rows: Rows) -> Self {
        Self {
            format,
            len: message.span.len() as u32,
            role: message.role,
            leaning: OnceLock::new(),
            pairing: Pairing::of(&rows.blocks, bytes),
            counts: Default::default(),
            others: OnceLock::new(),
            rows: Box::new(KnownRows {
                message,
                blocks: rows.blocks.into(),
                texts: rows.texts.into(),
            }),
        }
    }

    /// The counts in an encoding, if they were made.
    pub(crate) fn counts(&self, encoding: Encoding) -> Option<&MessageCounts> {
        self.slot(slot_of(encoding))
    }

    /// The counts of a slot, if they were made.
    pub(crate) fn slot(&self, slot: usize) -> Option<&MessageCounts> {
        match self.counts.get(slot) {
            Some(counts) => counts.get(),
            None => self.others.get()?.get(slot)?.get(),
        }
    }

    /// Keeps the counts in an encoding. They follow from the bytes, so it makes no difference who comes first.
    pub(crate) fn learn(&self, encoding: Encoding, counts: MessageCounts) {
        let slot = slot_of(encoding);
        let published = self.counts.get(slot);
        if let Some(slot) = published.or_else(|| self.others.get_or_init(Box::default).get(slot)) {
            let _ = slot.set(counts);
        }
    }

    /// What the message, whose bytes these are, says of its format. O(bytes) the first time.
    pub(crate) fn leaning(&self, bytes: &[u8]) -> Option<&Leaning> {
        let make = || {
            let document = Document::parse(bytes).ok()?;
            Some(Leaning::of(document.root(), self.format))
        };
        self.leaning.get_or_init(make).as_ref()
    }

    fn size(&self) -> usize {
        let rows = size_of::<KnownRows>() + size_of_val(&*self.rows.blocks) + size_of_val(&*self.rows.texts);
        size_of::<Self>() + size_of::<Kept>() + rows + self.pairing.size()
    }
}

/// See the module.
struct Table {
    shards: Vec<Mutex<Shard>>,
    shard_bytes: usize,
}

#[derive(Default)]
struct Shard {
    by_start: Keyed<Alike>,
    /// In the order in which their turn to go comes.
    turns: VecDeque<(u64, Arc<Known>)>,
    bytes: usize,
}

/// Messages that start alike. The newest stands in the table itself, as there is seldom another.
struct Alike {
    newest: Kept,
    /// The oldest first.
    older: Vec<Kept>,
}

/// A message in the table.
struct Kept {
    digest: [u64; 2],
    known: Arc<Known>,
    len: u32,
    /// Whether it was asked for since its turn to go came last.
    used: bool,
}

impl Kept {
    fn new(digest: u128, known: Arc<Known>) -> Self {
        Self {
            digest: halves(digest),
            len: known.len,
            known,
            used: false,
        }
    }

    /// Whether it is the message that `rest` starts with.
    fn starts(&self, rest: &[u8]) -> bool {
        let own = rest.get(..self.len as usize);
        own.is_some_and(|own| own.last() == Some(&b'}') && halves(keyed::digest(own)) == self.digest)
    }
}

/// In halves, a digest asks for no more than eight bytes of alignment.
fn halves(digest: u128) -> [u64; 2] {
    [digest as u64, (digest >> 64) as u64]
}

impl Alike {
    fn all(&mut self) -> impl Iterator<Item = &mut Kept> {
        std::iter::once(&mut self.newest).chain(&mut self.older)
    }

    /// Adds a message; gives the one that has to go for it.
    fn push(&mut self, kept: Kept) -> Option<Kept> {
        self.older.push(std::mem::replace(&mut self.newest, kept));
        (self.older.len() >= ALIKE).then(|| self.older.remove(0))
    }

    /// Lets go of a message; whether that was the last.
    fn remove(&mut self, known: &Arc<Known>) -> bool {
        if Arc::ptr_eq(&self.newest.known, known) {
            let Some(before) = self.older.pop() else { return true };
            self.newest = before;
        } else {
            self.older.retain(|other| !Arc::ptr_eq(&other.known, known));
        }
        false
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(LIMIT_BYTES));

/// The message with exactly these bytes, as `format` reads it.
pub(crate) fn find(format: &dyn WireFormat, bytes: &[u8]) -> Option<Arc<Known>> {
    TABLE.find(format, bytes)
}

/// The message that the list of messages `rest` starts with, as `format` reads it, or as any does.
pub(crate) fn find_first(format: Option<&dyn WireFormat>, rest: &[u8]) -> Option<Arc<Known>> {
    TABLE.find_first(format, rest)
}

/// Keeps a message of a segment; `None` where it is too large to be kept.
pub(crate) fn add(format: &'static dyn WireFormat, segment: &Segment, index: usize) -> Option<Arc<Known>> {
    let (known, bytes) = known(format, segment, index)?;
    TABLE.add(known, bytes)
}

/// A message of a segment, with its bytes.
fn known<'a>(format: &'static dyn WireFormat, segment: &'a Segment, index: usize) -> Option<(Known, &'a [u8])> {
    let row = segment.messages().get(index)?;
    let blocks = segment
        .blocks()
        .get(row.blocks.start as usize..row.blocks.end as usize)?;
    let mut rows = Rows {
        blocks: Vec::with_capacity(blocks.len()),
        texts: Vec::new(),
    };
    for block in blocks {
        let first_text = rows.text_count();
        let own = segment
            .texts()
            .get(block.texts.start as usize..block.texts.end as usize)?;
        rows.texts.extend(own.iter().map(|text| text.moved(row.span.start, 0)));
        rows.blocks.push(block.moved(row.span.start, 0, first_text));
    }
    let bytes = row.span.of(segment.source.bytes());
    Some((Known::new(format, bytes, row.moved(Span::default(), 0, 0), rows), bytes))
}

impl Table {
    fn new(limit_bytes: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            shard_bytes: limit_bytes / SHARDS,
        }
    }

    fn find(&self, format: &dyn WireFormat, bytes: &[u8]) -> Option<Arc<Known>> {
        let hash = keyed::hash(bytes.get(..START_BYTES).unwrap_or(bytes), 0);
        self.look(hash, Some(format), |kept| {
            kept.len as usize == bytes.len() && kept.starts(bytes)
        })
    }

    fn find_first(&self, format: Option<&dyn WireFormat>, rest: &[u8]) -> Option<Arc<Known>> {
        let mut start = rest.get(..START_BYTES).unwrap_or(rest);
        if let Some(end) = object_end(start) {
            start = start.get(..end)?;
        } else if start.len() < START_BYTES {
            return None;
        }
        self.look(keyed::hash(start, 0), format, |kept| kept.starts(rest))
    }

    /// The message at a hash that fits.
    fn look(&self, hash: u64, format: Option<&dyn WireFormat>, fits: impl Fn(&Kept) -> bool) -> Option<Arc<Known>> {
        let read_alike = |known: &Known| format.is_none_or(|format| known.format.name() == format.name());
        let mut shard = self.shard(hash)?.lock().unwrap_or_else(PoisonError::into_inner);
        let mut alike = shard.by_start.get_mut(&hash)?.all();
        let found = alike.find(|kept| fits(kept) && read_alike(&kept.known))?;
        found.used = true;
        Some(Arc::clone(&found.known))
    }

    fn shard(&self, hash: u64) -> Option<&Mutex<Shard>> {
        self.shards.get((hash >> 32) as usize % SHARDS)
    }

    /// Keeps the message that `bytes` are; `None` where it is too large.
    fn add(&self, known: Known, bytes: &[u8]) -> Option<Arc<Known>> {
        let size = known.size();
        if size > self.shard_bytes / 4 {
            return None;
        }
        let hash = keyed::hash(bytes.get(..START_BYTES).unwrap_or(bytes), 0);
        let digest = keyed::digest(bytes);
        let mut shard = self.shard(hash)?.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |kept: &&mut Kept| {
            kept.digest == halves(digest) && kept.len == known.len && kept.known.format.name() == known.format.name()
        };
        if let Some(kept) = shard.by_start.get_mut(&hash).and_then(|alike| alike.all().find(same)) {
            return Some(Arc::clone(&kept.known));
        }
        let known = Arc::new(known);
        let kept = Kept::new(digest, Arc::clone(&known));
        let displaced = match shard.by_start.entry(hash) {
            Entry::Occupied(mut alike) => alike.get_mut().push(kept),
            Entry::Vacant(place) => {
                place.insert(Alike {
                    newest: kept,
                    older: Vec::new(),
                });
                None
            }
        };
        if let Some(displaced) = displaced {
            shard.bytes -= displaced.known.size();
            shard.turns.retain(|(_, other)| !Arc::ptr_eq(other, &displaced.known));
        }
        shard.turns.push_back((hash, Arc::clone(&known)));
        shard.bytes += size;
        shard.make_room(self.shard_bytes);
        Some(known)
    }
}

/// One past the bracket that closes the object at the start, if it is JSON, and stands in `bytes`.
fn object_end(bytes: &[u8]) -> Option<usize> {
    memchr::memrchr(b'}', bytes)?;
    let (mut depth, mut in_string, mut at) = (0_u32, false, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => at += 1,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

impl Shard {
    /// Lets go of messages until the others fit. One that was asked for since gets another turn.
    fn make_room(&mut self, limit_bytes: usize) {
        while self.bytes > limit_bytes {
            let Some((hash, known)) = self.turns.pop_front() else {
                return;
            };
            let Some(alike) = self.by_start.get_mut(&hash) else {
                continue;
            };
            let kept = alike.all().find(|kept| Arc::ptr_eq(&kept.known, &known));
            if kept.is_some_and(|kept| std::mem::take(&mut kept.used)) {
                self.turns.push_back((hash, known));
                continue;
            }
            self.bytes -= known.size();
            if alike.remove(&known) {
                self.by_start.remove(&hash);
            }
        }
    }
}

#[cfg(test)]
mod tests;
