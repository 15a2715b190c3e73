//! What the short check of pairs asks of one message: kept with what is known of it, so that its rows need not be made.

use std::borrow::Cow;

use super::{BlockRef, Shape};
use crate::json;
use crate::keyed;
use crate::transcript::{Block, BlockKind, Span};

/// The calls and results of a message.
#[derive(Debug)]
pub(crate) struct Pairing {
    pub(super) shape: Shape,
    /// `None` where one is known by more or other than its id, or the id has escapes.
    halves: Option<Box<[Row]>>,
}

#[derive(Debug)]
struct Row {
    hash: u64,
    /// The id without its quotes, from the start of the message on.
    id: Span,
    block: u32,
    is_call: bool,
    server_side: bool,
    family: u8,
}

/// A call or a result, known by its id.
#[derive(Clone, Debug)]
pub(super) struct Half<'a> {
    pub(super) at: BlockRef,
    pub(super) is_call: bool,
    pub(super) server_side: bool,
    pub(super) family: u8,
    /// Of the family and the id.
    pub(super) hash: u64,
    /// Its escapes resolved.
    pub(super) id: Cow<'a, [u8]>,
}

impl<'a> Half<'a> {
    /// That of a block in `source`. `Some(None)`: the block is neither call nor result. `None`: it is known by more or
    /// other than an id.
    pub(super) fn of(at: BlockRef, row: &Block, source: &'a [u8]) -> Option<Option<Self>> {
        let is_call = match row.kind {
            BlockKind::ToolCall if row.whole => return Some(None),
            BlockKind::ToolCall => true,
            BlockKind::ToolResult => false,
            _ => return Some(None),
        };
        if row.by_name || row.non_blocking || row.part_of.is_some() {
            return None;
        }
        let literal = row.call_id?.of(source);
        let id = match literal {
            [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Cow::Borrowed(inner),
            _ => Cow::Owned(json::unescape(literal).into_owned().into_bytes()),
        };
        Some(Some(Self {
            at,
            is_call,
            server_side: row.server_side,
            family: row.family,
            hash: keyed::hash(&id, u64::from(row.family)),
            id,
        }))
    }
}

impl Pairing {
    /// That of a message whose blocks these are, in its own bytes.
    pub(crate) fn of(blocks: &[Block], bytes: &[u8]) -> Self {
        Self {
            shape: Shape::of(blocks),
            halves: rows(blocks, bytes).map(Into::into),
        }
    }

    /// How many bytes it takes beside itself.
    pub(crate) fn size(&self) -> usize {
        self.halves.as_deref().map_or(0, size_of_val)
    }

    /// The calls and results of message `index`, which starts at `start` of `source`; `None` where they are known by more
    /// or other than their ids.
    pub(super) fn halves<'a>(
        &'a self,
        index: usize,
        start: u32,
        source: &'a [u8],
    ) -> Option<impl ExactSizeIterator<Item = Half<'a>>> {
        let of = move |row: &Row| Half {
            at: BlockRef {
                message: index,
                block: row.block as usize,
            },
            is_call: row.is_call,
            server_side: row.server_side,
            family: row.family,
            hash: row.hash,
            id: Cow::Borrowed(row.id.moved(0, start).of(source)),
        };
        Some(self.halves.as_deref()?.iter().map(of))
    }
}

fn rows(blocks: &[Block], bytes: &[u8]) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    for (block, row) in blocks.iter().enumerate() {
        let at = BlockRef { message: 0, block };
        let Some(half) = Half::of(at, row, bytes)? else {
            continue;
        };
        if matches!(half.id, Cow::Owned(_)) {
            return None;
        }
        let literal = row.call_id?;
        rows.push(Row {
            hash: half.hash,
            id: Span {
                start: literal.start + 1,
                end: literal.end - 1,
            },
            block: block as u32,
            is_call: half.is_call,
            server_side: half.server_side,
            family: half.family,
        });
    }
    Some(rows)
}
