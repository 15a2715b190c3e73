"""What every command does first: PATH arguments in, transcripts out, and faults on stderr."""

import argparse
from collections.abc import Iterable, Iterator

from turnfold.cli.faults import Fault, FaultLog, fault_of_error
from turnfold.cli.inputs import Document, InputFile, find_inputs, read_documents
from turnfold.errors import TurnfoldError
from turnfold.transcript import Transcript

INPUTS_HELP = """\
PATH is a file, a folder (walked for .json, .jsonl and .gz; hidden files are passed over) or - for stdin.
A .json file holds one transcript: a request body with its messages, or a bare array of messages. A list of
transcripts is refused: write it as .jsonl, one transcript a line (blank lines are skipped, and a record's index
is the line's number from 0). A .gz file is unpacked on the way. stdin, and names without a known suffix, are told
apart by their first two lines."""


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has."""
    parser.add_argument("paths", metavar="PATH", nargs="+", help="file, folder or - for stdin")
    add_common(parser)


def add_common(parser: argparse.ArgumentParser) -> None:
    """`--format` and `--json`."""
    parser.add_argument(
        "--format", metavar="NAME", help="wire format (openai.chat, anthropic.messages); default: detect"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a transcript on stdout, one a line")


def add_encoding(parser: argparse.ArgumentParser) -> None:
    """Add `--encoding` and `--model`."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--encoding", metavar="NAME", help="o200k_base, cl100k_base or o200k_harmony; default: that of the model"
    )
    group.add_argument("--model", metavar="NAME", help="count as this model does; default: the model in the body")


def read_transcripts(
    paths: Iterable[str], wire_format: str | None, faults: FaultLog
) -> Iterator[tuple[Document, Transcript]]:
    """Every transcript that can be read; each fault is reported in its place."""
    yield from read_files(find_inputs(tuple(paths)), wire_format, faults)


def read_files(
    files: Iterable[InputFile | Fault], wire_format: str | None, faults: FaultLog
) -> Iterator[tuple[Document, Transcript]]:
    """Every transcript of the files that can be read; each fault is reported in its place."""
    for item in read_documents(files):
        if isinstance(item, Fault):
            faults.report(item)
            continue
        if item.blank and item.layout == "jsonl":
            continue
        try:
            transcript = Transcript.from_json(item.data, format=wire_format)
        except TurnfoldError as error:
            faults.report(fault_of_error(item.file.shown, item.index, error, item.data))
            continue
        yield item, transcript
