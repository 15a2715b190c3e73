//! What the short check of pairs asks of one message: kept with what is known of it, so that its rows need not be made.

use std::borrow::Cow;

use super::BlockRef;
use super::course::Shape;
use crate::json;
use crate::keyed;
use crate::transcript::{Block, BlockKind};

/// The calls and results of a message.
#[derive(Clone, Debug)]
pub(crate) struct Pairing {
    pub(super) shape: Shape,
    halves: Halves,
}

/// Most messages with a call or a result have one, or two calls side by side.
#[derive(Clone, Debug)]
enum Halves {
    One(Row),
    Two([Row; 2]),
    Other(Box<[Row]>),
    /// One is known by more or other than its id.
    Odd,
}

impl Halves {
    fn of(rows: Vec<Row>) -> Self {
        match <[Row; 1]>::try_from(rows) {
            Ok([row]) => Self::One(row),
            Err(rows) => match <[Row; 2]>::try_from(rows) {
                Ok(rows) => Self::Two(rows),
                Err(rows) => Self::Other(rows.into()),
            },
        }
    }

    fn rows(&self) -> Option<&[Row]> {
        match self {
            Self::One(row) => Some(std::slice::from_ref(row)),
            Self::Two(rows) => Some(rows),
            Self::Other(rows) => Some(rows),
            Self::Odd => None,
        }
    }
}

#[derive(Clone, Debug)]
struct Row {
    id: IdDigest,
    block: u32,
    is_call: bool,
    server_side: bool,
    family: u8,
}

/// What stands for an id, its escapes resolved: the bytes of known messages are not read for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdDigest([u64; 2]);

impl IdDigest {
    pub(super) fn of(id: &[u8]) -> Self {
        Self(keyed::digest(id))
    }

    /// Where tables have it.
    pub(super) fn hash(self) -> u64 {
        self.0[0]
    }
}

/// A call or a result, known by its id.
#[derive(Clone, Debug)]
pub(super) struct Half {
    pub(super) at: BlockRef,
    pub(super) is_call: bool,
    pub(super) server_side: bool,
    pub(super) family: u8,
    pub(super) id: IdDigest,
}

/// A call or a result is known by more or other than its id.
#[derive(Debug)]
pub(super) struct NotById;

impl Half {
    /// That of a block in `source`; `None` where it is neither call nor result.
    pub(super) fn of(at: BlockRef, row: &Block, source: &[u8]) -> Result<Option<Self>, NotById> {
        let is_call = match row.kind {
            // What belongs to a call that is open keeps that awaited.
            BlockKind::ToolCall if row.whole && row.part_of.is_none() => return Ok(None),
            BlockKind::ToolCall => true,
            BlockKind::ToolResult => false,
            _ => return Ok(None),
        };
        let id = row
            .call_id
            .filter(|_| !row.by_name && !row.non_blocking && row.part_of.is_none());
        let literal = id.ok_or(NotById)?.of(source);
        let id = match literal {
            [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Cow::Borrowed(inner),
            _ => Cow::Owned(json::unescape(literal).into_owned().into_bytes()),
        };
        Ok(Some(Self {
            at,
            is_call,
            server_side: row.server_side,
            family: row.family,
            id: IdDigest::of(&id),
        }))
    }
}

impl Pairing {
    /// That of a message whose blocks these are, in its own bytes.
    pub(crate) fn of(blocks: &[Block], bytes: &[u8]) -> Self {
        Self {
            shape: Shape::of(blocks),
            halves: rows(blocks, bytes).map_or(Halves::Odd, Halves::of),
        }
    }

    /// How many bytes it takes beside itself.
    pub(crate) fn size(&self) -> usize {
        match &self.halves {
            Halves::Other(rows) => size_of_val(&**rows),
            Halves::One(_) | Halves::Two(_) | Halves::Odd => 0,
        }
    }

    /// The calls and results of message `index`; `None` where they are known by more or other than their ids.
    pub(super) fn halves(&self, index: usize) -> Option<impl ExactSizeIterator<Item = Half>> {
        let of = move |row: &Row| Half {
            at: BlockRef {
                message: index,
                block: row.block as usize,
            },
            is_call: row.is_call,
            server_side: row.server_side,
            family: row.family,
            id: row.id,
        };
        Some(self.halves.rows()?.iter().map(of))
    }
}

fn rows(blocks: &[Block], bytes: &[u8]) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    for (block, row) in blocks.iter().enumerate() {
        let at = BlockRef { message: 0, block };
        let Some(half) = Half::of(at, row, bytes).ok()? else {
            continue;
        };
        rows.push(Row {
            id: half.id,
            block: block as u32,
            is_call: half.is_call,
            server_side: half.server_side,
            family: half.family,
        });
    }
    Some(rows)
}
