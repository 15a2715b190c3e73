//! What stands anywhere in a transcript: most rules are about blocks of which nearly none has any, and one look at all
//! rows tells that for each of them.

use crate::transcript::{Binding, Block, BlockKind, Transcript};

/// Facts that some block has. A rule that asks for one need not look for the blocks where it is not there.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each asked for by name")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Text that is blank.
    pub(crate) blank_text: bool,
    /// The provider's summary of what precedes it.
    pub(crate) barrier: bool,
    /// What only the server holds.
    pub(crate) pointer: bool,
    /// The provider's seal.
    pub(crate) seal: bool,
    /// Reasoning.
    pub(crate) reasoning: bool,
    /// A kind that this version does not know.
    pub(crate) unknown: bool,
    /// A call or a result that names no tool.
    pub(crate) unnamed: bool,
    /// A call or a result without an id.
    pub(crate) without_id: bool,
    /// What belongs to a call.
    pub(crate) part: bool,
    /// A block whose row has its kind as the input spells it.
    pub(crate) type_name: bool,
}

impl Seen {
    /// O(blocks).
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let mut seen = Self::default();
        let segments = transcript.segments().iter();
        segments.for_each(|segment| segment.blocks().iter().for_each(|block| seen.add(block)));
        seen
    }

    fn add(&mut self, block: &Block) {
        let is = |kind| block.kind == kind;
        let pairs = is(BlockKind::ToolCall) || is(BlockKind::ToolResult);
        self.blank_text |= block.blank && is(BlockKind::Text);
        self.barrier |= block.binding == Binding::Barrier;
        self.pointer |= block.binding == Binding::Pointer;
        self.seal |= block.seal.is_some();
        self.reasoning |= is(BlockKind::Reasoning);
        self.unknown |= block.binding == Binding::Both && is(BlockKind::Opaque);
        self.unnamed |= block.name.is_none() && pairs;
        self.without_id |= block.call_id.is_none() && pairs;
        self.part |= block.part_of.is_some();
        self.type_name |= block.type_name.is_some();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::findings::{scan_after, scan_seen};
    use crate::pairs::ScanOptions;

    /// All of it, so that every rule looks at every block.
    const ALL: Seen = Seen {
        blank_text: true,
        barrier: true,
        pointer: true,
        seal: true,
        reasoning: true,
        unknown: true,
        unnamed: true,
        without_id: true,
        part: true,
        type_name: true,
    };

    #[test]
    fn what_is_not_there_is_found_by_no_rule() {
        let table = include_str!("../../../tests/vectors/scan.json");
        let table: Value = serde_json::from_str(table).unwrap();
        let read = |case: &Value, key: &str| {
            let text = case.get(format!("{key}_text")).and_then(Value::as_str);
            let body = text
                .map(str::to_owned)
                .or_else(|| case.get(key).map(Value::to_string))?;
            Some(Transcript::read_whole(Arc::new(body.into_bytes()), case["format"].as_str()).unwrap())
        };
        let mut told = 0;
        for case in table["cases"].as_array().unwrap() {
            let (transcript, before) = (read(case, "body").unwrap(), read(case, "before"));
            let options = ScanOptions {
                thinking: Some(true),
                strict_alternation: true,
                ..ScanOptions::default()
            };
            let found = scan_after(&transcript, before.as_ref(), &options);
            told += found.findings.len();
            let looked = scan_seen(&transcript, before.as_ref(), &options, ALL);
            assert_eq!(found, looked, "{}", case["name"]);
        }
        assert!(told > 0);
    }
}
