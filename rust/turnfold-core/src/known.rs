//! Messages that were counted before, in whatever transcript: their rows and counts, found by their bytes.
//!
//! One table for the whole process, which all tenants of a gateway share. A message is the same if its bytes are, compared
//! one by one; the hash that leads to it has a random key of the process, so that nobody can aim at a slot. The table is
//! in parts with a lock each, holds at most [`LIMIT_BYTES`] and lets go of what was not asked for since its turn came last.
//! What it holds changes what a call costs, never what it says.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use crate::formats::{Leaning, WireFormat};
use crate::json::Document;
use crate::keyed::{self, Keyed};
use crate::meter::{MessageCounts, Slots, slot_of};
use crate::transcript::{Block, Message, Segment, Span, TextSpan};
use turnfold_tokens::Encoding;

/// How much the table holds, in bytes of messages and their rows.
const LIMIT_BYTES: usize = 64 << 20;
const SHARDS: usize = 64;
/// Messages that start alike are told apart by this many bytes; of shorter ones, all count.
const START_BYTES: usize = 128;
/// How many messages with one start are kept.
const ALIKE: usize = 8;

/// A message, its spans from its own start on.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) format: &'static dyn WireFormat,
    pub(crate) bytes: Box<[u8]>,
    pub(crate) message: Message,
    pub(crate) blocks: Box<[Block]>,
    pub(crate) texts: Box<[TextSpan]>,
    leaning: OnceLock<Option<Leaning>>,
    counts: [OnceLock<MessageCounts>; Encoding::ALL.len()],
    /// By all slots, for those that the encodings of callers have: few messages are counted in one.
    others: OnceLock<Box<Slots<MessageCounts>>>,
    /// Whether it was asked for since its turn to go came last.
    used: AtomicBool,
}

impl Known {
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

    /// What the message says of its format. O(bytes) the first time.
    pub(crate) fn leaning(&self) -> Option<&Leaning> {
        let make = || {
            let document = Document::parse(&self.bytes).ok()?;
            Some(Leaning::of(document.root(), self.format))
        };
        self.leaning.get_or_init(make).as_ref()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes.len() + size_of_val(&*self.blocks) + size_of_val(&*self.texts)
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
    newest: Arc<Known>,
    /// The oldest first.
    older: Vec<Arc<Known>>,
}

impl Alike {
    fn all(&self) -> impl Iterator<Item = &Arc<Known>> {
        std::iter::once(&self.newest).chain(&self.older)
    }

    /// Adds a message; gives the one that has to go for it.
    fn push(&mut self, known: Arc<Known>) -> Option<Arc<Known>> {
        self.older.push(std::mem::replace(&mut self.newest, known));
        (self.older.len() >= ALIKE).then(|| self.older.remove(0))
    }

    /// Lets go of a message; whether that was the last.
    fn remove(&mut self, known: &Arc<Known>) -> bool {
        if Arc::ptr_eq(&self.newest, known) {
            let Some(before) = self.older.pop() else { return true };
            self.newest = before;
        } else {
            self.older.retain(|other| !Arc::ptr_eq(other, known));
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
    TABLE.add(known(format, segment, index)?)
}

fn known(format: &'static dyn WireFormat, segment: &Segment, index: usize) -> Option<Known> {
    let row = segment.messages.get(index)?;
    let blocks = segment.blocks.get(row.blocks.start as usize..row.blocks.end as usize)?;
    let mut texts: Vec<TextSpan> = Vec::new();
    let mut moved = Vec::with_capacity(blocks.len());
    for block in blocks {
        let first_text = texts.len() as u32;
        let own = segment
            .texts
            .get(block.texts.start as usize..block.texts.end as usize)?;
        texts.extend(own.iter().map(|text| text.moved(row.span.start, 0)));
        moved.push(block.moved(row.span.start, 0, first_text));
    }
    Some(Known {
        format,
        bytes: row.span.of(segment.source.bytes()).into(),
        message: row.moved(Span::default(), 0, 0),
        blocks: moved.into(),
        texts: texts.into(),
        leaning: OnceLock::new(),
        counts: Default::default(),
        others: OnceLock::new(),
        used: AtomicBool::new(false),
    })
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
        self.look(hash, |known| {
            known.format.name() == format.name() && *known.bytes == *bytes
        })
    }

    fn find_first(&self, format: Option<&dyn WireFormat>, rest: &[u8]) -> Option<Arc<Known>> {
        let fits = |known: &Known| {
            let read_alike = format.is_none_or(|format| known.format.name() == format.name());
            read_alike && rest.starts_with(&known.bytes)
        };
        if let Some(start) = rest.get(..START_BYTES)
            && let Some(known) = self.look(keyed::hash(start, 0), fits)
        {
            return Some(known);
        }
        let start = rest.get(..START_BYTES).unwrap_or(rest);
        self.look(keyed::hash(start.get(..object_end(start)?)?, 0), fits)
    }

    /// The message at a hash that fits.
    fn look(&self, hash: u64, fits: impl Fn(&Known) -> bool) -> Option<Arc<Known>> {
        let shard = self.shard(hash)?.lock().unwrap_or_else(PoisonError::into_inner);
        let found = shard.by_start.get(&hash)?.all().find(|known| fits(known))?;
        if !found.used.load(Ordering::Relaxed) {
            found.used.store(true, Ordering::Relaxed);
        }
        Some(Arc::clone(found))
    }

    fn shard(&self, hash: u64) -> Option<&Mutex<Shard>> {
        self.shards.get((hash >> 32) as usize % SHARDS)
    }

    fn add(&self, known: Known) -> Option<Arc<Known>> {
        let size = known.size();
        if size > self.shard_bytes / 4 {
            return None;
        }
        let hash = keyed::hash(known.bytes.get(..START_BYTES).unwrap_or(&known.bytes), 0);
        let mut shard = self.shard(hash)?.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |other: &&Arc<Known>| other.format.name() == known.format.name() && other.bytes == known.bytes;
        if let Some(other) = shard.by_start.get(&hash).and_then(|alike| alike.all().find(same)) {
            return Some(Arc::clone(other));
        }
        let known = Arc::new(known);
        let displaced = match shard.by_start.entry(hash) {
            Entry::Occupied(mut alike) => alike.get_mut().push(Arc::clone(&known)),
            Entry::Vacant(place) => {
                place.insert(Alike {
                    newest: Arc::clone(&known),
                    older: Vec::new(),
                });
                None
            }
        };
        if let Some(displaced) = displaced {
            shard.bytes -= displaced.size();
            shard.turns.retain(|(_, other)| !Arc::ptr_eq(other, &displaced));
        }
        shard.turns.push_back((hash, Arc::clone(&known)));
        shard.bytes += size;
        shard.make_room(self.shard_bytes);
        Some(known)
    }
}

/// One past the bracket that closes the object at the start, if it is JSON, and stands in `bytes`.
fn object_end(bytes: &[u8]) -> Option<usize> {
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
            if known.used.swap(false, Ordering::Relaxed) {
                self.turns.push_back((hash, known));
                continue;
            }
            self.bytes -= known.size();
            if self.by_start.get_mut(&hash).is_some_and(|alike| alike.remove(&known)) {
                self.by_start.remove(&hash);
            }
        }
    }
}

#[cfg(test)]
mod tests;
