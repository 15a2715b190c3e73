"""The fault simulator: what it checks holds for every seed, and it sees what does not hold."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from turnfold.background import BackgroundCompactor
from turnfold.batch.journal import Journal
from turnfold.compactor import compact
from turnfold.planning.apply import CompactionResult
from turnfold.stores import MemoryStore, SQLiteStore
from turnfold.testing.faults import compactions, main, run_seeds, sessions
from turnfold.testing.virtual_time import BACKENDS

SEEDS = 200


def test_everyday_seeds() -> None:
    outcomes = run_seeds(0, SEEDS)
    assert [outcome for outcome in outcomes if outcome.broken is not None] == []
    assert len(outcomes) == SEEDS * len(BACKENDS)
    ended = {word for outcome in outcomes for word in outcome.ended}
    assert {"batch", "cancelled", "no_summary", "rules", "summary", "session", "file", "crash", "journal"} <= ended


def test_a_seed_is_the_same_on_each_run() -> None:
    first, again = run_seeds(SEEDS, 8), run_seeds(SEEDS, 8)
    assert [o for o in first if o.backend == "asyncio"] == [o for o in again if o.backend == "asyncio"]


async def late(*arguments: Any, **options: Any) -> Any:
    result = await compact(*arguments, **options)
    await anyio.sleep(1_000)
    return result


async def losing(*arguments: Any, **options: Any) -> Any:
    result = await compact(*arguments, **options)
    if not isinstance(result, CompactionResult):
        return result
    kept = result.transcript.splice([range(len(result.transcript) - 1)])
    return replace(result, transcript=kept)


async def doubling(*arguments: Any, **options: Any) -> Any:
    result = await compact(*arguments, **options)
    if not isinstance(result, CompactionResult):
        return result
    return replace(result, transcript=result.transcript.append(result.messages[-1]))


async def keeping_places(*arguments: Any, **options: Any) -> Any:
    await options["calls"].acquire_on_behalf_of(object())
    return await compact(*arguments, **options)


async def nothing(*arguments: Any, **options: Any) -> Any:
    raise TimeoutError


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (late, "too late"),
        (losing, "expected"),
        (doubling, "expected"),
        (keeping_places, "places"),
        (nothing, "Timeout"),
    ],
)
def test_what_does_not_hold_is_seen(
    wrong: Callable[..., Any], what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compactions, "compact", wrong)
    assert main(["--seeds", "6", "--first", "1"]) == 1
    assert what in capsys.readouterr().out


class Forgetful(MemoryStore):
    """Says that it committed, and did not."""

    async def commit(self, lease: Any, summary: Any) -> int:
        version = await super().commit(lease, summary)
        self._held[lease.conversation].summaries.pop()
        return version


class Keeping(MemoryStore):
    """Gives no lease back."""

    async def abandon(self, lease: Any) -> None:
        await anyio.lowlevel.checkpoint()


class Torn(SQLiteStore):
    """Commits by halves: the lease ends before the summary is there."""

    def _add(self, lease: Any, record: bytes) -> tuple[bool, int]:
        self._end(lease.conversation, lease.token)
        with self._transaction() as connection:
            row = (lease.conversation, lease.base_version + 2, record)
            connection.execute("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)", row)
        return True, lease.base_version + 1


class Locking(SQLiteStore):
    """Leaves a transaction open where its first statement fails."""

    def _roll_back(self, connection: Any) -> None:
        if not hasattr(self, "left"):
            self.left = connection
            self._open = None
        else:
            super()._roll_back(connection)

    def __del__(self) -> None:
        if hasattr(self, "left"):
            self.left.close()
        super().__del__()


class NoJournal(Journal):
    """Forgets what is done."""

    def finish_item(self, key: bytes, outcome: bytes) -> None:
        super().release_item(key)


class Doubling(BackgroundCompactor):
    async def swap(self, conversation: str, transcript: Any) -> Any:
        swapped = await super().swap(conversation, transcript)
        return swapped if swapped is transcript else swapped.append(transcript.messages[-1])


class Hanging(BackgroundCompactor):
    async def swap(self, conversation: str, transcript: Any) -> Any:
        swapped = await super().swap(conversation, transcript)
        await anyio.sleep(1_000)
        return swapped


class Stale(BackgroundCompactor):
    """Swaps in what was true when it began."""

    async def swap(self, conversation: str, transcript: Any) -> Any:
        job = self._jobs.get(conversation)
        source = transcript if job is None else job.source
        swapped = await super().swap(conversation, source)
        return transcript if swapped is source else swapped


@pytest.mark.parametrize(
    ("name", "wrong", "seeds", "what"),
    [
        ("MemoryStore", Forgetful, 12, "were handed over, and"),
        ("MemoryStore", Keeping, 12, "nobody may compact it"),
        ("SQLiteStore", Torn, 12, "has the versions"),
        ("SQLiteStore", Locking, 40, "locked"),
        ("BackgroundCompactor", Doubling, 12, "neither message"),
        ("BackgroundCompactor", Hanging, 12, "swapping took"),
        ("BackgroundCompactor", Stale, 12, "are accounted for"),
    ],
)
def test_what_does_not_hold_of_sessions_is_seen(
    name: str, wrong: type, seeds: int, what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sessions, name, wrong)
    assert main(["--seeds", str(seeds), "--first", "1"]) == 1
    assert what in capsys.readouterr().out


def test_a_journal_that_forgets_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnfold.batch.journal.Journal", NoJournal)
    broken = [outcome.broken for seed in range(4, 100, 16) for outcome in run_seeds(seed, 1)]
    assert any(what is not None and "is done again" in what for what in broken)
