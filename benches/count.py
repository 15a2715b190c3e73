"""Exact counting against tiktoken and the fastest exact packages, as ratios; every answer is checked.

    python benches/count.py [--encoding NAME] [--rounds N] [warm fresh long threads ready ...]

warm      all counters in one process, in random order, texts counted before; medians of CPU time
fresh     one process a counter and kind: tables loaded, then text that process has never seen
long      a megabyte of one letter, spaces, Han characters ...; milliseconds of CPU
threads   one and two threads on one tokenizer; work done in the same wall time
ready     CPU time and memory from the import to the first counts with both vocabularies

Texts are those of count_texts.py, counters those of count_peers.py. Prints Markdown. Exits 1 on a wrong count.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import count_peers
from count_peers import PEERS, Counter, counter
from count_texts import KINDS, messages, pathological, text

HERE = Path(__file__)
PARTS = ("warm", "fresh", "long", "threads", "ready")


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def table(header: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def installed() -> list[str]:
    return [name for name in ("turnfold", "tiktoken", *PEERS) if name in count_peers.versions()]


def kinds() -> list[str]:
    return [kind for kind in KINDS if len(text(kind)) > 100_000]


def checked(name: str, counts: list[int], expected: list[int]) -> None:
    if counts == expected:
        return
    wrong = sum(a != b for a, b in zip(counts, expected, strict=True))
    print(f"{name}: {wrong} of {len(expected)} counts are not tiktoken's", file=sys.stderr)
    if name == "turnfold":
        sys.exit(1)


def row(kind: str, seconds: dict[str, float], size: int) -> list[str]:
    """A row: ours in MB/s, ours over tiktoken, ours over the fastest peer, and that peer."""
    peers = {name: seconds[name] for name in PEERS if name in seconds}
    best = min(peers, key=peers.__getitem__) if peers else "tiktoken"
    ours = seconds["turnfold"]
    return [
        kind,
        f"{size / ours / 1e6:.0f}",
        f"{seconds['tiktoken'] / ours:.1f}x",
        f"{seconds[best] / ours:.2f}x",
        best,
        *(f"{size / seconds[name] / 1e6:.0f}" if name in seconds else "" for name in ("tiktoken", *PEERS)),
    ]


HEADER = ["text", "MB/s", "to tiktoken", "to the fastest peer", "which", "tiktoken", *PEERS]


def warm(encoding: str, rounds: int) -> None:
    counters: dict[str, Counter] = {name: counter(name, encoding) for name in installed()}
    order = random.Random(1)
    for shape in ("messages of about 1 KB", "one string"):
        print(f"### Warm, {shape}, {encoding}\n")
        rows = []
        for kind in kinds():
            texts = messages(text(kind)) if shape.startswith("m") else [text(kind)]
            expected = counters["tiktoken"](texts)
            for name, count in counters.items():
                checked(name, count(texts), expected)
            times: dict[str, list[float]] = {name: [] for name in counters}
            for _ in range(rounds):
                for name in order.sample(sorted(counters), len(counters)):
                    count = counters[name]
                    # Once to bring its own tables back into the cache of the processor.
                    if name != "tiktoken":
                        count(texts)
                    times[name].append(cpu_seconds(lambda count=count, texts=texts: count(texts)))
            size = sum(len(t.encode()) for t in texts)
            rows.append(row(kind, {name: statistics.median(taken) for name, taken in times.items()}, size))
        table(HEADER, rows)


def fresh(encoding: str, rounds: int) -> None:
    print(f"### Never seen, a fresh process each, messages of about 1 KB, {encoding}\n")
    rows = []
    for kind in kinds():
        halves = halved(kind)
        size = sum(len(t.encode()) for t in halves[0])
        times: dict[str, list[float]] = {name: [] for name in installed()}
        totals = {}
        for _ in range(rounds):
            for name, taken in times.items():
                seconds, total = json.loads(run(["--child", "fresh", name, kind, "--encoding", encoding]))
                taken.append(seconds)
                totals[name] = total
        for name, total in totals.items():
            checked(name, [total], [totals["tiktoken"]])
        rows.append(row(kind, {name: statistics.median(taken) for name, taken in times.items()}, size))
    table(HEADER, rows)


def halved(kind: str) -> tuple[list[str], list[str]]:
    texts = messages(text(kind))
    return texts[: len(texts) // 2], texts[len(texts) // 2 :]


def run(arguments: list[str]) -> str:
    count_peers.vocabulary("o200k_base")
    command = [sys.executable, str(HERE), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=dict(os.environ)).stdout


def child_fresh(name: str, kind: str, encoding: str) -> None:
    first, _ = halved(kind)
    count = counter(name, encoding)
    count(["hello"])
    start = time.process_time()
    counts = count(first)
    print(json.dumps([time.process_time() - start, sum(counts)]))


def long(encoding: str, rounds: int) -> None:
    print(f"### A megabyte of one kind of character, ms of CPU, {encoding}\n")
    ours, theirs = counter("turnfold", encoding), counter("tiktoken", encoding)
    rows = []
    for name, whole in pathological().items():
        # tiktoken gives up on a million spaces; its counts of parts add up where a part ends in what is no space.
        expected = theirs([whole])[0] if name not in {"spaces", "tabs"} else None
        start = time.process_time()
        first = ours([whole])[0]
        seconds = [time.process_time() - start]
        if expected is not None:
            checked("turnfold", [first], [expected])
        seconds += [cpu_seconds(lambda whole=whole: ours([whole])) for _ in range(rounds)]
        half = whole[: len(whole) // 2]
        halves = [cpu_seconds(lambda half=half: ours([half])) for _ in range(rounds)]
        rows.append(
            [
                name,
                f"{max(seconds) * 1e3:.1f}",
                f"{statistics.median(seconds) * 1e3:.1f}",
                f"{statistics.median(seconds) / statistics.median(halves):.1f}",
            ]
        )
    table(["text", "slowest", "median", "to half of it"], rows)


def threads(encoding: str, rounds: int) -> None:
    print(f"### Two threads on one tokenizer, {encoding}\n")
    ours = counter("turnfold", encoding)
    rows = []
    for kind in kinds():
        texts = messages(text(kind)) * 4
        ours(texts)
        ratios = []
        for _ in range(rounds):
            alone = wall(ours, texts, 1)
            ratios.append(2 * alone / wall(ours, texts, 2))
        rows.append([kind, f"{statistics.median(ratios):.2f}x", f"{max(ratios):.2f}x"])
    table(["text", "two threads to one, median", "best"], rows)


def wall(count: Counter, texts: list[str], number: int) -> float:
    """Seconds until `number` threads have each counted `texts` ten times, after a first count."""
    ready = threading.Barrier(number + 1)

    def work() -> None:
        count(texts)
        ready.wait()
        for _ in range(10):
            count(texts)

    running = [threading.Thread(target=work) for _ in range(number)]
    for thread in running:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    for thread in running:
        thread.join()
    return time.perf_counter() - start


def ready(rounds: int) -> None:
    print("### Tables ready after import, both vocabularies\n")
    answers = [json.loads(run(["--child", "ready"])) for _ in range(rounds)]
    rows = [
        ["turnfold", *(f"{statistics.median(a[i] for a in answers):.1f}" for i in range(4))],
    ]
    table(["", "first o200k_base, ms CPU", "first cl100k_base, ms CPU", "MB for both", "MB after 1 MB counted"], rows)


def resident() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1e3


def child_ready() -> None:
    import turnfold

    whole = text("code")
    before = resident()
    seconds = [cpu_seconds(lambda e=e: turnfold.count("hello", e)) for e in ("o200k_base", "cl100k_base")]
    loaded = resident() - before
    turnfold.count(whole, "o200k_base")
    turnfold.count(whole, "cl100k_base")
    print(json.dumps([seconds[0] * 1e3, seconds[1] * 1e3, loaded, resident() - before]))


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines[:30]) if value}
    return f"{fields.get('model name')} (family {fields.get('cpu family')}, model {fields.get('model')})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--encoding", default="o200k_base", choices=["o200k_base", "cl100k_base"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--child", choices=["fresh", "ready"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child == "fresh":
        child_fresh(*options.parts, encoding=options.encoding)
        return
    if options.child == "ready":
        child_ready()
        return
    parts = options.parts or PARTS
    print(f"{processor()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, {platform.system()}")
    print(", ".join(f"{name} {version}" for name, version in count_peers.versions().items()), end="\n\n")
    if "warm" in parts:
        warm(options.encoding, options.rounds)
    if "fresh" in parts:
        fresh(options.encoding, options.rounds)
    if "long" in parts:
        long(options.encoding, max(3, options.rounds // 2))
    if "threads" in parts:
        threads(options.encoding, options.rounds)
    if "ready" in parts:
        ready(options.rounds)


if __name__ == "__main__":
    main()
