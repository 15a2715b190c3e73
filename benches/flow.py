"""What calling summarizers costs: a batch beside a bare task group, and the event loop's longest pause at large bodies.

    python benches/flow.py                  # or: --calls 1000 --only batch

Each part checks its answers before its figures count.
"""

import argparse
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import ClassVar

import anyio
from loop import loop

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
