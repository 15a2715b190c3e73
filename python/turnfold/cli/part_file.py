"""A file that is written over several runs: it grows beside its place and is moved into it when it is whole."""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO, Final

from turnfold.cli.packing import packed, packing_of
from turnfold.cli.parquet import Table, is_table, line_of, write_table

_WRITTEN_BYTES: Final = 1 << 20
"""Written at a time: of a document and its line's end each time, the system takes half as long again for as many
bytes."""
_MEMBER_BYTES: Final = 4 << 20
"""Data of one gzip member, or zstd frame. They end where documents do, at places that do not depend on when a run was
stopped."""


class PartFile:
    """The hidden file `.NAME.turnfold-part` beside `path`, from its first `size` bytes on.

    Of a table it has the rows' new cells, and `finish` writes the whole `table` beside it.

    Raises OSError; `size` bytes that are not there are an OSError, too.
    """

    def __init__(self, path: Path, size: int = 0, table: Table | None = None) -> None:
        self.path = path
        self.part = part_of(path)
        self._pending = bytearray()
        self._packing = packing_of(path.name)
        self._table = table
        self._stream: BinaryIO = self.part.open("r+b" if size else "wb", buffering=_WRITTEN_BYTES)
        try:
            self._cut(size)
        except BaseException:
            self._stream.close()
            raise
        self._size = size

    def _cut(self, size: int) -> None:
        if self._stream.seek(0, os.SEEK_END) < size:
            raise OSError(f"{self.part} is shorter than its journal says")
        self._stream.truncate(size)
        self._stream.seek(size)

    def write(self, data: bytes | memoryview, ending: bytes) -> None:
        """Append one document and its line's end."""
        if self._table is not None:
            data = line_of(bytes(data))
            ending = b""
        if self._packing is None:
            self._stream.write(data)
            self._stream.write(ending)
            self._size += len(data) + len(ending)
            return
        self._pending += data
        self._pending += ending
        if len(self._pending) >= _MEMBER_BYTES:
            self._end_member()

    def _end_member(self) -> None:
        if self._pending and self._packing is not None:
            member = packed(self._pending, self._packing)
            self._stream.write(member)
            self._size += len(member)
            self._pending.clear()

    def settled(self) -> int | None:
        """Hand everything to the operating system: the bytes that are safe from a kill now.

        None in the middle of a member, where a run cannot go on.
        """
        if self._pending:
            return None
        self._stream.flush()
        return self._size

    def finish(self) -> int:
        """Write what is left, down to the disk, and return the output's size; `move` comes next."""
        self._end_member()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        if self._table is None:
            return self._size
        whole = _finished_of(self.path)
        with self.part.open("rb") as lines, whole.open("wb") as out:
            write_table(self._table, lines, out)
            out.flush()
            os.fsync(out.fileno())
        return whole.stat().st_size

    @property
    def size(self) -> int:
        """The bytes of the part file, without what `settled` and `finish` have still to write."""
        return self._size

    def close(self) -> None:
        """Leave the part file as it is, for a run that goes on."""
        with contextlib.suppress(OSError):
            self._stream.close()

    def discard(self) -> None:
        """Take the part file away."""
        self.close()
        for path in {self.part, _finished_of(self.path)}:
            with contextlib.suppress(OSError):
                path.unlink()


def part_of(path: Path) -> Path:
    """Where the part file of an output lies."""
    return path.with_name(f".{path.name}.turnfold-part")


def _finished_of(path: Path) -> Path:
    """Where an output that is finished waits to be moved: it is the part file, except of a table."""
    return path.with_name(f".{path.name}.turnfold-table") if is_table(path.name) else part_of(path)


def move(path: Path) -> None:
    """Move a finished output into its place; `settle` comes next."""
    _finished_of(path).replace(path)
    if is_table(path.name):
        part_of(path).unlink(missing_ok=True)


def settle(folder: Path) -> None:
    """Get the entries of a folder, and so what was moved in it, down to the disk."""
    if os.name != "nt":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
