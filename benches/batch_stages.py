"""Where the time of an offline batch goes: CPU by stage, and the whole of `turnfold batch` beside metering alone.

    python benches/batch_stages.py [--transcripts N] [--words N] [--rounds N] [--profile] [FILE.jsonl ...]

Metering alone is what a user without compaction pays for the same files: each line read and counted, bytes that the
process has never seen, to one number a transcript. The batch is the command itself, with its journal and its outputs.
Each is a process of its own and is charged all of its CPU, less that of one that does the same to a file of one short
transcript: starting Python and loading a vocabulary is paid once a night. Rounds alternate, and the lowest counts.

The stages are timed in one process, one after the other for each transcript. `--profile` prints what Python spends the
batch in. FILEs of JSON lines take the place of generated transcripts.
"""

import argparse
import cProfile
import pstats
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from batch import LIMIT, METER, generate
from turnfold import presets
from turnfold.model.judgement import BY_RULE
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.model.summary import SummaryReply
from turnfold.planning.apply import apply_opened
from turnfold.planning.fill import openings
from turnfold.planning.plan import plan
from turnfold.planning.request import summary_request
from turnfold.prompts.judge import judge
from turnfold.summarizers.rules import Rules
from turnfold.transcript import Transcript

MUST_SHARE = 0.6


def cpu_seconds(command: Sequence[object]) -> float:
    """User and system time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def metering(files: Sequence[Path]) -> float:
    return cpu_seconds([sys.executable, "-c", METER, 1, *files])


def batch(files: Sequence[Path], work: Path) -> float:
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "turnfold", "batch", *files, "-o", out]
    return cpu_seconds([*command, "--limit-tokens", LIMIT, "--concurrency", 1])


def share(files: Sequence[Path], work: Path, rounds: int, documents: int) -> None:
    """Print what a transcript costs metered and compacted, and the share."""
    short = work / "short.jsonl"
    short.write_text('{"model": "gpt-4o", "messages": [{"role": "user", "content": "a"}]}\n')
    alone, whole = [], []
    for _ in range(rounds):
        alone.append(metering(files) - metering([short]))
        whole.append(batch(files, work) - batch([short], work))
    print("| process | CPU ms a transcript, lowest | median |\n|---|---:|---:|")
    for name, seconds in (("metering alone", sorted(alone)), ("turnfold batch", sorted(whole))):
        print(f"| {name} | {seconds[0] / documents * 1e3:.2f} | {seconds[len(seconds) // 2] / documents * 1e3:.2f} |")
    got = min(alone) / min(whole)
    verdict = "met" if got >= MUST_SHARE else "not met"
    print(f"\nthroughput of the batch: {got:.0%} of metering alone (at least {MUST_SHARE:.0%}: {verdict})\n")


class Stages:
    """CPU seconds by stage: `end(stage)` charges it with what has passed since the last one ended."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._last = process_time()

    def end(self, stage: str) -> None:
        now = process_time()
        self.seconds[stage] += now - self._last
        self._last = process_time()


def compact_by_stages(body: bytes, policy: Policy, taken: Stages) -> int | None:
    """What `compact_sync` does; the tokens of the transcript, None where nothing was done."""
    taken.end("between")
    transcript = Transcript.from_json(body)
    taken.end("read")
    tokens = transcript.tokens().n
    taken.end("count")
    planned = plan(transcript, policy)
    taken.end("plan")
    if isinstance(planned, Skip):
        return None
    opened = openings(transcript, planned)
    taken.end("open the holes")
    requests = [summary_request(transcript, one) for one in opened]
    taken.end("requests")
    texts = [Rules().write(one) for one in requests]
    taken.end("summaries by rule")
    said = [judge(SummaryReply(text), one, BY_RULE).text or "" for text, one in zip(texts, requests, strict=True)]
    taken.end("judge them")
    applied = apply_opened(transcript, planned, opened, said)
    taken.end("apply")
    if not isinstance(applied, Skip):
        applied.transcript.to_json()
        taken.end("body")
    return tokens


def stages(files: Sequence[Path]) -> None:
    """Print the path of a compaction by rule, stage by stage."""
    policy = presets.token_threshold(limit_tokens=int(LIMIT))
    Transcript.from_messages([{"role": "user", "content": "a"}]).tokens()
    taken = Stages()
    counts = [
        compact_by_stages(line, policy, taken) for file in files for line in file.read_bytes().splitlines() if line
    ]
    del taken.seconds["between"]
    whole = sum(taken.seconds.values())
    compacted = [count for count in counts if count is not None]
    print(
        f"{len(counts)} transcripts, {len(compacted)} compacted, of {sum(compacted) // max(len(compacted), 1):,} tokens"
    )
    print("| stage | CPU ms a transcript | of all |\n|---|---:|---:|")
    for stage, seconds in taken.seconds.items():
        print(f"| {stage} | {seconds / len(counts) * 1e3:.2f} | {seconds / whole:.0%} |")


def profile(files: Sequence[Path], work: Path) -> None:
    from turnfold.cli.program import main as turnfold

    profiler = cProfile.Profile()
    # Work is done in threads of the batch, which a profiler sees only where they are started under it.
    command = ["compact", *map(str, files), "-o", str(work / "profiled"), "--limit-tokens", LIMIT]
    profiler.runcall(turnfold, command)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(45)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--transcripts", type=int, default=200)
    parser.add_argument("--words", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        files = list(args.files)
        if not files:
            inputs = work / "in"
            inputs.mkdir()
            generate(inputs, args.transcripts, args.words, chat_only=False)
            files = sorted(inputs.glob("*.jsonl"))
        if args.profile:
            profile(files, work)
            return 0
        stages(files)
        print()
        share(files, work, args.rounds, sum(file.read_bytes().count(b"\n") for file in files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
