"""A digest by rule: one line a tool call under numbered updates, below a header that counts them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from turnfold import meter
from turnfold.model.facts import ToolFacts, ToolStatus
from turnfold.model.summary import SummaryRecord, SummaryRequest, ToolDigest
from turnfold.quoting import neutralise

OMITTED: Final = "[The digest is left out: there is no room for it]"
CUT: Final = "[The digest is cut here]"
LEAST_TOKENS: Final = 50
"""Below so many tokens a digest says less than its own header."""

_SIGNS: Final[dict[ToolStatus, str]] = {"success": "✓", "error": "❌", "partial": "~"}
_NAMED_FILES: Final = 8

_HEADER = re.compile(r"^Digest of (\d+) items? from ")
_UPDATE = re.compile(r"^Update (\d+):$")
_LINE = re.compile(r"^\[(?P<sign>[✓❌~]) (?P<tool>[^:\]]*)(?:: (?P<facts>.*))?\]$")
_CONDENSED = re.compile(
    r"^Updates 1-(?P<last>\d+): (?P<items>\d+) items?(?:, (?P<failed>\d+) failed)?: "
    r"(?P<tools>.*?)(?: \| Files: (?P<files>.*))?$"
)


class _Condensed(msgspec.Struct, frozen=True):
    """Earlier updates in one line: how many items, which tools how often, and files that were worked on."""

    last: int
    items: int
    failed: int
    tools: Counter[str]
    files: tuple[str, ...]


class _Update(msgspec.Struct, frozen=True):
    """One update: its number, and a line an item."""

    number: int
    lines: tuple[str, ...]


def write_digest(request: SummaryRequest) -> str:
    """Write the digest, the newest lines first to stay. Counts at most `request.max_tokens` tokens."""
    if request.max_tokens < LEAST_TOKENS:
        return OMITTED if meter.count(OMITTED, request.encoding) <= request.max_tokens else "..."
    condensed, updates, items = _earlier(request.previous)
    new = [*map(fact_line, request.facts)] if request.facts else [*map(digest_line, request.digests)]
    number = 1 + max((one.number for one in updates), default=0 if condensed is None else condensed.last)
    items += len(new)
    record = request.record or SummaryRecord(len(request.messages))
    updates.append(_Update(number, tuple(new)))
    everything = sum(meter.count_many([f"{line}\n" for line in _lines(condensed, updates)], request.encoding))
    if len(updates) > 1 and everything > 2 * request.max_tokens:
        condensed, updates = _condense(condensed, updates[:-1], items - len(new)), updates[-1:]
    header = _header(record, items, request.max_tokens)
    room = request.max_tokens - meter.count(f"{header}\n{CUT}\n", request.encoding) - 2
    kept, left = _fit(condensed, updates, room, request.encoding)
    return "\n".join([_header(record, items, room - left), *kept])


def digest_line(digest: ToolDigest) -> str:
    """Return one call as a line: whether it failed, its tool, what it did."""
    text = " ".join(neutralise(digest.text).split())
    said = text.removeprefix(digest.tool).lstrip(": ") or digest.outcome
    return f"[{'❌' if digest.is_error else '✓'} {digest.tool}: {said}]"


def fact_line(facts: ToolFacts) -> str:
    """Return one call as a line: how it ended, its tool, its facts: `[✓ read_file: File: /app.ts | Lines: 100]`."""
    said = [*facts.facts, *((("Error", facts.error),) if facts.error else ())]
    text = " | ".join(f"{name}: {value}" for name, value in said)
    return f"[{_SIGNS[facts.status]} {neutralise(f'{facts.tool}: {text}' if text else facts.tool)}]"


def _header(record: SummaryRecord, items: int, tokens: int) -> str:
    said = [
        f"Digest of {_counted(items, 'item')} from {_counted(record.messages, 'message')}",
        f"version {record.version}",
        f"{tokens} tokens",
        *(f"{name} {time}" for name, time in (("created", record.created), ("updated", record.updated)) if time),
    ]
    return ", ".join(said) + ":"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _lines(condensed: _Condensed | None, updates: Iterable[_Update]) -> list[str]:
    lines = [] if condensed is None else [_condensed_line(condensed)]
    for update in updates:
        lines += [f"Update {update.number}:", *update.lines]
    return lines


def _fit(condensed: _Condensed | None, updates: Sequence[_Update], room: int, encoding: str) -> tuple[list[str], int]:
    """Keep the newest lines that fit, each below the number of its update, and say where others are cut.

    Returns them, and the room that is left. What is condensed stays where it takes at most half of the room.
    """
    first = [] if condensed is None else [_condensed_line(condensed)]
    first_tokens = sum(meter.count_many([f"{line}\n" for line in first], encoding))
    if first_tokens > room // 2:
        first, first_tokens = [], 0
    room -= first_tokens
    kept: list[str] = []
    for update in reversed(updates):
        heading = f"Update {update.number}:"
        costs = meter.count_many([f"{line}\n" for line in (heading, *update.lines)], encoding)
        fitting = 0
        spent = costs[0]
        for cost in reversed(costs[1:]):
            if spent + cost > room:
                break
            spent += cost
            fitting += 1
        if fitting:
            room -= spent
            kept = [heading, *update.lines[len(update.lines) - fitting :], *kept]
        if fitting < len(update.lines):
            kept.insert(0, CUT)
            break
    return [*first, *kept], room


def _condense(before: _Condensed | None, updates: Sequence[_Update], items: int) -> _Condensed:
    """Put updates into one line, which stands for so many items: those that were cut before can only be counted."""
    tools = Counter({} if before is None else before.tools)
    files = dict.fromkeys(() if before is None else before.files)
    failed = 0 if before is None else before.failed
    for line in (line for update in updates for line in update.lines):
        found = _LINE.match(line)
        if found is None:
            continue
        tools[found["tool"]] += 1
        failed += found["sign"] == "❌"
        named = re.match(r"File: (?P<file>.*?)(?: \| |$)", found["facts"] or "")
        if named is not None:
            files.pop(named["file"], None)
            files[named["file"]] = None
    return _Condensed(updates[-1].number, items, failed, tools, tuple(files)[-_NAMED_FILES:])


def _condensed_line(condensed: _Condensed) -> str:
    failed = f", {condensed.failed} failed" if condensed.failed else ""
    tools = [f"{name} {count}" for name, count in condensed.tools.most_common()]
    if condensed.items > condensed.tools.total():
        tools.append(f"{condensed.items - condensed.tools.total()} more")
    files = f" | Files: {', '.join(condensed.files)}" if condensed.files else ""
    return f"Updates 1-{condensed.last}: {_counted(condensed.items, 'item')}{failed}: {', '.join(tools)}{files}"


def _earlier(previous: str | None) -> tuple[_Condensed | None, list[_Update], int]:
    """Take apart what an earlier digest says: what is condensed, its updates, how many items it stands for."""
    condensed: _Condensed | None = None
    updates: list[_Update] = []
    items = 0
    number, lines = 1, list[str]()
    for line in (previous or "").splitlines():
        if (header := _HEADER.match(line)) is not None:
            items = int(header[1])
        elif (held := _CONDENSED.match(line)) is not None:
            counts = (part.rpartition(" ") for part in held["tools"].split(", "))
            tools = Counter({name: int(count) for name, _, count in counts if count.isdigit()})
            files = tuple(held["files"].split(", ")) if held["files"] else ()
            condensed = _Condensed(
                int(held["last"]),
                int(held["items"]),
                int(held["failed"] or 0),
                tools,
                files,
            )
            number = condensed.last + 1
        elif (update := _UPDATE.match(line)) is not None:
            if lines:
                updates.append(_Update(number, tuple(lines)))
            number, lines = int(update[1]), []
        elif line and line not in {CUT, OMITTED}:
            lines.append(line)
    if lines:
        updates.append(_Update(number, tuple(lines)))
    return condensed, updates, items or sum(len(one.lines) for one in updates)
