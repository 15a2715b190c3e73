"""compact: what is written where, what is left alone, what is refused."""

import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import turnfold
import turnfold.checks
import turnfold.cli.compaction
from turnfold.transcript import Transcript

SMALL = ["--limit-tokens", "900"]


def line_of(body: bytes) -> bytes:
    return json.dumps(json.loads(body)).encode() + b"\n"


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_one_file(run, tmp_path, long):
    source, out = tmp_path / "a.json", tmp_path / "small.json"
    source.write_bytes(long)
    ran = run("compact", source, "-o", out, *SMALL, "--json")
    assert (ran.status, ran.err) == (0, "")
    (record,) = ran.records
    assert list(record) == [
        "path",
        "index",
        "id",
        "format",
        "status",
        "reason",
        "text",
        "messages",
        "tokens",
        "output",
        "method",
        "findings",
        "finding_codes",
        "identifiers",
        "prefix",
        "tried",
        "usage",
        "seconds",
    ]
    assert (record["path"], record["index"], record["format"]) == (str(source), 0, "openai.chat")
    assert (record["status"], record["reason"], record["output"]) == ("compacted", None, str(out))
    assert record["messages"]["before"] == 28
    assert record["tokens"]["after"] <= 900 < record["tokens"]["before"]
    assert (record["method"], record["findings"]) == ("rules", 0)
    before, after = Transcript.from_json(long), Transcript.from_json(out.read_bytes())
    assert turnfold.checks.scan(after).ok
    assert after.tokens().n == record["tokens"]["after"]
    assert len(after) == record["messages"]["after"]
    assert after.message_json(0) == before.message_json(0)
    assert after.message_json(len(after) - 1) == before.message_json(27)
    assert b'"x_unknown": [\n  1.5,\n  "kept"\n ]' in out.read_bytes() or b'"x_unknown"' in out.read_bytes()
    assert source.read_bytes() == long


def test_under_the_limit_is_copied_byte_for_byte(run, tmp_path, clean):
    source, out = tmp_path / "a.json", tmp_path / "b.json"
    body = b"\n " + clean.replace(b'": ', b'" :\t') + b"\r\n\n"
    source.write_bytes(body)
    (record,) = run("compact", source, "-o", out, *SMALL, "--json").records
    assert (record["status"], record["reason"]) == ("skipped", "under_trigger")
    assert record["tokens"]["before"] == record["tokens"]["after"]
    assert out.read_bytes() == body


def test_without_a_limit_the_model_must_have_a_window(run, tmp_path, clean):
    source = tmp_path / "a.json"
    source.write_bytes(clean)
    ran = run("compact", source, "-o", tmp_path / "out", "--json")
    assert ran.status == 1
    assert "--limit-tokens" in ran.err
    assert ran.records[0]["status"] == "failed"
    assert run("compact", source, "-o", tmp_path / "out", "--window-tokens", "100000").status == 0


def test_a_folder_is_mirrored_and_a_bad_file_reported(run, tmp_path, long, clean):
    source, out = tmp_path / "in", tmp_path / "out"
    (source / "deep/er").mkdir(parents=True)
    (source / "1.json").write_bytes(long)
    (source / "2.json").write_bytes(long[:-20])
    (source / "deep/er/3.jsonl").write_bytes(line_of(long) + line_of(clean))
    (source / "deep/4.json.gz").write_bytes(gzip.compress(long))
    ran = run("compact", source, "-o", out, *SMALL, "--json")
    assert ran.status == 1
    assert ran.err.count("\n") == 1
    assert f"{source}/2.json[0]" in ran.err
    assert files(out) == ["1.json", "deep/4.json.gz", "deep/er/3.jsonl"]
    assert [record["status"] for record in ran.records] == ["compacted", "failed", "compacted", "compacted", "skipped"]
    assert [r["output"] for r in ran.records if r["status"] == "failed"] == [None]
    unpacked = gzip.decompress((out / "deep/4.json.gz").read_bytes())
    assert unpacked == (out / "1.json").read_bytes()


def test_lines_stay_where_they_stood(run, tmp_path, long, clean):
    source, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    source.write_bytes(line_of(clean) + b" \r\n" + b"{torn\n" + line_of(long) + line_of(clean).rstrip(b"\n"))
    ran = run("compact", source, "-o", out, *SMALL, "--json")
    assert ran.status == 1
    written = out.read_bytes().split(b"\n")
    assert written[0] + b"\n" == line_of(clean)
    assert written[1] == b" \r"
    assert written[2] == b""
    assert len(Transcript.from_json(written[3])) < 28
    assert written[4] == line_of(clean).rstrip(b"\n")
    assert len(written) == 5
    assert [(r["index"], r["status"]) for r in ran.records] == [
        (0, "skipped"),
        (2, "failed"),
        (3, "compacted"),
        (4, "skipped"),
    ]


def test_a_file_in_which_all_fail_is_not_written(run, tmp_path):
    source, out = tmp_path / "a.jsonl", tmp_path / "out"
    source.write_bytes(b"{\n[\n")
    assert run("compact", source, "-o", out, *SMALL).status == 1
    assert files(out) == []


def test_the_result_can_be_compacted_again_without_a_change(run, tmp_path, long):
    first, second, third = tmp_path / "1.json", tmp_path / "2.json", tmp_path / "3.json"
    first.write_bytes(long)
    run("compact", first, "-o", second, *SMALL)
    (record,) = run("compact", second, "-o", third, *SMALL, "--json").records
    assert record["status"] == "skipped"
    assert third.read_bytes() == second.read_bytes()


def test_stdin_and_stdout(run, tmp_path, long):
    ran = run("compact", "-", "-o", "-", *SMALL, stdin=long)
    assert ran.status == 0
    assert turnfold.checks.scan(Transcript.from_json(ran.out.encode())).ok
    assert ran.err.startswith("turnfold: -[0]: compacted, ")
    with_records = run("compact", "-", "-o", "-", *SMALL, "--json", stdin=line_of(long) * 2)
    assert [json.loads(line)["index"] for line in with_records.err.splitlines()] == [0, 1]
    assert with_records.out.count("\n") == 2
    run("compact", "-", "-o", tmp_path / "out", *SMALL, stdin=line_of(long) * 2)
    run("compact", "-", "-o", tmp_path / "out", *SMALL, stdin=long)
    assert files(tmp_path / "out") == ["stdin.json", "stdin.jsonl"]
    run("compact", "-", "-o", tmp_path / "x.json.gz", *SMALL, stdin=long)
    assert gzip.decompress((tmp_path / "x.json.gz").read_bytes()) == (tmp_path / "out/stdin.json").read_bytes()


def test_tokens_are_those_that_count_says(run, samples, tmp_path):
    out = tmp_path / "out"
    records = run("compact", samples, "-o", out, "--limit-tokens", "8000", "--json").records
    before = run("count", samples, "--json").records
    after = run("count", out, "--json").records
    assert [r["tokens"]["before"] for r in records] == [r["tokens"]["n"] for r in before]
    assert [r["tokens"]["after"] for r in records] == [r["tokens"]["n"] for r in after]
    for record, counted in zip(records, after, strict=True):
        assert record["status"] == "skipped" or counted["tokens"]["hi"] <= 8_000


def test_table(run, tmp_path, long):
    (tmp_path / "a.json").write_bytes(long)
    heading, row = run("compact", tmp_path / "a.json", "-o", tmp_path / "out", *SMALL).out.splitlines()
    assert heading.split() == ["transcript", "format", "messages", "tokens", "result"]
    assert row.rstrip().endswith("compacted")


@pytest.fixture
def folder(tmp_path, long):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_bytes(long)
    return folder


def refused(run, *arguments) -> str:
    ran = run("compact", *arguments, *SMALL)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    return ran.err


def test_the_input_is_never_overwritten(run, folder, tmp_path, long):
    source = folder / "a.json"
    assert "overwrite" in refused(run, source, "-o", source)
    assert "overwrite" in refused(run, source, "-o", folder)
    assert "overwrite" in refused(run, folder, "-o", folder)
    assert "overwrite" in refused(run, source, "-o", f"{folder}/../in/a.json")
    (tmp_path / "link.json").symlink_to(source)
    assert "overwrite" in refused(run, source, "-o", tmp_path / "link.json")
    assert "overwrite" in refused(run, tmp_path / "link.json", "-o", source)
    os.link(source, tmp_path / "hard.json")
    assert "overwrite" in refused(run, source, "-o", tmp_path / "hard.json")
    (tmp_path / "linked").symlink_to(folder)
    assert "overwrite" in refused(run, folder, "-o", tmp_path / "linked")
    assert "overwrite" in refused(run, source, folder / "a.json", "-o", folder)
    assert source.read_bytes() == long
    assert files(folder) == ["a.json"]


def test_out_within_the_input_folder_is_no_input(run, folder):
    for _ in range(2):
        ran = run("compact", folder, "-o", folder / "out", *SMALL, "--json")
        assert (ran.status, len(ran.records)) == (0, 1)
    assert files(folder) == ["a.json", "out/a.json"]


def test_two_inputs_never_share_an_output(run, folder, tmp_path, long):
    (tmp_path / "a.json").write_bytes(long)
    assert "both" in refused(run, folder / "a.json", tmp_path / "a.json", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_out_of_another_kind_is_refused(run, folder, tmp_path):
    assert "format" in refused(run, folder / "a.json", "-o", tmp_path / "b.jsonl")
    assert "format" in refused(run, folder / "a.json", "-o", tmp_path / "b.json.gz")
    assert "name a folder" in refused(run, folder, folder / "a.json", "-o", "-")


def test_out_that_cannot_be_written(run, folder, tmp_path):
    (tmp_path / "file").write_text("x")
    refused(run, folder, "-o", tmp_path / "file")
    refused(run, folder, "-o", tmp_path / "file/sub")
    assert (tmp_path / "file").read_text() == "x"


def test_a_failed_write_leaves_the_old_file(run, folder, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.json").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ran = run("compact", folder, "-o", out, *SMALL, "--json")
    assert ran.status == 1
    assert "No space left on device" in ran.err
    assert files(out) == ["a.json"]
    assert (out / "a.json").read_text() == "old"
    assert [record["status"] for record in ran.records] == ["compacted", "failed"]


def test_an_interruption_leaves_nothing_behind(run, folder, tmp_path, long, monkeypatch):
    (folder / "b.jsonl").write_bytes(line_of(long) * 2)
    real, calls = turnfold.compact_sync, []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(turnfold.cli.compaction, "compact_by_rule", interrupted)
    ran = run("compact", folder, "-o", tmp_path / "out", *SMALL, "--json")
    assert (ran.status, ran.err, len(ran.records)) == (130, "", 2)
    assert files(tmp_path / "out") == ["a.json"]


def test_a_long_name(run, tmp_path, long):
    source = tmp_path / f"{'n' * 250}.json"
    source.write_bytes(long)
    assert run("compact", source, "-o", tmp_path / "out", *SMALL).status == 0
    assert files(tmp_path / "out") == [source.name]


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_new_files_have_the_usual_mode(run, folder, tmp_path):
    run("compact", folder, "-o", tmp_path / "out", *SMALL)
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "out/a.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    line = command.replace("turnfold", f"{shlex.quote(sys.executable)} -m turnfold")
    return subprocess.run(["sh", "-c", line], cwd=cwd, capture_output=True, check=False)


@pytest.mark.parametrize("out", ["a.json", "link.json", ".", "- >> a.json"])
def test_stdin_is_an_input_that_is_not_overwritten(tmp_path, long, out):
    (tmp_path / "a.json").write_bytes(long)
    (tmp_path / "link.json").symlink_to("a.json")
    (tmp_path / "stdin.json").hardlink_to(tmp_path / "a.json")
    ran = shell(f"turnfold compact - --limit-tokens 900 < a.json -o {out}", tmp_path)
    assert (ran.returncode, b"would overwrite the input -" in ran.stderr) == (2, True)
    assert (tmp_path / "a.json").read_bytes() == long


def test_stdin_and_a_file_of_the_name_it_gets(run, tmp_path, long, clean):
    (tmp_path / "stdin.json").write_bytes(clean)
    ran = run("compact", "-", tmp_path / "stdin.json", "-o", tmp_path / "out", *SMALL, stdin=long)
    assert (ran.status, "would both be written" in ran.err) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["compact", "batch"])
def test_a_way_through_a_folder_that_is_not_there_yet_leads_to_the_input(run, tmp_path, long, command):
    source = tmp_path / "a.json"
    source.write_bytes(long)
    ran = run(command, source, "-o", tmp_path / "new" / ".." / "a.json", *SMALL)
    assert (ran.status, "would overwrite the input" in ran.err) == (2, True)
    assert (source.read_bytes(), (tmp_path / "new").exists()) == (long, False)


@pytest.mark.parametrize("command", ["compact", "batch"])
def test_an_input_that_is_named_twice(run, tmp_path, long, command):
    source, link = tmp_path / "a.json", tmp_path / "sub" / "a.json"
    source.write_bytes(long)
    link.parent.mkdir()
    link.hardlink_to(source)
    for twice in (source, link):
        ran = run(command, source, twice, "-o", tmp_path / "out", *SMALL)
        assert (ran.status, f"{twice} is named twice, as {source} before: name it once" in ran.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_stdin_goes_to_the_file_that_is_named(run, tmp_path, long):
    out = tmp_path / "plain"
    out.write_bytes(b"old")
    assert run("compact", "-", "-o", out, *SMALL, stdin=long).status == 0
    assert files(tmp_path) == ["plain"]
    assert len(Transcript.from_json(out.read_bytes())) < 28


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_only_regular_files_are_replaced(run, tmp_path, long, kind):
    source, out = tmp_path / "a.json", tmp_path / "out"
    source.write_bytes(long)
    out.mkdir()
    if kind == "fifo":
        os.mkfifo(out / "a.json")
    else:
        (out / "a.json").mkdir()
    ran = run("compact", source, "-o", out, *SMALL)
    assert (ran.status, "no regular file" in ran.err) == (2, True)
    assert not (out / "a.json").is_file()


def test_an_empty_name_is_not_this_folder(run, tmp_path, long):
    source = tmp_path / "a.json"
    source.write_bytes(long)
    ran = run("compact", source, "-o", "", *SMALL)
    assert (ran.status, "OUT is empty" in ran.err) == (2, True)
    ran = run("count", "", source)
    assert (ran.status, "the path is empty" in ran.err) == (2, True)
