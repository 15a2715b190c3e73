"""Any callable as a summarizer: async ones awaited, blocking ones in a thread that nobody waits for."""

import contextvars
import functools
import subprocess
import sys
import threading

import anyio
import anyio.to_thread
import pytest

from turnfold.errors import SummarizerError
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.summarizers import Function
from turnfold.summarizers.function import MOST_LEFT_BEHIND
from turnfold.testing.requests import summary_request

pytestmark = pytest.mark.anyio

REQUEST = summary_request()
MARK: contextvars.ContextVar[str] = contextvars.ContextVar("MARK")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def awaited(_: SummaryRequest) -> str:
    return "awaited"


class Callable:
    async def __call__(self, _: SummaryRequest) -> SummaryReply:
        return SummaryReply("called")


def later(_: SummaryRequest) -> object:
    return awaited(_)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (Function(awaited), "awaited"),
        (Function(functools.partial(awaited)), "awaited"),
        (Function(Callable()), "called"),
        (Function(later, blocking=False), "awaited"),  # type: ignore[arg-type]
        (Function(lambda _: "plain"), "plain"),
        (Function(lambda _: SummaryReply("whole")), "whole"),
    ],
)
async def test_any_kind_of_callable(function: Function, text: str) -> None:
    assert (await function.summarize(REQUEST)).text == text


async def test_a_blocking_function_runs_in_a_thread_with_the_callers_context() -> None:
    MARK.set("mine")
    seen: list[tuple[int, str]] = []

    def note(_: SummaryRequest) -> str:
        seen.append((threading.get_ident(), MARK.get()))
        return "x"

    await Function(note).summarize(REQUEST)
    assert seen[0][0] != threading.get_ident()
    assert seen[0][1] == "mine"


async def test_what_it_raises_arrives_and_ends_nothing() -> None:
    def broken(_: SummaryRequest) -> str:
        raise ValueError("no model")

    def leaving(_: SummaryRequest) -> str:
        raise SystemExit(3)

    with pytest.raises(ValueError, match="no model"):
        await Function(broken).summarize(REQUEST)
    with pytest.raises(SummarizerError, match="SystemExit"):
        await Function(leaving).summarize(REQUEST)
    with pytest.raises(SummarizerError, match="not a text"):
        await Function(lambda _: 7).summarize(REQUEST)  # type: ignore[arg-type]


async def test_a_hanging_function_is_left_behind_and_cannot_collect_threads() -> None:
    let_go = threading.Event()

    def hang(_: SummaryRequest) -> str:
        let_go.wait()
        return "late"

    function = Function(hang, name="slow")
    for _ in range(MOST_LEFT_BEHIND):
        with anyio.move_on_after(0.001) as scope:
            await function.summarize(REQUEST)
        assert scope.cancelled_caught
    with pytest.raises(SummarizerError, match="16 earlier calls of slow still run") as refused:
        await function.summarize(REQUEST)
    assert refused.value.reason == "busy"
    let_go.set()
    for thread in threading.enumerate():
        if thread.name == "turnfold slow":
            await anyio.to_thread.run_sync(thread.join)
    assert (await function.summarize(REQUEST)).text == "late"


HANGING = """
import threading
import turnfold
from turnfold.summarizers import Function
from turnfold.testing.requests import WORK

def hang(request):
    threading.Event().wait()

messages = [{"role": "user" if k % 2 else "assistant", "content": f"{WORK} {k} " * 2} for k in range(1, 9)]
transcript = turnfold.Transcript.from_messages(messages, format="openai.chat")
transcript.tokens()
policy = turnfold.Policy(turnfold.OnRequest(), (turnfold.Summarize(turnfold.KeepMessages(2)),))
result = turnfold.compact_sync(transcript, policy, Function(hang), deadline_seconds=0.5)
print(result.method, [attempt.outcome for attempt in result.attempts])
"""


def test_a_process_ends_although_a_function_hangs() -> None:
    done = subprocess.run([sys.executable, "-c", HANGING], check=True, capture_output=True, text=True)
    assert done.stdout == "rules ['deadline', 'used']\n"
