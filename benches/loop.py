"""How long the event loop waits beside the work on large bodies, which is done in threads.

python benches/flow.py --only loop      # or: --rounds 40
"""

import asyncio
import gc
import hashlib
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import TypeAlias

import anyio.to_thread
from large_bodies import KINDS, agent_session

from turnfold import BackgroundCompactor, compact, compact_batch, presets, stores
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryRequest
from turnfold.planning.apply import CompactionResult
from turnfold.prompts.prompt import render_prompt
from turnfold.summarizers import Function
from turnfold.summarizers.threads import SWITCH_SECONDS, in_thread
from turnfold.transcript import Transcript

Work: TypeAlias = Callable[[bytes], Awaitable[None]]
NUMBERS = count()
POLICY = Policy(OnRequest(), (Summarize(KeepMessages(20)),), name="bench")


async def pauses(work: Work, body: bytes) -> list[tuple[float, str]]:
    """Run `work` on a body, and measure how long the loop is away each time, beyond the millisecond it is let go.

    Beside it stands what another thread is at when it comes back.

    Time without a processor is not counted: what the loop's thread waited for one (Linux's schedstat), and what all of
    the process did not work.
    """
    schedstat = Path("/proc/thread-self/schedstat")

    def waited() -> float:
        return int(schedstat.read_text().split()[1]) / 1e9 if schedstat.exists() else 0.0

    found: list[tuple[float, str]] = []
    stopped = False

    async def tick() -> None:
        while not stopped:
            queued, before, worked = waited(), time.perf_counter(), time.process_time()
            await asyncio.sleep(0.001)
            away, worked = time.perf_counter() - before - 0.001, time.process_time() - worked
            found.append((min(away - (waited() - queued), worked), elsewhere()))

    ticking = asyncio.create_task(tick())
    try:
        await work(body)
    finally:
        stopped = True
        await ticking
    return sorted(found)


def elsewhere() -> str:
    """Say at which line of ours a thread other than this one is."""
    own = threading.get_ident()
    for thread, frame in sys._current_frames().items():  # noqa: SLF001  # the documented way
        at = frame if thread != own else None
        while at is not None:
            if "turnfold" in at.f_code.co_filename and "threads.py" not in at.f_code.co_filename:
                return f"{Path(at.f_code.co_filename).name}:{at.f_lineno}, {at.f_code.co_name}"
            at = at.f_back
    return "nowhere of ours"


def stolen() -> int:
    """Return the hundredths of a second that another guest of the machine had of our processors; 0 if unknown."""
    stat = Path("/proc/stat")
    return int(stat.read_text().split("\n", 1)[0].split()[8]) if stat.exists() else 0


class Collections:
    """How long the collector of cycles held the interpreter, of its own processor time, and how often it looked at all
    objects of the process.
    """

    def __init__(self) -> None:
        self.full = 0
        self.longest_ms = 0.0
        self._began = 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.longest_ms = max(self.longest_ms, (time.thread_time() - self._began) * 1000)
            self.full += info["generation"] == 2


async def measure(name: str, work: Work, rounds: int, body: bytes = b"") -> None:
    """Print the longest pauses beside `work` on a body, and at which places of ours the longest of all were.

    The highest of those over 5 ms have the longest collection of their round beside them: whether that was why.
    """
    largest: list[float] = []
    longest: dict[str, list[float]] = {}
    left_out = full = 0
    longest_ms = 0.0
    over: list[tuple[float, float]] = []
    gc.collect()
    while len(largest) < rounds and left_out < 10 * rounds:
        before = stolen()
        # Such that nothing of it is known from the round before.
        fresh = body.replace(b"return", b"return%d" % next(NUMBERS))
        collections = Collections()
        gc.callbacks.append(collections)
        found = await pauses(work, fresh)
        gc.callbacks.remove(collections)
        full += collections.full
        longest_ms = max(longest_ms, collections.longest_ms)
        if stolen() != before:
            left_out += 1
            continue
        largest.append(found[-1][0] * 1000)
        if largest[-1] > 5:
            over.append((largest[-1], collections.longest_ms))
        for seconds, place in found:
            longest.setdefault(place, []).append(seconds * 1000)
    largest.sort()
    if not largest:
        print(f"  {name}: all {left_out} rounds were left out")
        return
    print(
        f"  {name}: median {largest[len(largest) // 2]:.1f}, highest {largest[-1]:.1f}, "
        f"{len(over)} of {len(largest)} over 5; {full} full collections, the longest of any kind "
        f"{longest_ms:.1f}; {left_out} rounds left out"
    )
    if over and body:
        highest = ", ".join(f"{ms:.1f} ({collected:.1f})" for ms, collected in sorted(over, reverse=True)[:5])
        print(f"    over 5, and the longest collection of that round: {highest}")
    for place, ms in sorted(longest.items(), key=lambda one: -max(one[1]))[: 3 if body else 0]:
        print(f"    up to {max(ms):.1f} ms, {sum(m > 1 for m in ms)} over 1 ms, beside {place}")


def beside(work: Callable[[], object]) -> Work:
    """Return 0.2 s in which a thread does `work` again and again."""

    async def run(_: bytes) -> None:
        over = threading.Event()

        def spin() -> None:
            while not over.is_set():
                work()

        thread = threading.Thread(target=spin)
        thread.start()
        await asyncio.sleep(0.2)
        over.set()
        thread.join()

    return run


async def reply(request: SummaryRequest) -> str:
    """Answer as a model would that is behind an API: the prompt for it is made."""
    prompt = await in_thread(render_prompt, request)
    assert len(prompt.user) > 10_000
    # Long and in order enough that every check is made.
    names = ", ".join(request.identifiers[:40])
    heading = "## Conversation Summary\n" if request.schema == "conversation_summary" else ""
    return f"{heading}## Findings\n- It read {names}. " + "The modules were read, one after the other. " * 20


async def in_batch(body: bytes) -> None:
    """Compact a body by `compact_batch`."""
    async for one in compact_batch([body], POLICY, Function(reply)):
        assert isinstance(one.result, CompactionResult), one
        assert one.result.method == "function"
        assert len(one.result.transcript) < 40


def by_preset(policy: Policy) -> Work:
    """Return one compaction of a body by `compact`."""

    async def once(body: bytes) -> None:
        transcript = await anyio.to_thread.run_sync(Transcript.from_json, body)
        result = await compact(transcript, policy, Function(reply))
        assert isinstance(result, CompactionResult), result
        assert result.method == "function"

    return once


def in_background(folder: str) -> Work:
    """Return one compaction beside a conversation: started, committed to a store, swapped in, and again from there."""

    async def once(body: bytes) -> None:
        transcript = await anyio.to_thread.run_sync(Transcript.from_json, body)
        name = f"chat-{transcript.fingerprint}"
        async with (
            stores.SQLiteStore(Path(folder) / "sessions.db") as store,
            BackgroundCompactor(POLICY, Function(reply), store=store) as background,
        ):
            background.start(name, transcript)
            assert await background.wait(name) == "ready"
            swapped = await background.swap(name, transcript)
            assert len(swapped) < 40
            again = await background.resume(name, transcript)
            assert again.fingerprint == swapped.fingerprint

    return once


async def idle(_: bytes) -> None:
    """Do nothing for a while."""
    await asyncio.sleep(0.2)


async def measure_all(rounds: int) -> None:
    """Measure every kind of body, every way to compact, and threads that do none of it."""
    for kind in KINDS:
        body = kind()
        await measure(f"{kind.__name__}, {len(body) / 1e6:.2f} MB", in_batch, rounds, body)
    for policy in (
        presets.token_threshold(limit_tokens=100_000, window_tokens=200_000),
        presets.turn_window(),
        presets.evicted_turns(limit_tokens=100_000),
    ):
        await measure(f"session by {policy.name}", by_preset(policy), rounds, agent_session())
    with tempfile.TemporaryDirectory() as folder:
        await measure("session in the background, SQLite", in_background(folder), rounds, agent_session())
    block = bytes(1 << 20)
    await measure("nothing", idle, rounds)
    await measure("a thread without the interpreter", beside(lambda: hashlib.blake2b(block)), rounds)
    plain = beside(lambda: sum(range(1000)))
    await measure("a thread of plain Python", plain, rounds)
    sys.setswitchinterval(SWITCH_SECONDS)
    await measure("a thread of plain Python that takes turns as ours do", plain, rounds)


def loop(rounds: int) -> None:
    """Print the longest pauses."""
    print(f"the loop's longest pause of a round, in ms, over {rounds} rounds in which no other guest took a processor")
    asyncio.run(measure_all(rounds))
