"""The kernel's work beside an event loop: what it does to the process, and what it must not change."""

import gc
import json
import sys
import threading
from collections.abc import Callable, Iterator

import anyio
import anyio.lowlevel
import pytest

from turnfold import Transcript, compact
from turnfold.compactor import OnFailure
from turnfold.model.facts import Extracted
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryRequest
from turnfold.planning import facts
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers import Fallback, Function, Member, fallback
from turnfold.summarizers.protocol import Summarizer
from turnfold.summarizers.threads import SWITCH_SECONDS, in_thread

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(("before", "within"), [(0.005, SWITCH_SECONDS), (0.0001, 0.0001), (SWITCH_SECONDS,) * 2])
async def test_threads_take_turns_sooner_while_it_works(before: float, within: float) -> None:
    sys.setswitchinterval(before)
    assert await in_thread(sys.getswitchinterval) == pytest.approx(within)
    assert sys.getswitchinterval() == pytest.approx(before)


async def test_only_the_last_of_several_puts_it_back() -> None:
    sys.setswitchinterval(0.005)
    begun, go = threading.Event(), threading.Event()
    seen: list[float] = []

    def late() -> None:
        begun.set()
        go.wait(10)
        seen.append(sys.getswitchinterval())

    async with anyio.create_task_group() as group:
        group.start_soon(in_thread, late)
        while not begun.is_set():
            await anyio.lowlevel.checkpoint()
        await in_thread(sys.getswitchinterval)
        seen.append(sys.getswitchinterval())
        go.set()
    assert [*seen, sys.getswitchinterval()] == pytest.approx([SWITCH_SECONDS, SWITCH_SECONDS, 0.005])


async def test_what_the_program_sets_meanwhile_stays() -> None:
    sys.setswitchinterval(0.005)
    await in_thread(sys.setswitchinterval, 0.002)
    assert sys.getswitchinterval() == pytest.approx(0.002)


async def test_it_is_put_back_where_the_work_raises() -> None:
    sys.setswitchinterval(0.005)
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 / 0)
    assert sys.getswitchinterval() == pytest.approx(0.005)


def fails(request: SummaryRequest) -> str:
    raise ValueError("no")


async def fails_later(request: SummaryRequest) -> str:
    await anyio.lowlevel.checkpoint()
    raise ValueError("no")


async def hangs(request: SummaryRequest) -> str:
    await anyio.sleep_forever()
    return ""


ASKED: list[Callable[[], Summarizer]] = [
    lambda: Function(lambda _: "The tickets were fetched."),
    lambda: Function(lambda _: ""),
    lambda: Function(fails),
    lambda: Function(fails_later),
    lambda: Fallback(Member(Function(fails_later), tries=2), Function(lambda _: "")),
    lambda: Fallback(Member(Function(hangs), timeout_seconds=1e-6)),
    lambda: Function(lambda _: "", window_tokens=3000),
]


@pytest.mark.parametrize("on_failure", ["rules", "skip"])
@pytest.mark.parametrize("asked", range(len(ASKED)))
async def test_rows_of_a_large_request_are_freed_off_the_loop_and_at_once(
    monkeypatch: pytest.MonkeyPatch, asked: int, on_failure: OnFailure
) -> None:
    freed: list[int] = []

    class Told(dict[str, int | str]):
        def __del__(self) -> None:
            freed.append(threading.get_ident())

    monkeypatch.setattr(facts, "_REGISTERED", {})
    monkeypatch.setattr(fallback, "FIRST_WAIT_SECONDS", 0.0)
    facts.register_extractor("fetch", lambda call: Extracted((), Told(key=str(call.arguments["key"]))))
    messages = [json.dumps({"role": "user", "content": "Fetch all of them."})]
    for key in range(100):
        function = {"name": "fetch", "arguments": json.dumps({"key": key})}
        call = {"id": f"c{key}", "type": "function", "function": function}
        messages.append(json.dumps({"role": "assistant", "content": None, "tool_calls": [call]}))
        messages.append(json.dumps({"role": "tool", "tool_call_id": f"c{key}", "content": f"Ticket {key}. " * 20}))
    transcript = Transcript.from_json(f"[{', '.join(messages)}]".encode(), format="openai.chat")
    policy = Policy(OnRequest(), (Summarize(KeepMessages(2), facts="lines"),), name="test")
    gc.collect()
    gc.disable()
    try:
        outcome = await compact(transcript, policy, ASKED[asked](), on_failure=on_failure)
        assert isinstance(outcome, CompactionResult) == (asked == 0 or on_failure == "rules"), outcome
        for thread in threading.enumerate():
            if thread.name.startswith("turnfold "):
                thread.join(10)  # of a call that has answered
        assert len(freed) == 99
        assert threading.get_ident() not in freed
    finally:
        gc.enable()
