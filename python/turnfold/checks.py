"""The typed face of the kernel's checks: integrity and its repair, legal cuts, shared cache prefixes."""

import difflib
import functools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, Literal, Protocol, TypeVar, assert_never

from turnfold import _core
from turnfold.errors import ArgumentError
from turnfold.model.findings import CallPlace, Finding, IntegrityReport, Pair, PairCheck, Rule
from turnfold.model.layout import Layout
from turnfold.model.prefix import Difference, PrefixReport
from turnfold.model.repair import DEFAULT_REPAIR, Repair, RepairOptions
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.model.splits import Blocker, Keep, KeepMessages, KeepTokens, KeepTurns, SplitPoint
from turnfold.transcript import Transcript, kernel_of

_T = TypeVar("_T")
LONGEST_NAME: Final = 80
"""Characters of a misspelled name that are shown and compared."""
_STRETCH: Final = 1_024


def scan(
    transcript: Transcript, options: ScanOptions = BODY_ONLY, *, before: Transcript | None = None
) -> IntegrityReport:
    """Check the transcript against what its provider demands.

    `ok` means that no finding is an error. Orphan results, pending and abandoned calls are listed whether or not the
    provider minds them. With an earlier transcript `before`, what the provider signed or sealed there must be as it was
    (`changed_seal`); raises `ArgumentError` for one of another format. O(messages of both).
    """
    kernel, earlier = kernel_of(transcript), None if before is None else _earlier(transcript, before)
    # What stands alone is sorted by what the caller knows; pairs are the transcript's own.
    known = transcript.known_pairs
    report = _core.scan(kernel, earlier, _told(options), known is None)
    found, columns, pending, orphans, abandoned, call_ids, result_ids, unknown = report
    if columns is not None:
        known = transcript.known_pairs = _pairs(map(Pair, *columns))
    findings = _each(Finding, found)
    return IntegrityReport(
        ok=all(finding.severity != "error" for finding in findings),
        findings=findings,
        pairs=known or (),
        pending=_each(CallPlace, pending),
        orphan_results=_each(CallPlace, orphans),
        abandoned_calls=_each(CallPlace, abandoned),
        duplicate_call_ids=tuple(call_ids),
        duplicate_result_ids=tuple(result_ids),
        unknown_kinds=tuple(unknown),
    )


def _pairs(made: Iterator[Pair]) -> tuple[Pair, ...]:
    """Return all that is made, in stretches between which the interpreter looks for who waits for it."""
    pairs: list[Pair] = []
    while stretch := tuple(islice(made, _STRETCH)):
        pairs += stretch
    return tuple(pairs)


def _each(make: Callable[..., _T], rows: Sequence[tuple[object, ...]]) -> tuple[_T, ...]:
    return tuple([make(*fields) for fields in rows]) if rows else ()


def findings(
    transcript: Transcript, options: ScanOptions = BODY_ONLY, *, before: Transcript | None = None
) -> tuple[Finding, ...]:
    """Return the findings of such a scan alone."""
    kernel, earlier = kernel_of(transcript), None if before is None else _earlier(transcript, before)
    return _each(Finding, _core.findings(kernel, earlier, _told(options)))


def _earlier(transcript: Transcript, before: Transcript) -> _core.Transcript:
    if before.format != transcript.format:
        raise ArgumentError(f"A transcript in {transcript.format} cannot be compared with one in {before.format}")
    return kernel_of(before)


def check_pairs(transcript: Transcript) -> PairCheck:
    """Check that every call has its result and every result its call: what `scan` lists, without the findings.

    O(messages) the first time, then remembered. For a transcript made by `append` or `extend_from` of one that was
    checked, O(new messages + open calls + what is listed).
    """
    pairs, *places = _core.check_pairs(kernel_of(transcript))
    return PairCheck(pairs, *[_each(CallPlace, found) for found in places])


@functools.cache
def rules() -> tuple[Rule, ...]:
    """List what transcripts are held to: one entry a finding code, wire format and provider rule, by code."""
    return tuple(Rule(*fields) for fields in _core.rules())


def check_names(names: Iterable[str]) -> None:
    """Raise `ArgumentError` for the first name that is neither a finding code nor a rule id, with those close to it."""
    for name in names:
        if name not in _rule_names():
            spellings = {known.casefold(): known for known in sorted(_rule_names())}
            found = difflib.get_close_matches(name.casefold(), spellings) if len(name) <= LONGEST_NAME else []
            meant = f"; close to it: {', '.join(spellings[spelling] for spelling in found)}" if found else ""
            raise ArgumentError(
                f"No finding code or rule id is named {name[:LONGEST_NAME]!r}{meant}. turnfold.checks.rules() lists "
                "them all"
            )


@functools.cache
def _rule_names() -> frozenset[str]:
    return frozenset(name for rule in rules() for name in (rule.code, rule.rule))


def repair(transcript: Transcript, options: RepairOptions = DEFAULT_REPAIR) -> tuple[Transcript, tuple[Repair, ...]]:
    """Mend what a scan with the same options finds, and say what was done.

    Results without a call, and all but the first of a call, go; results in the wrong place are moved; abandoned calls
    get a result or go; ids and names are given, corrected and made distinct; lost reasoning, blank text and empty
    messages go; blocks are put in the order that is asked for. Calls that are awaited stay as they are, and so does
    what they are known by: where names pair, earlier calls of the name stay too. Messages not touched keep their
    bytes and objects. A clean transcript comes back unchanged, without repairs, and repairing twice is repairing once.
    O(messages + bytes of changed ones).

    Findings that it mends: `arguments_not_text`, `blank_text`, `call_id_form`, `call_out_of_turn` (where a message of
    the model stands before, which takes the calls in), `call_without_id`, `duplicate_call_id`, `duplicate_result`,
    `early_prefill`, `empty_call_list`, `empty_content`, `interleaved_calls` (results in a message with calls),
    `item_id_as_call_id`, `loose_reasoning`, `misplaced_result`, `missing_name` (of a result whose call has one),
    `omitted_call_id`, `only_reasoning`, `orphan_result`, `reasoning_without_summary`, `result_count`,
    `result_not_first`, `result_not_next`, `result_without_id`, `split_results`, `text_after_call`, `trailing_space`,
    `unanswered_call`.

    Where several awaited calls share one id, a result that names the item of one of them stays as it is. A result that
    stands before its awaited call moves behind it if their id is that of this call alone; under the name of a tool it
    does not, as the result of an earlier call that a cut took away looks the same.

    Findings that it leaves, because what is missing or meant only the caller knows (`docs/rules.md` has the reason of
    each): `broken_seal`, `changed_seal`, `compaction_block_ambiguous`, `compaction_block_misplaced`,
    `compaction_incomplete_turn`, `first_not_user`, `late_system`, `leading_system`, `lone_surrogate`,
    `loop_without_reasoning`, `lost_reasoning`, `misplaced_trigger`, `missing_reasoning`, `missing_signature`,
    `no_messages`, `orphan_part`, `output_limit`, `over_window`, `refused_reasoning`, `repeated_role`, `server_held`,
    `several_system`, `too_many_cache_breakpoints`, `tools_not_sent`, `trailing_assistant`, `unexpected_role`,
    `unknown_role`, `unresolvable_id`.
    """
    repaired = _core.repair(kernel_of(transcript), _told(options.scan), options.unanswered)
    if repaired is None:
        return transcript, ()
    kernel, repairs, kept = repaired
    return transcript.rearranged(kernel, kept), _each(Repair, repairs)


class SplitPoints(Collection[int]):
    """The indices where the transcript may be cut: `[0, index)` goes, `[index, n)` stays.

    Never below the leading system and developer messages. Made by `split_points`.
    """

    __slots__ = ("_kernel", "_transcript")

    def __init__(self, kernel: _core.Splits, transcript: Transcript) -> None:
        self._kernel = kernel
        self._transcript = transcript

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and 0 <= index <= sys.maxsize and self._kernel.contains(index)

    def __iter__(self) -> Iterator[int]:
        return iter(self._kernel.indices())

    def __len__(self) -> int:
        return self._kernel.count()

    def __repr__(self) -> str:
        return f"<SplitPoints {self._kernel.indices()}>"

    def at_or_before(self, index: int) -> int | None:
        """Return the nearest legal cut at `index` or below it."""
        return self._kernel.at_or_before(min(index, sys.maxsize)) if index >= 0 else None

    def at_or_after(self, index: int) -> int | None:
        """Return the nearest legal cut at `index` or above it."""
        return self._kernel.at_or_after(max(index, 0)) if index <= sys.maxsize else None

    def start_of_tool_groups(self, count: int, start: int) -> int:
        """Return the first message of the last `count` stretches between cuts that hold a call; `start` if fewer do.

        O(messages of those, each log messages).
        """
        return self._kernel.start_of_tool_groups(self._transcript.kernel, min(max(count, 0), sys.maxsize), start)

    def why_not(self, index: int) -> tuple[Blocker, ...]:
        """Return every pair or rule that a cut at `index` would break; none for a legal cut."""
        if not 0 <= index <= sys.maxsize:
            raise ArgumentError(f"There is no index {index} to cut at")
        return _each(Blocker, self._kernel.why_not(self._transcript.kernel, index))

    def find(self, keep: Keep, *, encoding: str | None = None, model: str | None = None) -> SplitPoint | None:
        """Find the cut that keeps what is asked: see `find_split`. O(log messages), and for turns O(messages)."""
        transcript = self._transcript
        choice = self._kernel.find(transcript.kernel, *_kept(keep), transcript.encoding(encoding, model))
        return None if choice is None else _point(*choice)


def _kept(keep: Keep) -> tuple[Literal["messages", "turns", "tokens"], int]:
    kind: Literal["messages", "turns", "tokens"]
    if isinstance(keep, KeepTokens):
        kind, amount = "tokens", keep.limit_tokens
    elif isinstance(keep, KeepMessages):
        kind, amount = "messages", keep.count
    elif isinstance(keep, KeepTurns):
        kind, amount = "turns", keep.count
    else:
        assert_never(keep)
    if amount < 0:
        raise ArgumentError(f"Nothing less than 0 {kind} can be kept: {amount}")
    return kind, min(amount, sys.maxsize)


def _point(
    index: int, requested: int, kept: int, evicted: int, moved_by: list[tuple[str, str, str | None, int, int]]
) -> SplitPoint:
    return SplitPoint(index, requested, kept, evicted, _each(Blocker, moved_by))


def split_points(transcript: Transcript, options: ScanOptions = BODY_ONLY) -> SplitPoints:
    """Find every legal cut. O(messages)."""
    return SplitPoints(_core.split_points(kernel_of(transcript), _told(options)), transcript)


def find_split(
    transcript: Transcript,
    keep: Keep,
    options: ScanOptions = BODY_ONLY,
    *,
    encoding: str | None = None,
    model: str | None = None,
) -> SplitPoint | None:
    """Find the legal cut that keeps what is asked, or the nearest one that keeps more; None where there is none.

    For `KeepTokens`, which is a limit, the nearest one that keeps less; of what nobody counted before, little more than
    it keeps is counted. Who asks more than once asks `split_points(...)`.
    """
    kernel, told = kernel_of(transcript), _told(options)
    choice = _core.find_split(kernel, told, *_kept(keep), transcript.encoding(encoding, model))
    return None if choice is None else _point(*choice)


def layout(transcript: Transcript, options: ScanOptions = BODY_ONLY) -> Layout:
    """Find what a compaction must know beside the legal cuts. O(blocks)."""
    turns, folded, barrier, lasting, reasoned_loop = _core.layout(kernel_of(transcript), _told(options))
    return Layout(tuple(turns), folded, barrier, tuple(lasting), reasoned_loop)


OpenResult = tuple[int, int, int, str | None]
"""A tool result that may get another text: message, block, tokens, and the tool, which is that of its call."""

MaskReason = Literal["Old", "Repeated", "Outdated"]
"""Why a line stands for a result, in the word that the line begins with."""


def open_results(
    transcript: Transcript, start: int, stop: int, options: ScanOptions = BODY_ONLY, *, encoding: str
) -> list[OpenResult]:
    """Find the rewritable tool results of messages `[start, stop)`, but for lines that `masks` made.

    O(messages) after the first count.
    """
    return kernel_of(transcript).open_results(encoding, start, stop, _told(options))


def masks(
    results: list[OpenResult], reasons: list[MaskReason], *, encoding: str, min_tokens: int = 0
) -> tuple[list[int], list[tuple[tuple[int, str], ...]]]:
    """Put a line in the place of each result that is longer than that: the messages, and of each blocks with lines.

    The line says why, of which tool, and how many tokens are left out. There is one reason for each result; those of a
    message stand side by side. Results of less than `min_tokens` stay. O(results).
    """
    return _core.masks(results, reasons, encoding, max(min_tokens, 0))


def mask_old(
    transcript: Transcript,
    messages: range,
    options: ScanOptions = BODY_ONLY,
    *,
    bound: bool,
    encoding: str | None = None,
    model: str | None = None,
    min_tokens: int = 0,
    over_tokens: int | None = None,
    part_tokens: int = 0,
) -> tuple[list[int], list[tuple[tuple[int, str], ...]], list[int]]:
    """Put the lines of `masks` for all `open_results` of `messages`, the oldest first, until `over_tokens` are saved.

    The messages that save anything, of each its blocks with lines, and how many tokens it saves, by `hi` for a bound,
    else by `n`. Each counts `part_tokens` against what is saved. O(messages) after the first count, and the bytes of
    those that change.
    """
    return _core.mask_old(
        kernel_of(transcript),
        encoding,
        model,
        bound,
        messages.start,
        messages.stop,
        _told(options),
        max(min_tokens, 0),
        over_tokens,
        part_tokens,
    )


def compare_prefix(
    before: Transcript, after: Transcript, *, encoding: str | None = None, model: str | None = None
) -> PrefixReport:
    """Compare two requests in the order in which the provider renders them: tools, system, messages.

    `tokens` are those of the part that both share from the start. Raises an `UnknownEncodingError` for an encoding that
    is not there. O(shared bytes).
    """
    earlier, later = kernel_of(before), kernel_of(after)
    shared = _core.compare_prefix(earlier, later, encoding, model)
    shared_bytes, messages, tokens, difference, before_is_prefix, ignoring_cache_markers = shared
    first_difference = None if difference is None else Difference(*difference)
    return PrefixReport(shared_bytes, messages, tokens, first_difference, before_is_prefix, ignoring_cache_markers)


class Stretch(Protocol):
    """What has a first message and one behind its last, such as a range or the tile of a plan."""

    @property
    def start(self) -> int:
        """The first message."""

    @property
    def stop(self) -> int:
        """The one behind the last."""


def identifiers_around(
    transcript: Transcript, ranges: Iterable[Stretch], result: Transcript, tail: int, *, known: Sequence[str] = ()
) -> tuple[list[str], list[bool], list[bool]]:
    """Say of identifiers whether they occur in `result` before message `tail`, and whether only from it on.

    They are those of `known` and then those in ranges of messages of `transcript`, each once: the names, and a list of
    answers for either question. Linear in all bytes.
    """
    parts = [(part.start, part.stop) for part in ranges]
    more, before, behind = _core.identifiers_around([*known], kernel_of(transcript), parts, kernel_of(result), tail)
    return [*known, *more], before, behind


def _kernel_options(options: ScanOptions) -> _core.ScanOptions:
    if options.window_tokens is not None and options.window_tokens < 0:
        raise ArgumentError(f"window_tokens must be at least 0, got {options.window_tokens}")
    check_names(name for name, _ in options.severities)
    return _core.ScanOptions(
        list(options.pending_ids),
        options.thinking,
        options.strict_alternation,
        options.closed,
        options.signatures,
        list(options.reasoning_pairs),
        None if options.window_tokens is None else min(options.window_tokens, sys.maxsize),
        [(name, severity) for name, severity in options.severities],
    )


_KERNEL_BODY_ONLY: Final = _kernel_options(BODY_ONLY)


def _told(options: ScanOptions) -> _core.ScanOptions:
    # Nearly every call has these, and some take less time than it takes to read eight fields.
    return _KERNEL_BODY_ONLY if options is BODY_ONLY else _kernel_options(options)
