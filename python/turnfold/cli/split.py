"""`turnfold split`: where each transcript may be cut."""

import argparse

import msgspec

from turnfold.checks import find_split, split_points
from turnfold.cli.display import amount, place, write_record, write_text
from turnfold.cli.faults import FOUND, OK, UNREADABLE, FaultLog, UsageError
from turnfold.cli.reading import INPUTS_HELP, add_paths, read_transcripts, wanted_of
from turnfold.model.splits import Blocker, Keep, KeepMessages, KeepTokens, KeepTurns
from turnfold.transcript import Transcript

SUMMARY = "list the legal cuts of each transcript and choose one"
USAGE = """\
turnfold split PATH... [--keep-messages K | --keep-turns T | --keep-tokens N | --at I]
                      [--format NAME | --container NAME] [--column NAME] [--json]"""
DETAILS = f"""\
A cut at I puts messages before I into the part to summarise and keeps I and all after it. It is legal when no tool
call is parted from its result and nothing that belongs together is torn. With one of the four options a cut is
chosen: the longest tail that fits, or the nearest legal cut to I (before it, else after it). `moved_by` says what
kept the cut from the place that was asked.

{INPUTS_HELP}

exit status: 0 answered; 1 a cut was asked and a transcript has none; 2 a path could not be read, or the command line
is wrong (2 goes before 1)."""


class ChosenRecord(msgspec.Struct, frozen=True):
    """The chosen cut, the one that was asked, and what moved it."""

    index: int
    requested: int
    moved_by: tuple[Blocker, ...]


class SplitRecord(msgspec.Struct, frozen=True):
    """One line of `turnfold split --json`. `chosen` is null when nothing was asked or nothing is legal."""

    path: str
    index: int
    id: str | None
    format: str
    messages: int
    splits: tuple[int, ...]
    chosen: ChosenRecord | None


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--keep-messages", metavar="K", type=whole_number, help="keep the last K messages")
    group.add_argument("--keep-turns", metavar="T", type=whole_number, help="keep the last T turns")
    group.add_argument("--keep-tokens", metavar="N", type=whole_number, help="keep at most N tokens")
    group.add_argument("--at", metavar="I", type=whole_number, help="the legal cut nearest to message I")


def whole_number(text: str) -> int:
    """Read an option's value that counts something."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number") from None
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value} is negative")
    return value


def run(options: argparse.Namespace) -> int:
    """List and choose; returns the exit status."""
    faults = FaultLog()
    keep = _keep(options)
    missing = False
    for document, transcript in read_transcripts(options.paths, wanted_of(options), faults):
        chosen = _choose(transcript, keep, options.at, f"{document.file.shown}[{document.index}]")
        missing = missing or (chosen is None and (keep is not None or options.at is not None))
        record = SplitRecord(
            path=document.file.shown,
            index=document.index,
            id=document.id,
            format=transcript.format,
            messages=len(transcript),
            splits=tuple(split_points(transcript)),
            chosen=chosen,
        )
        if options.json:
            write_record(record)
        else:
            _print(record)
    if faults.count:
        return UNREADABLE
    return FOUND if missing else OK


def _keep(options: argparse.Namespace) -> Keep | None:
    if options.keep_messages is not None:
        return KeepMessages(options.keep_messages)
    if options.keep_turns is not None:
        return KeepTurns(options.keep_turns)
    return None if options.keep_tokens is None else KeepTokens(options.keep_tokens)


def _choose(transcript: Transcript, keep: Keep | None, at: int | None, shown: str) -> ChosenRecord | None:
    if keep is not None:
        point = find_split(transcript, keep=keep)
        return None if point is None else ChosenRecord(point.index, point.requested, point.moved_by)
    if at is None:
        return None
    if at > len(transcript):
        raise UsageError(f"--at {at}: {shown} has {len(transcript)} messages")
    points = split_points(transcript)
    index = points.at_or_before(at)
    if index is None:
        index = points.at_or_after(at)
    return None if index is None else ChosenRecord(index, at, () if index == at else points.why_not(at))


def _print(record: SplitRecord) -> None:
    write_text(f"{place(record.path, record.index, record.id)}  {record.format}, {amount(record.messages, 'message')}")
    write_text(f"  legal cuts: {_ranges(record.splits) or 'none'}")
    if record.chosen is not None:
        chosen = record.chosen
        kept = record.messages - chosen.index
        moved = "" if chosen.index == chosen.requested else f" (asked: {chosen.requested})"
        write_text(f"  chosen: {chosen.index}{moved}, keeps {kept} of {record.messages} messages")
        for blocker in chosen.moved_by:
            write_text(f"    {blocker.code}: {blocker.text}")


def _ranges(indexes: tuple[int, ...]) -> str:
    parts: list[str] = []
    start = 0
    for stop in range(1, len(indexes) + 1):
        if stop == len(indexes) or indexes[stop] != indexes[stop - 1] + 1:
            first, last = indexes[start], indexes[stop - 1]
            parts.append(str(first) if first == last else f"{first}-{last}")
            start = stop
    return ", ".join(parts)
