"""What calling summarizers costs: a batch beside a bare task group, and the event loop's longest pause at large bodies.

    python benches/flow.py                  # or: --calls 1000 --only batch

Each part checks its answers before its figures count.
"""

import argparse
import asyncio
import gc
import hashlib
import json
import os
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

import anyio
from bodies import body as agent_session

from turnfold import compact_batch
from turnfold.batch import BatchLimits
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers import Function
from turnfold.testing.virtual_time import BACKENDS, _VirtualLoop, run_virtual
from turnfold.transcript import Transcript

CONCURRENCY = 100
POLICY = Policy(OnRequest(), (Summarize(KeepMessages(1)),), name="bench")
PROSE = "The build failed again and nobody knows why. " * 10


def chat(number: int) -> Transcript:
    messages: list[Message] = []
    for k in range(3):
        messages.append({"role": "user", "content": f"{number}: question {k}. {PROSE}"})
        messages.append({"role": "assistant", "content": f"Answer {k}. {PROSE}"})
    return Transcript.from_messages(messages, format="openai.chat")


async def ask(request: SummaryRequest) -> SummaryReply:
    await anyio.sleep(1)
    return SummaryReply("The build failed; nobody knows why.")


async def batch(calls: int) -> float:
    transcripts = [chat(number) for number in range(calls)]
    started = anyio.current_time()
    limits = BatchLimits(concurrency=CONCURRENCY, ahead=CONCURRENCY)
    seen: set[int] = set()
    async for one in compact_batch(transcripts, POLICY, Function(ask), limits=limits):
        assert isinstance(one.result, CompactionResult), one
        assert one.result.method == "function"
        assert "nobody knows why" in (one.result.summary or "")
        seen.add(one.index)
    assert seen == set(range(calls))
    return anyio.current_time() - started


async def bare(calls: int) -> float:
    started = anyio.current_time()
    limiter = anyio.CapacityLimiter(CONCURRENCY)
    done = 0

    async def call() -> None:
        nonlocal done
        async with limiter:
            await anyio.sleep(1)
            done += 1

    async with anyio.create_task_group() as group:
        for _ in range(calls):
            group.start_soon(call)
    assert done == calls
    return anyio.current_time() - started


class WorkLoop(_VirtualLoop):
    """A clock that goes on with the processor time that this process takes, and jumps over what it waits for."""

    slowness: ClassVar[float] = 1

    def time(self) -> float:
        return super().time() + self.slowness * time.process_time()


def run_without_queueing(main: Callable[[], Awaitable[float]], slowness: float) -> float:
    """Run as on a machine that has nothing else to do, whose processor is so many times as slow."""
    WorkLoop.slowness = slowness
    return anyio.run(main, backend="asyncio", backend_options={"loop_factory": WorkLoop})


def compare(calls: int) -> None:
    ideal = calls / CONCURRENCY
    print(f"{calls} calls of 1 s, {CONCURRENCY} at once: {ideal:g} s at best")
    for backend in BACKENDS:
        times = [run_virtual(lambda work=work: work(calls), backend) for work in (batch, bare)]
        print(f"  virtual clock, {backend}: compact_batch {times[0]:.3f} s, bare {times[1]:.3f} s")
        assert times[0] <= ideal * 1.05
    for slowness in (1, 2):
        times = [run_without_queueing(lambda work=work: work(calls), slowness) for work in (batch, bare)]
        print(
            f"  CPU time and waits only, asyncio, a processor {slowness} x as slow: compact_batch {times[0]:.3f} s "
            f"({times[0] / ideal - 1:+.1%}), bare {times[1]:.3f} s ({times[1] / ideal - 1:+.1%})"
        )
    for backend in BACKENDS:
        cpu = time.process_time()
        ours = anyio.run(batch, calls, backend=backend)
        cpu = time.process_time() - cpu
        theirs = anyio.run(bare, calls, backend=backend)
        over = ours / ideal - 1
        print(
            f"  real clock, {backend}: compact_batch {ours:.3f} s ({over:+.1%}), bare {theirs:.3f} s "
            f"({theirs / ideal - 1:+.1%}); {cpu / calls * 1000:.2f} ms of CPU a compaction"
        )


async def pauses(work: Callable[[], Awaitable[object]]) -> list[tuple[float, str]]:
    """Run `work`, and measure how long the loop is away each time, beyond the millisecond it is let go, and what
    another thread is at when it comes back.

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
        await work()
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
    """How long the collector of cycles held the interpreter, of its own processor time."""

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self._began = 0.0

    def __call__(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.longest_ms = max(self.longest_ms, (time.thread_time() - self._began) * 1000)


def small_calls() -> bytes:
    """A megabyte of 4,000 short calls and their results: many objects for their bytes."""
    messages: list[Message] = []
    for number in range(4_000):
        if not number % 10:
            messages.append({"role": "user", "content": f"Look at part {number}."})
        function = {"name": "bash", "arguments": f'{{"command": "ls -la src/{number}"}}'}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"return {number}: src/x{number}.py"})
    return Transcript.from_messages(messages, format="openai.chat").to_json()


def paths() -> bytes:
    """A megabyte of nothing but 36,000 paths."""
    picked = random.Random(0)
    messages: list[Message] = [{"role": "user", "content": "Which files return?"}]
    for number in range(900):
        named = (f"/srv/{picked.randrange(16**6):x}/{picked.randrange(16**8):x}.py" for _ in range(40))
        messages.append({"role": "assistant" if number % 2 else "user", "content": f"return {' '.join(named)}"})
    return Transcript.from_messages(messages, format="openai.chat").to_json()


def cyrillic() -> bytes:
    """A megabyte of Russian with emoji: texts of four bytes a character for the interpreter."""
    messages: list[Message] = []
    for number in range(2_000):
        text = f"Сборка {number} снова не прошла, и никто не знает почему 😀. " * 5
        messages.append({"role": "assistant" if number % 2 else "user", "content": f"return {text}"})
    return json.dumps(messages, ensure_ascii=False).encode()


async def measure(name: str, work: Callable[[], Awaitable[None]], rounds: int, places: int = 0) -> None:
    """Print the longest pauses beside `work`, and the `places` with the longest of all."""
    largest: list[float] = []
    longest: dict[str, list[float]] = {}
    left_out = 0
    collections = Collections()
    gc.collect()
    gc.callbacks.append(collections)
    while len(largest) < rounds and left_out < 10 * rounds:
        before = stolen()
        found = await pauses(work)
        if stolen() != before:
            left_out += 1
            continue
        largest.append(found[-1][0] * 1000)
        for seconds, place in found:
            longest.setdefault(place, []).append(seconds * 1000)
    gc.callbacks.remove(collections)
    largest.sort()
    if not largest:
        print(f"  {name}: all {left_out} rounds were left out")
        return
    print(
        f"  {name}: median {largest[len(largest) // 2]:.1f}, highest {largest[-1]:.1f}, "
        f"{sum(ms > 5 for ms in largest)} of {len(largest)} over 5; the collector's longest "
        f"{collections.longest_ms:.1f}; {left_out} rounds left out"
    )
    for place, ms in sorted(longest.items(), key=lambda one: -max(one[1]))[:places]:
        print(f"    up to {max(ms):.1f} ms, {sum(m > 1 for m in ms)} over 1 ms, beside {place}")


def beside(work: Callable[[], object]) -> Callable[[], Awaitable[None]]:
    """Return 0.2 s in which a thread does `work` again and again."""

    async def run() -> None:
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


def loop(rounds: int) -> None:
    policy = Policy(OnRequest(), (Summarize(KeepMessages(20)),), name="bench")
    print(f"the loop's longest pause of a round, in ms, over {rounds} rounds in which no other guest took a processor")

    async def reply(request: SummaryRequest) -> str:
        # Long and in order enough that every check is made.
        names = ", ".join(request.identifiers[:40])
        return f"## Findings\n- It read {names}. " + "The modules were read, one after the other. " * 20

    number = 0

    def compacting(body: bytes) -> Callable[[], Awaitable[None]]:
        async def once() -> None:
            nonlocal number
            number += 1
            # Nothing of it is known from the round before.
            fresh = body.replace(b"return", b"return%d" % number)
            async for one in compact_batch([fresh], policy, Function(reply)):
                assert isinstance(one.result, CompactionResult), one
                assert one.result.method == "function"
                assert len(one.result.transcript) < 40

        return once

    async def idle() -> None:
        await asyncio.sleep(0.2)

    async def main() -> None:
        for kind in (agent_session, small_calls, paths, cyrillic):
            body = kind()
            await measure(f"{kind.__name__}, {len(body) / 1e6:.2f} MB", compacting(body), rounds, places=3)
        block = bytes(1 << 20)
        await measure("nothing", idle, rounds)
        await measure("a thread without the interpreter", beside(lambda: hashlib.blake2b(block)), rounds)
        await measure("a thread of plain Python", beside(lambda: sum(range(1000))), rounds)

    asyncio.run(main())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=["batch", "loop"])
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs, Python {sys.version.split()[0]}")
    if options.only != "loop":
        compare(options.calls)
    if options.only != "batch":
        loop(options.rounds)


if __name__ == "__main__":
    main()
