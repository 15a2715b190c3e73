"""gzip and zstd, by the suffix of a file's name."""

import gzip
import io
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, Protocol

from turnfold.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

Packing = Literal["gz", "zst"]

_PIECE_BYTES: Final = 1 << 17
_GZIP_LEVEL: Final = 6
_ZSTD_LEVEL: Final = 3


class PackedDataError(Exception):
    """Packed data is damaged. The message says how."""


class ByteSink(Protocol):
    """What is written: a file, or packed data on its way into one."""

    def write(self, data: bytes, /) -> int:
        """Take bytes."""

    def flush(self) -> None:
        """Pass on what was taken."""

    def close(self) -> None:
        """Finish."""


def packing_of(name: str) -> Packing | None:
    """How a file of that name is packed."""
    lower = name.lower()
    if lower.endswith(".gz"):
        return "gz"
    return "zst" if lower.endswith(".zst") else None


def unpacked_name(name: str) -> str:
    """Return the name in lower case, without the suffix of its packing."""
    return name.lower().removesuffix(".gz").removesuffix(".zst")


def packing_of_data(head: bytes) -> Packing | None:
    """How data is packed that starts so; 4 bytes tell."""
    if head.startswith(b"\x1f\x8b"):
        return "gz"
    return "zst" if head.startswith(b"\x28\xb5\x2f\xfd") else None


def unpacked(stream: BinaryIO, packing: Packing) -> io.BufferedReader:
    """Return the stream of what is packed in `stream`.

    Reading raises EOFError where the data ends early, and `PackedDataError` where it is damaged. Raises
    `MissingExtraError` where zstd cannot be read.
    """
    if packing == "gz":
        return io.BufferedReader(_Gzip(stream), _PIECE_BYTES)
    return io.BufferedReader(_Frames(stream, zstandard()), _PIECE_BYTES)


def packed(data: bytes | bytearray, packing: Packing) -> bytes:
    """Pack data as one member, or frame: the bytes depend on the data alone."""
    if packing == "gz":
        return gzip.compress(data, _GZIP_LEVEL, mtime=0)
    frame: bytes = zstandard().ZstdCompressor(level=_ZSTD_LEVEL).compress(data)
    return frame


def packing_sink(raw: BinaryIO, packing: Packing) -> ByteSink:
    """Return what packs all that is written to it into `raw`; closing it leaves `raw` open."""
    if packing == "gz":
        return gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=_GZIP_LEVEL, mtime=0)
    sink: ByteSink = zstandard().ZstdCompressor(level=_ZSTD_LEVEL).stream_writer(raw, closefd=False)
    return sink


def zstandard() -> "ModuleType":
    """Return the package that reads and writes zstd. Raises `MissingExtraError` without it."""
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError("zstd needs the package zstandard: pip install 'turnfold[zstd]'") from error
    return zstandard


class _Gzip(io.RawIOBase):
    """What gzip data unpacks to, with one kind of error."""

    def __init__(self, stream: BinaryIO) -> None:
        self._file = gzip.GzipFile(fileobj=stream)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]  # RawIOBase gives what can be written to
        try:
            return self._file.readinto(view)
        except (gzip.BadGzipFile, zlib.error) as error:
            raise PackedDataError(f"not gzip data: {error}") from None


class _Frames(io.RawIOBase):
    """What zstd frames unpack to, one after the other. An end within a frame is an error, not an end."""

    def __init__(self, stream: BinaryIO, zstandard: "ModuleType") -> None:
        self._stream = stream
        self._decompressor = zstandard.ZstdDecompressor()
        self._error: type[Exception] = zstandard.ZstdError
        self._frame = self._decompressor.decompressobj()
        self._begun = False
        self._left = b""
        self._waiting = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]  # RawIOBase gives what can be written to
        while not self._waiting:
            packed = self._left or self._stream.read(_PIECE_BYTES)
            self._left = b""
            if not packed:
                if self._begun:
                    raise EOFError
                return 0
            self._begun = True
            try:
                self._waiting = memoryview(self._frame.decompress(packed))
            except self._error as error:
                raise PackedDataError(f"not zstd data: {error}") from None
            if self._frame.eof:
                self._left, self._begun = self._frame.unused_data, False
                self._frame = self._decompressor.decompressobj()
        size = min(len(view), len(self._waiting))
        view[:size] = self._waiting[:size]
        self._waiting = self._waiting[size:]
        return size
