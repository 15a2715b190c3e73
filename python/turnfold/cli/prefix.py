"""`turnfold prefix`: how much of a provider's prompt cache two requests share."""

import argparse
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import msgspec

from turnfold.checks import compare_prefix
from turnfold.cli.display import amount, place, write_record, write_text
from turnfold.cli.faults import OK, UNREADABLE, Fault, FaultLog, UsageError
from turnfold.cli.inputs import Document, InputFile, find_inputs
from turnfold.cli.reading import INPUTS_HELP, add_common, read_files, wanted_of
from turnfold.model.prefix import Difference, PrefixReport
from turnfold.transcript import Transcript

SUMMARY = "compare two requests as a prompt cache does"
USAGE = "turnfold prefix A B [--format NAME | --container NAME] [--column NAME] [--json]"
DETAILS = f"""\
Compares request B with the earlier request A from the start, in the order in which the provider renders them (tools,
system, messages), and says how much is the same to the byte and where the first difference is. Where A and B hold
several transcripts, the first of A goes with the first of B and so on; two folders go together by file name.

{INPUTS_HELP}

exit status: 0 compared, whatever the result; 2 a path could not be read, a transcript has no partner, or the command
line is wrong."""


class PlaceRecord(msgspec.Struct, frozen=True):
    """Which transcript was compared."""

    path: str
    index: int
    id: str | None


class PrefixRecord(msgspec.Struct, frozen=True):
    """One line of `turnfold prefix --json`. `first_difference` is null when A is a prefix of B."""

    bytes: int
    messages: int
    tokens: int
    first_difference: Difference | None
    before_is_prefix: bool
    ignoring_cache_markers: bool
    before: PlaceRecord
    after: PlaceRecord


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("before", metavar="A", help="the earlier request: file, folder or - for stdin")
    parser.add_argument("after", metavar="B", help="the later request")
    add_common(parser)


def run(options: argparse.Namespace) -> int:
    """Compare; returns the exit status."""
    if options.before == "-" and options.after == "-":
        raise UsageError("only one of A and B can be stdin")
    faults = FaultLog()
    wanted = wanted_of(options)
    for before, after in _file_pairs(options.before, options.after, faults):
        pairs = zip_longest(*(read_files(side, wanted, faults) for side in (before, after)))
        for first, second in pairs:
            if first is None or second is None:
                faults.report(_unmatched(first or second, options))
                continue
            record = _record(first[0], second[0], compare_prefix(first[1], second[1]))
            if options.json:
                write_record(record)
            else:
                _print(record)
    return UNREADABLE if faults.count else OK


def _file_pairs(
    before: str, after: str, faults: FaultLog
) -> Iterator[tuple[Sequence[InputFile | Fault], Sequence[InputFile | Fault]]]:
    if not (Path(before).is_dir() and Path(after).is_dir()):
        yield tuple(find_inputs([before])), tuple(find_inputs([after]))
        return
    named: list[dict[str, InputFile]] = []
    for folder in (before, after):
        files: dict[str, InputFile] = {}
        for item in find_inputs([folder]):
            if isinstance(item, Fault):
                faults.report(item)
            else:
                files[str(item.relative)] = item
        named.append(files)
    for name in sorted(named[0].keys() | named[1].keys()):
        first, second = named[0].get(name), named[1].get(name)
        if first is not None and second is not None:
            yield (first,), (second,)
            continue
        alone = first or second
        if alone is not None:
            other = after if first is not None else before
            faults.report(Fault(alone.shown, None, "no_partner", f"no such file in {other}", "compare it by itself"))


def _unmatched(item: tuple[Document, Transcript] | None, options: argparse.Namespace) -> Fault:
    text = "the other side has no transcript to compare it with"
    if item is None:
        return Fault(options.before, None, "no_partner", text, "give both sides as many transcripts")
    document = item[0]
    return Fault(document.file.shown, document.index, "no_partner", text, "give both sides as many transcripts")


def _record(before: Document, after: Document, report: PrefixReport) -> PrefixRecord:
    return PrefixRecord(
        bytes=report.bytes,
        messages=report.messages,
        tokens=report.tokens,
        first_difference=report.first_difference,
        before_is_prefix=report.before_is_prefix,
        ignoring_cache_markers=report.ignoring_cache_markers,
        before=PlaceRecord(before.file.shown, before.index, before.id),
        after=PlaceRecord(after.file.shown, after.index, after.id),
    )


def _print(record: PrefixRecord) -> None:
    before, after = (place(side.path, side.index, side.id) for side in (record.before, record.after))
    write_text(f"{before} -> {after}")
    shared = (amount(record.messages, "message"), amount(record.tokens, "token"), amount(record.bytes, "byte"))
    write_text(f"  shared: {', '.join(shared)}")
    difference = record.first_difference
    if difference is None:
        write_text("  first difference: none, all of A is a prefix of B")
        return
    markers = " (none but for cache markers)" if record.ignoring_cache_markers else ""
    write_text(f"  first difference: {difference.path}{markers}")
