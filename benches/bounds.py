"""How wide bounds are and how fast, by kind of content.

    TURNFOLD_BENCH_CORPUS=FOLDER python benches/bounds.py [--encoding NAME] [--rounds N] [KIND ...]

Each kind is cut into messages of about 1 KB (`count_texts.py`). Bounds must hold the count of every message. Times are
the thread's CPU time, medians, everything in turn in one process: `bounds` beside `count` of text seen before and
beside a copy of the same bytes; `count` of unseen text is one pass in a thread that has counted nothing.
"""

import argparse
import statistics
import threading
import time
from collections.abc import Callable, Sequence

import count_texts

import turnfold


def seconds(work: Callable[[], object]) -> float:
    """Time one call, in seconds of this thread's CPU."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def unseen(messages: Sequence[str], encoding: str) -> float:
    """Time counting the messages in a new thread."""
    taken: list[float] = []
    thread = threading.Thread(
        target=lambda: taken.append(seconds(lambda: [turnfold.count(text, encoding) for text in messages]))
    )
    thread.start()
    thread.join()
    return taken[0]


def main() -> None:
    """Print one row a kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--encoding", default="o200k_base")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    options = parser.parse_args()
    encoding = options.encoding
    print("| kind | lo / count | hi / count | hi of a message | to count, seen | unseen | to a copy |")
    print("|---|---|---|---|---|---|---|")
    for kind in options.kinds or count_texts.KINDS:
        whole = count_texts.text(kind)
        messages = count_texts.messages(whole)
        if not messages:
            continue
        counts = [turnfold.count(text, encoding) for text in messages]
        found = [turnfold.bounds(text, encoding) for text in messages]
        if not all(bounds.lo <= count <= bounds.hi for count, bounds in zip(counts, found, strict=True)):
            raise SystemExit(f"bounds of {kind} do not hold the count")
        total = sum(counts)
        widths = sorted(bounds.hi / max(count, 1) for count, bounds in zip(counts, found, strict=True))
        data = bytearray(whole.encode())
        works: dict[str, Callable[[], object]] = {
            "bounds": lambda whole=whole: turnfold.bounds(whole, encoding),  # type: ignore[misc]
            "count": lambda whole=whole: turnfold.count(whole, encoding),  # type: ignore[misc]
            "copy": lambda data=data: bytes(data),  # type: ignore[misc]
        }
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(options.rounds):
            for name, work in works.items():
                times[name].append(seconds(work))
        median = {name: statistics.median(taken) for name, taken in times.items()}
        fresh = statistics.median(unseen(messages, encoding) for _ in range(3))
        print(
            f"| {kind} | {sum(b.lo for b in found) / total:.2f} | {sum(b.hi for b in found) / total:.2f} "
            f"| {widths[0]:.2f}, {widths[-1]:.2f} | {median['count'] / median['bounds']:.1f}x "
            f"| {fresh / median['bounds']:.1f}x | {median['copy'] / median['bounds']:.3f}x |"
        )


if __name__ == "__main__":
    main()
