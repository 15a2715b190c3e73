//! Any bytes: an error with its place, or a transcript that keeps every promise of the kernel.
//!
//! Input: a request body. Each wire format is named, and detection asked. `serde_json` judges the grammar, the slow
//! twin of the kernel's own tests judges pairs and cuts.

#![no_main]

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use turnfold_core::digests::digest;
use turnfold_core::findings::{CHECKS, Category, scan};
use turnfold_core::fingerprint::fingerprint;
use turnfold_core::formats::WireFormat;
use turnfold_core::groups::{groups, turns};
use turnfold_core::identifiers::{extract, extract_messages};
use turnfold_core::json::{Document, Value};
use turnfold_core::pairs::{PairCheck, PairTable, ScanOptions, check, pair};
use turnfold_core::prefix::compare;
use turnfold_core::repair::{RepairOptions, Unanswered, repair};
use turnfold_core::splice::{Part, rewrite_blocks, splice};
use turnfold_core::splits::{Keep, find_split, splits};
use turnfold_core::transcript::Place;
use turnfold_core::{BlockKind, BlockView, MessageView, ReadError, ReadErrorCode, Role, Source, Transcript, formats};
use turnfold_tokens::Encoding;

#[path = "../../rust/turnfold-core/tests/integrity_laws/naive.rs"]
mod naive;

/// The twins take the cube of the messages.
const MOST_FOR_TWINS: usize = 24;

fuzz_target!(|input: &[u8]| {
    let body: Source = Arc::new(input.to_vec());
    let fault = fault(input);
    let named = formats::ALL.map(WireFormat::name);
    for format in [None].into_iter().chain(named.map(Some)) {
        match Transcript::from_json(Arc::clone(&body), format) {
            Err(error) => refused(&error, input, fault),
            Ok(transcript) => {
                assert_eq!(fault, None);
                assert!(format.is_none_or(|format| format == transcript.format().name()));
                assert_eq!(transcript.to_json(), input);
                if format.is_some() {
                    holds(&transcript);
                }
            }
        }
    }
});

/// What is wrong with the bytes, whatever they mean: the code, and for text that is none the place.
fn fault(input: &[u8]) -> Option<(ReadErrorCode, Option<usize>)> {
    match std::str::from_utf8(input) {
        Err(error) => Some((ReadErrorCode::InvalidUtf8, Some(error.valid_up_to()))),
        Ok(text) => {
            let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
            let read = serde_json::from_str::<serde::de::IgnoredAny>(text);
            read.is_err().then_some((ReadErrorCode::InvalidJson, None))
        }
    }
}

fn refused(error: &ReadError, input: &[u8], fault: Option<(ReadErrorCode, Option<usize>)>) {
    assert!(ReadErrorCode::ALL.contains(&error.code));
    assert!(error.offset <= input.len());
    assert!(!error.to_string().is_empty());
    match (error.code, fault) {
        // How deep a body may nest is the reader's own choice; what stands behind is not looked at.
        (ReadErrorCode::TooDeep, Some((ReadErrorCode::InvalidJson, _)) | None) => {}
        (ReadErrorCode::TooDeep, _) => panic!("{error}"),
        (code, Some((expected, offset))) => {
            assert_eq!(code, expected);
            assert!(offset.is_none_or(|offset| offset == error.offset));
        }
        (code, None) => assert!(!matches!(
            code,
            ReadErrorCode::InvalidUtf8 | ReadErrorCode::InvalidJson | ReadErrorCode::TooLarge
        )),
    }
}

fn holds(transcript: &Transcript) {
    rows(transcript);
    tokens(transcript);
    texts(transcript);
    for options in options(transcript) {
        scanned(transcript, &options);
        cut(transcript, &options);
        repaired(transcript, &options);
    }
    spliced(transcript);
    grown(transcript);
    rewritten(transcript);
}

/// What a caller may know of a transcript.
fn options(transcript: &Transcript) -> [ScanOptions; 3] {
    let mut calls = transcript.messages().flat_map(|message| message.blocks());
    let first_id = calls.find_map(|call| call.call_id());
    let closed = ScanOptions {
        closed: true,
        strict_alternation: true,
        ..ScanOptions::default()
    };
    let pending = ScanOptions {
        pending_ids: first_id.into_iter().map(String::from).collect(),
        thinking: Some(true),
        ..ScanOptions::default()
    };
    [ScanOptions::default(), pending, closed]
}

/// Every block is the value that its path names.
fn rows(transcript: &Transcript) {
    for message in transcript.messages() {
        let document = Document::parse(message.bytes()).expect("a message that was read before");
        let root = document.root();
        for block in message.blocks() {
            let value = match block.row.place {
                Place::Message => Some(root),
                Place::Field(field) => root.get(field),
                Place::Item(field, k) => root.get(field).and_then(|list| list.items().nth(k as usize)),
            };
            assert_eq!(
                value.map(Value::raw),
                Some(block.bytes()),
                "{}",
                block.path(transcript.list_field())
            );
        }
    }
}

/// Intervals hold, and a range is the sum of its messages, but for what each of their likeliest numbers is rounded by.
fn tokens(transcript: &Transcript) {
    let all = 0..transcript.len();
    for encoding in Encoding::ALL {
        let whole = transcript.tokens(encoding, None);
        let messages = transcript.tokens(encoding, Some(all.clone()));
        assert!(whole.lo <= whole.n && whole.n <= whole.hi);
        // What a provider has folded it does not count, but the bounds hold it.
        let folded = transcript.tokens(encoding, Some(transcript.folded())).n;
        assert!(messages.n <= whole.n + folded && messages.hi <= whole.hi);
        let each = all.clone().map(|k| transcript.tokens(encoding, Some(k..k + 1)));
        let sum = each.fold((0, 0, 0), |(n, lo, hi), count| {
            assert!(count.lo <= count.n && count.n <= count.hi);
            (n + count.n, lo + count.lo, hi + count.hi)
        });
        assert_eq!((sum.1, sum.2), (messages.lo, messages.hi));
        assert!((sum.0..=sum.0 + transcript.len() as u64).contains(&messages.n));
        for message in transcript.messages() {
            assert_eq!(
                transcript.block_tokens(encoding, message.index).len(),
                message.blocks().len()
            );
        }
        for section in transcript.format().render_order() {
            assert!(transcript.section_tokens(encoding, *section).n <= whole.n + folded);
        }
    }
    let past = transcript.tokens(Encoding::O200kBase, Some(transcript.len()..usize::MAX));
    assert_eq!((past.n, past.hi), (0, 0));
}

/// Identifiers stand in the texts, each once.
fn texts(transcript: &Transcript) {
    let blocks = transcript.messages().flat_map(|message| message.blocks());
    let texts: Vec<String> = blocks.flat_map(|block| block.texts()).map(String::from).collect();
    let found = extract_messages(transcript, std::iter::once(0..transcript.len()));
    let mut seen = HashSet::new();
    for identifier in &found {
        assert!(seen.insert(&identifier.text));
        assert!(
            texts.iter().any(|text| text.contains(&identifier.text)),
            "{identifier:?}"
        );
    }
    let each: HashSet<_> = texts
        .iter()
        .flat_map(|text| extract(text))
        .map(|identifier| identifier.text)
        .collect();
    assert_eq!(each.iter().collect::<HashSet<_>>(), seen);
}

/// Findings name places that are there; digests are one a call; turns and groups tile.
fn scanned(transcript: &Transcript, options: &ScanOptions) {
    let found = scan(transcript, options);
    let list = transcript.list_field();
    for finding in &found.findings {
        assert!(
            CHECKS
                .iter()
                .any(|check| (check.code, check.category) == (finding.code, finding.category))
        );
        let message = finding.message.and_then(|k| transcript.message(k));
        let path = match (message, finding.block) {
            (Some(message), Some(block)) => message.blocks().nth(block).map(|block| block.path(list)),
            (Some(message), None) => Some(format!("{list}[{}]", message.index)),
            // What stands beside the messages is named by its own field.
            (None, _) if !finding.path.starts_with(&format!("{list}[")) => Some(finding.path.clone()),
            (None, _) => Some(list.to_owned()),
        };
        assert_eq!(Some(&finding.path), path.as_ref());
    }
    let digests = digest(transcript, 0..transcript.len(), &found.pairs);
    let calls = transcript.messages().flat_map(|message| message.blocks());
    assert_eq!(
        digests.len(),
        calls.filter(|block| block.kind() == BlockKind::ToolCall).count()
    );
    tiles(
        &groups(transcript, &found.pairs),
        transcript.leading()..transcript.len(),
    );
    let turns = turns(transcript);
    let first = turns.first().map_or(transcript.len(), |turn| turn.start);
    tiles(&turns, first..transcript.len());
    if transcript.len() <= MOST_FOR_TWINS {
        assert_eq!(plain(&found.pairs), naive::pair(transcript, options));
    }
}

fn tiles(ranges: &[Range<usize>], whole: Range<usize>) {
    let mut at = whole.start;
    for range in ranges {
        assert_eq!(range.start, at);
        assert!(range.start < range.end);
        at = range.end;
    }
    assert_eq!(at, whole.end);
}

fn plain(table: &PairTable) -> naive::Table {
    naive::Table {
        pairs: table.pairs.clone(),
        orphan_results: table.orphan_results.clone(),
        remote_results: table.remote_results.clone(),
        repeated_results: table.repeated_results.clone(),
        pending: table.pending.clone(),
        abandoned: table.abandoned.clone(),
    }
}

/// Cuts are the twin's, each with its reasons, and a legal one leaves both halves as whole as they were.
fn cut(transcript: &Transcript, options: &ScanOptions) {
    let cuts = splits(transcript, options);
    let twin = (transcript.len() <= MOST_FOR_TWINS).then(|| naive::pair(transcript, options));
    let whole = is_whole(transcript, options);
    for k in 0..=transcript.len() + 1 {
        let legal = cuts.contains(k);
        let why = cuts.why_not(transcript, k);
        assert_eq!(why.is_empty(), legal);
        assert!(why.iter().all(|blocker| (blocker.start..blocker.stop).contains(&k)));
        assert_eq!(legal, cuts.at_or_before(k) == Some(k) && cuts.at_or_after(k) == Some(k));
        if !(transcript.leading()..=transcript.len()).contains(&k) {
            assert!(!legal);
            continue;
        }
        let Some(pairs) = &twin else { continue };
        assert_eq!(
            legal,
            naive::is_legal(transcript, options, pairs, k),
            "cut at {k}: {why:?}"
        );
        if legal && whole {
            let closed = ScanOptions {
                closed: true,
                ..options.clone()
            };
            let half = |range| splice(transcript, &[Part::Keep(range)]).expect("a range of the messages");
            // At the lowest cut nothing goes: the instructions stay, whatever they hold.
            assert!(
                k == transcript.leading() || is_whole(&half(0..k), &closed),
                "head of {k}"
            );
            assert!(is_whole(&half(k..transcript.len()), options), "tail of {k}");
        }
    }
    for keep in [Keep::Messages(1), Keep::Messages(7), Keep::Turns(1), Keep::Tokens(40)] {
        if let Some(choice) = find_split(transcript, &cuts, keep, Encoding::Cl100kBase) {
            assert!(cuts.contains(choice.index));
            assert_eq!(choice.moved_by.is_empty(), choice.index == choice.requested);
        }
    }
}

/// A repair says what it did, leaves a transcript that is what its bytes say, and finds nothing to do in it.
fn repaired(transcript: &Transcript, options: &ScanOptions) {
    for unanswered in [Unanswered::Drop, Unanswered::Synthesize] {
        let options = RepairOptions {
            scan: options.clone(),
            unanswered,
        };
        let once = repair(transcript, &options).expect("what repair writes can be read");
        let bytes = once.transcript.to_json();
        assert_eq!(once.repairs.is_empty(), bytes == transcript.to_json());
        let again = repair(&once.transcript, &options).expect("what repair wrote can be read");
        assert_eq!(again.repairs, [], "{}", String::from_utf8_lossy(&bytes));
        is_as_its_bytes(&once.transcript);
    }
}

/// The short check of pairs says what the full table says.
fn checked(transcript: &Transcript) {
    let table = pair(transcript, &ScanOptions::default());
    let expected = PairCheck {
        pairs: table.pairs.len(),
        misplaced: table.pairs.iter().copied().filter(|pair| pair.misplaced).collect(),
        pending: table.pending,
        abandoned: table.abandoned,
        orphan_results: table.orphan_results,
        repeated_results: table.repeated_results,
    };
    assert_eq!(check(transcript), &expected);
}

fn is_whole(transcript: &Transcript, options: &ScanOptions) -> bool {
    let findings = scan(transcript, options).findings;
    findings.iter().all(|finding| finding.category != Category::Integrity)
}

/// A block, in everything but the place of its bytes.
fn spelled(block: BlockView<'_>) -> String {
    let row = block.row;
    let source = block.segment.source.bytes();
    let spans = [row.body, row.type_name].map(|span| span.map(|span| String::from_utf8_lossy(span.of(source))));
    let texts: Vec<_> = block.texts().collect();
    let flags = [row.by_name, row.server_side, row.blank, row.is_error];
    let (kind, binding, place) = (row.kind, row.binding, row.place);
    let names = (block.call_id(), block.name());
    format!("{kind:?} {binding:?} {place:?} {names:?} {spans:?} {texts:?} {flags:?}")
}

/// A transcript made from parts is what its bytes say.
fn is_as_its_bytes(transcript: &Transcript) {
    let name = transcript.format().name();
    let again = Transcript::from_json(Arc::new(transcript.to_json()), Some(name)).expect("a body that was written");
    assert_eq!(again.len(), transcript.len());
    for index in 0..transcript.len() {
        assert_eq!(again.message_json(index), transcript.message_json(index));
    }
    if transcript.head().lone {
        // The value in the place of the list keeps its row where it is written as the message that it stands for.
        return;
    }
    assert_eq!(fingerprint(&again), fingerprint(transcript));
    let row = |message: MessageView<'_>| {
        let blocks: Vec<_> = message.blocks().map(spelled).collect();
        (message.role(), message.row.content, message.bytes().to_vec(), blocks)
    };
    assert!(transcript.messages().map(row).eq(again.messages().map(row)));
    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        assert_eq!(transcript.tokens(encoding, None), again.tokens(encoding, None));
        let messages = Some(0..transcript.len());
        assert_eq!(
            transcript.tokens(encoding, messages.clone()),
            again.tokens(encoding, messages)
        );
    }
    let report = compare(transcript, &again, Encoding::O200kBase);
    assert_eq!(report.first_difference, None);
    assert_eq!(report.messages, transcript.len());
}

fn spliced(transcript: &Transcript) {
    let len = transcript.len();
    let (third, half) = (len / 3, len / 2);
    let keep = [0..third, third..third, third..half, half..len].map(Part::Keep);
    let same = splice(transcript, &keep).expect("ranges that tile");
    assert_eq!(same.to_json(), transcript.to_json());
    assert_eq!(fingerprint(&same), fingerprint(transcript));
    is_as_its_bytes(&same);
    let summary = transcript.format().text_message(Role::User, "\"summary\"\n");
    let parts = [Part::Keep(0..third), Part::Insert(summary), Part::Keep(half..len)];
    let shorter = splice(transcript, &parts).expect("ranges that ascend");
    assert_eq!(shorter.len(), third + 1 + len - half);
    is_as_its_bytes(&shorter);
    for (start, stop) in [(len + 1, len + 1), (0, len + 1), (1, 0)] {
        assert!(splice(transcript, &[Part::Keep(start..stop)]).is_err());
    }
}

fn grown(transcript: &Transcript) {
    let format = transcript.format();
    checked(transcript);
    let mut more = transcript.clone();
    let last = transcript.len().checked_sub(1);
    let own = last.and_then(|index| transcript.message_json(index).map(Cow::into_owned));
    for message in [
        format.text_message(Role::Assistant, "é\u{1F469}"),
        format.text_message(Role::User, ""),
    ]
    .into_iter()
    .chain(own)
    {
        let before = more.len();
        more = more.append(Arc::new(message)).expect("a message of this format");
        assert_eq!(more.len(), before + 1);
        checked(&more);
    }
    is_as_its_bytes(&more);
    let report = compare(transcript, &more, Encoding::Cl100kBase);
    assert!(report.before_is_prefix);
    assert_eq!(report.messages, transcript.len());
    // The bytes of a whole body are hardly a message; read or refused, the transcript stays as it is.
    let body: Source = Arc::new(transcript.to_json());
    if let Ok(odd) = transcript.append(body) {
        assert_eq!(odd.len(), transcript.len() + 1);
        is_as_its_bytes(&odd);
    }
}

/// A block with another text is the same block with that text, and its neighbours stay.
fn rewritten(transcript: &Transcript) {
    let text = "a \"b\"\n\u{7}é";
    for message in transcript.messages().take(8) {
        for block in message.blocks().take(8) {
            let Ok(bytes) = rewrite_blocks(transcript, message.index, &[(block.index, text.to_owned())]) else {
                assert!(block.row.body.is_none());
                continue;
            };
            let (before, after) = (0..message.index, message.index + 1..transcript.len());
            let parts = [Part::Keep(before), Part::Insert(bytes), Part::Keep(after)];
            let new = splice(transcript, &parts).expect("a message that was rewritten");
            let view = new.message(message.index).expect("as many messages as before");
            assert_eq!(view.blocks().len(), message.blocks().len());
            for (old, new) in message.blocks().zip(view.blocks()) {
                if old.index == block.index {
                    assert_eq!((old.kind(), old.call_id()), (new.kind(), new.call_id()));
                    assert!(new.texts().any(|new| new == text), "{}", spelled(new));
                } else {
                    assert_eq!(spelled(old), spelled(new));
                }
            }
        }
    }
}
