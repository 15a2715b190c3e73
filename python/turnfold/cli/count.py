"""`turnfold count`: how many tokens each transcript takes."""

import argparse

import msgspec

from turnfold.cli.display import Column, Table, number, place, write_record, write_text
from turnfold.cli.faults import OK, UNREADABLE, FaultLog
from turnfold.cli.inputs import Document
from turnfold.cli.reading import INPUTS_HELP, add_encoding, add_paths, read_transcripts, wanted_of
from turnfold.model.counts import TokenCount
from turnfold.transcript import Transcript

SUMMARY = "count the tokens of each transcript"
USAGE = """\
turnfold count PATH... [--encoding NAME | --model NAME] [--mode exact|bounds|estimate] [--by-message]
               [--format NAME | --container NAME] [--column NAME] [--json]"""
DETAILS = f"""\
Counts the whole request: text, tool calls and results, system text, tool definitions and what the provider wraps
around them. `n` is the best single number and `lo` <= `n` <= `hi`; `source` is exact only where the model's own
vocabulary and framing are public. --mode estimate weighs the texts of messages and counts a sample of each: several
times faster, some percent off. --mode bounds puts them between limits that surely hold. --by-message adds one entry a
message, with the text tokens of each block.

{INPUTS_HELP}

exit status: 0 all counted; 2 a path could not be read, or the command line is wrong."""


class MessageRecord(msgspec.Struct, frozen=True):
    """One message: its share of the request, and the text tokens of each of its blocks."""

    message: int
    role: str
    tokens: TokenCount
    blocks: tuple[int, ...]


class CountRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of `turnfold count --json`."""

    path: str
    index: int
    id: str | None
    format: str
    messages: int
    tokens: TokenCount
    encoding: str
    by_message: tuple[MessageRecord, ...] | None = None


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    add_encoding(parser)
    parser.add_argument(
        "--mode",
        choices=("exact", "bounds", "estimate"),
        default="exact",
        help="bounds: an interval that surely holds the count; estimate: by a sample",
    )
    parser.add_argument("--by-message", action="store_true", help="add one entry a message")


def run(options: argparse.Namespace) -> int:
    """Count; returns the exit status."""
    faults = FaultLog()
    table = _table()
    for document, transcript in read_transcripts(options.paths, wanted_of(options), faults):
        record = _record(document, transcript, options)
        if options.json:
            write_record(record)
        else:
            _print(table, record)
    return UNREADABLE if faults.count else OK


def _record(document: Document, transcript: Transcript, options: argparse.Namespace) -> CountRecord:
    encoding = transcript.encoding(options.encoding, options.model)
    return CountRecord(
        path=document.file.shown,
        index=document.index,
        id=document.id,
        format=transcript.format,
        messages=len(transcript),
        tokens=transcript.tokens(encoding=options.encoding, model=options.model, mode=options.mode),
        encoding=encoding,
        by_message=_by_message(transcript, options) if options.by_message else None,
    )


def _by_message(transcript: Transcript, options: argparse.Namespace) -> tuple[MessageRecord, ...]:
    return tuple(
        MessageRecord(
            message=index,
            role=role,
            tokens=transcript.tokens(
                index, index + 1, encoding=options.encoding, model=options.model, mode=options.mode
            ),
            blocks=tuple(transcript.block_tokens(index, encoding=options.encoding, model=options.model)),
        )
        for index, role in enumerate(transcript.roles)
    )


def _table() -> Table:
    return Table(
        (
            Column("transcript", 0),
            Column("format", 18),
            Column("messages", 8, right=True),
            Column("tokens", 10, right=True),
            Column("at least .. at most", 20, right=True),
            Column("source", 8),
            Column("encoding", 11),
        )
    )


def _print(table: Table, record: CountRecord) -> None:
    tokens = record.tokens
    table.row(
        (
            place(record.path, record.index, record.id),
            record.format,
            number(record.messages),
            number(tokens.n),
            _bounds(tokens),
            tokens.source,
            record.encoding,
        )
    )
    for message in record.by_message or ():
        bounds = _bounds(message.tokens)
        count = number(message.tokens.n) + (f" ({bounds})" if bounds else "")
        blocks = " + ".join(map(number, message.blocks))
        write_text(f"  {message.message:>6}  {message.role:<10} {count}" + (f", text {blocks}" if blocks else ""))


def _bounds(tokens: TokenCount) -> str:
    return "" if tokens.source == "exact" else f"{number(tokens.lo)} .. {number(tokens.hi)}"
