"""Drive recorded transcripts through every preset, and judge each result.

    python benches/presets.py FOLDER [--every N] [--largest BYTES] [--share S ...] [--preset NAME ...]

Each N-th recording of at most so many bytes is compacted at the share S of its own tokens: to a result that keeps its
promises (`turnfold.testing.plans`), or a reason. Compacted again, it stays as it is. FOLDER is laid out as
corpus_sources.py says. Prints how each preset ended, and each failure with the transcript's name. Exits 1 on a failure,
2 where the folder holds nothing.
"""

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

from corpus_sources import recordings

import turnfold
from turnfold.errors import TurnfoldError
from turnfold.model.policy import Policy
from turnfold.testing.plans import check_result


def made(name: str, limit_tokens: int) -> Policy:
    """The preset at that limit; what counts turns or groups has small windows, so that it fires."""
    if name == "turn_window":
        return turnfold.presets.turn_window(2, 1, unit="step")
    if name == "tool_batch":
        return turnfold.presets.tool_batch(2, 1)
    keep = {"keep": 2} if name in {"observation_mask", "hybrid"} else {}
    return turnfold.presets.BY_NAME[name](fraction=None, limit_tokens=limit_tokens, **keep)


def outcome(transcript: turnfold.Transcript, name: str, share: float) -> str:
    """How it ended. Raises `AssertionError` for a promise that was not kept."""
    policy = made(name, max(1, int(transcript.tokens().n * share)))
    result = turnfold.compact_sync(transcript, policy)
    if isinstance(result, turnfold.Skip):
        return result.reason
    check_result(transcript, result)
    again = turnfold.compact_sync(result.transcript, policy)
    stays = isinstance(again, turnfold.Skip)
    if not stays:
        raise AssertionError(f"compacted again it changes: {again}")
    return "compacted"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--largest", type=int, default=10**9)
    parser.add_argument("--share", type=float, nargs="+", default=[0.7])
    parser.add_argument("--preset", nargs="+", choices=sorted(turnfold.presets.BY_NAME))
    args = parser.parse_args()
    ended: defaultdict[str, Counter[str]] = defaultdict(Counter)
    failures: list[str] = []
    taken = 0
    for number, recording in enumerate(recordings(args.folder)):
        if number % args.every or len(recording.body) > args.largest:
            continue
        try:
            transcript = turnfold.Transcript.from_json(recording.body, format=recording.format)
        except TurnfoldError as error:
            failures.append(f"{recording.name}: {error}")
            continue
        taken += 1
        for name in args.preset or sorted(turnfold.presets.BY_NAME):
            for share in args.share:
                try:
                    ended[name][outcome(transcript, name, share)] += 1
                except (AssertionError, TurnfoldError) as error:
                    failures.append(f"{recording.name}, {name} at {share}: {error}")
    for name, reasons in ended.items():
        print(f"{name:20} {', '.join(f'{count} {reason}' for reason, count in reasons.most_common())}")
    for failure in failures:
        print(failure[:600])
    print(f"{taken} transcripts, {len(failures)} failures")
    if not taken:
        return 2
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
