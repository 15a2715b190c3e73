"""The README's table of failures: each row is tried, and has the outcome that the table says."""

import re
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from turnfold.compactor import compact
from turnfold.errors import SummarizerError
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers import Fallback, Function, Member, Summarizer
from turnfold.summarizers.detached import GRACE_SECONDS
from turnfold.testing.fakes import Scripted, Step, replying, scripted
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual
from turnfold.transcript import Transcript

README = Path(__file__).parents[2] / "README.md"
ROW = re.compile(r"^\| (.+?) \| (?:`(\w+)` )?\| (.+) \|$", re.MULTILINE)
PROSE = "The build failed again and nobody knows why. "
NAMES = " ".join(f"src/a{k}.py" for k in range(8))
POLICY = Policy(OnRequest(), (Summarize(KeepMessages(1), max_tokens=900, task_max_tokens=50),), name="test")

Row = Callable[[], Awaitable[str | None]]


def table() -> dict[str, str | None]:
    text = README.read_text(encoding="utf-8")
    rows = text[text.index("| the summarizer | `outcome`") :].split("\n\n")[0]
    return {match[1]: match[2] for match in list(ROW.finditer(rows))[1:]}


def chat(turns: int = 8) -> Transcript:
    messages: list[Message] = []
    for k in range(turns):
        messages.append({"role": "user", "content": f"Question {k} about src/a{k}.py. {PROSE * 20}"})
        messages.append({"role": "assistant", "content": f"Answer {k}. {PROSE * 20}"})
    return Transcript.from_messages(messages, format="openai.chat")


async def compacted(summarizer: Summarizer, deadline_seconds: float = 20) -> CompactionResult:
    transcript = chat()
    before = transcript.to_json()
    result = await compact(transcript, POLICY, summarizer, deadline_seconds=deadline_seconds)
    assert isinstance(result, CompactionResult)
    assert transcript.to_json() == before
    return result


def by_rules(*steps: Step, window: int | None = None) -> Row:
    async def run() -> str:
        fake = Scripted(steps, window_tokens=window, reserve_tokens=None if window is None else 200)
        started = anyio.current_time()
        result = await compacted(fake)
        assert anyio.current_time() - started <= 20 + GRACE_SECONDS + 1e-6
        fake.release()
        assert result.method == "rules"
        assert [attempt.outcome for attempt in result.attempts[1:]] == ["used"]
        return result.attempts[0].outcome

    return run


def then_next(*steps: Step, timeout: float | None = None, tries: int = 1) -> Row:
    """The next of the chain is asked; without one the rules write; with tries left it is asked again first."""

    async def run() -> str:
        second = replying(PROSE + NAMES, name="second")
        first_outcome = ""
        for asked in {1, tries}:
            first = Member(scripted(steps), timeout_seconds=timeout, tries=asked)
            result = await compacted(Fallback(first, second))
            assert result.method == "second"
            outcomes = [attempt.outcome for attempt in result.attempts]
            first_outcome = outcomes[0]
            assert outcomes == [first_outcome] * asked + ["used"]
            assert (await compacted(first.summarizer if timeout is None else Fallback(first))).method == "rules"
        return first_outcome

    return run


async def hangs_in_a_thread() -> str:
    released = threading.Event()

    def hang(_: object) -> str:
        released.wait(60)
        return "late"

    chat().tokens()
    try:
        result = await compacted(Function(hang), 0.5)
    finally:
        released.set()
    assert result.method == "rules"
    return result.attempts[0].outcome


async def fails_at_one_piece() -> str:
    good = Step(text="The build failed.")
    fake = Scripted((good, Step(error=OSError("gone")), good), window_tokens=1_400, reserve_tokens=200)
    result = await compacted(fake)
    assert result.method == "scripted"
    assert (result.coverage.share, result.coverage.by_rule) == (1.0, 1)
    assert result.coverage.pieces > 2
    (fault,) = [attempt.outcome for attempt in result.attempts if attempt.outcome not in {"used", "repaired"}]
    return fault


async def ends_the_program() -> None:
    for stop in (KeyboardInterrupt, SystemExit):
        with pytest.raises(stop):
            await compacted(scripted([Step(error=stop())]))


async def is_cancelled() -> None:
    transcript = chat()
    before = transcript.to_json()
    fake = scripted([Step(way="hang")])
    with anyio.move_on_after(3) as scope:
        await compact(transcript, POLICY, fake)
    assert scope.cancelled_caught
    assert (fake.stopped, fake.in_flight) == (1, 0)
    assert transcript.to_json() == before


class OwnError(BaseException):
    pass


TRIED: dict[str, Callable[[], Awaitable[str | None]]] = {
    "raises an error": then_next(Step(error=OSError("no route"))),
    "raises what is no `Exception`: a panic, a cancellation of its own": then_next(Step(error=OwnError("a panic"))),
    "is down or overloaded": then_next(Step(error=SummarizerError("503", "unavailable")), tries=2),
    "takes longer than its own timeout": then_next(Step(way="hang"), timeout=2, tries=2),
    "returns no `SummaryReply`": then_next(Step(way="return", value=7), tries=2),
    "returns no text": then_next(Step(text=" "), tries=2),
    "returns as much as it was given": then_next(Step(text=PROSE * 2_000), tries=2),
    "is late for the deadline": by_rules(Step(way="hang")),
    "hangs in a thread": hangs_in_a_thread,
    "swallows its cancellation": by_rules(Step(way="refuse_to_stop")),
    "fails at one piece of many": fails_at_one_piece,
    "has a window too small for any piece": by_rules(Step(text=PROSE), window=300),
    "raises ctrl-C or `SystemExit`": ends_the_program,
    "is cancelled by the caller": is_cancelled,
}


def test_the_table_is_what_is_tried() -> None:
    assert list(table()) == list(TRIED)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("row", TRIED)
def test_each_row(row: str, backend: Backend) -> None:
    if row == "hangs in a thread":
        assert anyio.run(TRIED[row], backend=backend) == table()[row]
    else:
        assert run_virtual(TRIED[row], backend) == table()[row]
