"""Inspect's `.eval` files: members that stay keep their bytes, compressed ones can be read or say why not."""

import io
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.errors import InvalidLogError, UnknownContainerError
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLE = (Path(__file__).parent / "samples" / "inspect_eval.eval").read_bytes()


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(data: bytes, how: int, comment: bytes = b"") -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", how) as archive:
        archive.comment = comment
        for name, content in members(data).items():
            archive.writestr(name, content)
    return target.getvalue()


def compacted(log: Log, identifier: str) -> CompactionResult:
    transcript = next(logged.transcript for logged in log.transcripts if logged.id == identifier)
    result = compact_sync(transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    return result


def test_only_the_sample_that_changed_differs():
    log = read_log(SAMPLE)
    assert log.transcripts[0].transcript.model == "small-model-1"
    written = log.write({"gauge/1": compacted(log, "gauge/1")})
    before, after = members(SAMPLE), members(written)
    assert list(after) == list(before)
    assert [name for name in before if before[name] != after[name]] == ["samples/gauge_epoch_1.json"]
    with zipfile.ZipFile(io.BytesIO(written)) as new, zipfile.ZipFile(io.BytesIO(SAMPLE)) as old:
        assert {i.filename: i.compress_type for i in new.infolist()} == {
            i.filename: i.compress_type for i in old.infolist()
        }


def test_deflated_samples_and_a_comment_stay():
    packed = repacked(SAMPLE, zipfile.ZIP_DEFLATED, b"kept")
    log = read_log(packed)
    written = log.write({"gauge/1": compacted(log, "gauge/1")})
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        assert archive.comment == b"kept"
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_DEFLATED}
    assert log.write() == packed


def as_zstandard(data: bytes) -> bytes:
    """The zip with each member as two frames of zstd, and method 93."""
    zstandard = pytest.importorskip("zstandard")
    pack = zstandard.ZstdCompressor().compress
    plain = members(data)
    stored = {name: pack(content[:100]) + pack(content[100:]) for name, content in plain.items()}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in stored.items():
            archive.writestr(name, content)
        for info in archive.infolist():
            info.compress_type, info.file_size = 93, len(plain[info.filename])
            info.CRC = zlib.crc32(plain[info.filename])
    return target.getvalue()


def test_samples_packed_with_zstd_read_the_same():
    log = read_log(as_zstandard(SAMPLE))
    ids = [logged.id for logged in read_log(SAMPLE).transcripts]
    assert [logged.id for logged in log.transcripts] == ids
    written = log.write({"gauge/1": compacted(log, "gauge/1")})
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        assert archive.getinfo("samples/gauge_epoch_1.json").compress_type == zipfile.ZIP_DEFLATED
        assert archive.getinfo("header.json").compress_type == 93


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the standard library unpacks zstd")
def test_without_a_decompressor_the_error_names_the_member_and_the_package(monkeypatch: pytest.MonkeyPatch):
    packed = as_zstandard(SAMPLE)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InvalidLogError, match=r"header.json is compressed with zstd: .*zstandard"):
        read_log(packed)


def test_a_damaged_sample_is_named():
    at = SAMPLE.index(b"samples/gauge_epoch_1.json") + 200
    broken = SAMPLE[:at] + b"#" + SAMPLE[at + 1 :]
    with pytest.raises(InvalidLogError, match=r"samples/gauge_epoch_1.json cannot be unpacked"):
        read_log(broken)


def test_another_zip_is_no_log():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("header.json", "{}")
    with pytest.raises(UnknownContainerError):
        read_log(target.getvalue())
    with pytest.raises(InvalidLogError, match="no zip"):
        read_log(b"{}", container="inspect_eval")
    torn = SAMPLE[:-40]
    with pytest.raises(UnknownContainerError):
        read_log(torn)
