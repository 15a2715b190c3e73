"""Batches with a journal whose every SQL statement may fail, or be where the process is killed, and the run after."""

import random
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio

from turnfold.batch import BatchItem, BatchLimits, compact_batch
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers import Fallback
from turnfold.testing.fakes import Scripted, replying
from turnfold.testing.faults.compactions import CompactionSeed, check_outcome
from turnfold.testing.faults.faulty_sqlite import SQLiteFaults, faulty_sqlite
from turnfold.testing.faults.held import held
from turnfold.testing.faults.scripts import quick_folder, random_transcript, settle

_BAD: Final = b'{"messages": ['
_SAYS: Final = "The build failed, and src/a1.py is to be mended."


@dataclass(slots=True)
class _Story:
    one: CompactionSeed
    items: list[bytes]
    limits: BatchLimits
    scope: anyio.CancelScope
    given: list[BatchItem] = field(default_factory=list)
    given_at_crash: int = 0


async def run_with_journal(one: CompactionSeed, chance: random.Random) -> str:
    """Run a batch, and go on with it on what it leaves: all items are done then, each once, and none a second time."""
    made = [random_transcript(chance).to_json() for _ in range(chance.randint(1, 4))]
    items = [_BAD if chance.random() < 0.1 else chance.choice(made) for _ in range(chance.randint(1, 6))]
    limits = BatchLimits(concurrency=chance.randint(1, 3), calls=one.places, item_seconds=one.deadline_seconds)
    scope = anyio.CancelScope()
    if one.cancel_after_seconds is not None:
        scope.deadline = anyio.current_time() + one.cancel_after_seconds
    story = _Story(one, items, limits, scope)
    with tempfile.TemporaryDirectory(dir=quick_folder()) as folder:
        path, crashed = Path(folder) / "run" / "journal.db", Path(folder) / "crashed" / "journal.db"
        path.parent.mkdir()
        crashed.parent.mkdir()

        def crash() -> None:
            story.given_at_crash = len(story.given)
            # Nobody holds the lock on a copy: its process is gone.
            for lock in path.parent.glob("*.lock"):
                shutil.copyfile(lock, crashed.parent / lock.name)
            scope.cancel()

        crash_at = chance.randint(3, 40) if chance.random() < 0.5 else None
        share = chance.choice([0, 0, 0.02, 0.1])
        with faulty_sqlite(SQLiteFaults(path, crashed, chance, share, crash_at, crash)), scope:
            await _run(story, path, story.given)
        await settle(one.members)
        if path.exists():
            await _go_on(story, path, story.given)
        if crashed.exists():
            await _go_on(story, crashed, story.given[: story.given_at_crash])
    return "journal"


async def _run(story: _Story, path: Path, given: list[BatchItem]) -> None:
    """Run the batch; what a journal raises that cannot be written ends it."""
    batch = compact_batch(
        story.items, story.one.policy, story.one.chain, limits=story.limits, journal=path, on_failure="skip"
    )
    try:
        async for item in batch:
            given.append(item)  # noqa: PERF401  # what came before an end counts
    except Exception as error:  # noqa: BLE001  # each of them is looked at
        held(_is_of_the_journal(error), f"a journal that cannot be written raises {type(error).__name__}: {error}")
    finally:
        with anyio.CancelScope(shield=True):
            await batch.aclose()


def _is_of_the_journal(error: BaseException) -> bool:
    if isinstance(error, ExceptionGroup):
        return all(map(_is_of_the_journal, error.exceptions))
    return type(error).__name__ in {"JournalError", "MemoryError"}


async def _go_on(story: _Story, path: Path, given: list[BatchItem]) -> None:
    """Run the batch on a journal as it was left, and check it against what was handed over before."""
    before = {item.index: item.result for item in given if isinstance(item.result, CompactionResult)}
    asked: Scripted = replying(_SAYS)
    asked.name = story.one.members[0].name
    again: list[BatchItem] = []
    chain = Fallback(asked, *story.one.members[1:])
    async for item in compact_batch(
        story.items, story.one.policy, chain, limits=BatchLimits(concurrency=2), journal=path, on_failure="skip"
    ):
        again.append(item)  # noqa: PERF401  # an asynchronous generator
    held(sorted(item.index for item in again) == list(range(len(story.items))), "an item is missing, or came twice")
    for item in again:
        bad = story.items[item.index] == _BAD
        held(item.status != "elsewhere", "what a dead run had claimed is free")
        held((item.status == "failed") == bad, f"item {item.index} is {item.status}: {item.error}")
        if item.transcript is not None and item.result is not None:
            check_outcome(item.transcript, item.result, "skip")
        was = before.get(item.index)
        if was is not None:
            held(item.resumed, f"item {item.index} was handed over, and is done again")
            same = isinstance(item.result, CompactionResult) and item.result.transcript.to_json()
            held(same == was.transcript.to_json(), f"item {item.index} is another than it was")
