"""Conversations that go on while they are compacted, over stores that fail in every way, and what a restart finds."""

import math
import random
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import anyio

from turnfold.background import CLEANUP_SECONDS, BackgroundCompactor
from turnfold.model.events import AnyEvent, BackgroundSwapped
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.model.state import PlanState
from turnfold.planning.swap import covers
from turnfold.stores import MemoryStore, Owner, SQLiteStore
from turnfold.stores.protocol import Store
from turnfold.summarizers import Fallback, Member
from turnfold.summarizers.detached import GRACE_SECONDS
from turnfold.telemetry import listening
from turnfold.testing.fakes import Scripted
from turnfold.testing.faults.conversations import Conversation, accounted_for
from turnfold.testing.faults.faulty_sqlite import SQLiteFaults, faulty_sqlite
from turnfold.testing.faults.faulty_store import FaultyStore
from turnfold.testing.faults.held import TINY_SECONDS, Broken, held
from turnfold.testing.faults.interrupted import Interrupted
from turnfold.testing.faults.scripts import quick_folder, random_member, settle

STORE_SECONDS: Final = 6.0
_WAIT_SECONDS: Final = 2.0
_ENTRIES: Final = 4
_NOBODY: Final = 2**30  # no process has so high a number

_R = TypeVar("_R")


@dataclass(slots=True)
class SessionSeed:
    """What one seed does: clients of several conversations, one or two processes, one store under all of them."""

    chance: random.Random
    conversations: list[Conversation]
    members: list[Scripted]
    policy: Policy
    deadline_seconds: float
    processes: int
    share: float
    cancel_at_await: int | None
    cancel_after_seconds: float | None
    stores: list[FaultyStore] = field(default_factory=list)
    told: list[AnyEvent] = field(default_factory=list)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


def random_session(chance: random.Random) -> SessionSeed:
    """Make up what a seed does."""
    conversations = [Conversation.begun_by("abc"[k], chance) for k in range(chance.randint(1, 3))]
    if chance.random() < 0.3:
        # The same transcript under another name: one call serves both.
        conversations.append(copy(conversations[0]))
        conversations[-1].name = "twin"
        conversations[-1].messages = list(conversations[0].messages)
        conversations[-1].begun, conversations[-1].states = [], list(conversations[0].states)
    cancelled = chance.random()
    return SessionSeed(
        chance=chance,
        conversations=conversations,
        members=[random_member(chance, number) for number in range(chance.choice([1, 1, 2]))],
        policy=Policy(
            OnRequest(),
            (Summarize(KeepMessages(chance.randint(1, 4)), max_tokens=400, task_max_tokens=40),),
            name="faults",
        ),
        deadline_seconds=chance.choice([0, 0.5, 3, 10]),
        processes=chance.choice([1, 1, 2]),
        share=chance.choice([0, 0.05, 0.2, 0.5]),
        cancel_at_await=chance.randint(0, 120) if cancelled < 0.3 else None,
        cancel_after_seconds=chance.choice([0.5, 2.0, 3.0, 7.0]) if 0.3 <= cancelled < 0.5 else None,
    )


async def run_in_memory(seed: SessionSeed) -> str:
    """Run a seed over a store in memory."""
    memory = MemoryStore()
    await _run(seed, [memory] * seed.processes)
    lost = any(name in {"begin", "abandon", "settle"} for store in seed.stores for name, _ in store.done)
    await _check_store(seed, memory, seed.conversations, _swaps(seed), leases_end=not lost)
    return "session"


async def run_in_file(seed: SessionSeed) -> str:
    """Run a seed over a file: faults at every statement, and at one of them a crash."""
    with tempfile.TemporaryDirectory(dir=quick_folder()) as folder:
        path, crashed = Path(folder) / "store.db", Path(folder) / "crashed.db"
        at_crash: list[Conversation] = []
        handed_over: list[int] = []

        def crash() -> None:
            at_crash.extend(copy(one) for one in seed.conversations)
            for one in at_crash:
                one.messages, one.begun, one.states = list(one.messages), list(one.begun), list(one.states)
            handed_over.append(len(_swaps(seed)))
            seed.scope.cancel()

        faults = SQLiteFaults(
            path,
            crashed,
            seed.chance,
            seed.chance.choice([0, 0, 0.01, 0.05]),
            seed.chance.randint(0, 200) if seed.chance.random() < 0.5 else None,
            crash,
        )
        processes = [
            SQLiteStore(path, wait_seconds=_WAIT_SECONDS, owner=Owner("simulated", _NOBODY + number, 1))
            for number in range(seed.processes)
        ]
        try:
            with faulty_sqlite(faults):
                await _run(seed, processes)
                faults.quiet = True
            if path.exists():
                await _check_file(seed, path, seed.conversations, _swaps(seed))
            if crashed.exists():
                await _check_file(seed, crashed, at_crash, _swaps(seed)[: handed_over[0]])
                return "crash"
        finally:
            for store in processes:
                await store.aclose()
    return "file"


async def _run(seed: SessionSeed, stores: list[MemoryStore] | list[SQLiteStore]) -> None:
    for store in stores:
        seed.stores.append(FaultyStore(store, seed.chance, seed.share, lambda: _cancel_one(seed)))
    with listening(seed.told.append):
        if seed.cancel_after_seconds is not None:
            seed.scope.deadline = anyio.current_time() + seed.cancel_after_seconds
        with seed.scope:
            work = _clients(seed)
            await (work if seed.cancel_at_await is None else Interrupted(work, seed.scope, seed.cancel_at_await))
    for member in seed.members:
        held(member.in_flight == member.refusing, f"{member.in_flight} calls of {member.name} still run")
    await settle(seed.members)
    for conversation in seed.conversations:
        accounted_for(conversation.whole, conversation.now, f"the transcript of {conversation.name}")


def _cancel_one(seed: SessionSeed) -> None:
    """Cancel the whole run, mostly where there is another way."""
    if seed.chance.random() < 0.3:
        seed.scope.cancel()


async def _clients(seed: SessionSeed) -> None:
    chain = Fallback(*(Member(one, timeout_seconds=2) for one in seed.members))
    async with AsyncExitStack() as stack:
        processes = []
        for store in seed.stores:
            background = BackgroundCompactor(
                seed.policy,
                chain,
                store=store,
                deadline_seconds=seed.deadline_seconds,
                store_seconds=STORE_SECONDS,
                calls=anyio.CapacityLimiter(3),
            )
            if await _entered(stack, background):
                processes.append(background)
        if not processes:
            return
        group = await stack.enter_async_context(anyio.create_task_group())
        for conversation in seed.conversations:
            chance = random.Random(seed.chance.random())  # noqa: S311
            group.start_soon(_client, _Client(conversation, seed, chance, processes))


async def _entered(stack: AsyncExitStack, background: BackgroundCompactor) -> bool:
    """Enter, again where the store fails; whether that came about."""
    for _ in range(_ENTRIES):
        try:
            await _in_time(STORE_SECONDS, "entering", stack.enter_async_context(_left_in_time(background)))
        except Broken:
            raise
        except Exception:  # noqa: BLE001, S112  # whatever the store raises is raised: a program would try again
            continue
        return True
    return False


@asynccontextmanager
async def _left_in_time(background: BackgroundCompactor) -> AsyncIterator[None]:
    left = math.inf
    try:
        async with background:
            try:
                yield
            finally:
                left = anyio.current_time()
    finally:
        took = anyio.current_time() - left
        held(took <= 2 * (CLEANUP_SECONDS + GRACE_SECONDS) + TINY_SECONDS, f"leaving took {took} s")


@dataclass(slots=True)
class _Client:
    conversation: Conversation
    seed: SessionSeed
    chance: random.Random
    processes: list[BackgroundCompactor]

    @property
    def background(self) -> BackgroundCompactor:
        """The process that the next request happens to reach."""
        return self.chance.choice(self.processes)


async def _client(client: _Client) -> None:
    actions = client.chance.choices(list(_ACTIONS), [weight for _, weight in _ACTIONS.values()], k=12)
    for action in ("start", *actions, "swap"):
        await _ACTIONS[action][0](client)


async def _append(client: _Client) -> None:
    client.conversation.goes_on(client.chance)


async def _edit(client: _Client) -> None:
    client.conversation.is_edited(client.chance)


async def _sleep(client: _Client) -> None:
    await anyio.sleep(client.chance.choice([0, 0.1, 1, 5]))


async def _start(client: _Client) -> None:
    one = client.conversation
    one.begun.append(one.now)
    client.background.start(one.name, one.now, supersede=client.chance.random() < 0.2)


async def _cancel(client: _Client) -> None:
    client.background.cancel(client.conversation.name)


async def _wait(client: _Client) -> None:
    most = STORE_SECONDS + client.seed.deadline_seconds + 2 * GRACE_SECONDS + CLEANUP_SECONDS
    await _in_time(most, "waiting", client.background.wait(client.conversation.name))


async def _swap(client: _Client) -> None:
    one = client.conversation
    before = one.now
    most = 2 * STORE_SECONDS + CLEANUP_SECONDS
    after = await _in_time(most, "swapping", client.background.swap(one.name, before))
    if after is not before:
        held(after.tokens().n < before.tokens().n, "what is swapped in is smaller")
    # Between the commit and here nothing was awaited.
    one.now = after


async def _resume(client: _Client) -> None:
    one = client.conversation
    try:
        resumed = await _in_time(STORE_SECONDS, "resuming", client.background.resume(one.name, one.whole))
    except Broken:
        raise
    except Exception:  # noqa: BLE001  # whatever the store raises is raised
        return
    accounted_for(one.whole, resumed, f"what is resumed of {one.name}")


async def _save(client: _Client) -> None:
    one = client.conversation
    state = PlanState(turns_since_compaction=client.chance.randint(0, 9))
    one.states.append(state)
    try:
        with anyio.move_on_after(STORE_SECONDS):
            await client.chance.choice(client.seed.stores).save_state(one.name, state)
            del one.states[:-1]
    except Exception:  # noqa: BLE001  # then it is the old one or the new one
        return


_ACTIONS: Final[dict[str, tuple[Callable[[_Client], Awaitable[None]], int]]] = {
    "append": (_append, 5),
    "edit": (_edit, 1),
    "sleep": (_sleep, 3),
    "start": (_start, 4),
    "cancel": (_cancel, 1),
    "wait": (_wait, 3),
    "swap": (_swap, 5),
    "resume": (_resume, 2),
    "save": (_save, 1),
}


async def _in_time(most_seconds: float, what: str, work: Awaitable[_R]) -> _R:
    """Await, and check how long it took, whatever it ends with."""
    begun = anyio.current_time()
    try:
        return await work
    finally:
        took = anyio.current_time() - begun
        held(took <= most_seconds + TINY_SECONDS, f"{what} took {took} s, {most_seconds} s at most were to be")


def _swaps(seed: SessionSeed) -> list[tuple[str, int]]:
    """Return what was handed over: of which conversation, and the version."""
    return [(e.conversation or "", e.version) for e in seed.told if isinstance(e, BackgroundSwapped)]


async def _check_file(
    seed: SessionSeed, path: Path, conversations: list[Conversation], swaps: list[tuple[str, int]]
) -> None:
    """Check a file, and that who comes next finds nothing unfinished: the processes that wrote it are gone."""
    with closing(sqlite3.connect(path)) as connection:
        held(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the file is whole")
    store = SQLiteStore(path, owner=Owner("simulated", _NOBODY - 1, 1))
    try:
        await store.settle()
        await _check_store(seed, store, conversations, swaps, leases_end=True)
    finally:
        await store.aclose()


async def _check_store(
    seed: SessionSeed,
    store: Store,
    conversations: list[Conversation],
    swaps: list[tuple[str, int]],
    *,
    leases_end: bool,
) -> None:
    """Check versions, spans and digests, that what was handed over is there, and that the next compaction may begin."""
    for one in conversations:
        session = await store.load(one.name)
        versions = [summary.version for summary in session.summaries]
        held(versions == list(range(1, session.version + 1)), f"{one.name} has the versions {versions}")
        tokens = {summary.token for summary in session.summaries}
        held("" not in tokens and len(tokens) == len(versions), f"{one.name}: a lease committed twice")
        for summary in session.summaries:
            held(
                any(covers(source, summary) for source in one.begun),
                f"{one.name}: version {summary.version} covers what no compaction was begun with",
            )
        given = [version for name, version in swaps if name == one.name]
        held(len(set(given)) == len(given), f"{one.name}: a version was handed over twice: {given}")
        held(set(given) <= set(versions), f"{one.name}: {given} were handed over, and {versions} are there")
        held(session.state in one.states, f"{one.name}: {session.state} was never saved")
        async with BackgroundCompactor(seed.policy, store=store) as background:
            resumed = await background.resume(one.name, one.whole)
        accounted_for(one.whole, resumed, f"what the store gives of {one.name}")
        lease = await store.begin(one.name, supersede=not leases_end)
        held(lease is not None, f"{one.name}: nobody may compact it any more")
        if lease is not None:
            await store.abandon(lease)
