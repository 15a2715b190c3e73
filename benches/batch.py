"""A night's work: many generated transcripts through `turnfold batch`, and what a user would write instead.

    python benches/batch.py [--transcripts N] [--words N] [--preset NAME] [--rounds N] [--peers N] [--crashes N]
                            [--stream MB] [DIR]

Prints transcripts, megabytes and tokens a second and the peak memory, with one worker and with two, beside metering
alone (a thread a file); and the same with two for twice the input, to show that memory does not grow with it.
`--transcripts 10000 --words 230` is about 1 GB. DIR is compacted instead of generated transcripts. `--peers N` has
`trim_messages` of LiteLLM, in a thread pool, do the first N of the same transcripts. `--crashes` kills a run so many
times at moments of chance and compares what it wrote in the end with what an undisturbed run writes, byte by byte.
`--stream` puts so many megabytes through a pipe, and looks at the memory meanwhile. Each run is a process of its own;
answers are compared.
"""

import argparse
import hashlib
import json
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from turnfold.testing.generators import anthropic_messages, openai_chat

LIMIT = "20000"
ALONE, WHOLE = "metering alone", "batch"

METER = """
import sys, turnfold
from concurrent.futures import ThreadPoolExecutor
def count(name):
    # By 8 KB, as it is by default, a line lets go of the interpreter twenty times before it is read.
    with open(name, "rb", buffering=1 << 20) as lines:
        return sum(turnfold.Transcript.from_json(line).tokens().n for line in lines)
with ThreadPoolExecutor(int(sys.argv[1])) as pool:
    print(sum(pool.map(count, sys.argv[2:])))
"""

TRIM = """
import os, sys, json
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch prices otherwise
from litellm.utils import trim_messages
from concurrent.futures import ThreadPoolExecutor
def trim(line):
    body = json.loads(line)
    kept = trim_messages(body["messages"], model="gpt-4o", max_tokens=int(sys.argv[1]))
    return json.dumps({**body, "messages": kept})
with ThreadPoolExecutor(2) as pool:
    for name in sys.argv[3:]:
        with open(name) as lines, open(sys.argv[2], "a") as out:
            for made in pool.map(trim, lines):
                out.write(made + "\\n")
"""


def generate(folder: Path, transcripts: int, words: int, *, chat_only: bool) -> int:
    """Write files of up to 1,000 transcripts, four at least, so that metering can go by files; returns the bytes."""
    size = 0
    each = min(1_000, -(-transcripts // 4))
    for start in range(0, transcripts, each):
        path = folder / f"part-{start // each:04}.jsonl"
        with path.open("w", encoding="utf-8") as out:
            for seed in range(start, min(start + each, transcripts)):
                make = openai_chat if chat_only or seed % 2 else anthropic_messages
                out.write(json.dumps(make(seed, turns=40, result_words=words)) + "\n")
        size += path.stat().st_size
    return size


def memory(pid: int) -> int:
    """Bytes that a process and all that it started have in memory; what several share counts once."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").glob("*/children"))
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        (here,) = (int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:"))
        return here + sum(memory(int(child)) for task in tasks for child in task.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return 0  # it has ended meanwhile


class Ran(NamedTuple):
    """What a process and all that it started took: seconds by the clock and of CPU, memory at its peak, in bytes."""

    seconds: float
    cpu_seconds: float
    peak: int
    out: str


def cpu_seconds() -> float:
    """User and system time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(command: Sequence[object]) -> Ran:
    """Run a process, and look at its memory four times a second."""
    begun, cpu_before, peak = perf_counter(), cpu_seconds(), 0
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(process.communicate)
        while not wait([said], 0.25).done:
            peak = max(peak, memory(process.pid))
    seconds = perf_counter() - begun
    out, error = said.result()
    # A batch says by 1 that some transcripts failed; of anything else it is a traceback.
    if process.returncode not in ((0, 1) if "turnfold" in command else (0,)):
        raise SystemExit(error)
    return Ran(seconds, cpu_seconds() - cpu_before, peak, out)


def batch(inputs: Path, out: Path, workers: int, preset: str) -> list[object]:
    shutil.rmtree(out, ignore_errors=True)
    return _command(inputs, out, workers, preset)


def _command(inputs: Path, out: Path, workers: int, preset: str) -> list[object]:
    return [
        sys.executable, "-m", "turnfold", "batch", inputs, "-o", out, "--limit-tokens", LIMIT, "--preset", preset,
        "--concurrency", workers,
    ]  # fmt: skip


def written(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file() and p.name[0] != "."}


def measure(inputs: Path, work: Path, size: int, preset: str, *, rounds: int, workers: Sequence[int] = (1, 2)) -> int:
    """Print what the runs took, and what that comes to; returns the highest peak memory of a batch, in bytes.

    All in turn, `rounds` times: what stands in a row are medians, but for the memory.
    """
    documents = sum(line.count(b"\n") for line in (p.read_bytes() for p in inputs.glob("*.jsonl")))
    files = sorted(inputs.glob("*.jsonl"))
    runs: dict[tuple[str, int], list[Ran]] = {(kind, n): [] for n in workers for kind in (ALONE, WHOLE)}
    answers: set[str] = set()
    for _ in range(rounds):
        for (kind, count), ran in runs.items():
            if kind == ALONE:
                ran.append(timed([sys.executable, "-c", METER, count, *files]))
            else:
                ran.append(timed(batch(inputs, work / "out", count, preset)))
                answers.add(digest(work / "out"))
    if len(answers) != 1:
        raise SystemExit("two runs wrote different bytes")
    (tokens,) = {int(ran.out) for (kind, _), each in runs.items() if kind == ALONE for ran in each}
    print(f"{documents:,} transcripts, {size / 1e6:,.0f} MB, {preset}, medians of {rounds} runs each, in turn")
    print("| run | s | transcripts/s | CPU ms each | MB/s | Mtokens/s | peak MB |\n|---|---:|---:|---:|---:|---:|---:|")
    taken = {
        key: Ran(median(r.seconds for r in ran), median(r.cpu_seconds for r in ran), max(r.peak for r in ran), "")
        for key, ran in runs.items()
    }
    for (kind, count), ran in taken.items():
        each = ran.cpu_seconds / documents * 1e3
        rates = documents / ran.seconds, size / ran.seconds / 1e6, tokens / ran.seconds / 1e6
        told = f"| {kind}, {count} | {ran.seconds:.1f} | {rates[0]:,.0f} | {each:.2f} | {rates[1]:.1f} | {rates[2]:.2f}"
        print(f"{told} | {ran.peak / 1e6:.0f} |", flush=True)
    for count in workers:
        alone, whole = taken[ALONE, count], taken[WHOLE, count]
        share, of_cpu = alone.seconds / whole.seconds, alone.cpu_seconds / whole.cpu_seconds
        print(f"with {count}: the batch runs at {share:.0%} of metering alone (must: 60 %), by CPU {of_cpu:.0%}")
    if len(workers) > 1:
        scales = (taken[kind, 1].seconds / taken[kind, 2].seconds for kind in (ALONE, WHOLE))
        print("from one worker to two: metering {:.2f} times as fast (must: 1.7), the batch {:.2f}".format(*scales))
    return max(ran.peak for (kind, _), ran in taken.items() if kind == WHOLE)


def digest(out: Path) -> str:
    """The digest of all that was written, by name."""
    told = hashlib.blake2b()
    for path in sorted(p for p in out.rglob("*") if p.is_file() and p.name[0] != "."):
        with path.open("rb") as data:
            told.update(f"{path.relative_to(out)} {hashlib.file_digest(data, 'sha256').hexdigest()}\n".encode())
    return told.hexdigest()


def peers(inputs: Path, work: Path, preset: str, count: int) -> None:
    few = work / "few"
    few.mkdir()
    with min(inputs.glob("*.jsonl")).open("rb") as lines:
        (few / "few.jsonl").write_bytes(b"".join(islice(lines, count)))
    ours = timed(batch(few, work / "out-few", 2, preset)).seconds
    theirs = timed([sys.executable, "-c", TRIM, LIMIT, work / "trimmed.jsonl", few / "few.jsonl"]).seconds
    print(f"{count} transcripts: LiteLLM's trim_messages in a pool of two threads {theirs:.1f} s,", end=" ")
    print(f"turnfold batch ({preset}) {ours:.1f} s, start included: {theirs / ours:.1f} times")


def stream(work: Path, megabytes: int, words: int, preset: str) -> None:
    """Put a stream through a pipe, and print how much memory the batch has, a tenth of the way at a time."""
    lines = [json.dumps(openai_chat(seed, turns=40, result_words=words)).encode() + b"\n" for seed in range(64)]
    process = subprocess.Popen(
        list(map(str, _command(Path("-"), work / "out.jsonl", 2, preset))),
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    written, shown = 0, 0
    for line in cycle(lines):
        process.stdin.write(line)
        written += len(line)
        if 10 * written // (megabytes * 1_000_000) > shown:
            shown += 1
            print(f"{written / 1e6:,.0f} MB: {memory(process.pid) / 1e6:.0f} MB of memory", flush=True)
        if written >= megabytes * 1_000_000:
            break
    process.stdin.close()
    if process.wait() != 0:
        raise SystemExit("the batch failed")


def crash(inputs: Path, work: Path, times: int, preset: str) -> None:
    """Kill runs at moments of chance, `times` in all, several a run."""
    timed(batch(inputs, work / "whole", 2, preset))
    whole = written(work / "whole")
    chance = random.Random(times)
    out, killed, runs = work / "killed", 0, 0
    while killed < times:
        shutil.rmtree(out, ignore_errors=True)
        runs += 1
        for turn in range(chance.randint(1, 5)):
            command = [*_command(inputs, out, 2, preset), "--json", *(["--resume"] if turn else [])]
            process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for _ in range(chance.randint(0, 400)):
                if not process.stdout.readline():
                    break
            process.kill()
            process.communicate()
            killed += 1
        timed([*_command(inputs, out, 2, preset), "--resume"])
        journal = sqlite3.connect(out / ".turnfold-journal")
        ((rows,),) = journal.execute("SELECT count(*) FROM documents")
        journal.close()
        lines = sum(p.read_bytes().count(b"\n") for p in inputs.glob("*.jsonl"))
        if written(out) != whole or rows != lines:
            raise SystemExit(f"run {runs} differs after it was killed: {rows} of {lines} in the journal")
    print(f"{killed} kills in {runs} runs: the same bytes each time, each transcript once")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path)
    parser.add_argument("--transcripts", type=int, default=1_000)
    parser.add_argument("--words", type=int, default=400)
    parser.add_argument("--preset", default="token_threshold")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", type=int, default=0)
    parser.add_argument("--crashes", type=int, default=0)
    parser.add_argument("--stream", type=int, default=0, metavar="MB")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        if args.folder is not None:
            ran = timed(batch(args.folder, work / "out", 2, args.preset))
            print(f"{ran.out}{ran.seconds:.1f} s, {ran.cpu_seconds:.1f} s of CPU, peak {ran.peak / 1e6:.0f} MB")
            return 0
        if args.stream:
            stream(work, args.stream, args.words, args.preset)
            return 0
        inputs = work / "in"
        inputs.mkdir()
        size = generate(inputs, args.transcripts, args.words, chat_only=args.peers > 0)
        if args.crashes:
            crash(inputs, work, args.crashes, args.preset)
            return 0
        once = measure(inputs, work, size, args.preset, rounds=args.rounds)
        if args.peers:
            peers(inputs, work, args.preset, args.peers)
        generate(inputs, 2 * args.transcripts, args.words, chat_only=args.peers > 0)
        size = sum(path.stat().st_size for path in inputs.iterdir())
        twice = measure(inputs, work, size, args.preset, rounds=args.rounds, workers=(2,))
        print(f"peak memory: {once / 1e6:.0f} MB, of twice the input {twice / 1e6:.0f} MB (must: 300, the same)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
