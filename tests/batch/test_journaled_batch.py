"""A batch with a journal: what is done is handed over again and nobody is asked, however the first run ended."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from turnfold.batch import BatchEntry, BatchItem, BatchLimits, Journal, compact_batch
from turnfold.errors import ArgumentError, JournalError
from turnfold.model.policy import MaskResults, OnRequest, Policy, Summarize
from turnfold.model.selection import KeepToolGroups
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers import Fallback, Rules
from turnfold.testing.fakes import Scripted, Step, replying
from turnfold.testing.generators import anthropic_messages, openai_chat
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual
from turnfold.transcript import Transcript

POLICY = Policy(
    OnRequest(), (MaskResults(KeepToolGroups(1)), Summarize(KeepMessages(2), max_tokens=400)), name="journaled"
)


def transcripts(count: int) -> list[Transcript]:
    makers = (openai_chat, anthropic_messages)
    return [Transcript.from_messages(makers[k % 2](k, turns=4)["messages"]) for k in range(count)]  # type: ignore[arg-type]


def named(name: str, *steps: Step) -> Scripted:
    return Scripted(steps or (Step(text="The build is mended."),), name)


async def done(items: Any, *args: Any, **options: Any) -> list[BatchItem]:
    return [one async for one in compact_batch(items, *args, ordered=True, **options)]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


def told(item: BatchItem) -> tuple[object, ...]:
    result = item.result
    if not isinstance(result, CompactionResult):
        return (item.status, result)
    return (item.status, result.body, result.record, result.attempts, result.coverage, result.plan, result.findings)


def test_what_is_done_is_handed_over_and_nobody_is_asked(backend: Backend, tmp_path: Path) -> None:
    items: list[Any] = [*transcripts(6), b"{", transcripts(1)[0].to_json()]
    first, second = named("m"), named("m", Step(error=RuntimeError("asked again")))
    journal = tmp_path / f"journal-{backend}"
    before = run_virtual(lambda: done(items, POLICY, first, journal=journal), backend)
    after = run_virtual(lambda: done(items, POLICY, second, journal=str(journal)), backend)
    assert len(first.requests) > 0
    assert second.requests == []
    assert [one.resumed for one in before] == [False] * 8
    assert [one.resumed for one in after] == [True] * 6 + [False, True]
    assert [told(one) for one in after] == [told(one) for one in before]
    assert [one.index for one in after] == list(range(8))
    assert list(tmp_path.glob("*.lock")) == []


def test_without_a_summarizer_too(backend: Backend, tmp_path: Path) -> None:
    items, journal = transcripts(3), tmp_path / "j"
    before = run_virtual(lambda: done(items, POLICY, journal=journal), backend)
    after = run_virtual(lambda: done(items, POLICY, journal=journal), backend)
    assert [(one.status, one.resumed) for one in after] == [("compacted", True)] * 3
    assert [told(one) for one in after] == [told(one) for one in before]


def test_everything_that_decides_an_outcome_is_in_its_key(tmp_path: Path) -> None:
    items, journal = transcripts(2), tmp_path / "j"
    other = Policy(POLICY.trigger, (Summarize(KeepMessages(2), max_tokens=300),), name="other")

    async def resumed(*args: Any, **options: Any) -> list[bool]:
        return [one.resumed for one in await done(items, *args, journal=journal, **options)]

    async def main() -> None:
        assert await resumed(POLICY, named("m")) == [False] * 2
        assert await resumed(POLICY, named("m")) == [True] * 2
        assert await resumed(other, named("m")) == [False] * 2
        assert await resumed(POLICY, named("n")) == [False] * 2
        assert await resumed(POLICY) == [False] * 2
        assert await resumed(POLICY, named("m"), on_failure="skip") == [False] * 2
        assert await resumed(POLICY, named("m"), encoding="cl100k_base") == [False] * 2
        assert await resumed(POLICY, named("m"), encoding="cl100k_base") == [True] * 2

    run_virtual(main, "asyncio")


def test_what_failed_or_was_late_is_tried_again(backend: Backend, tmp_path: Path) -> None:
    items, journal = transcripts(3), tmp_path / "j"
    failing = named("m", Step(), Step(error=RuntimeError("down")), Step(way="hang"))
    limits = BatchLimits(concurrency=1, deadline_seconds=30)

    async def main() -> None:
        first = await done(items, POLICY, failing, journal=journal, on_failure="skip", limits=limits)
        assert [one.status for one in first] == ["compacted", "skipped", "deadline"]
        again = await done(items, POLICY, named("m"), journal=journal, on_failure="skip", limits=limits)
        assert [(one.status, one.resumed) for one in again] == [
            ("compacted", True),
            ("compacted", False),
            ("compacted", False),
        ]

    run_virtual(main, backend)


def test_two_runs_share_a_journal(backend: Backend, tmp_path: Path) -> None:
    items, path = transcripts(9), tmp_path / "j"
    fakes = [named("m", Step(seconds=2, text="Done.")), named("m", Step(seconds=3, text="Done."))]
    runs: list[list[BatchItem]] = [[], []]

    async def one_run(number: int, order: list[Transcript]) -> None:
        limits = BatchLimits(concurrency=2)
        with Journal(path) as journal:
            runs[number] = await done(order, POLICY, fakes[number], journal=journal, limits=limits)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(one_run, 0, items)
            group.start_soon(one_run, 1, items)

    run_virtual(main, backend)
    statuses = [[one.status for one in run] for run in runs]
    # Each item is done by one of them; the other says so, or hands it over from the journal.
    for index in range(9):
        by = [run[index] for run in runs]
        assert sum(one.status == "compacted" and not one.resumed for one in by) == 1, statuses
        assert all(one.status in {"compacted", "elsewhere"} for one in by)
    assert any("elsewhere" in one for one in statuses)
    assert sum(len(fake.requests) for fake in fakes) == 9


def test_a_run_that_is_left_frees_what_it_had_begun(backend: Backend, tmp_path: Path) -> None:
    items, path = transcripts(4), tmp_path / "j"

    async def main() -> None:
        hanging = named("m", Step(), Step(way="hang"))
        with Journal(path) as journal:
            limits = BatchLimits(concurrency=2)
            async with aclosing(compact_batch(items, POLICY, hanging, journal=journal, limits=limits)) as batch:
                assert (await anext(batch)).status == "compacted"
            again = await done(items, POLICY, named("m"), journal=journal)
        assert [one.status for one in again] == ["compacted"] * 4
        assert sum(one.resumed for one in again) == 1

    run_virtual(main, backend)


KILLED = """
import sys, anyio, turnfold
from turnfold.batch import BatchLimits, compact_batch
sys.path.insert(0, sys.argv[1])
from test_journaled_batch import POLICY, transcripts
from turnfold.summarizers import Function

async def ask(request):
    print("asked", request.source_tokens, request.task, flush=True)
    return "The build is mended. " + str(request.source_tokens)

async def main():
    limits = BatchLimits(concurrency=3)
    async for one in compact_batch(transcripts(16), POLICY, Function(ask), journal=sys.argv[2], limits=limits):
        print("done", one.index, one.resumed, one.result.body.hex(), flush=True)

anyio.run(main)
"""


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent)]

    def whole(journal: str) -> list[list[str]]:
        ran = subprocess.run([*command, journal], capture_output=True, text=True, check=True)
        return [line.split(" ", 3) for line in ran.stdout.splitlines() if line.startswith("done")]

    undisturbed = {index: body for _, index, _, body in whole(str(tmp_path / "whole"))}
    assert len(undisturbed) == 16
    journal = str(tmp_path / "killed")
    finished: set[str] = set()
    for after in (1, 5, 3):
        # A reply's line is longer than the pipe: the run waits for its reader, and is killed in its work.
        process = subprocess.Popen([*command, journal], stdout=subprocess.PIPE, text=True, pipesize=4096)
        assert process.stdout is not None
        seen: list[str] = []
        for line in process.stdout:
            seen.append(line)
            if sum(one.startswith("done") and " False " in one for one in seen) >= after:
                break
        process.kill()
        rest, _ = process.communicate()
        for line in [*seen, *rest.splitlines(keepends=True)]:
            parts = line.split(" ", 3)
            if parts[0] == "done" and line.endswith("\n"):
                assert (parts[2] == "True") >= (parts[1] in finished), "a finished item was done again"
                assert undisturbed[parts[1]] == parts[3].strip()
        finished |= {line.split(" ")[1] for line in seen if line.startswith("done")}
    last = whole(journal)
    assert {index: body for _, index, _, body in last} == undisturbed
    assert len(last) == 16
    assert all(resumed == "True" for _, index, resumed, _ in last if index in finished)


def test_requests_and_tokens_a_minute_hold_for_all_items(backend: Backend) -> None:
    items = transcripts(8)

    async def seconds(**limits: Any) -> float:
        begun, fake = anyio.current_time(), named("m")
        run = await done(items, POLICY, fake, limits=BatchLimits(concurrency=8, item_seconds=None, **limits))
        assert {one.result.method for one in run if isinstance(one.result, CompactionResult)} == {"m"}
        assert len(fake.requests) == 8
        return anyio.current_time() - begun

    async def main() -> None:
        assert await seconds() == pytest.approx(0, abs=0.1)
        # A minute's worth goes at once, the rest evenly: four more at four a minute.
        assert await seconds(requests_per_minute=4) == pytest.approx(60, abs=1)
        assert await seconds(tokens_per_minute=8_000) > 10

    run_virtual(main, backend)


def test_no_more_is_spent_than_allowed(backend: Backend) -> None:
    from turnfold.model.price import Price
    from turnfold.model.summary import SummaryReply, SummaryRequest, Usage

    class Costly:
        name = "costly"
        calls = 0

        async def summarize(self, request: SummaryRequest) -> SummaryReply:
            self.calls += 1
            await anyio.sleep(1)
            return SummaryReply("Mended.", Usage(1_000, 0))

    async def main() -> None:
        price, asked = Price(1_000, 0), Costly()
        limits = BatchLimits(concurrency=1, most_spent=5.0, price=price)
        run = await done(transcripts(8), POLICY, asked, limits=limits)
        methods = [one.result.method for one in run if isinstance(one.result, CompactionResult)]
        assert len(methods) == 8
        assert methods[0] == "costly"
        assert methods[-1] == "rules"
        assert methods.count("costly") == asked.calls <= 5
        assert isinstance(run[-1].result, CompactionResult)
        assert run[-1].result.attempts[0].outcome == "spend_cap"
        spent = sum(price.of(one.result.usage) for one in run if isinstance(one.result, CompactionResult))
        assert 0 < spent <= 5.0

    run_virtual(main, backend)


def test_equal_requests_are_made_once(backend: Backend) -> None:
    same = transcripts(1) * 5

    async def main() -> None:
        fake = named("m", Step(seconds=1, text="Mended."))
        run = await done([*same, *transcripts(2)], POLICY, Fallback(fake, Rules()))
        assert len(fake.requests) == 2
        assert sum(one.reused for one in run) == 5
        assert {one.result.method for one in run if isinstance(one.result, CompactionResult)} == {"m"}

    run_virtual(main, backend)


def test_entries_have_policies_and_formats_and_errors_have_places(backend: Backend) -> None:
    body = transcripts(1)[0].to_json()
    short = Policy(OnRequest(), (Summarize(KeepMessages(4), max_tokens=100),), name="short")
    items = [
        BatchEntry(item=body, policy=short, format="openai.chat"),
        OSError("row 2 cannot be read"),
        BatchEntry(item=b'{"contents": []}', format="no.such"),
        body,
    ]

    def source() -> Iterator[object]:
        yield from items

    async def main() -> None:
        run = await done(source(), POLICY)
        assert [one.status for one in run] == ["compacted", "failed", "failed", "compacted"]
        assert run[1].error is items[1]
        assert [one.item for one in run] == items
        assert isinstance(run[0].result, CompactionResult)
        assert run[0].result.plan.policy == "short"
        assert run[0].transcript is not None

    run_virtual(main, backend)


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_only_the_owner_reads_a_new_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.remember(b"key", b"reply")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("j*") if file.suffix != ".lock"}
    assert modes == {"j": 0o600, "j-wal": 0o600, "j-shm": 0o600}


def test_a_journal_where_none_can_be_made(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="j cannot be opened as a journal"):
        Journal(tmp_path / "missing" / "j")


def test_a_journal_that_cannot_be_written_ends_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise JournalError("the disk is full")

    monkeypatch.setattr(Journal, "finish_item", full)
    with pytest.raises(JournalError, match="full"):
        run_virtual(lambda: done(transcripts(3), POLICY, journal=tmp_path / "j"), "asyncio")


def test_what_a_journal_cannot_be_used_for(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    with pytest.raises(JournalError, match="with statement"):
        run_virtual(lambda: done(transcripts(1), POLICY, replying("Done."), journal=journal), "asyncio")
    journal.__exit__(None, None, None)
    for wrong in ({"most_spent": 1.0}, {"requests_per_minute": 0}, {"tokens_per_minute": -1}):
        with pytest.raises(ArgumentError):
            BatchLimits(**wrong)


def test_a_rollback_that_fails_too_does_not_hide_what_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = False

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            if failing and sql in {"COMMIT", "ROLLBACK"}:
                raise sqlite3.OperationalError("the disk is gone" if sql == "COMMIT" else "no")
            return super().execute(sql, parameters)

    usual = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **options: usual(*given, factory=Failing, **options))
    with Journal(tmp_path / "j") as journal:
        failing = True
        with pytest.raises(JournalError, match="cannot be written: the disk is gone"):
            journal.remember(b"key", b"reply")
    failing = False
    with Journal(tmp_path / "j") as again:
        assert again.reply(b"key") is None


def test_what_is_said_together_is_kept_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        with pytest.raises(JournalError, match="full"), journal.together():
            journal.claim("a", "out/a")
            journal.remember(b"key", b"reply")
            raise JournalError("the disk is full")
        assert journal.reply(b"key") is None
        with journal.together():
            files = [journal.claim(name, f"out/{name}") for name in ("a", "b")]
            for file in files:
                assert file is not None
                journal.set_state(file, "done", 5)
    with Journal(tmp_path / "j") as again:
        kept = [again.claim(name, f"out/{name}") for name in ("a", "b", "c")]
        assert [file.state for file in kept if file is not None] == ["done", "done", "open"]


def test_a_journal_is_closed_whatever_its_end_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = False

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            if failing and sql.startswith("UPDATE files"):
                raise MemoryError
            return super().execute(sql, parameters)

    usual = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **options: usual(*given, factory=Failing, **options))
    journal = Journal(tmp_path / "j").__enter__()
    assert journal.claim_item(b"key").mine
    failing = True
    with pytest.raises(MemoryError):
        journal.__exit__(None, None, None)
    failing = False
    with Journal(tmp_path / "j") as again:
        assert again.claim_item(b"key").mine, "nobody holds it any more"
