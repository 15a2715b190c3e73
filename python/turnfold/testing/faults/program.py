"""`python -m turnfold.testing.faults [--seeds N] [--first SEED]`: breaks compactions on purpose, checks what is left.

Each seed makes one compaction, or a batch of them (a transcript, a policy, limits, a chain of summarizers whose every
call may be late, fail, hang, refuse to stop or answer garbage; a batch may have a journal, and is gone on with), and
one story of conversations that are compacted while they go on, over a store in memory or in a file. Every call of a
store and every SQL statement may fail, be late, or be where the process is killed. Many have a caller that gives up at
one of its awaits or moments. All of it runs on a clock that jumps, on asyncio and on trio. Whatever happens, it must be
over in time, and leave the old transcript or a valid new one in which every message is kept, once, or is covered by the
summary; a store in which versions, spans and digests are right, what was handed over is there, and the next compaction
may begin; and a journal by which no item is lost or done again. Exit status: 0 all held, 1 one did not.
"""

import argparse
import logging
import random
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from turnfold.testing.faults.compactions import random_compaction, run_batch, run_compaction
from turnfold.testing.faults.journals import run_with_journal
from turnfold.testing.faults.sessions import random_session, run_in_file, run_in_memory
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual

_SEEDS_AT_ONCE: Final = 100


def run_seed(seed: int, backend: Backend) -> list[str]:
    """Run one seed; returns in a word each how its parts ended. Raises `Broken` where something does not hold."""
    return [run_compaction_seed(seed, backend), run_session_seed(seed, backend)]


def run_compaction_seed(seed: int, backend: Backend) -> str:
    """Run the compaction or the batch of a seed, which may have a journal."""
    one = random_compaction(random.Random(seed))  # noqa: S311
    if seed % 16 == 4:
        return run_virtual(lambda: run_with_journal(one, random.Random(-seed)), backend)  # noqa: S311
    if seed % 8 == 0:
        return run_virtual(lambda: run_batch(one, seed), backend)
    return run_virtual(lambda: run_compaction(one), backend)


def run_session_seed(seed: int, backend: Backend) -> str:
    """Run the conversations of a seed: over a store in memory where it is even, else over a file."""

    async def run() -> str:
        one = random_session(random.Random(seed))  # noqa: S311
        return await (run_in_file(one) if seed % 2 else run_in_memory(one))

    return run_virtual(run, backend)


class SeedOutcome(msgspec.Struct, frozen=True):
    """How one seed ended on one event loop, or what did not hold."""

    seed: int
    backend: str
    ended: tuple[str, ...]
    broken: str | None = None


def run_seeds(first: int, count: int) -> list[SeedOutcome]:
    """Run seeds `[first, first + count)` on each event loop."""
    outcomes: list[SeedOutcome] = []
    for seed in range(first, first + count):
        for backend in BACKENDS:
            try:
                outcomes.append(SeedOutcome(seed, backend, tuple(run_seed(seed, backend))))
            except Exception as error:  # noqa: BLE001  # every error is a finding
                while isinstance(error, ExceptionGroup):
                    error = error.exceptions[0]
                outcomes.append(SeedOutcome(seed, backend, ("broken",), f"{type(error).__name__}: {error}"))
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m turnfold.testing.faults", description="Break compactions on purpose."
    )
    parser.add_argument("--seeds", metavar="N", type=int, default=10_000, help="how many seeds (default: 10000)")
    parser.add_argument("--first", metavar="SEED", type=int, default=0, help="the first seed (default: 0)")
    options = parser.parse_args(arguments)
    logging.getLogger("stamina").setLevel(logging.ERROR)
    ended: dict[str, int] = {}
    broken = 0
    for start in range(options.first, options.first + options.seeds, _SEEDS_AT_ONCE):
        for outcome in run_seeds(start, min(_SEEDS_AT_ONCE, options.first + options.seeds - start)):
            for word in outcome.ended:
                ended[word] = ended.get(word, 0) + 1
            if outcome.broken is not None:
                broken += 1
                print(f"seed {outcome.seed} on {outcome.backend}: {outcome.broken}", flush=True)
        print(f"{broken} broken so far, next seed {start + _SEEDS_AT_ONCE}", file=sys.stderr, flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(ended.items())))
    return 1 if broken else 0
