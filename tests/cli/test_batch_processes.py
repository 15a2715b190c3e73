"""batch by rule over much input: in processes, each of which may end at any moment."""

import json
import math
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath
from typing import Any

import msgspec
import pytest

from turnfold import presets
from turnfold.cli.batch_crew import Crew
from turnfold.cli.batch_made import Made, Work, has_key
from turnfold.cli.batch_process import CompactingProcess, ProcessEndedError
from turnfold.cli.batch_serving import compact_each
from turnfold.cli.compact_record import CompactRecord
from turnfold.cli.extents import Extent, Fetching
from turnfold.cli.inputs import ANY, Document, InputFile
from turnfold.cli.instructions import Instructions
from turnfold.cli.outputs import Target
from turnfold.testing.generators import anthropic_messages, openai_chat

OPTIONS = ["--preset", "observation_mask", "--limit-tokens", "20000"]
LINES = 72
INSTRUCTIONS = Instructions(presets.token_threshold(limit_tokens=1_000))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Over 8 MB in two files of JSON lines, one of which is broken, and a log."""
    folder = tmp_path_factory.mktemp("much")
    for name, make in (("a", openai_chat), ("b", anthropic_messages)):
        lines = [json.dumps(make(seed, turns=40, result_words=230)) for seed in range(LINES // 2)]
        lines[7] = "{"
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    shutil.copy(Path(__file__).parents[1] / "containers" / "samples" / "sharegpt.json", folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and p.name[0] != "."}


@pytest.fixture(scope="module")
def undisturbed(run, inputs, tmp_path_factory):
    """What threads of one process write, and the records."""
    out = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("turnfold.cli.batch._MUCH_BYTES", math.inf)
        ran = run("batch", inputs, "-o", out, *OPTIONS, "--json")
    assert ran.status == 1
    return contents(out), ran.records


def start(inputs: Path, out: Path, *more: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "turnfold", "batch", inputs, "-o", out, *OPTIONS, "--json", "--concurrency", "2"]
    return subprocess.Popen(
        [*map(str, command), *more],
        bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=4096, start_new_session=True,
    )  # fmt: skip


def read_lines(process: "subprocess.Popen[bytes]", count: int) -> int:
    assert process.stdout is not None
    return sum(1 for _ in zip(range(count), process.stdout, strict=False))


def children(process: "subprocess.Popen[bytes]") -> list[int]:
    found = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(pid) for path in found for pid in path.read_text(encoding="ascii").split()]


def plain(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in {"seconds", "output"}}


@pytest.mark.slow
def test_processes_write_what_threads_write(inputs, undisturbed, tmp_path):
    process = start(inputs, tmp_path)
    assert read_lines(process, 1) == 1
    assert len(children(process)) == 2
    out, err = process.communicate()
    assert process.returncode == 1, err.decode()
    assert contents(tmp_path) == undisturbed[0]
    records = [json.loads(line) for line in out.splitlines()]
    assert [plain(record) for record in records] == [plain(record) for record in undisturbed[1][1:]]


@pytest.mark.slow
def test_a_file_that_changes_while_it_is_read_is_done_by_the_next_run(run, inputs, undisturbed, tmp_path, monkeypatch):
    document, read = Fetching.document, []

    def changed(fetching: Fetching, extent: Extent) -> Document:
        read.append(extent)
        if extent.file.relative.name == "a.jsonl" and extent.index == 20:
            raise OSError("another file has taken its name")
        return document(fetching, extent)

    with monkeypatch.context() as patched:
        patched.setattr("turnfold.cli.batch._MUCH_BYTES", math.inf)
        patched.setattr(Fetching, "document", changed)
        ran = run("batch", inputs, "-o", tmp_path, *OPTIONS, "--json")
    assert ran.status == 1
    assert "a.jsonl[20]: another file has taken its name" in ran.err
    assert len(read) == LINES
    assert contents(tmp_path) == {name: data for name, data in undisturbed[0].items() if name != "a.jsonl"}
    again = run("batch", inputs, "-o", tmp_path, *OPTIONS, "--resume")
    assert again.status == 1
    assert f"{LINES // 2 - 20} documents of 1 files" in again.out
    assert contents(tmp_path) == undisturbed[0]


@pytest.mark.slow
def test_a_process_that_is_killed_takes_nothing_with_it(inputs, undisturbed, tmp_path):
    process, killed = start(inputs, tmp_path), list[int]()
    while len(killed) < 3:
        assert read_lines(process, 5) == 5
        # One that was killed is listed until it is waited for, and another is started with the next work.
        if living := [pid for pid in children(process) if pid not in killed]:
            os.kill(living[0], signal.SIGKILL)
            killed.append(living[0])
    _, err = process.communicate()
    assert process.returncode == 1, err.decode()
    assert err.count(b"turnfold: ") == 2, err.decode()
    assert contents(tmp_path) == undisturbed[0]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_leaves_no_process_and_goes_on(run, inputs, undisturbed, tmp_path, number):
    process = start(inputs, tmp_path)
    assert read_lines(process, 12) == 12
    others = [os.pidfd_open(pid) for pid in children(process)]
    if number == signal.SIGKILL:
        process.kill()
    else:
        os.killpg(process.pid, number)
    _, err = process.communicate()
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number), err.decode()
    assert b"Traceback" not in err
    assert len(others) == 2
    for descriptor in others:
        # Readable once the process has ended.
        assert select.select([descriptor], [], [], 60)[0]
        os.close(descriptor)
    assert run("batch", inputs, "-o", tmp_path, *OPTIONS, "--resume").status == 1
    assert contents(tmp_path) == undisturbed[0]


def work(count: int) -> list[Work]:
    file = InputFile(None, "-", PurePath("stdin"))
    bodies = (json.dumps(openai_chat(seed, turns=30)).encode() for seed in range(count))
    return [(Document(file, k, body, b"\n", "jsonl"), Target(file, None)) for k, body in enumerate(bodies)]


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("fatal", [set(), {2}, {0, 3}])
def test_what_ends_its_process_twice_is_a_failure_in_its_place(monkeypatch, fatal, beside):
    """So it is where another lot, `beside` this one, ends the process of both."""
    asked: list[list[int]] = []

    def compact(_: CompactingProcess, some: Sequence[Work]) -> list[Made]:
        asked.append([document.index for document, _ in some])
        if fatal & set(asked[-1]) or (beside and len(some) > 1):
            raise ProcessEndedError
        return compact_each(some, INSTRUCTIONS)

    monkeypatch.setattr(CompactingProcess, "compact", compact)
    given = work(4)
    made = Crew(INSTRUCTIONS, 2, in_processes=True).compact(given)
    expected = compact_each(given, INSTRUCTIONS)
    for index, one in enumerate(made):
        (record,) = msgspec.json.decode(one.records, type=list[CompactRecord])
        document, _ = given[index]
        assert isinstance(document, Document)
        assert has_key(document, one.key, ANY)
        if index in fatal:
            assert (record.status, record.reason, record.index) == ("failed", "process_ended", index)
            assert (one.body, one.failed) == (b"", True)
            assert "it may need more memory" in one.faults[0].line()
        else:
            assert (one.body, one.key) == (expected[index].body, expected[index].key)
            assert (record.status, one.failed, one.faults) == ("compacted", False, ())
    assert [index for index in range(4) if asked.count([index]) == 2] == sorted(fatal)


@pytest.mark.parametrize(
    "body", [json.dumps(openai_chat(3, turns=4)).encode(), b'{"messages": [{"role": "user"', b"[]"]
)
def test_a_key_is_that_of_these_bytes_and_no_others(body):
    (document, target) = work(1)[0]
    assert isinstance(document, Document)
    document = msgspec.structs.replace(document, data=body)
    (made,) = compact_each([(document, target)], INSTRUCTIONS)
    assert has_key(document, made.key, ANY)
    others = [{"data": body + b" "}, {"data": body[:-1]}, {"data": body.replace(b"user", b"uses")}, {"ending": b""}]
    for other in others:
        changed = msgspec.structs.replace(document, **other)
        assert has_key(changed, made.key, ANY) is (changed == document)


def test_a_process_that_is_closed_says_that_it_ended():
    process = CompactingProcess(INSTRUCTIONS, 1)
    try:
        (made,) = process.compact(work(1))
    finally:
        process.close()
    (expected,) = compact_each(work(1), INSTRUCTIONS)
    assert (made.body, made.key) == (expected.body, expected.key)
    with pytest.raises(ProcessEndedError):
        process.compact(work(1))


def test_a_process_answers_each_thread_what_it_was_given():
    process, given = CompactingProcess(INSTRUCTIONS, 1), work(8)
    try:
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda one: process.compact([one]), given))
    finally:
        process.close()
    assert [one.body for (one,) in made] == [one.body for one in compact_each(given, INSTRUCTIONS)]


def test_all_who_wait_for_a_process_are_told_that_it_ended_and_the_next_starts_another():
    process, given = CompactingProcess(INSTRUCTIONS, 1), work(3)
    try:
        process.compact(given[:1])
        running = process._running
        assert running is not None
        os.kill(running._process.pid, signal.SIGSTOP)
        with ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(process.compact, [one]) for one in given]
            while running._told < 1 + len(given):
                os.sched_yield()
            os.kill(running._process.pid, signal.SIGKILL)
        assert all(isinstance(one.exception(), ProcessEndedError) for one in waiting)
        (made,) = process.compact(given[:1])
    finally:
        process.close()
    assert made.body == compact_each(given[:1], INSTRUCTIONS)[0].body


def test_a_process_imports_nothing_from_where_it_is_started(monkeypatch, tmp_path):
    for name in ("pickle", "hashlib", "msgspec"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    process = CompactingProcess(INSTRUCTIONS, 1)
    try:
        assert len(process.compact(work(1))) == 1
    finally:
        process.close()


def test_tables_that_are_shared_by_processes_say_the_same():
    script = (
        "import sys, turnfold; from turnfold import _core; _core.share_caches(int(sys.argv[1]));"
        "from turnfold.testing.generators import openai_chat;"
        "print([turnfold.Transcript.from_messages(openai_chat(k)['messages']).tokens().n for k in (1, 2, 1)])"
    )
    said = {
        subprocess.run([sys.executable, "-c", script, among], capture_output=True, check=True).stdout
        for among in ("0", "1", "1000000000")
    }
    assert len(said) == 1


def test_processes_that_cannot_be_started_ahead_are_told_of_by_the_work(monkeypatch, tmp_path):
    given = work(1)
    crew = Crew(INSTRUCTIONS, 2, in_processes=True)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", str(tmp_path / "nothing"))
        crew.begin(5)
        (failed,) = crew.compact(given)
    assert failed.failed
    crew.begin(5)
    try:
        (made,) = crew.compact(given)
    finally:
        crew.close()
    assert made.body == compact_each(given, INSTRUCTIONS)[0].body
