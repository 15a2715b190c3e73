//! The same answers from the definitions, with no care for time.

use turnfold_core::pairs::{BlockRef, Pair, ScanOptions};
use turnfold_core::rules::ResultPlace;
use turnfold_core::transcript::Binding;
use turnfold_core::{BlockKind, BlockView, MessageView, Role, Transcript};

/// All pairs of a transcript and the calls that are left.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) orphan_results: Vec<BlockRef>,
    pub(crate) remote_results: Vec<BlockRef>,
    pub(crate) repeated_results: Vec<Pair>,
    pub(crate) pending: Vec<BlockRef>,
    pub(crate) abandoned: Vec<BlockRef>,
}

/// What a block pairs by.
fn key(block: &BlockView<'_>) -> Option<(u8, Option<String>)> {
    let family = block.row.family;
    if block.row.by_name && (family > 0 || block.row.server_side) {
        return Some((family, None));
    }
    public_id(block).map(|id| (family, Some(id)))
}

/// What a block is known by.
fn public_id(block: &BlockView<'_>) -> Option<String> {
    if block.row.by_name && block.row.server_side {
        return Some("server".to_owned());
    }
    if block.row.by_name {
        return block
            .name()
            .filter(|_| block.row.family == 0)
            .map(|name| format!("fn:{name}"));
    }
    block.call_id().map(|id| id.to_string())
}

/// What the caller knows call `c` by: where names pair, the name and how many calls of that name stand before.
fn known_as(t: &Transcript, blocks: &[BlockView<'_>], c: usize) -> Option<String> {
    let call = &blocks[c];
    if !t.format().rules().names_pair || !call.row.by_name || call.row.family > 0 {
        return public_id(call);
    }
    let name = call.name()?;
    let before = blocks[..c]
        .iter()
        .filter(|b| is_call(b) && b.name().as_ref() == Some(&name));
    Some(format!("{name}#{}", before.count()))
}

/// Whether it is a call that wants a result.
fn is_call(block: &BlockView<'_>) -> bool {
    block.kind() == BlockKind::ToolCall && !block.row.whole
}

fn at(block: &BlockView<'_>) -> BlockRef {
    BlockRef {
        message: block.message,
        block: block.index,
    }
}

fn blocks(t: &Transcript) -> Vec<BlockView<'_>> {
    t.messages()
        .flat_map(|message| message.blocks().collect::<Vec<_>>())
        .collect()
}

fn has_results(message: &MessageView<'_>) -> bool {
    message.blocks().any(|block| block.kind() == BlockKind::ToolResult)
}

fn role(t: &Transcript, index: usize) -> Role {
    t.message(index).unwrap().role()
}

/// First message of the run of one role that `index` is in.
fn run_start(t: &Transcript, index: usize) -> usize {
    (0..=index)
        .rev()
        .take_while(|&k| role(t, k) == role(t, index))
        .last()
        .unwrap()
}

fn in_place(t: &Transcript, call: &BlockView<'_>, result: &BlockView<'_>) -> bool {
    if call.row.server_side || t.format().rules().result_place == ResultPlace::Later {
        return true;
    }
    stands_after(t, call, result)
}

/// Whether `result` stands where results of the message with `call` belong.
fn stands_after(t: &Transcript, call: &BlockView<'_>, result: &BlockView<'_>) -> bool {
    if call.message >= result.message || role(t, call.message) != Role::Assistant {
        return false;
    }
    match t.format().rules().result_place {
        ResultPlace::SameRun => (call.message + 1..=result.message).all(|k| role(t, k) == Role::Tool),
        ResultPlace::Later => true,
        ResultPlace::NextMessage => {
            let first = run_start(t, result.message);
            role(t, result.message) == Role::User
                && first > 0
                && run_start(t, first - 1) <= call.message
                && role(t, first - 1) == Role::Assistant
                && (first..=result.message).all(|k| has_results(&t.message(k).unwrap()))
        }
    }
}

/// The first open call of the nearest message that has one; where names pair, joined messages are one.
fn first_open(
    t: &Transcript,
    before: &[BlockView<'_>],
    answered: &[Option<usize>],
    wanted: impl Fn(usize) -> bool,
) -> Option<usize> {
    let group = |c: usize| match before[c].message {
        m if t.format().rules().names_pair && role(t, m) == Role::Assistant => run_start(t, m),
        m => m,
    };
    let open: Vec<usize> = (0..before.len())
        .filter(|&c| wanted(c) && answered[c].is_none())
        .collect();
    let nearest = open.last().map(|&c| group(c))?;
    open.into_iter().find(|&c| group(c) == nearest)
}

/// The open call of the result's name of which only one has an id, where the result stands in its place and answers no
/// call by its own form there.
fn other_form(
    t: &Transcript,
    blocks: &[BlockView<'_>],
    answered: &[Option<usize>],
    r: usize,
    own: Option<usize>,
) -> Option<usize> {
    let result = &blocks[r];
    let placed = |c: &usize| stands_after(t, &blocks[*c], result);
    let id = key(result)?;
    if !t.format().rules().names_pair || own.as_ref().is_some_and(placed) {
        return None;
    }
    let known = blocks[..r].iter().any(|b| is_call(b) && key(b).as_ref() == Some(&id));
    if result.row.by_name && id.1.is_none() || !result.row.by_name && known {
        return None;
    }
    let name = result.name()?;
    let wanted = |c: usize| {
        let call = &blocks[c];
        let other = call.row.by_name != result.row.by_name && !call.row.server_side && call.row.family == 0;
        is_call(call) && other && key(call).is_some() && call.name().as_ref() == Some(&name)
    };
    first_open(t, &blocks[..r], answered, wanted).filter(placed)
}

pub(crate) fn pair(t: &Transcript, options: &ScanOptions) -> Table {
    let blocks = blocks(t);
    let mut answered = vec![None; blocks.len()];
    let mut out = Table::default();
    for (r, result) in blocks
        .iter()
        .enumerate()
        .filter(|(_, b)| b.kind() == BlockKind::ToolResult)
    {
        let same = |c: usize| is_call(&blocks[c]) && key(&blocks[c]).is_some() && key(&blocks[c]) == key(result);
        let last = (0..r).rev().find(|&c| same(c));
        let own = first_open(t, &blocks[..r], &answered, same);
        let other = other_form(t, &blocks, &answered, r, own);
        let call = other.or(own);
        // Of a call that the model does not wait for, there may be several results.
        let goes_on =
            |c: &usize| result.row.non_blocking || answered[*c].is_some_and(|r: usize| blocks[r].row.non_blocking);
        let further = last.filter(|_| call.is_none()).filter(goes_on);
        if let Some(c) = call.or(further) {
            answered[c] = Some(r);
            let anywhere = result.row.non_blocking || further.is_some();
            out.pairs.push(Pair {
                call: at(&blocks[c]),
                result: at(result),
                misplaced: !anywhere && !in_place(t, &blocks[c], result),
            });
            continue;
        }
        let told = t.head().continued
            || t.head().remote.is_some()
            || blocks
                .iter()
                .any(|b| b.row.binding == Binding::Pointer && b.message <= result.message);
        if t.remote() && told && result.row.call_id.is_some() && !(0..r).any(same) {
            out.remote_results.push(at(result));
            continue;
        }
        out.orphan_results.push(at(result));
        if let Some(c) = last {
            out.repeated_results.push(Pair {
                call: at(&blocks[c]),
                result: at(result),
                misplaced: !in_place(t, &blocks[c], result),
            });
        }
    }
    let batch = open_batch(t, &out);
    for (c, call) in blocks.iter().enumerate().filter(|(_, b)| is_call(b)) {
        let id = known_as(t, &blocks, c);
        let named = id.as_ref().is_some_and(|id| options.pending_ids.contains(id));
        let alike = |d: usize| is_call(&blocks[d]) && known_as(t, &blocks, d) == id;
        let last_of_answered = (0..blocks.len()).filter(|&d| alike(d)).all(|d| answered[d].is_some())
            && (c + 1..blocks.len()).all(|d| !alike(d));
        let inner =
            |b: &BlockView<'_>| b.kind() == BlockKind::ToolCall && batch.contains(&b.message) && b.part_of().is_some();
        let owner = |k: usize| (0..k).rfind(|&d| is_call(&blocks[d]) && blocks[d].call_id() == blocks[k].part_of());
        let runs = (0..blocks.len()).any(|k| inner(&blocks[k]) && owner(k) == Some(c));
        let in_tail = answered[c].is_none() && (batch.contains(&call.message) || runs);
        if !options.closed && (in_tail || (named && (answered[c].is_none() || last_of_answered))) {
            out.pending.push(at(call));
        } else if answered[c].is_none() {
            out.abandoned.push(at(call));
        }
    }
    out
}

/// The model's last message (with those that the provider joins to it) if nothing but results of its calls follows.
fn open_batch(t: &Transcript, pairs: &Table) -> Vec<usize> {
    let Some(last) = (0..t.len()).rev().find(|&k| role(t, k) == Role::Assistant) else {
        return Vec::new();
    };
    let place = t.format().rules().result_place;
    let first = match place {
        ResultPlace::SameRun => last,
        ResultPlace::NextMessage => run_start(t, last),
        ResultPlace::Later => {
            let says = |k: usize| t.message(k).unwrap().blocks().any(|b| b.kind() == BlockKind::Text);
            let first = run_start(t, last);
            (first..=last).rev().find(|&k| says(k)).unwrap_or(first)
        }
    };
    let carrier = match place {
        ResultPlace::SameRun | ResultPlace::Later => Role::Tool,
        ResultPlace::NextMessage => Role::User,
    };
    let only_results = |k: usize| {
        let message = t.message(k).unwrap();
        let blocks = message.blocks();
        message.role() == carrier && blocks.len() > 0 && message.blocks().all(|b| b.kind() == BlockKind::ToolResult)
    };
    let own = |result: &BlockRef| {
        let pair = pairs.pairs.iter().find(|pair| pair.result == *result);
        pair.is_some_and(|pair| {
            let server_side = blocks(t).iter().any(|b| at(b) == pair.call && b.row.server_side);
            server_side || (first..=last).contains(&pair.call.message)
        })
    };
    let results = blocks(t)
        .into_iter()
        .filter(|b| b.kind() == BlockKind::ToolResult && b.message >= last);
    if (last + 1..t.len()).all(only_results) && results.map(|b| at(&b)).all(|result| own(&result)) {
        (first..=last).collect()
    } else {
        Vec::new()
    }
}

pub(crate) fn opens_turn(message: &MessageView<'_>) -> bool {
    let only_results = message.blocks().len() > 0 && message.blocks().all(|b| b.kind() == BlockKind::ToolResult);
    message.role() == Role::User && !only_results
}

/// First message of the open tool loop, with thinking on in a format that guards it.
pub(crate) fn guarded_loop(t: &Transcript, thinking: bool) -> Option<usize> {
    t.format().rules().loop_starts_with_reasoning.filter(|_| thinking)?;
    let turn = (t.leading()..t.len())
        .rev()
        .find(|&k| opens_turn(&t.message(k).unwrap()));
    let start = turn.map_or(t.leading(), |k| k + 1);
    let last = (start..t.len()).rev().find(|&k| role(t, k) == Role::Assistant)?;
    let message = t.message(last).unwrap();
    let calls = message.blocks().any(|b| is_call(&b) && !b.row.server_side);
    calls.then_some(start)
}

/// Whether messages `first..=last` must stay together, for each reason that two messages can have.
pub(crate) fn bonds(t: &Transcript, pairs: &Table) -> Vec<(usize, usize)> {
    let both = pairs.pairs.iter().chain(&pairs.repeated_results);
    let mut bonds: Vec<(usize, usize)> = both.map(|pair| (pair.call.message, pair.result.message)).collect();
    for message in t.messages() {
        let rows: Vec<_> = message.blocks().collect();
        if !rows.is_empty() && rows.iter().all(|b| b.row.binding == Binding::Next) {
            bonds.push((message.index, message.index + 1));
        }
        if rows.first().is_some_and(|b| b.row.binding == Binding::Both) && message.index > 0 {
            bonds.push((message.index - 1, message.index));
        }
        if rows.last().is_some_and(|b| b.row.binding == Binding::Both) && message.index + 1 < t.len() {
            bonds.push((message.index, message.index + 1));
        }
    }
    let all = blocks(t);
    for (k, block) in all.iter().enumerate() {
        let owner = |b: &&BlockView<'_>| b.kind() == BlockKind::ToolCall && b.call_id() == block.part_of();
        if let Some(call) = block.part_of().and_then(|_| all[..k].iter().rfind(owner)) {
            bonds.push((call.message, block.message));
        }
    }
    let is_pointer = |k: usize| {
        let message = t.message(k).unwrap();
        message.blocks().any(|b| b.row.binding == Binding::Pointer)
    };
    for k in (1..t.len()).filter(|&k| t.remote() && is_pointer(k - 1) && role(t, k) == Role::Assistant) {
        bonds.push((k - 1, k));
    }
    for result in &pairs.remote_results {
        bonds.extend(
            (0..result.message)
                .rfind(|&k| is_pointer(k))
                .map(|k| (k, result.message)),
        );
    }
    for (k, block) in all
        .iter()
        .enumerate()
        .filter(|(_, b)| t.remote() && b.part_of().is_some())
    {
        let owner = |b: &BlockView<'_>| b.kind() == BlockKind::ToolCall && b.call_id() == block.part_of();
        if !all[..k].iter().any(owner) {
            let pointer = (0..block.message).rfind(|&k| is_pointer(k));
            bonds.extend(pointer.map(|k| (k, block.message)));
        }
    }
    bonds.retain(|(first, last)| first < last);
    bonds
}

/// Whether a cut at `k` is legal.
pub(crate) fn is_legal(t: &Transcript, options: &ScanOptions, pairs: &Table, k: usize) -> bool {
    if k == t.leading() {
        return true;
    }
    let parted = bonds(t, pairs).iter().any(|&(first, last)| first < k && k <= last);
    let gives_pending = pairs.pending.iter().any(|call| call.message < k);
    let barrier = blocks(t)
        .iter()
        .any(|b| b.row.binding == Binding::Barrier && k <= b.message);
    let reasons: Vec<(usize, usize)> = (0..t.len())
        .filter_map(|k| Some((own_reasoning(t, options, k)?, k)))
        .collect();
    let reasons_parted = reasons.iter().any(|&(first, last)| first < k && k <= last);
    let is_told = |result: &BlockRef| {
        let told = |b: &BlockView<'_>| b.row.binding == Binding::Pointer && b.message <= result.message;
        blocks(t).iter().any(told)
    };
    let gives_answer = t.head().continued
        && pairs
            .remote_results
            .iter()
            .any(|result| result.message < k && !is_told(result));
    let bare_loop = guarded_loop(t, options.thinking(t)).is_some_and(|start| {
        let first = t.messages().skip(k).find(|message| message.role() == Role::Assistant);
        let reasoned = first.is_some_and(|m| {
            m.blocks()
                .find(|b| b.row.binding != Binding::Barrier)
                .is_some_and(|b| b.kind() == BlockKind::Reasoning)
        });
        k >= start && !reasoned
    });
    !(parted || gives_pending || barrier || bare_loop || reasons_parted || gives_answer)
}

/// The last message before `index` with the reasoning that the caller says its item was produced with.
fn own_reasoning(t: &Transcript, options: &ScanOptions, index: usize) -> Option<usize> {
    t.format().rules().item_keeps_reasoning?;
    let id = |k: usize| {
        t.message(k)
            .unwrap()
            .blocks()
            .find_map(|b| b.item_id().map(|id| id.to_string()))
    };
    let item = id(index)?;
    let (_, own) = options.reasoning_pairs.iter().rfind(|(named, _)| *named == item)?;
    (0..index).rfind(|&k| id(k).as_ref() == Some(own))
}
