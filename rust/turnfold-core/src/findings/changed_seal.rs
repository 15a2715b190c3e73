//! A block that the provider signed or sealed is not what it is in the earlier transcript.
//!
//! Asked only where an earlier transcript of the same format is given (`scan_after`). A sealed block whose seal, or whose
//! id at the server, occurs there must have the same value there. In the model's latest run of messages, sealed blocks also stand in the same
//! order, none is put before them, and a message that kept one of its sealed blocks kept them all. A message that lost
//! every one is `missing_reasoning`'s business, since without thinking nobody asks for them; blocks that share one seal
//! have no order of their own. A signature that the earlier transcript does not hold counts as a new block,
//! unless the id says otherwise.
//!
//! Providers verify the text against the signature, not the JSON around it. So values are compared: white space,
//! escapes, the order of keys, how a number is written, fields that are `null`, and those that the format lets the
//! client set are free. The server's id of an item may be left out, but not be another one. Where reasoning must have a
//! list, one that lacked it and has it now is the same: the list was asked for, and says what stood there before.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::reasoning_without_summary::list_of;
use super::{Category, Check, Scene};
use crate::json::{Document, Kind, Value};
use crate::rules::{Rules, SealDemand};
use crate::transcript::{BlockKind, BlockView, MessageView, Role, Transcript};

pub(super) const CHECK: Check = Check {
    code: "changed_seal",
    category: Category::Integrity,
    demands: |rules| rules.seals_unchanged.map(|seals| seals.demand).into_iter().collect(),
    run,
};

/// Linear in the blocks of both transcripts; in the bytes of sealed blocks where one was written anew.
fn run(scene: &mut Scene<'_>) {
    let rule = scene.rules.seals_unchanged.filter(|_| scene.seen.seal);
    let (Some(rule), Some(before)) = (rule, scene.before) else {
        return;
    };
    if before.format().name() != scene.transcript.format().name() {
        return;
    }
    if sealed(scene.transcript).eq(sealed(before)) {
        return;
    }
    let earlier = Earlier::read(before);
    if earlier.places.is_empty() {
        return;
    }
    for (block, what) in changed(scene.transcript, &earlier, rule) {
        scene.report_block(rule.demand, &block, what);
    }
    for (block, what) in moved(scene.transcript, &earlier) {
        scene.report_block(rule.demand, &block, what);
    }
}

/// The sealed blocks, each with the place of its message: where these are what they were, none is changed, and none has
/// moved.
fn sealed(transcript: &Transcript) -> impl Iterator<Item = (usize, &[u8])> {
    let blocks = transcript.messages().flat_map(|message| message.blocks());
    let sealed = blocks.filter(|block| block.row.seal.is_some());
    sealed.map(|block| (block.message, block.bytes()))
}

/// Where a seal stands that one block alone has.
#[derive(Clone, Copy)]
struct Spot {
    message: usize,
    number: usize,
}

/// The sealed blocks of the earlier transcript.
struct Earlier<'a> {
    blocks: Vec<BlockView<'a>>,
    bytes: HashSet<&'a [u8]>,
    /// By seal; `None` where several blocks share it.
    places: HashMap<Cow<'a, str>, Option<Spot>>,
    /// How many seals that are no other block's each message holds.
    counts: HashMap<usize, usize>,
    /// The server's ids of sealed items.
    items: HashSet<Cow<'a, str>>,
}

impl<'a> Earlier<'a> {
    fn read(before: &'a Transcript) -> Self {
        let blocks: Vec<BlockView<'a>> = before
            .messages()
            .flat_map(|message| message.blocks())
            .filter(|block| block.row.seal.is_some())
            .collect();
        let mut places: HashMap<Cow<'a, str>, Option<Spot>> = HashMap::with_capacity(blocks.len());
        for (number, block) in blocks.iter().enumerate() {
            let message = block.message;
            places
                .entry(block.seal().unwrap_or_default())
                .and_modify(|spot| *spot = None)
                .or_insert(Some(Spot { message, number }));
        }
        let mut counts = HashMap::new();
        for spot in places.values().flatten() {
            *counts.entry(spot.message).or_default() += 1;
        }
        Self {
            bytes: blocks.iter().map(BlockView::bytes).collect(),
            items: blocks.iter().filter_map(BlockView::item_id).collect(),
            blocks,
            places,
            counts,
        }
    }

    /// Whether the block has a seal, or the server's id of a sealed item, that stands here.
    fn knows(&self, seal: &str, block: &BlockView<'_>) -> bool {
        self.places.contains_key(seal) || block.item_id().is_some_and(|id| self.items.contains(&id))
    }
}

/// Sealed blocks with another value than every earlier block of their seal.
fn changed<'t>(
    transcript: &'t Transcript,
    earlier: &Earlier<'_>,
    rule: SealDemand,
) -> Vec<(BlockView<'t>, &'static str)> {
    let rules = transcript.format().rules();
    let rewritten: Vec<BlockView<'t>> = transcript
        .messages()
        .flat_map(|message| message.blocks())
        .filter(|block| block.seal().is_some_and(|seal| earlier.knows(&seal, block)))
        .filter(|block| !earlier.bytes.contains(block.bytes()))
        .collect();
    if rewritten.is_empty() {
        return Vec::new();
    }
    let mut values: HashMap<Vec<u8>, HashSet<Option<Cow<'_, str>>>> = HashMap::new();
    for block in &earlier.blocks {
        values
            .entry(value_of(block, rule, rules))
            .or_default()
            .insert(block.item_id());
    }
    let same = |block: &BlockView<'t>| {
        values.get(&value_of(block, rule, rules)).is_some_and(|ids| {
            let id = block.item_id();
            id.is_none() || ids.contains(&None) || ids.contains(&id)
        })
    };
    let broken = rewritten.into_iter().filter(|block| !same(block));
    broken
        .map(|block| (block, "what the provider sealed is not what it was before"))
        .collect()
}

/// Sealed blocks of the model's latest run of messages that changed their places or their company.
fn moved<'t>(transcript: &'t Transcript, earlier: &Earlier<'_>) -> Vec<(BlockView<'t>, &'static str)> {
    let mut found = Vec::new();
    let mut last: Option<usize> = None;
    let mut kept: BTreeMap<usize, (usize, BlockView<'t>)> = BTreeMap::new();
    for message in latest_run(transcript) {
        let mut added = None;
        for block in message.blocks() {
            let Some(seal) = block.seal() else { continue };
            match earlier.places.get(&seal) {
                None => added = added.or(Some(block)),
                Some(None) => {}
                Some(Some(spot)) => {
                    if let Some(added) = added.take() {
                        found.push((added, "the block stands before sealed blocks that came without it"));
                    }
                    if last.is_some_and(|number| number >= spot.number) {
                        found.push((block, "the sealed block stands behind one that it came before"));
                    }
                    last = Some(spot.number);
                    kept.entry(spot.message).or_insert((0, block)).0 += 1;
                }
            }
        }
    }
    for (message, (count, first)) in kept {
        if earlier.counts.get(&message).is_some_and(|&all| count < all) {
            found.push((first, "not all sealed blocks of its message were kept"));
        }
    }
    found
}

/// The last messages of the model with nothing between them.
fn latest_run(transcript: &Transcript) -> Vec<MessageView<'_>> {
    let backwards = (0..transcript.len())
        .rev()
        .filter_map(|index| transcript.message(index));
    let mut run: Vec<MessageView<'_>> = backwards
        .skip_while(|message| message.role() != Role::Assistant)
        .take_while(|message| message.role() == Role::Assistant)
        .collect();
    run.reverse();
    run
}

/// One spelling for all blocks of equal value.
fn value_of(block: &BlockView<'_>, rule: SealDemand, rules: &Rules) -> Vec<u8> {
    let mut out = Vec::with_capacity(block.bytes().len());
    if let Ok(document) = Document::parse(block.bytes()) {
        let list = rules.reasoning_field.filter(|_| block.kind() == BlockKind::Reasoning);
        let list = list.map(|(field, _)| field);
        let is_free = |key: &[u8], value: Value<'_>| {
            let mut free = rule.free_fields.iter().chain(&list);
            value.is_null() || free.any(|field| field.as_bytes() == key)
        };
        write_value(document.root(), &is_free, &mut out);
        let list = list.map(|field| list_of(document.root(), field));
        if let Some(Ok(list)) = list.as_deref().map(Document::parse) {
            write_value(list.root(), &|_, _| false, &mut out);
        }
    }
    out
}

/// Depth is bounded by what the reader takes.
fn write_value(value: Value<'_>, is_free: &dyn Fn(&[u8], Value<'_>) -> bool, out: &mut Vec<u8>) {
    match value.kind() {
        Kind::Object => {
            // Of equal keys the last counts.
            let fields: BTreeMap<Cow<'_, [u8]>, Value<'_>> = value.fields().map(|(k, v)| (k.key(), v)).collect();
            out.push(b'{');
            for (key, field) in fields {
                if !is_free(&key, field) {
                    write_bytes(&key, out);
                    write_value(field, &|_, _| false, out);
                }
            }
            out.push(b'}');
        }
        Kind::Array => {
            out.push(b'[');
            for item in value.items() {
                write_value(item, &|_, _| false, out);
            }
            out.push(b']');
        }
        Kind::String => write_bytes(value.text().unwrap_or_default().as_bytes(), out),
        Kind::Number => write_bytes(&number(value.raw()), out),
        Kind::True | Kind::False | Kind::Null => out.extend_from_slice(value.raw()),
    }
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(bytes.len().to_string().as_bytes());
    out.push(b':');
    out.extend_from_slice(bytes);
}

/// `1.0`, `1` and `10e-1` are one number; whole numbers keep all their digits.
fn number(raw: &[u8]) -> Cow<'_, [u8]> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !raw.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return Cow::Borrowed(raw);
    }
    let read = std::str::from_utf8(raw).ok().and_then(|text| text.parse::<f64>().ok());
    match read {
        Some(0.0) => Cow::Borrowed(b"0"),
        Some(read) if read.abs() < EXACT && read.fract() == 0.0 => Cow::Owned(format!("{read}").into_bytes()),
        Some(read) if read.is_finite() => Cow::Owned(format!("{read:e}").into_bytes()),
        _ => Cow::Borrowed(raw),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    /// Messages of the model or the user, each with thinking of some text and some seal.
    fn transcript(messages: &[(bool, Vec<(u8, u8)>)]) -> Transcript {
        let message = |(model, blocks): &(bool, Vec<(u8, u8)>)| {
            let blocks = blocks
                .iter()
                .map(|(text, seal)| format!(r#"{{"type":"thinking","thinking":"{text}","signature":"{seal}"}}"#));
            let blocks: Vec<String> = blocks.collect();
            let role = if *model { "assistant" } else { "user" };
            format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
        };
        let messages: Vec<String> = messages.iter().map(message).collect();
        let body = format!(r#"{{"max_tokens":9,"messages":[{}]}}"#, messages.join(","));
        Transcript::read_whole(Arc::new(body.into_bytes()), Some("anthropic.messages")).expect("a transcript")
    }

    proptest! {
        #[test]
        fn nothing_is_told_of_sealed_blocks_that_are_what_they_were(
            messages in prop::collection::vec((any::<bool>(), prop::collection::vec((0..2_u8, 0..6_u8), 0..3)), 0..8),
            others in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.9)), 8),
        ) {
            // With other roles, and without some messages.
            let after: Vec<_> = messages
                .iter()
                .zip(&others)
                .map(|((_, blocks), (model, kept))| (*model, if *kept { blocks.clone() } else { Vec::new() }))
                .collect();
            let (before, after) = (transcript(&messages), transcript(&after));
            let rule = after.format().rules().seals_unchanged.expect("a demand");
            let earlier = Earlier::read(&before);
            let told = changed(&after, &earlier, rule).len() + moved(&after, &earlier).len();
            prop_assert!(told == 0 || !sealed(&after).eq(sealed(&before)));
        }
    }
}
