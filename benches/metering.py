"""Metering a request body: ours beside the peers, in one process, interleaved; medians of the thread's CPU time.

    python benches/metering.py [--rounds N] [--only WORD]

Each claim checks its answer before it is timed, and the answer of every timed call of ours. `evicted` means that a
buffer larger than the caches was written before the call; `hot` that the call was made just before, the continuation's
eight times. A body that is "unseen" has texts that this process has not met; one that is "seen" has messages that
were counted in others.
"""

import argparse
import gc
import hashlib
import json
import mmap
import multiprocessing
import os
import resource
import signal
import statistics
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec
import tiktoken
from bodies import session

import turnfold
from turnfold.testing.oracle import tiktoken_encodings

Call = Callable[[], object]
MESSAGES = 1_001
# LiteLLM counts all that it keeps again for each message that it looks at, and looks at all messages where what is kept
# leaves four to ten tokens over: a trim takes 3 s or minutes.
LITELLM_SECONDS = 60
EVICTING = bytearray(128 << 20)
SERIAL = count()


class Stopped(BaseException):
    """No `Exception`: the peer catches those."""


class Claim(NamedTuple):
    """What is timed against what, and the ratio that is asked for."""

    name: str
    ours: Call
    peer: Call
    must: float
    aim: float | None = None
    evicted: bool = False
    least: bool = True
    prepare: Call | None = None
    peer_rounds: int | None = None


def request(messages: list[dict[str, object]]) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": messages}).encode()


def marked(messages: list[dict[str, object]], marks: Iterator[int] = SERIAL) -> list[dict[str, object]]:
    """Return the messages with texts that no message had before: a word of every line is new."""
    found = []
    for message in messages:
        text = message["content"]
        mark = next(marks)
        new = text if text is None else "\n".join(f"{line} v{mark}x{k}" for k, line in enumerate(str(text).split("\n")))
        found.append({**message, "content": new})
    return found


def by_tiktoken(raw: bytes, peer: tiktoken.Encoding) -> int:
    """Return the tokens of all strings: what a gateway does today."""
    total = 0
    for message in json.loads(raw)["messages"]:
        total += len(peer.encode_ordinary(message["content"] or ""))
        for call in message.get("tool_calls") or ():
            total += len(peer.encode_ordinary(call["function"]["name"]))
            total += len(peer.encode_ordinary(call["function"]["arguments"]))
    return total


def texts_tokens(transcript: turnfold.Transcript) -> int:
    return sum(sum(transcript.block_tokens(k)) for k in range(len(transcript)))


def metered(transcript: turnfold.Transcript) -> tuple[int, int]:
    check = turnfold.check_pairs(transcript)
    assert check.ok
    return transcript.tokens().n, check.pairs


def fresh(raw: bytes) -> tuple[int, int]:
    return metered(turnfold.Transcript.from_json(raw))


def continuation(peer: tiktoken.Encoding, *, evicted: bool) -> Claim:
    """Four messages more each time, and other ones each time."""
    whole = session(MESSAGES + 200, 1_200_000)
    base = whole[:MESSAGES]
    previous = turnfold.Transcript.from_json(request(base))
    metered(previous)
    at = [MESSAGES + k for k in range(0, 190, 5)]
    bodies = [request([*base, *marked(whole[k : k + 4])]) for k in at[:6]]
    turns = count()
    for body in bodies:
        grown = turnfold.Transcript.extend_from(previous, body)
        assert texts_tokens(grown) == by_tiktoken(body, peer)
        assert grown.to_json() == body

    answers = [fresh(body) for body in bodies]

    waiting = [0]

    def prepare() -> None:
        waiting[:] = [next(turns) % len(bodies)]
        if not evicted:
            # After other work it takes some calls until both bodies are in the caches again.
            for _ in range(8):
                ours()

    def ours() -> None:
        grown = turnfold.Transcript.extend_from(previous, bodies[waiting[0]])
        assert metered(grown) == answers[waiting[0]]

    kind, must, aim = ("evicted", 200, 450) if evicted else ("hot", 800, 1_400)
    return Claim(
        f"extend_from: 1 MB and 4 new messages, {kind}",
        ours,
        lambda: by_tiktoken(bodies[0], peer),
        must,
        aim,
        evicted=evicted,
        prepare=prepare,
        peer_rounds=5,
    )


def seen_before(*, evicted: bool, turned: bool) -> Claim:
    """The same body again; or its rounds of five messages, every pair whole, in an order that no body had."""
    import orjson

    messages = marked(session())
    rounds = [messages[k : k + 5] for k in range(1, len(messages), 5)]
    answer = fresh(request(messages))
    body = request(messages)
    turns = count(1)
    waiting: list[bytes] = []

    def other_order() -> bytes:
        at = next(turns)
        return request([messages[0], *(m for part in (*rounds[at:], *reversed(rounds[:at])) for m in part)])

    def prepare() -> None:
        if not evicted:
            assert fresh(other_order() if turned else body) == answer
        # The body before is let go of here: to free it is not part of metering.
        waiting[:] = [other_order() if turned else body]

    def ours() -> None:
        assert fresh(waiting[0]) == answer

    kind, must, aim = ("evicted", 4, 7) if evicted else ("hot", 6, 10)
    order = "in another order" if turned else "in the same order"
    return Claim(
        f"every message seen, {order}, {kind}",
        ours,
        lambda: orjson.loads(body),
        must,
        aim,
        evicted=evicted,
        prepare=prepare,
    )


def cold(peer: tiktoken.Encoding) -> Claim:
    messages = session()
    fresh(request(messages))
    waiting: list[bytes] = []

    def prepare() -> None:
        waiting.append(request(marked(messages)))

    def ours() -> None:
        fresh(waiting.pop())

    body = request(marked(messages))
    read = turnfold.Transcript.from_json(body)
    assert texts_tokens(read) == by_tiktoken(body, peer)
    return Claim(
        "1 MB, nothing seen: bytes to counts and pair check",
        ours,
        lambda: by_tiktoken(body, peer),
        6,
        12,
        prepare=prepare,
        peer_rounds=5,
    )


def parsing() -> Claim:
    import simdjson

    messages = session()
    waiting: list[bytes] = []
    parser = simdjson.Parser()
    body = request(messages)
    assert len(turnfold.Transcript.from_json(body)) == len(messages)

    def ours() -> None:
        assert len(turnfold.Transcript.from_json(waiting.pop())) == len(messages)

    # Other bytes each time, so that no message is known.
    return Claim(
        "body to index, in units of a SIMD scan (pysimdjson)",
        ours,
        lambda: parser.parse(body),
        2,
        least=False,
        prepare=lambda: waiting.append(request(marked(messages))),
    )


def list_input() -> Claim:
    messages = marked(session())
    encoder = msgspec.json.Encoder()
    body = encoder.encode(messages)
    assert turnfold.Transcript.from_messages(messages).to_json() == body

    def peer() -> None:
        turnfold.Transcript.from_json(encoder.encode(messages))

    return Claim(
        "list of dicts, in units of msgspec and the byte path",
        lambda: turnfold.Transcript.from_messages(messages),
        peer,
        1.3,
        least=False,
    )


def trims(peer: tiktoken.Encoding) -> Iterator[Claim]:
    from langchain_core.messages import convert_to_messages, trim_messages

    messages = session()
    limit = sum(len(peer.encode_ordinary(str(m["content"] or ""))) for m in messages) // 4
    waiting: list[list[dict[str, object]]] = []

    def trimmed(given: list[dict[str, object]], before: turnfold.Transcript | None = None) -> list[dict[str, object]]:
        read = turnfold.Transcript.from_messages if before is None else partial(turnfold.Transcript.extend_from, before)
        transcript = read(given)
        point = turnfold.find_split(transcript, keep=turnfold.KeepTokens(limit))
        assert point is not None
        return given[point.index :]

    def checked() -> None:
        kept = turnfold.Transcript.from_messages(trimmed(messages))
        assert turnfold.scan(kept).ok
        assert kept.tokens(0, len(kept)).hi <= limit

    checked()
    converted = convert_to_messages(messages)

    def exact(batch: list[object]) -> int:
        return sum(3 + len(peer.encode_ordinary(str(m.content))) for m in batch)  # type: ignore[attr-defined]

    def by_langchain(counter: object) -> Call:
        return lambda: trim_messages(
            converted, max_tokens=limit, token_counter=counter, strategy="last", start_on="human"
        )

    yield Claim(
        "trim to a quarter, exact, nothing seen / LangChain exact",
        lambda: trimmed(waiting.pop()),
        by_langchain(exact),
        20,
        prepare=lambda: waiting.append(marked(messages)),
        peer_rounds=5,
    )
    yield Claim(
        "trim to a quarter, metered before, alone / LangChain approximate",
        lambda: trimmed(messages),
        by_langchain("approximate"),
        1,
    )
    before = turnfold.Transcript.extend_from(turnfold.Transcript.from_messages(messages), messages)
    before.tokens()
    more = [*messages, {"role": "user", "content": "And what comes next?"}]
    assert turnfold.Transcript.extend_from(before, more).to_json() == turnfold.Transcript.from_messages(more).to_json()
    yield Claim(
        "trim to a quarter, metered before, as the continuation / LangChain approximate",
        lambda: trimmed(more, before),
        by_langchain("approximate"),
        1,
        aim=13,
    )
    # Its prices are not asked for, and no bench asks the network.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    try:
        from litellm.utils import trim_messages as by_litellm
    except ImportError:
        print("litellm is not installed: its trim is not timed", file=sys.stderr)
        return
    yield Claim(
        f"trim to a quarter, exact, nothing seen / LiteLLM, stopped after {LITELLM_SECONDS} s of CPU",
        lambda: trimmed(waiting.pop()),
        lambda: stopped(
            lambda: by_litellm(messages, model="gpt-4o", max_tokens=limit, trim_ratio=1.0), LITELLM_SECONDS
        ),
        350,
        prepare=lambda: waiting.append(marked(messages)),
        peer_rounds=1,
    )


def timed(call: Call) -> float:
    start = time.thread_time_ns()
    call()
    return (time.thread_time_ns() - start) / 1e6


def stopped(call: Call, seconds: float) -> None:
    """Call, but for no more than so many seconds of this process's CPU time."""

    def stop(number: int, frame: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        call()
    except Stopped:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def evict() -> None:
    EVICTING[::64] = bytes([next(SERIAL) % 256]) * (len(EVICTING) // 64)


def measure(claim: Claim, rounds: int) -> tuple[float, float]:
    """Return the medians of both sides, in milliseconds."""
    ours, peers = [], []
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            for side in (turn % 2, 1 - turn % 2):
                if side == 0:
                    if claim.prepare is not None:
                        claim.prepare()
                    if claim.evicted:
                        evict()
                    ours.append(timed(claim.ours))
                elif turn < (claim.peer_rounds or rounds):
                    if claim.evicted:
                        evict()
                    peers.append(timed(claim.peer))
    finally:
        gc.enable()
    return statistics.median(ours), statistics.median(peers)


class Scaled(NamedTuple):
    """How much more two do than one, by the clock; and how far apart the two processors were meanwhile."""

    threads: float
    processes: float
    hashing: float
    line_nanoseconds: float


def scaling(rounds: int) -> Iterator[tuple[str, Scaled]]:
    """How much more two threads do than one, and in turn with them two processes, and two threads that hash.

    Two processes share no lock and no table: what they fall short of 2 is the machine's. Hashing lets go of the
    interpreter once a call, and has nothing of Python's around it: what it falls short of 2 is the interpreter's.
    """
    hashed = os.urandom(48_000)
    hashes = max(3, int(0.3 / timeit.timeit(lambda: hashlib.sha256(hashed), number=100) * 100))
    messages = marked(session())
    body = request(messages)
    transcript = turnfold.Transcript.from_json(body)
    fresh(body)
    grown = request([*messages, *marked(messages[1:6])])
    rounds_of_five = [messages[k : k + 5] for k in range(1, len(messages), 5)]
    turned = request([messages[0], *(m for part in reversed(rounds_of_five) for m in part)])
    longer = turnfold.Transcript.from_json(grown)
    text = "\n".join(str(m["content"]) for m in messages)
    texts = [str(m["content"]) for m in messages]
    found = transcript.identifiers()
    # On one shared text, transcript or table; what is answered from memory in a few microseconds is left out.
    calls: dict[str, Call] = {
        "count": lambda: turnfold.count(text),
        "count_many": lambda: turnfold.count_many(texts),
        "count_up_to": lambda: turnfold.count_up_to(text, 100_000),
        "estimate": lambda: turnfold.estimate(text),
        "truncate": lambda: turnfold.truncate(text, 100_000),
        "from_json, seen in the same order": lambda: turnfold.Transcript.from_json(body),
        "from_json, seen in another order": lambda: turnfold.Transcript.from_json(turned),
        "extend_from": lambda: turnfold.Transcript.extend_from(transcript, grown).tokens(),
        "tokens, estimated": lambda: transcript.tokens(mode="estimate"),
        "to_json": transcript.to_json,
        "split_points": lambda: turnfold.split_points(transcript),
        "find_split": lambda: turnfold.find_split(transcript, keep=turnfold.KeepTokens(50_000)),
        "compare_prefix": lambda: turnfold.compare_prefix(transcript, longer),
        "fingerprint": transcript.kernel.fingerprint,
        "identifiers": transcript.identifiers,
        "surviving": lambda: transcript.surviving(found),
        "digests": transcript.digests,
        "repair": lambda: turnfold.repair(transcript),
        "scan": lambda: turnfold.scan(transcript),
    }
    for name, call in calls.items():
        call()
        started = time.perf_counter()
        call()
        # Long enough that starting threads is nothing beside it.
        repeats = max(3, int(0.3 / max(time.perf_counter() - started, 1e-6)))
        scaled = [
            Scaled(
                two_to_one(call, repeats, in_threads),
                two_to_one(call, repeats, in_processes),
                two_to_one(lambda: hashlib.sha256(hashed), hashes, in_threads),
                line_nanoseconds(),
            )
            for _ in range(max(1, rounds // 4))
        ]
        yield name, Scaled(*map(statistics.median, zip(*scaled, strict=True)))


def two_to_one(call: Call, repeats: int, run: Callable[[Call, int], float]) -> float:
    """Again for as long as other processes take more than a tenth of a processor meanwhile, up to twenty times."""

    def work() -> None:
        for _ in range(repeats):
            call()

    for _ in range(20):
        before, started = others_seconds(), time.perf_counter()
        ratio = 2 * run(work, 1) / run(work, 2)
        if others_seconds() - before <= 0.1 * (time.perf_counter() - started):
            return ratio
    print("the machine was busy in all of 20 rounds: the last one counts", file=sys.stderr)
    return ratio


def others_seconds() -> float:
    """CPU time of all that is not this process and those that it waited for."""
    user, nice, system, _, _, irq, soft = map(int, Path("/proc/stat").read_text(encoding="ascii").split()[1:8])
    own = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK") - own


def line_nanoseconds(trips: int = 20_000) -> float:
    """How long a byte takes from one processor to the other, with what Python does to write and to see it.

    A host that moves a virtual machine's two processors apart makes it two or three times as long.
    """
    first, second, *_ = sorted(os.sched_getaffinity(0))
    line = mmap.mmap(-1, mmap.PAGESIZE)

    def answer() -> None:
        os.sched_setaffinity(0, {second})
        for trip in range(trips):
            seen = trip % 100 * 2 + 1
            while line[0] != seen:
                pass
            line[0] = seen + 1

    other = multiprocessing.get_context("fork").Process(target=answer)
    allowed = os.sched_getaffinity(0)
    other.start()
    os.sched_setaffinity(0, {first})
    taken = []
    for trip in range(trips):
        started = time.perf_counter_ns()
        line[0] = trip % 100 * 2 + 1
        while line[0] != trip % 100 * 2 + 2:
            pass
        taken.append(time.perf_counter_ns() - started)
    os.sched_setaffinity(0, allowed)
    other.join()
    return statistics.median(taken) / 2


def in_threads(work: Call, at_once: int) -> float:
    return worked([threading.Thread(target=work) for _ in range(at_once)])


def in_processes(work: Call, at_once: int) -> float:
    fork = multiprocessing.get_context("fork")
    return worked([fork.Process(target=work) for _ in range(at_once)])


def worked(workers: Sequence[threading.Thread | multiprocessing.process.BaseProcess]) -> float:
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - started


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--rounds", type=int, default=31)
    options.add_argument("--only", default="", help="a word in the names of the claims to time")
    given = options.parse_args()
    peer = tiktoken_encodings(Path(tempfile.mkdtemp()))["o200k_base"]
    claims = [
        *(continuation(peer, evicted=evicted) for evicted in (True, False)),
        *(seen_before(evicted=evicted, turned=turned) for turned in (False, True) for evicted in (True, False)),
        cold(peer),
        parsing(),
        list_input(),
        *trims(peer),
    ]
    print("| what | ours, ms | peer, ms | ratio | must | aim |")
    print("|---|---|---|---|---|---|")
    for claim in claims:
        if given.only not in claim.name:
            continue
        ours, peers = measure(claim, given.rounds)
        ratio = peers / ours if claim.least else ours / peers
        met = "" if (ratio >= claim.must if claim.least else ratio <= claim.must) else " (not met)"
        sign = "" if claim.least else "at most "
        aim = "" if claim.aim is None else f"{claim.aim:,}"
        print(
            f"| {claim.name} | {ours:.3f} | {peers:.2f} | {ratio:,.2f}{met} | {sign}{claim.must:,} | {aim} |",
            flush=True,
        )
    if given.only in "two threads":
        for name, found in scaling(given.rounds):
            met = "" if found.threads >= 1.8 else " (not met)"
            beside = f"{found.processes:.2f} / {found.hashing:.2f} / {found.line_nanoseconds:.0f} ns"
            ratios = f"{found.threads:.2f}{met} / {beside}"
            print(f"| two threads: {name} / two processes / hashing / line | | | {ratios} | 1.8 | 1.9 |", flush=True)


if __name__ == "__main__":
    main()
