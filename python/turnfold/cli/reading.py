"""What every command does first: PATH arguments in, transcripts out, and faults on stderr."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from turnfold.cli.faults import Fault, FaultLog, fault_of_error
from turnfold.cli.inputs import Document, InputFile, Wanted, find_inputs, read_documents
from turnfold.errors import ArgumentError, TurnfoldError
from turnfold.transcript import Transcript

INPUTS_HELP = """\
PATH is a file, a folder (walked for .json, .jsonl, .gz, .zst and .parquet; hidden files are passed over), a quoted
pattern ('logs/**/*.jsonl': ** goes into folders) or - for stdin.
A .json file holds one transcript: a request body with its messages, or a bare array of messages. A list of
transcripts is refused: write it as .jsonl, one transcript a line (blank lines are skipped, and a record's index
is the line's number from 0). .gz and .zst (with the package zstandard) are unpacked on the way. Of a .parquet file
(with the package pyarrow) each row is a transcript: its JSON, or its messages, in one column. stdin, and names
without a known suffix, are told apart by their first two lines. A log that an agent or another tool wrote is known by
its records and holds as many transcripts as there are in it, each with an id."""

if TYPE_CHECKING:
    import argparse

    from turnfold.containers import Log


def add_paths(parser: "argparse.ArgumentParser", *, least: Literal["*", "+"] = "+") -> None:
    """Add the options that every command has. `least` says whether there may be no PATH."""
    parser.add_argument("paths", metavar="PATH", nargs=least, help="file, folder or - for stdin")
    add_common(parser)


def add_common(parser: "argparse.ArgumentParser") -> None:
    """`--format`, `--container`, `--column` and `--json`."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--format",
        metavar="NAME",
        help="wire format (openai.chat, bedrock.converse, ...); default: detect",
    )
    group.add_argument("--container", metavar="NAME", help="kind of log (claude_code, sharegpt, ...); default: detect")
    parser.add_argument(
        "--column", metavar="NAME", help="column of a Parquet file's transcripts; default: the only one that can be it"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a transcript on stdout, one a line")


def add_encoding(parser: "argparse.ArgumentParser") -> None:
    """Add `--encoding` and `--model`."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--encoding",
        metavar="NAME",
        type=_encoding,
        help="o200k_base, cl100k_base, o200k_harmony, or the path of a tokenizer.json; default: that of the model",
    )
    group.add_argument("--model", metavar="NAME", help="count as this model does; default: the model in the body")


def register_encoding(name: str) -> None:
    """Register the vocabulary of an `--encoding` that is a path."""
    if Path(name).is_file():
        from turnfold.vocabularies import register_vocabulary

        register_vocabulary(name, name)


def _encoding(name: str) -> str:
    try:
        register_encoding(name)
    except (OSError, ArgumentError) as error:
        import argparse

        raise argparse.ArgumentTypeError(f"{name}: {error}") from None
    return name


def read_transcripts(paths: Iterable[str], wanted: Wanted, faults: FaultLog) -> Iterator[tuple[Document, Transcript]]:
    """Every transcript that can be read; each fault is reported in its place."""
    yield from read_files(find_inputs(tuple(paths)), wanted, faults)


def read_files(
    files: Iterable[InputFile | Fault], wanted: Wanted, faults: FaultLog
) -> Iterator[tuple[Document, Transcript]]:
    """Every transcript of the files that can be read; each fault is reported in its place."""
    for item in read_documents(files, wanted):
        if isinstance(item, Fault):
            faults.report(item)
            continue
        if item.is_gap:
            continue
        try:
            if item.is_log:
                log = log_of(item, wanted)
                found = transcripts_of(item, log)
                faults.passed_over(item.file.shown, log.reading.unread_lines)
            else:
                found = read_document(item, wanted)
        except TurnfoldError as error:
            faults.report(fault_of_error(item.file.shown, None if item.is_log else item.index, error, item.data))
            continue
        yield from found


def read_document(document: Document, wanted: Wanted) -> list[tuple[Document, Transcript]]:
    """Return the one transcript of a body, or all of a log. Raises a `TurnfoldError` for what cannot be read."""
    if document.is_log:
        return transcripts_of(document, log_of(document, wanted))
    return [(document, Transcript.from_json(document.data, format=wanted.format))]


def log_of(document: Document, wanted: Wanted) -> "Log":
    """Read a document that is a log."""
    from turnfold.containers import read_log

    return read_log(document.data, container=wanted.container)


def transcripts_of(document: Document, log: "Log") -> list[tuple[Document, Transcript]]:
    """Return each transcript of a log, with the document that names it."""
    return [
        (msgspec.structs.replace(document, index=index, id=logged.id), logged.transcript)
        for index, logged in enumerate(log.transcripts)
    ]


def wanted_of(options: "argparse.Namespace") -> Wanted:
    """Return what the options say of the inputs."""
    return Wanted(options.format, options.container, options.column)
