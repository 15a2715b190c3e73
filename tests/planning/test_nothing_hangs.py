"""Every way in which a summarizer can fail has a name, and no way holds a compaction up."""

import asyncio
import subprocess
import sys
import threading

import anyio
import anyio.to_thread
import pytest

from turnfold.compactor import OnFailure, compact, compact_sync
from turnfold.errors import ArgumentError
from turnfold.model.plan import Skip
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers import Fallback, Member
from turnfold.summarizers.detached import GRACE_SECONDS
from turnfold.testing.fakes import Scripted, Step, replying, scripted
from turnfold.testing.virtual_time import BACKENDS, Backend, NothingLeftError, run_virtual
from turnfold.transcript import Transcript

POLICY = Policy(OnRequest(), (Summarize(KeepMessages(2)),), name="test")


def chat(turns: int = 5) -> Transcript:
    messages: list[dict[str, object]] = [{"role": "system", "content": "You are careful."}]
    for k in range(turns):
        messages.append(
            {"role": "user", "content": f"Question {k} about src/a{k}.py. " + "The build failed again. " * 20}
        )
        messages.append({"role": "assistant", "content": f"Answer {k}. " + "Look at every line of the log. " * 20})
    return Transcript.from_messages(messages, format="openai.chat")


def outcomes(result: CompactionResult | Skip) -> list[str]:
    return [attempt.outcome for attempt in result.attempts]


class OwnError(BaseException):
    """Not an Exception, as a panic of an extension is not."""


FAILURES: list[tuple[Step, str]] = [
    (Step(way="hang"), "deadline"),
    (Step(way="refuse_to_stop"), "left_behind"),
    (Step(seconds=1_000), "deadline"),
    (Step(error=ConnectionError("no route")), "failed"),
    (Step(error=TimeoutError("slow")), "timeout"),
    (Step(error=OwnError("a panic")), "failed"),
    (Step(error=GeneratorExit()), "failed"),
    (Step(error=asyncio.CancelledError("from within")), "failed"),
    (Step(error=BaseExceptionGroup("two", [OwnError("a"), ValueError("b")])), "failed"),
    (Step(error=StopAsyncIteration()), "failed"),
    (Step(way="return", value=None), "garbled"),
    (Step(way="return", value="a text"), "garbled"),
    (Step(way="return", value=SummaryReply(b"bytes")), "garbled"),  # type: ignore[arg-type]
    (Step(text=""), "empty"),
    (Step(text=" \n\t"), "empty"),
    (Step(text="The build failed again. " * 2_000), "longer_than_source"),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("step", "outcome"), FAILURES, ids=[f"{k}-{name}" for k, (_, name) in enumerate(FAILURES)])
def test_each_failure_has_a_name_and_ends_in_time(backend: Backend, step: Step, outcome: str) -> None:
    async def main() -> None:
        transcript = chat()
        before = transcript.to_json()
        ways: tuple[OnFailure, ...] = ("rules", "skip")
        for on_failure in ways:
            fake = scripted([step])
            started = anyio.current_time()
            result = await compact(transcript, POLICY, fake, deadline_seconds=20, on_failure=on_failure)
            assert anyio.current_time() - started <= 20 + GRACE_SECONDS + 1e-6
            if on_failure == "rules":
                assert isinstance(result, CompactionResult)
                assert (result.method, outcomes(result)) == ("rules", [outcome, "used"])
                over = GRACE_SECONDS if outcome == "left_behind" else 0
                assert result.timings.overshoot_seconds == pytest.approx(over, abs=1e-6)
            else:
                assert isinstance(result, Skip)
                assert (result.reason, outcomes(result)) == ("no_summary", [outcome])
                assert outcome in result.text
            assert transcript.to_json() == before
            fake.release()

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_a_chain_of_nobody_the_skip_says_so(backend: Backend) -> None:
    async def main() -> None:
        result = await compact(chat(), POLICY, Fallback(), on_failure="skip")
        assert isinstance(result, Skip)
        assert (result.reason, result.attempts) == ("no_summary", ())
        assert result.text == "No summarizer gave a summary that can be used: the chain has no member."

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_deadline_covers_tries_and_members(backend: Backend) -> None:
    slow = Member(Scripted((Step(way="hang"),), "slow"), timeout_seconds=4)
    stubborn = Scripted((Step(way="refuse_to_stop"),), "stubborn")
    chain = Fallback(slow, Member(stubborn, timeout_seconds=5), Scripted((Step(seconds=100),), "late"))

    async def main() -> None:
        started = anyio.current_time()
        result = await compact(chat(), POLICY, chain, deadline_seconds=20)
        assert isinstance(result, CompactionResult)
        assert anyio.current_time() - started == pytest.approx(20)
        assert [(a.method, a.outcome) for a in result.attempts] == [
            ("slow", "timeout"),
            ("stubborn", "timeout"),
            ("late", "deadline"),
            ("rules", "used"),
        ]
        assert "left behind" in result.attempts[1].detail
        stubborn.release()

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_waiting_for_a_place_counts_too(backend: Backend) -> None:
    async def main() -> None:
        calls = anyio.CapacityLimiter(1)
        fake = replying("Done.", seconds=8)
        results: list[CompactionResult | Skip] = []

        async def one() -> None:
            results.append(await compact(chat(), POLICY, fake, deadline_seconds=20, calls=calls, on_failure="skip"))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(one)
        assert anyio.current_time() == pytest.approx(20)
        assert sorted(type(result).__name__ for result in results) == ["CompactionResult"] * 2 + ["Skip"] * 2
        assert (fake.most_in_flight, len(fake.requests)) == (1, 3)

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_goes_through(backend: Backend, stop: type[BaseException]) -> None:
    async def main() -> None:
        with pytest.raises(stop):
            await compact(chat(), POLICY, scripted([Step(error=stop())]))

    run_virtual(main, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_callers_cancellation_is_not_held_up(backend: Backend) -> None:
    async def main() -> None:
        for step in (Step(way="hang"), Step(way="refuse_to_stop")):
            fake, started = scripted([step]), anyio.current_time()
            with anyio.move_on_after(3) as scope:
                await compact(chat(), POLICY, fake, deadline_seconds=1_000)
            assert scope.cancelled_caught
            assert anyio.current_time() - started <= 3 + GRACE_SECONDS + 1e-6
            fake.release()

    run_virtual(main, backend)


class Blocking:
    """Blocks a thread, and waits for it whatever happens, or lets it go when it is told to stop."""

    name = "blocking"

    def __init__(self, *, abandon: bool) -> None:
        self.released = threading.Event()
        self._abandon = abandon

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        await anyio.to_thread.run_sync(self.released.wait, 60, abandon_on_cancel=self._abandon)
        return SummaryReply("late")


@pytest.mark.parametrize("abandon", [True, False])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_blocked_thread(backend: Backend, abandon: bool) -> None:
    async def main() -> None:
        blocking = Blocking(abandon=abandon)
        chat().tokens()
        try:
            result = await compact(chat(), POLICY, blocking, deadline_seconds=0.3)
        finally:
            blocking.released.set()
        assert isinstance(result, CompactionResult)
        # asyncio's own cancellation takes no heed of a shield.
        assert outcomes(result) == ["deadline" if abandon or backend == "asyncio" else "left_behind", "used"]
        assert result.timings.overshoot_seconds > 0

    anyio.run(main, backend=backend)


def test_compact_sync_does_not_wait_for_what_is_left_behind() -> None:
    """In a process of its own: the loop that is left says so on stderr, and the process ends all the same."""
    code = (
        "import asyncio\n"
        "from turnfold import Function, Transcript, compact_sync\n"
        "from turnfold.model.policy import OnRequest, Policy, Summarize\n"
        "async def stubborn(request):\n"
        "    while True:\n"
        "        try:\n"
        "            await asyncio.sleep(0.01)\n"
        "        except BaseException:\n"
        "            pass\n"
        "        if asyncio.current_task().cancelling() > 1000:\n"
        "            return 'x'\n"
        "text = 'The build failed again. ' * 200\n"
        "messages = [{'role': role, 'content': text} for role in ('user', 'assistant') * 4]\n"
        "transcript = Transcript.from_messages(messages, format='openai.chat')\n"
        "transcript.tokens()\n"
        "policy = Policy(OnRequest(), (Summarize(),))\n"
        "result = compact_sync(transcript, policy, Function(stubborn), deadline_seconds=0.3)\n"
        "print([attempt.outcome for attempt in result.attempts], flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("['left_behind', 'used']\n", 0), done.stderr


def test_a_run_that_would_hang_for_ever_says_so() -> None:
    async def main() -> None:
        await anyio.Event().wait()

    with pytest.raises(NothingLeftError):
        run_virtual(main)


def test_on_failure_is_one_of_two() -> None:
    with pytest.raises(ArgumentError, match="on_failure"):
        compact_sync(chat(), POLICY, on_failure="raise")  # type: ignore[arg-type]
