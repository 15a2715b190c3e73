"""Evaluation logs of Inspect, in its `.eval` format: a zip with a JSON file a sample."""

import io
import re
import struct
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import ClassVar, Final

from turnfold.containers.document import Document, decode, text_of
from turnfold.containers.edits import apply_edits
from turnfold.containers.inspect import Inspect
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Reading
from turnfold.errors import InvalidLogError

_ZIP: Final = b"PK\x03\x04"
_ZSTANDARD: Final = 93
_SAMPLE: Final = re.compile(r"samples/[^/]+\.json")
_HEADERS: Final = ("header.json", "_journal/start.json")


class InspectEval(Inspect):
    """A zip with `header.json` (of a run that ended) or `_journal/start.json`, and `samples/<id>_epoch_<n>.json`.

    Each sample is read and written as one of Inspect's JSON format. Members that no result is written into keep their
    compressed bytes; a changed one that is compressed is deflated, which every version of Inspect reads.
    `summaries.json` and the journal stay: they say how the run went. Newer versions of Inspect compress with zstd:
    reading that needs Python 3.14 or the `zstandard` package, and raises an `InvalidLogError` without either.
    """

    name: ClassVar[str] = "inspect_eval"
    title: ClassVar[str] = "Inspect evaluation logs in its `.eval` format: a zip of `header.json` and `samples/*.json`."

    def recognise(self, document: Document) -> Mark | None:
        """See a zip with a header and samples, by its directory alone."""
        archive = _archive(document.data)
        if archive is None:
            return None
        names = set(archive.namelist())
        header = next((name for name in _HEADERS if name in names), None)
        if header is None or not any(map(_SAMPLE.fullmatch, names)):
            return None
        return Mark("proof", f"a zip with {header} and samples/")

    def read(self, document: Document) -> Reading:
        """Read every sample, in the zip's order. O(bytes unpacked)."""
        archive = _archive(document.data)
        if archive is None:
            raise InvalidLogError("This is no log of kind inspect_eval: it is no zip", 0, "")
        members = {info.filename: info for info in archive.infolist()}
        header = next((members[name] for name in _HEADERS if name in members), None)
        if header is None:
            raise InvalidLogError("This is no log of kind inspect_eval: the zip has no header.json", 0, "")
        head = {"model": text_of(decode(_unpacked(archive, header)), "eval", "model")}
        unread: Counter[str] = Counter()
        found: list[LoggedTranscript] = []
        for name, info in members.items():
            if _SAMPLE.fullmatch(name) is None:
                continue
            inner = Document(_unpacked(archive, info))
            conversations = [replace(c, head=head) for c in self.conversations(inner.value)]
            unread["sample without messages"] += not conversations
            for conversation in conversations:
                given, _, logged = self._read(inner, conversation, (), unread)
                found.append(replace(logged, id=given or name, path=(name, *conversation.path)))
        times = Counter(logged.id for logged in found)
        unique = (t if times[t.id] == 1 else replace(t, id=f"{t.id} ({t.path[0]})") for t in found)
        return Reading(tuple(unique), +unread)

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Write the changed samples; every other member keeps its bytes."""
        archive = zipfile.ZipFile(io.BytesIO(document.data))
        by_member: dict[str, list[Change]] = defaultdict(list)
        for change in changes:
            by_member[str(change.logged.path[0])].append(change)
        new: dict[str, bytes] = {}
        for name, own in by_member.items():
            inner = Document(_unpacked(archive, archive.getinfo(name)))
            edits = (edit for change in own for edit in self._edits(inner, change.logged.path[1:], change))
            new[name] = apply_edits(inner.data, edits)
        return _repacked(document.data, archive, new)


def _archive(data: bytes) -> zipfile.ZipFile | None:
    if not data.startswith(_ZIP):
        return None
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return None


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        if info.compress_type == _ZSTANDARD and sys.version_info < (3, 14):
            return _unpacked_zstandard(archive, info)
        return archive.read(info)
    except InvalidLogError:
        raise
    # A decompressor says in a way of its own that the bytes are damaged.
    except Exception as error:
        raise InvalidLogError(f"{info.filename} cannot be unpacked: {error}", info.header_offset, "") from error


def _unpacked_zstandard(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        zstandard = import_module("zstandard")
    except ImportError as error:
        raise InvalidLogError(
            f"{info.filename} is compressed with zstd: use Python 3.14, or install the package zstandard",
            info.header_offset,
            "",
        ) from error
    start, stop = _packed(archive, info)
    archive.fp.seek(start)  # type: ignore[union-attr]  # open until the archive is closed
    packed = archive.fp.read(stop - start)  # type: ignore[union-attr]
    # One member may hold several frames, one behind the other.
    with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
        return bytes(reader.read())


def _packed(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[int, int]:
    """Return where the packed bytes of a member stand, behind its local header."""
    archive.fp.seek(info.header_offset + 26)  # type: ignore[union-attr]  # open until the archive is closed
    name, extra = struct.unpack("<HH", archive.fp.read(4))  # type: ignore[union-attr]
    start = info.header_offset + 30 + name + extra
    return start, start + info.compress_size


def _repacked(data: bytes, archive: zipfile.ZipFile, new: Mapping[str, bytes]) -> bytes:
    """Return the zip with `new` contents of members by name, and all others as they are packed."""
    infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    stops = [info.header_offset for info in infos[1:]] + [archive.start_dir]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as out:
        out.comment = archive.comment
        for info, stop in zip(infos, stops, strict=True):
            if info.filename in new:
                fresh = zipfile.ZipInfo(info.filename, info.date_time)
                fresh.external_attr = info.external_attr
                stored = info.compress_type == zipfile.ZIP_STORED
                fresh.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                out.writestr(fresh, new[info.filename])
                continue
            # The standard library has no call that copies a member as it is packed.
            target.seek(out.start_dir)
            start, info.header_offset = info.header_offset, out.start_dir
            target.write(data[start:stop])
            out.filelist.append(info)
            out.NameToInfo[info.filename] = info
            out.start_dir = target.tell()
    return target.getvalue()


INSPECT_EVAL: Final = InspectEval()
