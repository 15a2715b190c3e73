"""Where the transcripts of a file of JSON lines lie: found in little memory, and read by who works on them."""

import os
from collections.abc import Iterator
from io import FileIO
from types import TracebackType
from typing import Final, Self

import msgspec

from turnfold.cli.faults import Fault, fault_of_os_error
from turnfold.cli.inputs import BLANK, Document, InputFile, Wanted, read_file, table_of
from turnfold.cli.packing import packing_of

_LEAST_BYTES: Final = 2 << 20
"""Of a smaller file the documents are read at once: what tells its layout is a good part of it."""
_BLOCK_BYTES: Final = 1 << 20


class Source(msgspec.Struct, frozen=True):
    """A file as it was when it was looked through: whatever takes its name meanwhile is another one."""

    file: InputFile
    device: int
    inode: int


class Extent(msgspec.Struct, frozen=True):
    """The bytes `start..stop` of a file, without its line's end: a document that is not read yet, and no blank line."""

    source: Source
    index: int
    start: int
    stop: int
    ending: bytes

    @property
    def file(self) -> InputFile:
        """The file that it is in."""
        return self.source.file

    @property
    def size(self) -> int:
        """The bytes of the transcript."""
        return self.stop - self.start

    @property
    def read_bytes(self) -> int:
        """How much of the file lies up to its end."""
        return self.stop + len(self.ending)

    @property
    def is_gap(self) -> bool:
        """Whether it is a blank line."""
        return False


def read_extents(file: InputFile, wanted: Wanted) -> Iterator[Document | Extent | Fault]:
    """Look through one file as `read_file` reads it: what is JSON lines, neither packed nor small, comes as extents."""
    items = read_file(file, wanted, recognise=False)
    if not _may_lie(file, wanted):
        yield from items
        return
    first = next(items, None)
    if first is None:
        return
    if isinstance(first, Fault) or first.layout != "jsonl" or first.is_log:
        yield first
        yield from items
        return
    # The file is looked through from its start: of what told the layout nothing is kept.
    del items
    index = 0
    try:
        for item in _extents(file):
            index = item.index + 1
            yield item
    except OSError as error:
        yield fault_of_os_error(file.shown, index or None, error)


def _may_lie(file: InputFile, wanted: Wanted) -> bool:
    if file.path is None or packing_of(file.path.name) is not None or table_of(file, wanted) is not None:
        return False
    try:
        return file.path.is_file() and file.path.stat().st_size >= _LEAST_BYTES
    except OSError:
        return False


def _extents(file: InputFile) -> Iterator[Document | Extent]:
    if file.path is None:
        return
    with file.path.open("rb", buffering=0) as stream:
        state = os.fstat(stream.fileno())
        source = Source(file, state.st_dev, state.st_ino)
        block = bytearray(_BLOCK_BYTES)
        index = start = at = 0
        gap: bytearray | None = bytearray()
        while count := stream.readinto(block):
            begun = 0
            while (end := block.find(b"\n", begun, count)) >= 0:
                gap = _longer(gap, block, begun, end)
                yield _item(Extent(source, index, start, at + end, b"\n"), gap)
                index, start, begun, gap = index + 1, at + end + 1, end + 1, bytearray()
            gap = _longer(gap, block, begun, count)
            at += count
        if at > start:
            yield _item(Extent(source, index, start, at, b""), gap)


def _longer(gap: bytearray | None, block: bytearray, begun: int, end: int) -> bytearray | None:
    """Return the line up to here where it is blank, else None."""
    if gap is None or (begun < end and block[begun] not in BLANK):
        return None
    part = block[begun:end]
    if part.strip(BLANK):
        return None
    gap += part
    return gap


def _item(extent: Extent, gap: bytearray | None) -> Document | Extent:
    if gap is None:
        return extent
    return Document(extent.file, extent.index, bytes(gap), extent.ending, "jsonl", read_bytes=extent.read_bytes)


class Fetching:
    """Reads the documents of extents, and keeps the last one's file open. Use it as a context manager."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._stream: FileIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._source = self._stream = None

    def document(self, extent: Extent) -> Document:
        """Read one. Raises OSError, also where the file is another one meanwhile, or a shorter one."""
        stream = self._opened(extent.source)
        stream.seek(extent.start)
        data = stream.read(extent.size)
        while len(data) < extent.size:
            more = stream.read(extent.size - len(data))
            if not more:
                raise OSError("the file has become shorter while it was read")
            data += more
        return Document(extent.source.file, extent.index, data, extent.ending, "jsonl", read_bytes=extent.read_bytes)

    def _opened(self, source: Source) -> FileIO:
        if self._stream is not None and self._source == source:
            return self._stream
        self._close()
        if source.file.path is None:
            raise OSError("stdin is read once")
        # Not buffered: a document is read by one call, and nothing behind it.
        self._stream = stream = source.file.path.open("rb", buffering=0)
        state = os.fstat(stream.fileno())
        if (state.st_dev, state.st_ino) != (source.device, source.inode):
            raise OSError("another file has taken its name while it was read")
        self._source = source
        return stream
