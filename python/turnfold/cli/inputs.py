"""Finds the files that a command is given and reads the transcripts in them, one at a time."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Final, Literal, Protocol

import msgspec

from turnfold.cli import parquet
from turnfold.cli.faults import Fault, fault_of_os_error
from turnfold.cli.packing import PackedDataError, packing_of, packing_of_data, unpacked, unpacked_name
from turnfold.cli.patterns import is_pattern, matches, split_pattern
from turnfold.errors import ColumnError, MissingExtraError

SUFFIXES = (".json", ".jsonl", ".gz", ".zst", ".parquet")
BLANK = b" \t\r\n"
_READ_BYTES: Final = 1 << 18
_TOLD_BY: Final = 1_024
"""How many bytes tell whether a file is text."""
_HEAD_LINES: Final = 64
_FEW_LINES: Final = 4
_HEAD_BYTES: Final = 1 << 19
"""A file of JSON lines is told by its first 64, or, where they are long, by those that begin in its first half of a
megabyte, but by 4 at least."""

Layout = Literal["json", "jsonl"]


class ByteStream(Protocol):
    """What is read: a file, stdin, or packed data on its way out."""

    def read(self, size: int = -1, /) -> bytes:
        """Return that many bytes, or all."""

    def __iter__(self) -> Iterator[bytes]:
        """Go by lines, which end with a line feed and nothing else."""


class InputFile(msgspec.Struct, frozen=True):
    """One file to read. `path` is None for stdin; `relative` is its name under an output folder."""

    path: Path | None
    shown: str
    relative: PurePath


class Wanted(msgspec.Struct, frozen=True):
    """What the command line says of all inputs: the wire format of bodies, or the container that all are logs of; and
    the column of tables that has the transcripts.
    """

    format: str | None = None
    container: str | None = None
    column: str | None = None


ANY: Final = Wanted()


class Document(msgspec.Struct, frozen=True):
    """The bytes of one transcript: a whole file, or one line without its line feed. Blank lines come with no data.

    A row of a table is a line. `index` is 0 for a whole file and the line's number, counted from 0, for JSON lines. A
    log is a whole file that holds several: with `id`, the one of them that has it, and `index` is its number in it.
    `is_log` is None where nobody has looked yet: `recognised` does.
    `read_bytes` is how much of the file, as it lies on the disk, was read when this was.
    """

    file: InputFile
    index: int
    data: bytes
    ending: bytes
    layout: Layout
    is_log: bool | None = False
    id: str | None = None
    read_bytes: int = 0

    @property
    def size(self) -> int:
        """The bytes of the transcript."""
        return len(self.data)

    @property
    def blank(self) -> bool:
        """Whether there is nothing to read here."""
        return not self.data.strip(BLANK)

    @property
    def is_gap(self) -> bool:
        """Whether it is a blank line, which stays one."""
        return self.blank and self.layout == "jsonl"


def find_inputs(arguments: Sequence[str], leave_out: Path | None = None) -> Iterator[InputFile | Fault]:
    """Find the files behind the command's PATH arguments, in order; folders are walked in name order.

    Hidden files are passed over, and so is everything under the folder `leave_out`.
    """
    for argument in arguments:
        if argument == "-":
            yield InputFile(None, "-", PurePath("stdin"))
            continue
        if not argument:
            yield Fault("''", None, "io_error", "the path is empty", "name a file or a folder")
            continue
        path = Path(argument)
        if is_pattern(argument):
            yield from _matching(argument, leave_out)
            continue
        try:
            path.stat()
        except (OSError, ValueError) as error:
            text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            yield Fault(show(argument), None, "io_error", text, "check the path")
            continue
        if path.is_dir():
            yield from _walk(path, leave_out)
        else:
            yield InputFile(path, show(argument), PurePath(path.name))


def _matching(pattern: str, leave_out: Path | None) -> Iterator[InputFile | Fault]:
    """Find the files that match; of a pattern that names no suffix, those that a folder is walked for."""
    folder, rest = split_pattern(pattern)
    any_suffix = "." in rest.rpartition("/")[2]
    skipped = leave_out.resolve() if leave_out is not None else None
    found = 0
    for path in matches(pattern):
        if skipped is not None and path.resolve().is_relative_to(skipped):
            continue
        if path.is_file() and (any_suffix or path.name.lower().endswith(SUFFIXES)):
            found += 1
            yield InputFile(path, show(str(path)), path.relative_to(folder))
    if not found:
        yield Fault(show(pattern), None, "no_input", "no file matches", "check the pattern; ** goes into folders")


def _walk(folder: Path, leave_out: Path | None) -> Iterator[InputFile | Fault]:
    problems: list[OSError] = []
    skipped = leave_out.resolve() if leave_out is not None else None
    found = 0
    for where, folders, names in os.walk(folder, onerror=problems.append):
        here = Path(where)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and (here / name).resolve() != skipped)
        for name in sorted(names):
            path = here / name
            if not name.startswith(".") and name.lower().endswith(SUFFIXES) and path.is_file():
                found += 1
                yield InputFile(path, show(str(path)), path.relative_to(folder))
    for problem in problems:
        yield fault_of_os_error(show(str(problem.filename)), None, problem)
    if not found and not problems:
        yield Fault(
            show(str(folder)), None, "no_input", "no transcript in this folder", f"name files {', '.join(SUFFIXES)}"
        )


def show(path: str) -> str:
    """Return a path as text that can be printed and encoded, even where the file name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_documents(files: Iterable[InputFile | Fault], wanted: Wanted = ANY) -> Iterator[Document | Fault]:
    """All transcripts of all files, in order, in the memory of one transcript; a log comes as one document."""
    for file in files:
        if isinstance(file, Fault):
            yield file
        else:
            yield from read_file(file, wanted)


def read_file(file: InputFile, wanted: Wanted = ANY, *, recognise: bool = True) -> Iterator[Document | Fault]:
    """Read the transcripts of one file; blank lines come too. A read error ends the file with a fault.

    With `recognise`, a file that is one text is told from a log, which takes longer than to read it.
    """
    index = 0
    try:
        for document in _documents(file, wanted):
            index = document.index + 1
            yield recognised(document, wanted) if recognise else document
    except EOFError:
        yield Fault(file.shown, index or None, "io_error", "the compressed data ends early", "copy the file again")
    except PackedDataError as error:
        yield Fault(file.shown, index or None, "io_error", str(error), "check the file")
    except MissingExtraError as error:
        yield Fault(file.shown, None, error.code, error.text, "install it and run the command again")
    except ColumnError as error:
        yield Fault(file.shown, None, error.code, error.text, "--column NAME says which one it is")
    except OSError as error:
        yield fault_of_os_error(file.shown, index or None, error)


def _documents(file: InputFile, wanted: Wanted) -> Iterator[Document]:
    table = table_of(file, wanted)
    if table is not None:
        size = table.path.stat().st_size
        for index, (cell, share) in enumerate(parquet.cells(table)):
            yield Document(file, index, cell, b"\n", "jsonl", read_bytes=int(size * share))
        return
    with _open(file) as (stream, position):
        yield from _split(file, stream, position, wanted)


def recognised(document: Document, wanted: Wanted) -> Document:
    """Return the document, which now says whether it is a log."""
    if document.is_log is not None:
        return document
    return msgspec.structs.replace(document, is_log=_is_log(document.data, wanted))


def table_of(file: InputFile, wanted: Wanted) -> parquet.Table | None:
    """Return the table that a file is, None where it is none."""
    if file.path is None or not parquet.is_table(file.path.name):
        return None
    return parquet.Table(file.path, wanted.column)


@contextmanager
def _open(file: InputFile) -> Iterator[tuple[ByteStream, Callable[[], int]]]:
    """Open a file, and what says how much of it was read."""
    if file.path is None:
        stdin = sys.stdin.buffer
        packing = packing_of_data(stdin.peek(4)[:4] if hasattr(stdin, "peek") else b"")
        yield stdin if packing is None else unpacked(stdin, packing), lambda: 0
        return
    with file.path.open("rb", buffering=_READ_BYTES) as stream:
        packing = packing_of(file.path.name)
        position = stream.tell if stream.seekable() else lambda: 0
        yield stream if packing is None else unpacked(stream, packing), position


def named_layout(name: str) -> Layout | None:
    """Say what the file's name says of its layout; None where it says nothing."""
    stem = unpacked_name(name)
    if stem.endswith(".jsonl"):
        return "jsonl"
    return "json" if stem.endswith(".json") else None


def _split(file: InputFile, stream: ByteStream, position: Callable[[], int], wanted: Wanted) -> Iterator[Document]:
    layout = named_layout(file.path.name) if file.path is not None else None
    lines = iter(stream)
    head: list[bytes] = []
    if layout is None:
        layout = "jsonl" if _looks_like_lines(lines, head) else "json"
    if layout == "json":
        data = b"".join(head) + stream.read()
        yield Document(file, 0, data, b"", "json", is_log=None, read_bytes=position())
        return
    _read_head(lines, head)
    start = b"".join(head)
    if b"\0" in start[:_TOLD_BY]:
        # No JSON has this byte. The file is of another encoding, or no text, which is one fault and not one a line.
        yield Document(file, 0, start + stream.read(), b"", "json", read_bytes=position())
        return
    if _is_log(start, wanted):
        yield Document(file, 0, start + stream.read(), b"", "jsonl", is_log=True, read_bytes=position())
        return
    yield from _lines(file, head, 0, position)
    yield from _lines(file, lines, len(head), position)


def _read_head(lines: Iterator[bytes], head: list[bytes]) -> None:
    size = sum(map(len, head))
    while len(head) < (_HEAD_LINES if size < _HEAD_BYTES else _FEW_LINES):
        line = next(lines, None)
        if line is None:
            return
        head.append(line)
        size += len(line)


def _is_log(start: bytes, wanted: Wanted) -> bool:
    """Whether a container knows the file by its start, or the command line says so. Less than that leaves it a body."""
    if wanted.container is not None or wanted.format is not None:
        return wanted.container is not None
    # The readers of all kinds of log take longer to load than the rest of a command.
    from turnfold import containers

    return containers.is_log(containers.Document(start))


def _lines(file: InputFile, lines: Iterable[bytes], start: int, position: Callable[[], int]) -> Iterator[Document]:
    for index, line in enumerate(lines, start):
        ending = b"\n" if line.endswith(b"\n") else b""
        yield Document(file, index, line[: len(line) - len(ending)], ending, "jsonl", read_bytes=position())


def _looks_like_lines(lines: Iterator[bytes], head: list[bytes]) -> bool:
    """Read up to the second line that is not blank into `head` and tell JSON lines from one JSON text.

    A first line that is a whole text leaves nothing for the second one to go on with. In one JSON text a bracket that
    opens can only follow `,`, `:` or another opening bracket; so a second line that starts with one after a line that
    ends otherwise begins a text of its own.
    """
    first = b""
    for line in lines:
        head.append(line)
        stripped = line.strip(BLANK)
        if not stripped:
            continue
        if not first:
            first = stripped
            continue
        return _is_whole(first) or (stripped[:1] in (b"{", b"[") and first[-1:] not in (b",", b":", b"[", b"{"))
    return False


def _is_whole(line: bytes) -> bool:
    if line[:1] not in (b"{", b"["):
        return False
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
