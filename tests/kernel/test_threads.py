"""One transcript and one tokenizer serve many threads, and other Python runs while the kernel works."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec
import pytest

import turnfold
from turnfold import Transcript

Argument = TypeVar("Argument")

WORDS = "The quick brown fox, 1234 jumps; über den faulen Hund!\n日本語 <|endoftext|> "


def messages(count: int) -> list[dict[str, object]]:
    made: list[dict[str, object]] = [{"role": "system", "content": "Be brief."}]
    for k in range(count):
        call = {"id": f"c{k}", "type": "function", "function": {"name": "look", "arguments": f'{{"n": {k}}}'}}
        made.append({"role": "user", "content": f"{k} {WORDS}"})
        made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": f"c{k}", "content": WORDS * (k % 7)})
    return made


def test_threads_get_the_answers_of_one() -> None:
    def work(k: int) -> tuple[object, ...]:
        split = turnfold.find_split(transcript, turnfold.KeepMessages(k % 9))
        return (
            turnfold.count(WORDS * (k % 13 + 1)),
            transcript.tokens(),
            transcript.tokens(k, k + 40),
            turnfold.scan(transcript).ok,
            split and split.index,
            transcript.append({"role": "user", "content": str(k)}).tokens(),
            transcript.messages[k % len(transcript)],
        )

    body = msgspec.json.encode(messages(60))
    transcript = Transcript.from_json(body)
    alone = [work(k) for k in range(64)]
    transcript = Transcript.from_json(body)  # no count is remembered here
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(64))) == alone


@pytest.fixture
def no_forced_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1_000)
    yield
    sys.setswitchinterval(before)


def big_body() -> bytes:
    return msgspec.json.encode(messages(20_000))


@pytest.mark.parametrize(
    ("prepare", "run"),
    [
        pytest.param(lambda: WORDS * 60_000, turnfold.count, id="count"),
        pytest.param(lambda: [WORDS] * 60_000, turnfold.count_many, id="count_many"),
        pytest.param(big_body, Transcript.from_json, id="from_json"),
        pytest.param(lambda: Transcript.from_json(big_body()), Transcript.tokens, id="tokens"),
        pytest.param(lambda: Transcript.from_json(big_body()), turnfold.scan, id="scan"),
    ],
)
@pytest.mark.usefixtures("no_forced_switches")
def test_other_threads_run_meanwhile(prepare: Callable[[], Argument], run: Callable[[Argument], object]) -> None:
    """With forced switches off, a waiting thread gets on only when the running one lets go by itself.

    A busy machine may still schedule the waiting thread too late, so one of many tries is proof.
    """
    argument = prepare()
    assert any(gets_on_meanwhile(run, argument) for _ in range(50))


@pytest.mark.usefixtures("no_forced_switches")
def test_other_threads_do_not_run_while_the_lock_is_held() -> None:
    """The proof above can fail: `sorted` keeps the lock."""
    assert not any(gets_on_meanwhile(sorted, range(100_000)) for _ in range(5))


def gets_on_meanwhile(run: Callable[[Argument], object], argument: Argument) -> bool:
    finished = threading.Event()
    gate = threading.Lock()
    gate.acquire()

    def work() -> None:
        gate.release()
        run(argument)
        finished.set()

    worker = threading.Thread(target=work)
    worker.start()
    gate.acquire()
    got_on = not finished.is_set()
    worker.join()
    return got_on
