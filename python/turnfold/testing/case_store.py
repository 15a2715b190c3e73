"""Cases of the layer `store`: a conversation that goes on while it is compacted, over a file, on both event loops.

Each compaction has a process of its own, as far as the store can tell. And the store tells the story again: what it
gives for the whole conversation, as a client would send it after a restart, is what the case says.
"""

import os
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, Literal, get_args

import anyio
import anyio.from_thread
import msgspec
from msgspec import structs

from turnfold.background import BackgroundCompactor
from turnfold.errors import StoreUnavailableError
from turnfold.model.events import AnyEvent, BackgroundDiscarded, BackgroundStarted
from turnfold.model.judgement import BY_RULE
from turnfold.model.plan import SummaryHole
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.model.stored import Lease, StoredSummary
from turnfold.model.summary import SummaryRequest
from turnfold.planning.swap import covered_digest
from turnfold.planning.wrapper import recognise
from turnfold.stores import Owner, SQLiteStore, this_process
from turnfold.summarizers.function import Function
from turnfold.telemetry import listening
from turnfold.testing.case_files import CaseError, CaseFile, Mismatches, differs, shaped
from turnfold.testing.virtual_time import BACKENDS, Backend
from turnfold.transcript import Transcript

_UNSET = msgspec.UNSET
_Unset = msgspec.UnsetType
_PROSE = "It took one more step, and said so. " * 20
_CONVERSATION = "case"
_KILLED = 9
_EXIT = "import sys; from turnfold.testing.case_store import exit_in_commit; exit_in_commit(*sys.argv[1:])"

_Way = Literal["CancelledError (a BaseException)", "KeyboardInterrupt", "process exit"]


_WAYS: Final[tuple[_Way, ...]] = get_args(_Way)


class _Append(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="append"):
    id: str


class _Restart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="restart"):
    pass


class _Begin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="compact_begin"):
    name: str
    covers: list[str]


class _Commit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="compact_commit"):
    name: str
    summary_id: str


class _Cancel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="compact_cancel"):
    name: str
    during: Literal["summarize", "write", "after"]


class _Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    events: list[_Append | _Restart | _Begin | _Commit | _Cancel]


class _Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    final: list[str]
    commits: dict[str, bool]
    also_try: list[_Way] | _Unset = _UNSET


def check_store(case: CaseFile) -> Mismatches:
    """All expectations of one case, on each event loop."""
    source = shaped(case.input, _Input, "input")
    expect = shaped(case.expect, _Expect, "expect")
    for backend in BACKENDS:
        with tempfile.TemporaryDirectory() as folder:
            story = _Story(
                Path(folder) / "store.db",
                () if expect.also_try is _UNSET else tuple(way for way in _WAYS if way in expect.also_try),
            )
            anyio.run(story.play, source, backend=backend)
            yield from _compared(story, expect, backend)


def _compared(story: "_Story", expect: _Expect, backend: Backend) -> Mismatches:
    yield from differs(f"expect.final on {backend}", expect.final, story.ids(story.now))
    yield from differs(f"expect.final on {backend}, told again by the store", expect.final, story.ids(story.again))
    yield from differs(f"expect.commits on {backend}", expect.commits, story.commits)
    if expect.also_try is not _UNSET:
        yield from differs(f"expect.also_try on {backend}", sorted(expect.also_try), sorted(story.tried))


class _Process:
    """A compaction with the process that it runs in."""

    def __init__(self, path: Path, keep: int, owner: Owner) -> None:
        self.store = _Breakable(path, owner)
        self.begun = anyio.Event()
        self.text = anyio.Event()
        self.summary_id = ""
        policy = Policy(OnRequest(), (Summarize(KeepMessages(keep), task_max_tokens=0),), name="case")
        summarizer = Function(self._write, policy=BY_RULE)
        self.compactor = BackgroundCompactor(policy, summarizer, store=self.store, deadline_seconds=None)

    def hear(self, event: AnyEvent) -> None:
        """Take note that the compaction runs, or will not."""
        if isinstance(event, BackgroundStarted | BackgroundDiscarded):
            self.begun.set()

    async def _write(self, _: SummaryRequest) -> str:
        await self.text.wait()
        return f"{self.summary_id}: it went one step further."

    async def ready(self, summary_id: str) -> None:
        """Let the summarizer answer."""
        self.summary_id = summary_id
        self.text.set()
        await self.compactor.wait(_CONVERSATION)


class _Breakable(SQLiteStore):
    """A store whose commits can be broken off in the middle, and whose process can die."""

    def __init__(self, path: Path, owner: Owner) -> None:
        super().__init__(path, owner=owner)
        self.dead = False
        self.broken_by: _Way | None = None
        self.scope = anyio.CancelScope()

    def _add(self, lease: Lease, record: bytes) -> tuple[bool, int]:
        try:
            return super()._add(lease, record)
        finally:
            self.broken_by = None

    def _before_commit(self) -> None:
        if self.dead:
            raise StoreUnavailableError("the process is gone")
        match self.broken_by:
            case "KeyboardInterrupt":
                raise KeyboardInterrupt
            case "process exit":
                os._exit(_KILLED)
            case "CancelledError (a BaseException)":
                anyio.from_thread.run_sync(self.scope.cancel)
        super()._before_commit()


class _Story:
    def __init__(self, path: Path, ways: tuple[_Way, ...]) -> None:
        self._path = path
        self._ways = ways
        self._running: dict[str, _Process] = {}
        self.now = self.again = Transcript.from_messages([], format="openai.chat")
        self.commits: dict[str, bool] = {}
        self.tried: list[str] = []

    async def play(self, source: _Input) -> None:
        async with AsyncExitStack() as stack:
            for index, event in enumerate(source.events):
                match event:
                    case _Append():
                        self._append(event.id)
                    case _Restart():
                        for process in self._running.values():
                            process.store.dead = True
                    case _Begin():
                        lives = not any(isinstance(later, _Restart) for later in source.events[index:])
                        await self._begin(event, lives, stack)
                    case _Commit():
                        await self._commit(event)
                    case _Cancel():
                        await self._cancel(event)
        store = SQLiteStore(self._path)
        async with BackgroundCompactor(Policy(OnRequest(), (Summarize(),)), store=store) as reader:
            self.again = await reader.resume(_CONVERSATION, self.again)
        await store.aclose()

    def ids(self, transcript: Transcript) -> list[str]:
        """Each message by its id."""
        texts = (transcript.blocks(index)[0].text for index in range(len(transcript)))
        bodies = (text if (wrapped := recognise(text)) is None else wrapped.body for text in texts)
        return [body.partition(":")[0] for body in bodies]

    def _append(self, name: str) -> None:
        role = "user" if len(self.again) % 2 == 0 else "assistant"
        message = {"role": role, "content": f"{name}: {_PROSE}"}
        self.now = self.now.append(message)
        self.again = self.again.append(message)

    async def _begin(self, event: _Begin, lives: bool, stack: AsyncExitStack) -> None:  # noqa: FBT001
        if self.ids(self.now)[: len(event.covers)] != event.covers:
            raise CaseError(f"{event.name} covers {event.covers}, which is not how the conversation begins")
        here = this_process()
        # A process that is gone started at another time than the one that has its number now.
        owner = here if lives else structs.replace(here, started=here.started - 1)
        process = _Process(self._path, len(self.now) - len(event.covers), owner)
        overlaps = any(not other.store.dead for other in self._running.values())
        self._running[event.name] = process
        self.commits[event.name] = False
        await stack.enter_async_context(process.compactor)
        stack.push_async_callback(process.store.aclose)
        with listening(process.hear):
            process.compactor.start(_CONVERSATION, self.now, supersede=overlaps)
        await process.begun.wait()

    def _named(self, name: str) -> _Process:
        if name not in self._running:
            raise CaseError(f"{name} is named before it begins")
        return self._running[name]

    async def _commit(self, event: _Commit) -> None:
        process = self._named(event.name)
        await process.ready(event.summary_id)
        before = self.now
        self.now = await process.compactor.swap(_CONVERSATION, before)
        self.commits[event.name] = self.now is not before

    async def _cancel(self, event: _Cancel) -> None:
        process = self._named(event.name)
        if event.during == "write":
            await process.ready(f"sum-{event.name}")
            for way in self._ways or _WAYS[:1]:
                await self._break(process, way)
                self.tried.append(way)
        before = self.now
        process.compactor.cancel(_CONVERSATION)
        await process.compactor.wait(_CONVERSATION)
        self.now = await process.compactor.swap(_CONVERSATION, before)
        self.commits[event.name] |= self.now is not before

    async def _break(self, process: _Process, way: _Way) -> None:
        """Break a commit off in the middle; nothing of it may be seen afterwards."""
        if way == "process exit":
            broken = [sys.executable, "-c", _EXIT, str(self._path), covered_digest(self.now, 0, 1)]
            done = await anyio.run_process(broken, check=False)
            if done.returncode != _KILLED:
                raise CaseError(f"the process that should die ended with {done.returncode}: {done.stderr.decode()}")
            return
        process.store.broken_by = way
        process.store.scope = anyio.CancelScope()
        through = False
        try:
            with process.store.scope:
                self.now = await process.compactor.swap(_CONVERSATION, self.now)
                through = True
        except KeyboardInterrupt:
            pass
        self.commits[next(name for name, one in self._running.items() if one is process)] |= through


def exit_in_commit(path: str, digest: str) -> None:
    """Commit a summary, and die before the transaction is through."""

    async def main() -> None:
        store = _Breakable(Path(path), this_process())
        lease = await store.begin(_CONVERSATION, supersede=True)
        if lease is not None:
            store.broken_by = "process exit"
            await store.commit(lease, _half_written(digest))

    anyio.run(main)


def _half_written(digest: str) -> StoredSummary:
    hole = SummaryHole(start=0, stop=1, role="user", max_tokens=100, task_max_tokens=0, schema="nine_sections")
    return StoredSummary(
        start=0,
        stop=1,
        source_digest=digest,
        tiles=(hole,),
        messages=('{"role":"user","content":"half written"}',),
        encoding="o200k_base",
        policy="case",
    )
