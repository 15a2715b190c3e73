"""Where compacted transcripts go: names mirrored under OUT, written beside their place and moved into it at the end."""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, BinaryIO, Final, Self, TextIO, get_args

import msgspec

from turnfold.cli.faults import UsageError
from turnfold.cli.inputs import SUFFIXES, InputFile, Layout, named_layout, show
from turnfold.cli.packing import ByteSink, Packing, packing_of, packing_sink, zstandard
from turnfold.cli.parquet import Table, TableSink, is_table
from turnfold.cli.patterns import is_pattern
from turnfold.errors import MissingExtraError

if TYPE_CHECKING:
    import argparse

NO_FILES: Final[Mapping[str, str]] = MappingProxyType({})


class Target(msgspec.Struct, frozen=True):
    """An input and the file that its compacted transcripts go to. `path` is None for stdout."""

    file: InputFile
    path: Path | None

    @property
    def shown(self) -> str:
        """The target's name for people and records."""
        return "-" if self.path is None else show(str(self.path))

    def named_for(self, layout: Layout) -> "Target":
        """Return the target with the suffix that stdin had no name to give."""
        if self.path is None or not self._lacks_suffix:
            return self
        return Target(self.file, self.path.with_suffix(f".{layout}"))

    @property
    def places(self) -> tuple[Path, ...]:
        """Where it may come to lie: which suffix stdin gets is known only when it is read."""
        if self.path is None or not self._lacks_suffix:
            return () if self.path is None else (self.path,)
        return tuple(self.path.with_suffix(f".{layout}") for layout in get_args(Layout))

    @property
    def _lacks_suffix(self) -> bool:
        return self.path is not None and self.file.path is None and not self.path.suffix and not self.path.exists()


def out_is_file(out: str, arguments: Sequence[str]) -> bool:
    """Whether OUT names one file: one input that is no folder, and an OUT that is no folder and looks like a file.

    So does one with the suffix of the input: logs have suffixes of their own, such as `.traj`, `.af` and `.md`.
    """
    if (
        len(arguments) != 1
        or is_pattern(arguments[0])
        or Path(arguments[0]).is_dir()
        or Path(out).is_dir()
        or out.endswith(os.sep)
    ):
        return False
    suffix = Path(arguments[0]).suffix
    return Path(out).exists() or out.lower().endswith(SUFFIXES) or (suffix != "" and Path(out).suffix == suffix)


def files_read(options: "argparse.Namespace") -> dict[str, str]:
    """Return the files that are read because an option names them, by the option; there may be no such file."""
    named = {f"--{name}": getattr(options, name, None) for name in ("plan", "encoding")}
    return {option: name for option, name in named.items() if name is not None}


def plan_targets(
    files: Sequence[InputFile],
    out: str,
    arguments: Sequence[str],
    read: Mapping[str, str] = NO_FILES,
    written: Mapping[str, str] = NO_FILES,
) -> list[Target]:
    """One target for each input, or a UsageError that says why OUT cannot take them. Writes nothing.

    Neither they nor the files to be `written` besides, by the options that name them, take the place of an input, of
    a file `read` besides, or of each other.
    """
    if not out:
        raise UsageError("OUT is empty: name a folder or a file")
    if out == "-":
        if len(files) > 1:
            raise UsageError("-o - takes one input: name a folder as OUT")
        if any(file.path is not None and is_table(file.path.name) for file in files):
            raise UsageError("-o - takes no table: name a file or a folder as OUT")
        targets = [Target(file, None) for file in files]
    elif out_is_file(out, arguments):
        targets = [Target(file, _same_kind(file, Path(out))) for file in files]
    else:
        if Path(out).exists() and not Path(out).is_dir():
            raise UsageError(f"OUT {show(out)} is a file and there is more than one input: name a folder")
        targets = [Target(file, Path(out) / file.relative) for file in files]
    _refuse_collisions(targets, read, written)
    return targets


def _same_kind(file: InputFile, out: Path) -> Path:
    if file.path is None or not any(_kind(file.path)):
        if is_table(out.name):
            raise UsageError(f"OUT {show(str(out))}: a table is written from a table only")
        if packing_of(out.name) == "zst":
            try:
                zstandard()
            except MissingExtraError as error:
                raise UsageError(f"OUT {show(str(out))}: {error.text}") from None
        return out
    if _kind(file.path) != _kind(out):
        raise UsageError(f"OUT keeps the input's format: {show(str(out))} is not named like {file.shown}")
    return out


def _kind(path: Path) -> tuple[Layout | None, Packing | None, bool]:
    return named_layout(path.name), packing_of(path.name), is_table(path.name)


def _refuse_collisions(targets: Sequence[Target], read: Mapping[str, str], written: Mapping[str, str]) -> None:
    inputs = {state: target.file.shown for target in targets if (state := _identity(target.file.path, sys.stdin))}
    for option, name in read.items():
        if state := _identity(Path(name), sys.stdin):
            inputs.setdefault(state, f"{show(name)} of {option}")
    taken: dict[str, InputFile] = {}
    for target in targets:
        if target.path is None:
            _refuse_input("OUT", _identity(None, sys.stdout), inputs)
        for path in target.places:
            place = os.path.realpath(path)
            if place in taken:
                raise UsageError(_collision(taken[place], target.file, path))
            taken[place] = target.file
            # By the path that it will have: the way there may lead through folders that are made first.
            _refuse_input("OUT", _identity(Path(place), sys.stdout), inputs)
            if path.exists() and not path.is_file():
                raise UsageError(f"OUT {show(str(path))} is there and no regular file: name another place")
    options: dict[str, str] = {}
    for option, name in written.items():
        place, shown = os.path.realpath(name), f"{option} {show(name)}"
        _refuse_input(shown, _identity(Path(place), sys.stdout), inputs)
        if place in taken:
            raise UsageError(f"{shown} is the output of {taken[place].shown}, too: name another file")
        if place in options:
            raise UsageError(f"{shown} is that of {options[place]}, too: name another file")
        if Path(place).is_dir():
            raise UsageError(f"{shown} is a folder: name a file")
        options[place] = option


def _collision(first: InputFile, second: InputFile, path: Path) -> str:
    if first.path is not None and second.path is not None and first.path.samefile(second.path):
        return f"{second.shown} is named twice, as {first.shown} before: name it once"
    return f"{first.shown} and {second.shown} would both be written to {show(str(path))}"


def _refuse_input(named: str, written: tuple[int, int] | None, inputs: Mapping[tuple[int, int], str]) -> None:
    if written is not None and written in inputs:
        raise UsageError(f"{named} would overwrite the input {inputs[written]}: name another place")


def _identity(path: Path | None, stream: TextIO) -> tuple[int, int] | None:
    """Return device and inode of the file at `path`, or of the file that `stream` is; None for anything else."""
    try:
        state = os.fstat(stream.fileno()) if path is None else path.stat()
    except (OSError, ValueError):
        return None
    return (state.st_dev, state.st_ino) if stat.S_ISREG(state.st_mode) else None


def make_room(targets: Sequence[Target]) -> None:
    """Make the folders that the targets need; raises OSError before anything is read where that cannot be done."""
    for folder in {target.path.parent for target in targets if target.path is not None}:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


class AtomicFile:
    """A file that appears under its name only when it is whole; until then nothing under that name changes.

    The bytes go to a hidden file in the same folder, which `commit` moves into place. Leaving the block without
    `commit` removes it. With no path, bytes go to stdout as they come. Of a `table` each write is a row's new cell.
    """

    def __init__(self, target: Target, table: Table | None = None) -> None:
        self._path = target.path
        self._packing = None if target.path is None else packing_of(target.path.name)
        self._table = table
        self._temporary: Path | None = None
        self._raw: BinaryIO | None = None
        self._stream: ByteSink | None = None

    def __enter__(self) -> Self:
        return self

    def write(self, data: bytes) -> None:
        """Append bytes; the first call makes the folders and the hidden file."""
        if self._path is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        if self._stream is None:
            self._stream = self._open(self._path)
        self._stream.write(data)

    def _open(self, path: Path) -> ByteSink:
        temporary = path.with_name(f".turnfold-{os.urandom(8).hex()}.part")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        self._temporary = temporary
        self._raw = os.fdopen(descriptor, "wb")
        if self._table is not None:
            return TableSink(self._raw, self._table)
        return self._raw if self._packing is None else packing_sink(self._raw, self._packing)

    def commit(self) -> None:
        """Move the file into its place. With nothing written, there is nothing to move."""
        if self._path is None or self._raw is None or self._stream is None or self._temporary is None:
            return
        self._stream.flush()
        if self._stream is not self._raw:
            self._stream.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        self._raw.close()
        self._temporary.replace(self._path)
        self._temporary = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._temporary is None:
            return
        for stream in (self._stream, self._raw):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is no transcript, whole or not at all."""
    with AtomicFile(Target(InputFile(None, "-", path), path)) as out:
        out.write(data)
        out.commit()
