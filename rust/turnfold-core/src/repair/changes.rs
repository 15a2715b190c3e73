//! What one kind of repair wants done to the messages, and the bytes that come of it.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use crate::formats::WireFormat;
use crate::json::{self, Document, Value};
use crate::pairs::BlockRef;
use crate::splice::edits::{self, Edits};
use crate::splice::{SpliceError, remove_blocks};
use crate::transcript::{BlockKind, BlockView, MessageView, Place, Role, Transcript};

/// A block on its way into a list.
#[derive(Clone, Debug)]
pub(super) struct NewBlock {
    pub(super) bytes: Vec<u8>,
    /// Where it stood, if anywhere.
    pub(super) from: Option<BlockRef>,
}

/// Where in a message's list a block goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Position {
    /// Before everything.
    Front,
    /// Behind its last result, or before everything.
    AfterResults,
    /// Behind everything.
    End,
    /// Before the first call that is not the provider's own.
    BeforeCall,
}

/// A message on its way to a place behind another.
#[derive(Clone, Debug)]
pub(super) enum NewMessage {
    /// One that stands elsewhere.
    Moved(usize),
    /// One that is made up, with the name it is known by until its index is certain.
    Made(usize, Vec<u8>),
    /// One that holds what another held.
    Part {
        /// The name it is known by until its index is certain.
        name: usize,
        role: Role,
        bytes: Vec<u8>,
        /// Where each of its blocks stood.
        from: Vec<BlockRef>,
    },
}

/// What is to be done to one message.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    /// It goes, whatever it holds.
    pub(super) gone: bool,
    /// Blocks that go.
    pub(super) blocks_gone: Vec<usize>,
    /// A field that goes.
    pub(super) field_gone: Option<&'static str>,
    /// Ranges of its bytes, and what takes their place.
    pub(super) edits: Vec<(Range<usize>, Vec<u8>)>,
    /// New ids of calls and results.
    pub(super) ids: Vec<(usize, String)>,
    /// New ids of the calls that blocks belong to.
    pub(super) owners: Vec<(usize, String)>,
    /// Blocks that come into its list.
    pub(super) inserts: Vec<(Position, NewBlock)>,
    /// Results that come into a new message behind it, with that message's name.
    pub(super) results_behind: Option<(usize, Vec<NewBlock>)>,
    /// Messages that come behind it.
    pub(super) behind: Vec<NewMessage>,
}

/// Changes by message.
#[derive(Debug, Default)]
pub(super) struct Changes(BTreeMap<usize, Change>);

impl Changes {
    pub(super) fn of(&mut self, message: usize) -> &mut Change {
        self.0.entry(message).or_default()
    }

    pub(super) fn take(&mut self, message: usize) -> Option<Change> {
        self.0.remove(&message)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts an edit of a block's bytes among those of its message.
    pub(super) fn edit(&mut self, message: &MessageView<'_>, block: &BlockView<'_>, edit: (Range<usize>, Vec<u8>)) {
        let offset = (block.row.span.start - message.row.span.start) as usize;
        let (range, bytes) = edit;
        let range = range.start + offset..range.end + offset;
        self.of(message.index).edits.push((range, bytes));
    }

    /// Takes a block out of its message.
    pub(super) fn remove(&mut self, at: BlockRef) {
        self.of(at.message).blocks_gone.push(at.block);
    }
}

/// What becomes of a message.
#[derive(Debug)]
pub(super) enum Outcome {
    Same,
    /// New bytes, and for each of its blocks where it stood.
    Changed(Vec<u8>, Vec<Option<BlockRef>>),
    Gone,
}

/// Where blocks can be put into a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// The field with its list of blocks.
    List(&'static str),
    /// The field with its only block, which becomes the first item of a list.
    Only(&'static str),
}

impl Site {
    pub(super) fn of(format: &dyn WireFormat, message: &MessageView<'_>) -> Option<Self> {
        let mut only = None;
        let bare = |block: &BlockView<'_>| format.bare_block() && block.bytes().first() == Some(&b'{');
        for block in message.blocks() {
            match block.row.place {
                Place::Item(field, _) => return Some(Self::List(field)),
                Place::Field(field) if block.kind() == BlockKind::Text || bare(&block) => {
                    only = Some(Self::Only(field));
                }
                _ => {}
            }
        }
        only.filter(|_| message.blocks().len() == 1)
    }
}

/// A block as an item of a list.
pub(super) fn as_item(format: &dyn WireFormat, block: &BlockView<'_>) -> NewBlock {
    let bytes = match block.row.place {
        Place::Item(..) => block.bytes().to_vec(),
        Place::Field(_) | Place::Message => format.text_block(block.bytes()),
    };
    NewBlock {
        bytes,
        from: Some(BlockRef::of(block)),
    }
}

/// The message after its change.
pub(super) fn outcome(
    transcript: &Transcript,
    message: &MessageView<'_>,
    change: &Change,
) -> Result<Outcome, SpliceError> {
    if change.gone {
        return Ok(Outcome::Gone);
    }
    let origin = |block: usize| {
        Some(BlockRef {
            message: message.index,
            block,
        })
    };
    if let Some(site) = Site::of(transcript.format(), message).filter(|_| !change.inserts.is_empty()) {
        return Ok(with_inserts(transcript.format(), message, change, site));
    }
    if !change.blocks_gone.is_empty() {
        let indexes: HashSet<usize> = change.blocks_gone.iter().copied().collect();
        let gone: HashSet<Place> = message
            .blocks()
            .filter(|block| indexes.contains(&block.index))
            .map(|block| block.row.place)
            .collect();
        let stay = message.blocks().filter(|block| !gone.contains(&block.row.place));
        let origins = stay.map(|block| origin(block.index)).collect();
        if let Some(bytes) = with_fewer_ids(message, &gone) {
            return Ok(Outcome::Changed(bytes, origins));
        }
        return Ok(remove_blocks(transcript, message.index, &change.blocks_gone)?
            .map_or(Outcome::Gone, |bytes| Outcome::Changed(bytes, origins)));
    }
    let origins = (0..message.blocks().len()).map(origin).collect();
    if let Some(field) = change.field_gone {
        let bytes = without_field(message, field);
        return Ok(bytes.map_or(Outcome::Same, |bytes| Outcome::Changed(bytes, origins)));
    }
    if change.ids.is_empty() && change.owners.is_empty() && change.edits.is_empty() {
        return Ok(Outcome::Same);
    }
    let bytes = with_edits(transcript.format(), message, change);
    Ok(bytes.map_or(Outcome::Same, |bytes| Outcome::Changed(bytes, origins)))
}

/// A result that is its message and answers several calls, without the ids of those in `gone`. `None` where it is none, or
/// is to go as a whole.
fn with_fewer_ids(message: &MessageView<'_>, gone: &HashSet<Place>) -> Option<Vec<u8>> {
    let is_result = |block: &BlockView<'_>| block.kind() == BlockKind::ToolResult;
    let stays = message
        .blocks()
        .find(|block| is_result(block) && !gone.contains(&block.row.place))?;
    let Place::Item(field, _) = stays.row.place else {
        return None;
    };
    let results = message.blocks().filter(is_result);
    let ids: HashSet<_> = results
        .filter(|block| gone.contains(&block.row.place))
        .filter_map(|block| block.row.call_id.map(edits::range))
        .collect();
    if !gone.contains(&Place::Message) || !message.blocks().all(|block| is_result(&block)) {
        return None;
    }
    let document = Document::parse(message.bytes()).ok()?;
    let items = edits::items(document.root().get(field)?);
    let start = message.row.span.start as usize;
    let is_gone = |k: usize| {
        items
            .get(k)
            .is_some_and(|item| ids.contains(&(item.start + start..item.end + start)))
    };
    let mut edits = Edits::default();
    edits.take_out(&items, is_gone);
    edits.apply(message.bytes())
}

/// The message with other ids and edits. Only blocks whose id can be written are named in the change.
fn with_edits(format: &dyn WireFormat, message: &MessageView<'_>, change: &Change) -> Option<Vec<u8>> {
    let start = message.row.span.start as usize;
    let within = |range: Range<usize>| range.start - start..range.end - start;
    let blocks: Vec<_> = message.blocks().collect();
    let mut edits = Edits::default();
    for (range, bytes) in &change.edits {
        edits.replace(range.clone(), bytes.clone());
    }
    for (index, id) in &change.ids {
        let block = blocks.get(*index)?;
        let literal = json::escape(id);
        if let Some(span) = block.row.call_id {
            edits.replace(within(edits::range(span)), literal);
            continue;
        }
        let document = Document::parse(block.bytes()).ok()?;
        let offset = block.row.span.start as usize - start;
        let (range, bytes) = set_field(document.root(), format.id_path(block), &literal)?;
        edits.replace(range.start + offset..range.end + offset, bytes);
    }
    for (index, id) in &change.owners {
        let span = blocks.get(*index)?.row.part_of?;
        edits.replace(within(edits::range(span)), json::escape(id));
    }
    edits.apply(message.bytes())
}

/// Whether a block without an id can be given one.
pub(super) fn takes_id(format: &dyn WireFormat, block: &BlockView<'_>) -> bool {
    Document::parse(block.bytes())
        .is_ok_and(|document| set_field(document.root(), format.id_path(block), b"\"\"").is_some())
}

/// Where in the block a field belongs, and what to write there so that it has a value, given as JSON.
pub(super) fn set_field(block: Value<'_>, path: &[&str], value: &[u8]) -> Option<(Range<usize>, Vec<u8>)> {
    let (last, outer) = path.split_last()?;
    let mut object = block;
    for field in outer {
        object = object.get(field)?;
    }
    if !object.is_object() {
        return None;
    }
    if let Some(old) = object.get(last) {
        return Some((edits::range(old.span()), value.to_vec()));
    }
    let at = object.span().start as usize + 1;
    let mut bytes = json::escape(last);
    bytes.push(b':');
    bytes.extend_from_slice(value);
    if object.fields().next().is_some() {
        bytes.push(b',');
    }
    Some((at..at, bytes))
}

fn without_field(message: &MessageView<'_>, field: &str) -> Option<Vec<u8>> {
    let document = Document::parse(message.bytes()).ok()?;
    let root = document.root();
    let names: Vec<_> = root.fields().map(|(key, _)| key.key()).collect();
    let mut edits = Edits::default();
    edits.take_out(&edits::fields(root), |k| {
        names.get(k).is_some_and(|name| &**name == field.as_bytes())
    });
    edits.apply(message.bytes())
}

/// The message with blocks put into its list (and others taken out of it).
fn with_inserts(format: &dyn WireFormat, message: &MessageView<'_>, change: &Change, site: Site) -> Outcome {
    let gone: HashSet<usize> = change.blocks_gone.iter().copied().collect();
    let mut inserts = change.inserts.clone();
    inserts.sort_by_key(|(position, _)| *position);
    let mut fronts = Vec::new();
    let mut results = Vec::new();
    let mut before_call = Vec::new();
    let mut end = Vec::new();
    for (position, block) in inserts {
        match position {
            Position::Front => fronts.push(block),
            Position::AfterResults => results.push(block),
            Position::BeforeCall => before_call.push(block),
            Position::End => end.push(block),
        }
    }
    let stays = |block: &BlockView<'_>| !gone.contains(&block.index);
    let last_result = message
        .blocks()
        .rev()
        .find(|block| block.kind() == BlockKind::ToolResult && stays(block))
        .map(|block| block.index);
    let mut list = fronts;
    if last_result.is_none() {
        list.append(&mut results);
    }
    let mut places: HashSet<Place> = HashSet::new();
    let field = match site {
        Site::List(field) | Site::Only(field) => field,
    };
    let own = message.blocks().filter(|block| match block.row.place {
        Place::Item(of, _) | Place::Field(of) => of == field,
        Place::Message => false,
    });
    for block in own {
        if !stays(&block) || !places.insert(block.row.place) {
            continue;
        }
        if block.kind() == BlockKind::ToolCall && !block.row.server_side {
            list.append(&mut before_call);
        }
        list.push(as_item(format, &block));
        if last_result == Some(block.index) {
            list.append(&mut results);
        }
    }
    list.append(&mut before_call);
    list.append(&mut end);
    let origins = list.iter().map(|block| block.from).collect();
    let items: Vec<Vec<u8>> = list.into_iter().map(|block| block.bytes).collect();
    let mut bytes = b"[".to_vec();
    bytes.extend_from_slice(&items.join(&b','));
    bytes.push(b']');
    let document = Document::parse(message.bytes()).ok();
    let place = document.as_ref().and_then(|d| d.root().get(field)).map(Value::span);
    let mut edits = Edits::default();
    if let Some(place) = place {
        edits.replace(edits::range(place), bytes);
    }
    edits
        .apply(message.bytes())
        .map_or(Outcome::Same, |bytes| Outcome::Changed(bytes, origins))
}

/// The message with a text in place of what it held; all its other fields stay.
pub(super) fn filled(format: &dyn WireFormat, message: &MessageView<'_>, text: &str) -> Vec<u8> {
    let role = match message.role() {
        Role::Assistant => Role::Assistant,
        _ => Role::User,
    };
    let plain = format.text_message(role, text);
    overlay(message, &plain).unwrap_or(plain)
}

fn overlay(message: &MessageView<'_>, plain: &[u8]) -> Option<Vec<u8>> {
    let (old, new) = (Document::parse(message.bytes()).ok()?, Document::parse(plain).ok()?);
    let (old, start) = (old.root(), message.row.span.start);
    if !old.is_object() {
        return None;
    }
    let role = message.row.role_text.map(|span| span.start - start);
    let mut edits = Edits::default();
    let end = message.bytes().len() - 1;
    let mut any = old.fields().next().is_some();
    for (key, value) in new.root().fields() {
        let name = key.text()?;
        match old.get(&name) {
            Some(own) if role == Some(own.span().start) => {}
            Some(own) => edits.replace(edits::range(own.span()), value.raw()),
            None => {
                let mut bytes = if any { b",".to_vec() } else { Vec::new() };
                bytes.extend_from_slice(key.raw());
                bytes.push(b':');
                bytes.extend_from_slice(value.raw());
                edits.replace(end..end, bytes);
                any = true;
            }
        }
    }
    edits.apply(message.bytes())
}
