"""batch: what compact writes, by runs that are stopped, killed, shared and gone on with."""

import errno
import gzip
import json
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from anyio.from_thread import start_blocking_portal

import turnfold
from turnfold.cli.part_file import PartFile, move
from turnfold.testing.generators import anthropic_messages, openai_chat
from turnfold.testing.http_server import Answer, serve

OPTIONS = ["--preset", "token_threshold", "--limit-tokens", "1200"]
LINES = 240
PACKED = 40
ROWS = 20
TOTAL = LINES + PACKED + ROWS + 1
DOCUMENTS = TOTAL - 3  # a line in each of three files is blank


def lines(seeds: range) -> bytes:
    """Transcripts of two formats, one a line, with a blank line and a broken one among them."""
    made = [json.dumps((openai_chat if k % 3 else anthropic_messages)(k, turns=2 + k % 3)) for k in seeds]
    made[5], made[9] = "", '{"messages": [{"role": "user"'
    return ("\n".join(made) + "\n").encode()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "sub").mkdir()
    (folder / "many.jsonl").write_bytes(lines(range(LINES)))
    (folder / "sub" / "packed.jsonl.gz").write_bytes(gzip.compress(lines(range(40, 40 + PACKED))))
    (folder / "one.json").write_bytes(json.dumps(openai_chat(7, turns=30)).encode())
    said = [line or None for line in lines(range(100, 100 + ROWS)).decode().splitlines()]
    table = pa.table({"id": range(ROWS), "said": said, "tags": [["a", None]] * ROWS})
    pq.write_table(table, folder / "sub" / "table.parquet", row_group_size=8)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name[0] != "."
    }


def hidden(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob(".*"))


@pytest.fixture(scope="module")
def undisturbed(run, inputs, tmp_path_factory):
    """What an undisturbed run writes, and the records that it prints."""
    out = tmp_path_factory.mktemp("undisturbed")
    ran = run("batch", inputs, "-o", out, *OPTIONS, "--json")
    assert ran.status == 1  # two lines are broken
    return contents(out), ran.records


def start(inputs: Path, out: Path, *more: object, command: str = "batch") -> "subprocess.Popen[bytes]":
    """Start a run that waits for its reader: some ten records after those that were read it cannot print more.

    So it is still in work when a test stops it, however slow the test is. (Only Linux can make a pipe so small.)
    """
    line = [sys.executable, "-m", "turnfold", command, inputs, "-o", out, *OPTIONS, "--json", *more]
    return subprocess.Popen(
        [str(part) for part in line], bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=4096
    )


def read_lines(process: "subprocess.Popen[bytes]", count: int) -> int:
    """Read so many lines and not a byte more, or all there are."""
    assert process.stdout is not None
    return sum(1 for _ in zip(range(count), process.stdout, strict=False))


def rows(out: Path, table: str) -> int:
    database = sqlite3.connect(out / ".turnfold-journal")
    try:
        (count,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(count)
    finally:
        database.close()


def test_it_writes_what_compact_writes(run, inputs, undisturbed, tmp_path):
    ran = run("compact", inputs, "-o", tmp_path, *OPTIONS, "--json")
    written, records = undisturbed
    assert ran.status == 1
    unpacked = {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in written.items()}
    assert {n: gzip.decompress(d) if n.endswith(".gz") else d for n, d in contents(tmp_path).items()} == unpacked

    def plain(record: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in record.items() if key not in {"seconds", "output"}}

    assert [plain(record) for record in records] == [plain(record) for record in ran.records]


def test_a_run_that_is_done_is_not_done_again(run, inputs, undisturbed, tmp_path):
    first = run("batch", inputs, "-o", tmp_path, *OPTIONS)
    assert first.status == 1
    assert f"{DOCUMENTS} documents of 4 files in" in first.out
    before = contents(tmp_path)
    assert before == undisturbed[0]
    refused = run("batch", inputs, "-o", tmp_path, *OPTIONS)
    assert (refused.status, refused.out) == (2, "")
    assert "say --resume or --restart" in refused.err
    again = run("batch", inputs, "-o", tmp_path, *OPTIONS, "--resume")
    assert again.status == 1
    assert f"{DOCUMENTS} documents were done before" in again.out
    assert contents(tmp_path) == before
    other = run("batch", inputs, "-o", tmp_path, "--limit-tokens", "900", "--resume")
    assert other.status == 2
    assert "with other options" in other.err
    assert contents(tmp_path) == before
    anew = run("batch", inputs, "-o", tmp_path, "--limit-tokens", "900", "--restart")
    assert anew.status == 1
    assert contents(tmp_path) != before
    assert hidden(tmp_path) == [".turnfold-journal"]


def test_a_changed_input_is_done_anew(run, inputs, tmp_path):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "a.jsonl").write_bytes(lines(range(12)))
    (source / "b.jsonl").write_bytes(lines(range(20, 32)))
    run("batch", source, "-o", out, *OPTIONS)
    kept = (out / "b.jsonl").stat().st_mtime_ns
    (source / "a.jsonl").write_bytes(lines(range(2, 14)))
    ran = run("batch", source, "-o", out, *OPTIONS, "--resume", "--json")
    assert len(ran.records) == 11
    assert (out / "b.jsonl").stat().st_mtime_ns == kept
    fresh = tmp_path / "fresh"
    run("batch", source, "-o", fresh, *OPTIONS)
    assert contents(fresh) == contents(out)


def killed(inputs: Path, out: Path, chance: random.Random, times: int, among: int = LINES // 2) -> None:
    """Kill a run `times` times at moments of chance."""
    for turn in range(times):
        process = start(inputs, out, *(["--resume"] if turn else []))
        read_lines(process, chance.randrange(1, among))
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1))
def test_killed_runs_go_on(run, inputs, undisturbed, tmp_path, seed):
    killed(inputs, tmp_path, random.Random(seed), 3)
    assert run("batch", inputs, "-o", tmp_path, *OPTIONS, "--resume").status == 1
    assert contents(tmp_path) == undisturbed[0]
    assert rows(tmp_path, "documents") == TOTAL
    assert hidden(tmp_path) == [".turnfold-journal"]


def test_what_could_not_be_moved_is_moved_by_the_next_run(run, inputs, undisturbed, tmp_path, monkeypatch):
    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr("turnfold.cli.batch_files.move", refused)
        first = run("batch", inputs, "-o", tmp_path, *OPTIONS)
        assert first.status == 1
        assert first.err.count("Permission denied") == 4
        assert contents(tmp_path) == {}
    again = run("batch", inputs, "-o", tmp_path, *OPTIONS, "--resume")
    assert again.status == 1
    assert "0 documents of 4 files in" in again.out
    assert f"{DOCUMENTS} documents were done before" in again.out
    assert contents(tmp_path) == undisturbed[0]
    assert hidden(tmp_path) == [".turnfold-journal"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Many small files, of which several are claimed, written and moved together; one holds no transcript."""
    folder = tmp_path_factory.mktemp("small")
    for k in range(80):
        (folder / f"{k:02}.json").write_bytes(
            json.dumps(openai_chat(k, turns=1 + k % 40)).encode() if k != 50 else b"{"
        )
    return folder


@pytest.fixture(scope="module")
def small_undisturbed(run, small, tmp_path_factory):
    out = tmp_path_factory.mktemp("small-undisturbed")
    assert run("batch", small, "-o", out, *OPTIONS).status == 1
    return contents(out)


@pytest.mark.slow
def test_killed_runs_over_small_files_go_on(run, small, small_undisturbed, tmp_path):
    killed(small, tmp_path, random.Random(4), 3, among=79)
    assert run("batch", small, "-o", tmp_path, *OPTIONS, "--resume").status == 1
    assert contents(tmp_path) == small_undisturbed
    assert rows(tmp_path, "documents") == 80
    assert hidden(tmp_path) == [".turnfold-journal"]


def test_of_small_files_that_are_written_together_each_can_fail(run, small, small_undisturbed, tmp_path, monkeypatch):
    def refused(path: Path) -> None:
        if path.name.endswith("3.json"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        move(path)

    with monkeypatch.context() as patched:
        patched.setattr("turnfold.cli.batch_files.move", refused)
        first = run("batch", small, "-o", tmp_path, *OPTIONS, "--json")
    assert [record["reason"] for record in first.records].count("io_error") == 8
    there = {name: data for name, data in small_undisturbed.items() if not name.endswith("3.json")}
    assert contents(tmp_path) == there
    again = run("batch", small, "-o", tmp_path, *OPTIONS, "--resume")
    assert "0 documents of 8 files in" in again.out
    assert contents(tmp_path) == small_undisturbed
    assert hidden(tmp_path) == [".turnfold-journal"]


def test_a_torn_part_file_is_cut_or_begun_anew(run, inputs, undisturbed, tmp_path):
    process = start(inputs, tmp_path)
    assert read_lines(process, 205) == 205
    process.kill()
    process.communicate()
    (part,) = [p for p in tmp_path.rglob("*.turnfold-part") if "many" in p.name] or [None]
    assert part is not None, "the first file has a checkpoint after 200 documents"
    torn = tmp_path.with_name(f"{tmp_path.name}-torn")
    whole = part.read_bytes()
    for data in (whole + b'{"half a li', whole[: len(whole) // 2]):
        subprocess.run(["cp", "-r", tmp_path, torn], check=True)
        (torn / part.relative_to(tmp_path)).write_bytes(data)
        assert run("batch", inputs, "-o", torn, *OPTIONS, "--resume").status == 1
        assert contents(torn) == undisturbed[0]
        subprocess.run(["rm", "-r", torn], check=True)


@pytest.mark.slow
def test_two_runs_share_a_journal(inputs, undisturbed, tmp_path):
    first = start(inputs, tmp_path)
    read_lines(first, 1)
    second = start(inputs, tmp_path, "--resume")
    told = [process.communicate() for process in (first, second)]
    # Who finds no file left has nothing that fails.
    assert sorted(process.returncode for process in (first, second)) in ([0, 1], [1, 1]), told
    assert contents(tmp_path) == undisturbed[0]
    assert rows(tmp_path, "documents") == TOTAL
    assert b"with another run" in told[1][1] or b"done before" in told[1][1]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_stops_it_keeps_what_is_done(run, inputs, undisturbed, tmp_path, number):
    process = start(inputs, tmp_path)
    assert read_lines(process, 20) == 20
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 128 + number, err.decode()
    assert b"--resume goes on with it" in err
    assert b"Traceback" not in err
    assert rows(tmp_path, "documents") >= 20
    assert not (tmp_path / "many.jsonl").exists()
    assert run("batch", inputs, "-o", tmp_path, *OPTIONS, "--resume").status == 1
    assert contents(tmp_path) == undisturbed[0]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_stops_compact_leaves_no_part_of_a_file(inputs, tmp_path, number):
    out = tmp_path / "many.jsonl"
    process = start(inputs / "many.jsonl", out, command="compact")
    assert read_lines(process, 20) == 20
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 128 + number, err.decode()
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_too_many_failures_stop_it(run, tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_bytes(b"{\n" * 50 + json.dumps(openai_chat(1)).encode() + b"\n")
    ran = run("batch", source, "-o", out, *OPTIONS, "--max-failures", "3")
    assert ran.status == 1
    assert "stopped after 4 failures; --resume goes on" in ran.err
    assert not (out / "in.jsonl").exists()
    ran = run("batch", source, "-o", out, *OPTIONS, "--resume", "--json")
    assert [record["status"] for record in ran.records].count("failed") <= 50
    assert (out / "in.jsonl").read_bytes().count(b"\n") == 51


def test_an_error_nobody_foresaw_is_that_transcripts_own(run, inputs, tmp_path, monkeypatch):
    real = turnfold.compact_sync

    def fails_once(transcript, *arguments, **options):
        if len(transcript) % 5 == 0:
            raise RuntimeError("the disk of the moon is full")
        return real(transcript, *arguments, **options)

    monkeypatch.setattr("turnfold.cli.compaction.compact_by_rule", fails_once)
    ran = run("batch", inputs / "many.jsonl", "-o", tmp_path, *OPTIONS, "--json")
    failed = [record for record in ran.records if record["reason"] == "internal"]
    assert 0 < len(failed) < LINES - 10
    assert failed[0]["text"] == "RuntimeError: the disk of the moon is full"
    assert (tmp_path / "many.jsonl").read_bytes().count(b"\n") == LINES


def test_a_file_that_cannot_be_read_is_one_record(run, inputs, tmp_path):
    (tmp_path / "torn.jsonl.gz").write_bytes((inputs / "sub" / "packed.jsonl.gz").read_bytes()[:-40])
    ran = run("batch", tmp_path / "torn.jsonl.gz", tmp_path / "none.json", "-o", tmp_path / "out", *OPTIONS, "--json")
    assert ran.status == 1
    of_files = [record["path"] for record in ran.records if record["reason"] == "io_error"]
    assert of_files == [str(tmp_path / "none.json"), str(tmp_path / "torn.jsonl.gz")]


def test_a_file_that_cannot_be_written_leaves_the_others(run, inputs, undisturbed, tmp_path, monkeypatch):
    real = PartFile.write

    def full(self: PartFile, data: bytes, ending: bytes) -> None:
        if self.path.name == "many.jsonl" and self.settled():
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, data, ending)

    monkeypatch.setattr(PartFile, "write", full)
    ran = run("batch", inputs, "-o", tmp_path, *OPTIONS, "--json")
    assert ran.status == 1
    assert [record["reason"] for record in ran.records].count("io_error") == 1
    rest = {name: data for name, data in undisturbed[0].items() if name != "many.jsonl"}
    assert contents(tmp_path) == rest
    monkeypatch.undo()
    assert run("batch", inputs, "-o", tmp_path, *OPTIONS, "--resume").status == 1
    assert contents(tmp_path) == undisturbed[0]


def test_a_wrong_command_line_forgets_no_journal(run, inputs, tmp_path):
    run("batch", inputs / "one.json", "-o", tmp_path / "out", *OPTIONS, "--journal", tmp_path / "j")
    ran = run(
        "batch", inputs / "one.json", "-o", tmp_path / "new", *OPTIONS, "--journal", tmp_path / "j", "--restart",
        "--summarizer", "gpt-5",
    )  # fmt: skip
    assert ran.status == 2
    assert (tmp_path / "j").exists()
    assert not (tmp_path / "new").exists()


def test_a_journal_that_cannot_be_written_stops_it(run, inputs, undisturbed, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("turnfold.batch.journal.Journal._checkpoint", full)
    ran = run("batch", inputs, "-o", tmp_path, *OPTIONS)
    assert ran.status == 1
    assert "stopped: " in ran.err
    assert "disk is full; --resume goes on" in ran.err
    monkeypatch.undo()
    assert run("batch", inputs, "-o", tmp_path, *OPTIONS, "--resume").status == 1
    assert contents(tmp_path) == undisturbed[0]


def test_a_dry_run_writes_nothing(run, inputs, tmp_path):
    ran = run("batch", inputs, "-o", tmp_path / "out", "--dry-run", *OPTIONS)
    assert ran.status == 1
    assert "nothing was written" in ran.out
    assert not (tmp_path / "out").exists()


def test_a_dry_run_counts_the_documents_of_the_run(run, tmp_path):
    log = Path(__file__).parents[1] / "containers" / "samples" / "inspect.json"
    dry = run("batch", log, "--dry-run", *OPTIONS)
    done = run("batch", log, "-o", tmp_path, *OPTIONS)
    told = [re.search(r"\d+ documents of \d+ files", ran.out) for ran in (dry, done)]
    assert [found and found[0] for found in told] == ["1 documents of 1 files"] * 2


def test_a_full_disk_is_told_as_that_when_a_journal_is_opened(run, inputs, tmp_path, monkeypatch):
    class Full(sqlite3.Connection):
        def executescript(self, script):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    usual = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **options: usual(*given, factory=Full, **options))
    ran = run("batch", inputs, "-o", tmp_path, *OPTIONS)
    assert ran.status == 2
    assert "cannot be used as a journal: database or disk is full" in ran.err
    assert "--restart" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "-o OUT is missing"),
        (["-o", "-"], "a batch writes to files"),
        (["-o", "out", "--concurrency", "0"], "must be at least 1"),
        (["-o", "out", "--base-url", "http://x"], "is for a --summarizer"),
        (["-o", "out", "--summarizer", "gpt-5"], "say openai:MODEL or anthropic:MODEL"),
    ],
)
def test_wrong_command_lines_write_nothing(run, inputs, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    ran = run("batch", inputs, *arguments)
    assert ran.status == 2
    assert told in ran.err
    assert contents(tmp_path) == {}


def test_a_journal_that_a_run_is_at_is_not_removed(run, inputs, undisturbed, tmp_path):
    process = start(inputs, tmp_path)
    assert read_lines(process, 5) == 5
    refused = run("batch", inputs, "-o", tmp_path, *OPTIONS, "--restart")
    assert refused.status == 2
    assert "another run is at" in refused.err
    process.communicate()
    assert contents(tmp_path) == undisturbed[0]


def test_the_report_opens_offline(run, inputs, tmp_path):
    page = tmp_path / "report.html"
    ran = run("batch", inputs, "-o", tmp_path / "out", *OPTIONS, "--report", page, "--json")
    html = page.read_text(encoding="utf-8")
    compacted = sum(record["status"] == "compacted" for record in ran.records)
    assert f"<b>{len(ran.records)}</b><span>transcripts</span>" in html
    assert f"<b>{compacted}</b><span>compacted</span>" in html
    assert "openai.chat" in html
    assert "anthropic.messages" in html
    assert "invalid_json" in html
    for loads in ("http:", "https:", "src=", "href=", "url(", "@import", "<script"):
        assert loads not in html
    # Each reason has a sentence beside it.
    reasons = {record["reason"]: record["text"] for record in reversed(ran.records) if record["reason"]}
    assert len(reasons) > 2
    for reason, text in reasons.items():
        assert re.search(f'<tr><td>{reason}</td>.*?<td class="said">{re.escape(escape(text))}</td>', html), reason
    resumed = tmp_path / "again.html"
    run("batch", inputs, "-o", tmp_path / "out", *OPTIONS, "--report", resumed, "--resume")
    assert f"<b>{len(ran.records)}</b><span>transcripts</span>" in resumed.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_shows_the_report(run, inputs, tmp_path):
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    run("batch", inputs, "-o", tmp_path / "out", *OPTIONS, "--report", page)
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    shown = subprocess.run(
        [*browser, "--dump-dom", f"--screenshot={picture}", page.as_uri()], capture_output=True, text=True, check=True
    ).stdout
    bars = re.findall(r'aria-label="([0-9.]+) %"><i style="width: ?([0-9.]+)%', shown)
    assert len(bars) > 5
    assert "<h2>Tokens by format</h2>" in shown
    assert picture.stat().st_size > 10_000


def test_a_report_has_what_could_not_be_read_or_found(run, inputs, tmp_path):
    torn, page = tmp_path / "torn.jsonl.gz", tmp_path / "r.html"
    torn.write_bytes((inputs / "sub" / "packed.jsonl.gz").read_bytes()[:-40])
    arguments = ["batch", inputs / "one.json", torn, tmp_path / "none.json", "-o", tmp_path / "out", *OPTIONS]
    for more in ([], ["--resume"]):
        ran = run(*arguments, "--report", page, *more)
        assert ran.status == 1
        html = page.read_text(encoding="utf-8")
        (failed,) = re.findall("<b>([0-9]+)</b><span>failed</span>", html)
        assert int(failed) == ran.err.count("turnfold: "), ran.err  # a broken line of the torn file may come first
        assert "the compressed data ends early" in html
        assert str(tmp_path / "none.json") in html


def test_names_in_a_report_are_text(run, tmp_path):
    source = tmp_path / "<script>alert(1)</script>.jsonl".replace("/", "_")
    source.write_bytes(b'{"messages": "<img src=x>"\n' + json.dumps(openai_chat(3, turns=20)).encode() + b"\n")
    run("batch", source, "-o", tmp_path / "out", *OPTIONS, "--report", tmp_path / "r.html")
    assert "<script" not in (tmp_path / "r.html").read_text(encoding="utf-8")


SAID = "## User messages\n- The build is to be mended.\n## Current state\n- Tests are next."


def completion(text: str) -> dict[str, object]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


def test_a_model_is_asked_once_for_what_is_the_same(run, tmp_path, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-key")
    source = tmp_path / "in.jsonl"
    made = [json.dumps(openai_chat(seed, turns=12)) for seed in (1, 2, 1, 1, 3)]
    source.write_text("\n".join(made) + "\n")
    refused = Answer({"error": {"message": "no"}}, status=400)
    with start_blocking_portal() as portal:
        running = portal.wrap_async_context_manager(serve(refused, Answer(completion(SAID))))
        with running as server:
            model = ["--summarizer", "openai:m", "--base-url", f"{server.url}/v1", "--concurrency", "1"]
            ran = run("batch", source, "-o", tmp_path / "out", *OPTIONS, *model, "--json")
            asked = len(server.received)
            again = run("batch", source, "-o", tmp_path / "other", *OPTIONS, *model)
    assert (ran.status, again.status) == (0, 0)
    methods = [record["method"] for record in ran.records]
    # The first was refused and made by rule; its equals were asked for again, the first of them with an answer.
    assert methods == ["rules", "openai_compatible", "openai_compatible", "openai_compatible", "openai_compatible"]
    assert asked == 4
    assert "1 summaries were used again" in ran.err
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"sk-planted-key" not in everything
    assert "sk-planted-key" not in ran.out + ran.err + again.out + again.err
