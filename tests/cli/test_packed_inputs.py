"""zstd beside gzip, quoted patterns, and how far a run is in packed files."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnfold.cli.batch_totals import Totals
from turnfold.cli.progress import line_of
from turnfold.testing.generators import openai_chat

zstandard = pytest.importorskip("zstandard")

OPTIONS = ["--limit-tokens", "1200"]


def lines(count: int, first: int = 0) -> bytes:
    return b"".join(json.dumps(openai_chat(first + k, turns=4)).encode() + b"\n" for k in range(count))


def packed(data: bytes) -> bytes:
    """Two frames, as appending to a file makes them."""
    half = len(data) // 2
    return b"".join(zstandard.ZstdCompressor().compress(part) for part in (data[:half], data[half:]))


def unpack(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()


@pytest.mark.parametrize("command", ["compact", "batch"])
def test_zstd_goes_in_and_comes_out(run, tmp_path, command):
    data = lines(9)
    plain, zst = tmp_path / "a" / "x.jsonl", tmp_path / "b" / "x.jsonl.zst"
    for path, content in ((plain, data), (zst, packed(data))):
        path.parent.mkdir()
        path.write_bytes(content)
    for folder in (plain.parent, zst.parent):
        assert run(command, folder, "-o", f"{folder}-out", *OPTIONS).status == 0
    written = (tmp_path / "b-out" / "x.jsonl.zst").read_bytes()
    assert unpack(written) == (tmp_path / "a-out" / "x.jsonl").read_bytes() != data
    again = run(command, zst, "-o", tmp_path / "one.jsonl.zst", *OPTIONS)
    assert again.status == 0
    assert unpack((tmp_path / "one.jsonl.zst").read_bytes()) == unpack(written)
    refused = run(command, zst, "-o", tmp_path / "one.jsonl.gz", *OPTIONS)
    assert (refused.status, "OUT keeps the input's format" in refused.err) == (2, True)


def test_zstd_from_stdin(run):
    assert len(run("count", "-", "--json", stdin=packed(lines(3))).records) == 3


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_damaged_and_cut_data_are_faults(run, tmp_path, suffix):
    data = lines(40)
    whole = packed(data) if suffix == "zst" else gzip.compress(data)
    cut, damaged = tmp_path / f"cut.jsonl.{suffix}", tmp_path / f"damaged.jsonl.{suffix}"
    cut.write_bytes(whole[:-9])
    damaged.write_bytes(b"this is not packed at all")
    ran = run("batch", cut, damaged, "-o", tmp_path / "out", *OPTIONS, "--json")
    assert ran.status == 1
    assert "the compressed data ends early" in ran.err
    assert f"not {'zstd' if suffix == 'zst' else 'gzip'} data" in ran.err
    assert not (tmp_path / "out" / damaged.name).exists()


def test_without_the_package_zstd_is_a_clear_error(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (source / "b.jsonl").write_bytes(lines(2))
    ran = run("batch", source, "-o", tmp_path / "out", *OPTIONS, "--json")
    assert ran.status == 1
    assert "pip install 'turnfold[zstd]'" in ran.err
    assert [record["reason"] for record in ran.records if record["status"] == "failed"] == ["missing_extra"]
    assert (tmp_path / "out" / "b.jsonl").exists()
    assert not (tmp_path / "out" / "a.jsonl.zst").exists()
    refused = run("compact", "-", "-o", tmp_path / "x.json.zst", *OPTIONS, stdin=lines(1))
    assert (refused.status, "pip install 'turnfold[zstd]'" in refused.err) == (2, True)


@pytest.fixture
def tree(tmp_path):
    for name in ("a.jsonl", "sub/b.jsonl", "sub/deep/c.json", "sub/notes.txt", ".hidden/d.jsonl", "sub/e.log"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines(1, len(name)))
    return tmp_path / "in"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.jsonl", ["a.jsonl"]),
        ("**/*.jsonl", ["a.jsonl", "sub/b.jsonl"]),
        ("**", ["a.jsonl", "sub/b.jsonl", "sub/deep/c.json"]),
        ("*/b*", ["sub/b.jsonl"]),
        ("sub/[ab].jsonl", ["sub/b.jsonl"]),
        ("**/*.log", ["sub/e.log"]),
        (".h*/*", [".hidden/d.jsonl"]),
        ("**/c.json", ["sub/deep/c.json"]),
    ],
)
def test_a_quoted_pattern(run, tree, tmp_path, pattern, found):
    ran = run("count", f"{tree}/{pattern}", "--json")
    assert (ran.status, [record["path"] for record in ran.records]) == (0, [f"{tree}/{name}" for name in found])
    out = tmp_path / "out"
    assert run("batch", f"{tree}/{pattern}", "-o", out, *OPTIONS).status == 0
    kept = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    # Mirrored below the folder that the pattern begins in.
    below = [name.removeprefix("sub/") if pattern.startswith("sub/") else name for name in found]
    assert [name for name in kept if name != ".turnfold-journal"] == sorted(below)


def test_a_pattern_that_matches_nothing_and_a_name_with_a_bracket(run, tree, tmp_path):
    ran = run("count", f"{tree}/*.nothing")
    assert (ran.status, "no file matches" in ran.err) == (2, True)
    odd = tree / "[a].jsonl"
    odd.write_bytes(lines(1))
    assert run("count", odd, "--json").records[0]["path"] == str(odd)


def test_a_pattern_follows_no_loop_and_leaves_out_what_was_written(run, tree):
    (tree / "sub" / "loop").symlink_to(tree)
    out = tree / "out"
    assert run("batch", f"{tree}/**/*.jsonl", "-o", out, *OPTIONS, "--json").status == 0
    again = run("batch", f"{tree}/**/*.jsonl", "-o", out, *OPTIONS, "--restart", "--json")
    assert [record["path"] for record in again.records] == [f"{tree}/a.jsonl", f"{tree}/sub/b.jsonl"]


def test_time_left_is_told_by_the_bytes_of_the_files():
    totals = Totals(documents=10, bytes=10_000, read_bytes=100, resumed_bytes=500)
    assert line_of(totals, 10.0, 1_000).endswith("0:40 left")
    assert "left" not in line_of(totals, 10.0, 600)
    assert "left" not in line_of(totals, 10.0, 0)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_all_of_a_file_is_read_when_it_is_done(run, tmp_path, suffix, monkeypatch):
    data = lines(20)
    source = tmp_path / f"in.jsonl{suffix}"
    source.write_bytes({"": data, ".gz": gzip.compress(data), ".zst": packed(data)}[suffix])
    shown: list[Totals] = []

    class Shown:
        def __init__(self, all_bytes: int) -> None:
            assert all_bytes == source.stat().st_size

        def show(self, totals: Totals) -> None:
            shown.append(totals)

    monkeypatch.setattr("turnfold.cli.progress._Lines", Shown)
    assert run("batch", source, "-o", tmp_path / "out", *OPTIONS).status == 0
    assert shown[-1].read_bytes == source.stat().st_size
    assert run("batch", source, "-o", tmp_path / "out", *OPTIONS, "--resume").status == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_named_pipe_is_read_as_it_comes(run, tmp_path):
    pipe, data = tmp_path / "in.jsonl", lines(3)
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", WRITES, str(pipe), data.decode()]):
        ran = run("batch", pipe, "-o", tmp_path / "out", *OPTIONS, "--json")
    assert (ran.status, len(ran.records)) == (0, 3)
    assert (tmp_path / "out" / "in.jsonl").is_file()


WRITES = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"

GROWING = """
import json, sys
from turnfold.testing.generators import openai_chat
line = json.dumps(openai_chat(1, turns=6, result_words=60)).encode() + b"\\n"
for _ in range(int(sys.argv[1])):
    sys.stdout.buffer.write(line)
"""


def peak_kilobytes(count: int, out: Path) -> int:
    """The peak memory of a batch over a stream of so many lines."""
    code = (
        "import resource, subprocess, sys\n"
        "made = subprocess.Popen([sys.executable, '-c', sys.argv[1], sys.argv[2]], stdout=subprocess.PIPE)\n"
        "command = [sys.executable, '-m', 'turnfold', 'batch', '-', '-o', sys.argv[3],\n"
        "    '--preset', 'observation_mask', '--limit-tokens', '100']\n"
        "ran = subprocess.Popen(command, stdin=made.stdout, stdout=subprocess.DEVNULL)\n"
        "_, status, usage = os.wait4(ran.pid, 0)\n"
        "assert status == 0, status\n"
        "print(usage.ru_maxrss)\n"
    )
    command = [sys.executable, "-c", f"import os\n{code}", GROWING, str(count), str(out)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "wait4"), reason="the system does not say how much memory a process took")
def test_memory_does_not_grow_with_the_stream(tmp_path):
    few, many = (peak_kilobytes(count, tmp_path / f"{count}.jsonl") for count in (400, 1_600))
    assert (tmp_path / "1600.jsonl").read_bytes().count(b"\n") == 1_600
    assert many < few + 24_000, (few, many)
