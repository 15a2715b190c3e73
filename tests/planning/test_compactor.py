"""Compaction: whatever a summarizer does, the caller gets a valid, smaller transcript or a reason, in time."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest
import trio
import trio.testing

from turnfold import by_rule, compactor, presets
from turnfold.compactor import compact, compact_sync
from turnfold.errors import ArgumentError, NoSummaryError, RunningLoopError, UnknownSchemaError
from turnfold.model.judgement import ReplyPolicy
from turnfold.model.plan import Skip
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.result import Attempt
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryReply, SummaryRequest, Usage
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.planning.wrapper import recognise
from turnfold.summarizers import Fallback, Function, Marker, Rules, Summarizer
from turnfold.summarizers.protocol import DEADLINE_SECONDS
from turnfold.transcript import Transcript

pytestmark = pytest.mark.anyio

PROSE = "The build failed again and nobody knows why, so we looked at every line of the log. "
POLICY = Policy(OnRequest(), (Summarize(KeepMessages(2)), TruncateResults()), name="test")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def said(role: str, text: str) -> dict[str, object]:
    return {"role": role, "content": text}


def conversation(turns: int = 5) -> list[Message]:
    messages: list[Message] = [said("system", "You are careful.")]
    for k in range(turns):
        messages.append(said("user", f"Question {k} about src/a{k}.py. {PROSE * 5}"))
        messages.append(said("assistant", f"Answer {k}. {PROSE * 5}"))
    return messages


def chat(messages: list[Message]) -> Transcript:
    return Transcript.from_messages(messages, format="openai.chat")


def finished(result: CompactionResult | Skip) -> CompactionResult:
    assert isinstance(result, CompactionResult), result
    return result


NO_USAGE = Usage()


AS_IT_IS = ReplyPolicy(lost_identifiers="use")


def replying(text: str, usage: Usage = NO_USAGE) -> Function:
    async def reply(_: SummaryRequest) -> SummaryReply:
        return SummaryReply(text, usage)

    return Function(reply, name="fake", policy=AS_IT_IS)


async def test_a_good_reply_is_used_and_everything_about_it_reported() -> None:
    messages = conversation()
    transcript = chat(messages)
    before = transcript.to_json()
    result = finished(await compact(transcript, POLICY, replying("Look at src/a1.py and src/new.py.", Usage(7, 3))))
    assert result.method == "fake"
    assert result.usage == Usage(7, 3)
    assert result.attempts == (Attempt("fake", "used", 0, usage=Usage(7, 3)),)
    assert result.summary_role == "user"
    assert len(result.messages) == 4
    assert [a is b for a, b in zip(result.messages[2:], messages[-2:], strict=True)] == [True, True]
    assert result.messages[0] is messages[0]
    wrapped = recognise(str(result.messages[1]["content"]))
    assert wrapped is not None
    assert (wrapped.messages, wrapped.body) == (8, "Look at src/a1.py and src/new.py.")
    assert wrapped.task == str(messages[1]["content"]).strip()
    assert result.task_kept == "verbatim"
    assert {"src/a0.py", "src/a1.py"} <= set(result.identifiers.kept)
    assert {"src/a2.py", "src/a3.py"} <= set(result.identifiers.lost)
    assert result.identifiers.new == ("src/new.py",)
    assert result.prefix.messages == 1
    assert result.after == result.transcript.tokens()
    assert result.after.n < result.before.n == transcript.tokens().n
    assert transcript.to_json() == before
    assert msgspec.json.decode(result.body) == result.messages


async def test_without_a_summarizer_the_rules_write_it() -> None:
    result = finished(await compact(chat(conversation()), POLICY))
    assert result.method == "rules"
    assert set(result.identifiers.lost) == set()
    assert result.body == finished(compact_sync(chat(conversation()), POLICY)).body


async def raising(_: SummaryRequest) -> str:
    raise ConnectionError("no route")


async def raising_two(_: SummaryRequest) -> str:
    raise ExceptionGroup("two", [OSError("a"), ValueError("b")])


async def wrong_type(_: SummaryRequest) -> str:
    return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("summarizer", "outcome", "detail"),
    [
        (Function(raising), "failed", "ConnectionError: no route"),
        (Function(raising_two), "failed", "ExceptionGroup: two (2 sub-exceptions)"),
        (Function(wrong_type), "garbled", "function gave NoneType"),
        (replying(""), "empty", ""),
        (replying(" \n\t"), "empty", ""),
        (replying(PROSE * 500), "longer_than_source", ""),
    ],
)
async def test_a_useless_reply_falls_through_to_the_rules(summarizer: Summarizer, outcome: str, detail: str) -> None:
    result = finished(await compact(chat(conversation()), POLICY, summarizer))
    assert result.method == "rules"
    assert [a.outcome for a in result.attempts] == [outcome, "used"]
    assert result.attempts[0].detail.startswith(detail)


async def test_the_next_of_a_chain_is_asked() -> None:
    chain = Fallback(replying(""), Fallback(Function(raising), replying("Second.")), replying("Third."))
    result = finished(await compact(chat(conversation()), POLICY, chain))
    assert result.method == "fake"
    assert result.summary is not None
    assert "Second." in result.summary
    assert [a.outcome for a in result.attempts] == ["empty", "failed", "used"]


async def test_a_chain_that_gives_nothing_says_so() -> None:
    seen: list[SummaryRequest] = []

    async def note(request: SummaryRequest) -> str:
        seen.append(request)
        return ""

    finished(await compact(chat(conversation()), POLICY, Function(note)))
    with pytest.raises(NoSummaryError, match="function, fake"):
        await Fallback(Function(note), replying(" ")).summarize(seen[0])
    with pytest.raises(NoSummaryError, match="nobody"):
        await Fallback().summarize(seen[0])
    assert (await Fallback(replying(""), Marker()).summarize(seen[0])).text


async def test_a_reply_over_the_cap_is_cut_on_a_character() -> None:
    policy = Policy(OnRequest(), (Summarize(KeepMessages(2), max_tokens=120, task_max_tokens=0),))
    result = finished(await compact(chat(conversation()), policy, replying("👍🏽 " * 150)))
    assert result.attempts == (Attempt("fake", "cut_to_cap", 0),)
    assert "\ufffd" not in result.body.decode()
    assert result.after.n <= result.plan.tokens_at_most


class Hanging:
    """Never answers; says when it was asked and when it was told to stop."""

    name = "hanging"

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.stopped = False

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.stopped = True
        raise AssertionError


async def test_no_time_at_all_gives_the_rules() -> None:
    hanging = Hanging()
    result = finished(await compact(chat(conversation()), POLICY, hanging, deadline_seconds=0))
    assert result.method == "rules"
    assert not hanging.asked.is_set()
    assert result.attempts == (Attempt("hanging", "deadline", 0, "its turn had not come"), Attempt("rules", "used", 0))


async def test_who_waits_for_a_place_until_the_deadline_is_named_too() -> None:
    calls = anyio.CapacityLimiter(1)
    calls.acquire_on_behalf_of_nowait("another compaction")
    result = finished(await compact(chat(conversation()), POLICY, replying("late"), deadline_seconds=0.01, calls=calls))
    assert result.attempts == (Attempt("fake", "deadline", 0, "its turn had not come"), Attempt("rules", "used", 0))


@pytest.mark.parametrize(
    ("call", "seconds"), [(partial(compact, deadline_seconds=20), 20), (partial(compact), DEADLINE_SECONDS)]
)
def test_at_the_deadline_the_rules_take_over(
    call: Callable[[Transcript, Policy, Summarizer], Awaitable[CompactionResult | Skip]], seconds: float
) -> None:
    hanging = Hanging()

    async def main() -> CompactionResult | Skip:
        before = trio.current_time()
        result = await call(chat(conversation()), POLICY, Fallback(hanging, replying("late")))
        assert trio.current_time() - before == pytest.approx(seconds)
        return result

    clock = trio.testing.MockClock(autojump_threshold=0.01)
    result = finished(trio.run(main, clock=clock))
    assert hanging.stopped
    assert result.method == "rules"
    assert result.attempts == (Attempt("hanging", "deadline", 0), Attempt("rules", "used", 0))


async def test_cancellation_goes_through_and_leaves_the_input_alone() -> None:
    hanging = Hanging()
    transcript = chat(conversation())
    before = transcript.to_json()
    results: list[object] = []

    async def run() -> None:
        results.append(await compact(transcript, POLICY, hanging, deadline_seconds=1_000))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await hanging.asked.wait()
        group.cancel_scope.cancel()
    assert hanging.stopped
    assert results == []
    assert transcript.to_json() == before
    assert isinstance(compact_sync(transcript, POLICY), CompactionResult)


async def test_the_loop_is_free_while_the_kernel_works(monkeypatch: pytest.MonkeyPatch) -> None:
    summarizers: list[int] = []
    kernel: list[int] = []

    async def where(_: SummaryRequest) -> str:
        summarizers.append(threading.get_ident())
        await anyio.lowlevel.checkpoint()
        return "Done."

    def seen(work: Callable[..., object]) -> Callable[..., object]:
        def run(*args: object, **kwargs: object) -> object:
            kernel.append(threading.get_ident())
            return work(*args, **kwargs)

        return run

    for module, name in ((compactor, "prepare"), (by_rule, "apply_opened")):
        monkeypatch.setattr(module, name, seen(getattr(module, name)))
    finished(await compact(chat(conversation(60)), POLICY, Function(where)))
    assert summarizers == [threading.get_ident()], "summarizers run on the loop"
    assert len(kernel) == 2
    assert threading.get_ident() not in kernel


def test_a_cancellation_that_nobody_asked_for_is_a_failed_reply() -> None:
    async def broken(_: SummaryRequest) -> str:
        raise asyncio.CancelledError

    async def main() -> CompactionResult | Skip:
        return await compact(chat(conversation()), POLICY, Function(broken))

    assert finished(asyncio.run(main())).method == "rules"


def test_compact_sync_with_a_summarizer_runs_a_loop_of_its_own() -> None:
    result = finished(compact_sync(chat(conversation()), POLICY, replying("Short."), deadline_seconds=5))
    assert result.method == "fake"


async def test_compact_sync_inside_a_loop() -> None:
    assert isinstance(compact_sync(chat(conversation()), POLICY), CompactionResult)
    with pytest.raises(RunningLoopError, match="await compact"):
        compact_sync(chat(conversation()), POLICY, replying("Short."))


@pytest.mark.parametrize("call", [compact_sync, lambda *a, **k: asyncio.run(compact(*a, **k))])
def test_wrong_arguments_are_refused_before_anyone_is_asked(call: Callable[..., object]) -> None:
    with pytest.raises(ArgumentError, match="deadline_seconds"):
        call(chat(conversation()), POLICY, deadline_seconds=-1)
    with pytest.raises(ArgumentError, match="deadline_seconds"):
        call(chat(conversation()), POLICY, deadline_seconds=float("nan"))
    with pytest.raises(UnknownSchemaError, match="nine_sections"):
        call(chat(conversation()), Policy(OnRequest(), (Summarize(schema="none"),)))


@pytest.mark.parametrize("wrong", [raising, "rules", Rules])
def test_what_cannot_summarize_is_refused_and_not_passed_over(wrong: Any) -> None:
    with pytest.raises(TypeError, match="wrap a function"):
        compact_sync(chat(conversation()), POLICY, wrong)


def test_neither_a_transcript_nor_a_policy() -> None:
    wrong: Any = conversation()
    with pytest.raises(TypeError, match="from_messages or from_json"):
        compact_sync(wrong, POLICY)
    with pytest.raises(TypeError, match="a Policy is needed, not list"):
        compact_sync(chat(conversation()), wrong)


async def test_a_number_is_no_limiter_of_calls() -> None:
    wrong: Any = 4
    with pytest.raises(TypeError, match=r"calls must be a limiter, as in anyio.CapacityLimiter\(4\), not int"):
        await compact(chat(conversation()), POLICY, replying("x"), calls=wrong)


@pytest.mark.parametrize("usage", [None, Usage(None, 3), Usage("1"), {"prompt_tokens": 1.5}])  # type: ignore[arg-type]
async def test_a_text_is_used_whatever_its_usage_says(usage: Any) -> None:
    result = finished(await compact(chat(conversation()), POLICY, replying("Short.", usage)))
    assert (result.method, result.usage) == ("fake", Usage())


async def test_nobody_is_asked_where_nothing_is_done() -> None:
    asked: list[SummaryRequest] = []

    async def note(request: SummaryRequest) -> str:
        asked.append(request)
        return "x"

    for policy in (presets.token_threshold(None, 10**6), presets.token_threshold(None, 3)):
        assert isinstance(await compact(chat(conversation()), policy, Function(note)), Skip)
    assert asked == []


def test_marker_and_rules_are_summarizers() -> None:
    for one in (Rules(), Marker(), Fallback(), replying("x"), Hanging()):
        assert isinstance(one, Summarizer)
