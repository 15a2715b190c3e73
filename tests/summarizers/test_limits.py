"""Requests and tokens a minute, spend caps, hedging and waits between tries, on a clock that jumps."""

import math
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold.errors import ArgumentError, NoSummaryError, SummarizerError
from turnfold.model.judgement import ReplyPolicy
from turnfold.model.result import Attempt
from turnfold.model.summary import SummaryReply, SummaryRequest, Usage
from turnfold.summarizers import Fallback, Function, Hedged, Limited, Marker, Member, Price, RateLimit, SpendCap
from turnfold.summarizers.fallback import FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS
from turnfold.testing.fakes import Step, replying, scripted
from turnfold.testing.requests import GOOD_SUMMARY, summary_request
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual

REQUEST = summary_request()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    kind: Backend = request.param
    return kind


async def at_once(*calls: Callable[[], Awaitable[object]]) -> list[float]:
    """Run all side by side; return when each was done, in order of starting."""
    done = [math.nan] * len(calls)

    async def one(index: int) -> None:
        await calls[index]()
        done[index] = anyio.current_time()

    async with anyio.create_task_group() as group:
        for index in range(len(calls)):
            group.start_soon(one, index)
    return done


def raising(error: Exception, *, then: str = GOOD_SUMMARY, times: int = 1) -> Any:
    return scripted([*[Step(way="raise", error=error)] * times, Step(text=then)])


def test_a_minutes_worth_goes_at_once_and_the_rest_evenly(backend: Backend) -> None:
    async def main() -> list[float]:
        rate = RateLimit(requests_per_minute=6)
        return sorted(await at_once(*[lambda: rate.take(1)] * 9))

    assert run_virtual(main, backend) == pytest.approx([0, 0, 0, 0, 0, 0, 10, 20, 30])


def test_tokens_are_served_in_the_order_of_asking(backend: Backend) -> None:
    async def main() -> list[float]:
        rate = RateLimit(tokens_per_minute=600)

        async def after(seconds: float, tokens: int) -> None:
            await anyio.sleep(seconds)
            await rate.take(tokens)

        # The small one does not pass the big one: that would wait for ever in a crowd.
        return await at_once(lambda: after(0, 600), lambda: after(1, 300), lambda: after(2, 10))

    assert run_virtual(main, backend) == pytest.approx([0, 30, 31])


def test_what_was_not_used_comes_back_and_a_cancelled_one_takes_nothing(backend: Backend) -> None:
    async def main() -> list[float]:
        rate = RateLimit(tokens_per_minute=600)
        await rate.take(600)
        rate.settle(600, 300)
        await rate.take(300)
        async with anyio.create_task_group() as group:
            group.start_soon(rate.take, 600)
            await anyio.sleep(5)
            group.cancel_scope.cancel()
        return await at_once(lambda: rate.take(100))

    assert run_virtual(main, backend) == pytest.approx([10])


def test_a_wait_beyond_the_deadline_is_not_begun(backend: Backend) -> None:
    async def main() -> tuple[str, float | None, float]:
        rate = RateLimit(requests_per_minute=1)
        await rate.take(1)
        with anyio.fail_after(20), pytest.raises(SummarizerError) as refused:
            await rate.take(1)
        return refused.value.reason, refused.value.retry_after_seconds, anyio.current_time()

    reason, wait, now = run_virtual(main, backend)
    assert (reason, now) == ("rate_limited", 0)
    assert wait == pytest.approx(60)


def test_more_than_a_minutes_worth_is_never_served() -> None:
    async def main() -> None:
        with pytest.raises(SummarizerError, match="601 tokens; the limit is 600"):
            await RateLimit(tokens_per_minute=600).take(601)

    run_virtual(main)
    for wrong in ({"requests_per_minute": 0}, {"tokens_per_minute": math.nan}):
        with pytest.raises(ArgumentError, match="must be over 0"):
            RateLimit(**wrong)


def test_one_limit_holds_over_event_loops() -> None:
    rate = RateLimit(requests_per_minute=60)

    async def main() -> list[float]:
        return await at_once(*[lambda: rate.take(1)] * 40)

    assert run_virtual(main) == [0] * 40
    assert max(run_virtual(main)) == pytest.approx(20, abs=1), "the second loop's clock starts at 0 again"


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 100)), min_size=1, max_size=12))
def test_no_minute_ever_sees_more_than_twice_its_worth(asks: list[tuple[int, int]]) -> None:
    """A bucket that is full lets a minute's worth go, and as much again comes in over that minute: never more."""
    went: list[tuple[float, int]] = []

    async def main() -> None:
        rate = RateLimit(tokens_per_minute=100)

        async def one(delay: int, tokens: int) -> None:
            await anyio.sleep(delay)
            await rate.take(tokens)
            went.append((anyio.current_time(), tokens))

        async with anyio.create_task_group() as group:
            for delay, tokens in asks:
                group.start_soon(one, delay, tokens)

    run_virtual(main)
    assert len(went) == len(asks)
    for start, _ in went:
        assert sum(tokens for at, tokens in went if start <= at < start + 60) <= 200 + 1e-6


def test_a_server_that_says_wait_holds_up_all_who_share_the_limit(backend: Backend) -> None:
    async def main() -> list[float]:
        rate = RateLimit(requests_per_minute=100)
        limited = Limited(raising(SummarizerError("429", "rate_limited", retry_after_seconds=12)), rate=rate)
        with pytest.raises(SummarizerError):
            await limited.summarize(REQUEST)
        return await at_once(lambda: Limited(replying("x"), rate=rate).summarize(REQUEST))

    assert run_virtual(main, backend) == pytest.approx([12])


def used(prompt: int, completion: int) -> Function:
    async def reply(_: SummaryRequest) -> SummaryReply:
        return SummaryReply(GOOD_SUMMARY, Usage(prompt, completion))

    return Function(reply, name="used", window_tokens=9_000, policy=ReplyPolicy(empty="next"))


PRICE = Price(2.0, 10.0, cache_read_per_million=0.2, cache_write_per_million=2.5)


def test_the_price_of_a_usage() -> None:
    assert PRICE.of(Usage(1_000_000, 100_000)) == pytest.approx(3.0)
    assert PRICE.of(Usage(1_000_000, 0, 500_000, 100_000)) == pytest.approx(0.4 * 2 + 0.5 * 0.2 + 0.1 * 2.5)
    assert Price(1, 1).of(Usage(1_000_000, 0, 1_000_000)) == 1
    with pytest.raises(ArgumentError, match="output_per_million"):
        Price(1, -1)
    with pytest.raises(ArgumentError, match="cap"):
        SpendCap(-1, PRICE)


def test_a_call_that_could_go_over_the_cap_is_refused(backend: Backend) -> None:
    cap = SpendCap(0.02, PRICE)
    limited = Limited(used(2_000, 200), spend=cap)

    async def main() -> int:
        for calls in range(10):
            try:
                await limited.summarize(REQUEST)
            except SummarizerError as error:
                assert error.reason == "spend_cap"
                return calls
        raise AssertionError

    calls = run_virtual(main, backend)
    assert cap.spent == pytest.approx(calls * 0.006)
    assert cap.reserved == pytest.approx(0)
    assert calls == 3
    assert cap.spent <= cap.most


@pytest.mark.parametrize(("reason", "charged"), [("rejected", False), ("timeout", True), ("unreachable", True)])
def test_a_call_that_may_have_been_served_counts_with_its_input(reason: Any, charged: bool) -> None:
    cap = SpendCap(1.0, PRICE)

    async def main() -> None:
        with pytest.raises(SummarizerError):
            await Limited(raising(SummarizerError("x", reason)), spend=cap).summarize(REQUEST)

    run_virtual(main)
    assert (cap.spent > 0) == charged
    assert cap.reserved == pytest.approx(0)


def test_a_wrapped_summarizer_says_of_itself_what_the_inner_one_says() -> None:
    inner = used(1, 1)
    for outer in (Limited(inner), Hedged(inner, after_seconds=1)):
        assert (outer.name, outer.window_tokens, outer.tries) == ("used", 9_000, 1)
        assert outer.reply_policy.empty == "next"
        assert "Function" in repr(outer)
    assert Hedged(inner, replying("x"), after_seconds=1).window_tokens == 9_000


def hedged(first: Any, second: Any = None, after_seconds: float = 2.0) -> tuple[Callable[[], Awaitable[Any]], Any]:
    one = Hedged(first, second, after_seconds=after_seconds)

    async def main() -> tuple[str, float]:
        reply = await one.summarize(REQUEST)
        return reply.text, anyio.current_time()

    return main, one


def test_a_quick_reply_asks_nobody_else(backend: Backend) -> None:
    second = replying(GOOD_SUMMARY)
    main, _ = hedged(replying(GOOD_SUMMARY, seconds=1), second)
    assert run_virtual(main, backend) == (GOOD_SUMMARY, pytest.approx(1))
    assert second.requests == []


def test_the_first_good_reply_wins_and_the_other_is_cancelled(backend: Backend) -> None:
    first, second = replying("Late.", seconds=9), replying(GOOD_SUMMARY, seconds=1)
    main, _ = hedged(first, second)
    assert run_virtual(main, backend) == (GOOD_SUMMARY, pytest.approx(3))
    assert (first.stopped, first.in_flight) == (1, 0)
    main, _ = hedged(replying(GOOD_SUMMARY, seconds=3), slow := replying("Late.", seconds=9))
    assert run_virtual(main, backend) == (GOOD_SUMMARY, pytest.approx(3))
    assert slow.stopped == 1


def test_a_failure_or_a_bad_reply_is_not_waited_out(backend: Backend) -> None:
    main, _ = hedged(raising(ValueError("x")), replying(GOOD_SUMMARY, seconds=1), after_seconds=50)
    assert run_virtual(main, backend) == (GOOD_SUMMARY, pytest.approx(1))
    main, _ = hedged(replying(" "), replying(GOOD_SUMMARY, seconds=1), after_seconds=50)
    assert run_virtual(main, backend) == (GOOD_SUMMARY, pytest.approx(1))


def test_where_both_fail_the_first_failure_is_raised_and_a_reply_comes_before_it(backend: Backend) -> None:
    main, _ = hedged(raising(ValueError("first")), raising(OSError("second")))
    with pytest.raises(ValueError, match="first"):
        run_virtual(main, backend)
    main, _ = hedged(raising(ValueError("first")), replying(""))
    assert run_virtual(main, backend)[0] == ""
    with pytest.raises(ArgumentError, match="after_seconds"):
        Hedged(replying(""), after_seconds=-1)


def test_the_usage_of_both_replies_is_added() -> None:
    async def bad(_: SummaryRequest) -> SummaryReply:
        return SummaryReply(" ", Usage(10, 1))

    async def main() -> Usage:
        return (await Hedged(Function(bad), used(5, 2), after_seconds=1).summarize(REQUEST)).usage

    assert run_virtual(main) == Usage(15, 3)


async def chain(member: Member, deadline_seconds: float = math.inf) -> tuple[list[Attempt], str, float]:
    attempts: list[Attempt] = []
    with anyio.move_on_after(deadline_seconds):
        name, _ = await Fallback(member, Marker()).ask(REQUEST, attempts.append)
        return attempts, name, anyio.current_time()
    raise AssertionError("the deadline came first")


def test_waits_between_tries_grow(backend: Backend) -> None:
    model = raising(SummarizerError("500", "unavailable"), times=3)

    async def main() -> Any:
        return await chain(Member(model, tries=4))

    attempts, name, now = run_virtual(main, backend)
    assert name == "scripted"
    assert [attempt.outcome for attempt in attempts] == ["unavailable"] * 3 + ["used"]
    least = FIRST_WAIT_SECONDS * (1 + 2 + 4)
    assert least <= now <= least + 3 * FIRST_WAIT_SECONDS


def test_what_the_server_asks_for_is_waited(backend: Backend) -> None:
    model = raising(SummarizerError("429", "rate_limited", retry_after_seconds=7), times=2)

    async def main() -> Any:
        return await chain(Member(model, tries=3))

    attempts, name, now = run_virtual(main, backend)
    assert (name, len(attempts)) == ("scripted", 3)
    assert now == pytest.approx(14)


@pytest.mark.parametrize(("wait_seconds", "deadline_seconds"), [(LONGEST_WAIT_SECONDS + 1, math.inf), (10, 9)])
def test_who_would_be_waited_for_too_long_is_passed_over(
    wait_seconds: float, deadline_seconds: float, backend: Backend
) -> None:
    model = raising(SummarizerError("429", "rate_limited", retry_after_seconds=wait_seconds))

    async def main() -> Any:
        return await chain(Member(model, tries=3), deadline_seconds)

    _, name, now = run_virtual(main, backend)
    assert (name, now) == ("marker", 0)


def test_the_deadline_around_a_chain_reaches_the_rate_limit(backend: Backend) -> None:
    async def main() -> Any:
        rate = RateLimit(requests_per_minute=1)
        await rate.take(1)
        return await chain(Member(Limited(replying(GOOD_SUMMARY), rate=rate)), deadline_seconds=20)

    attempts, name, now = run_virtual(main, backend)
    assert (name, now) == ("marker", 0)
    assert attempts[0].outcome == "rate_limited"


def test_each_try_has_its_own_time(backend: Backend) -> None:
    model = scripted([Step(way="hang"), Step(text=GOOD_SUMMARY, seconds=1)])

    async def main() -> Any:
        return await chain(Member(model, timeout_seconds=4, tries=2))

    attempts, name, now = run_virtual(main, backend)
    assert [attempt.outcome for attempt in attempts] == ["timeout", "used"]
    assert name == "scripted"
    assert 5 + FIRST_WAIT_SECONDS <= now <= 5.1 + 2 * FIRST_WAIT_SECONDS


@pytest.mark.parametrize(
    ("policy", "names", "calls"),
    [
        (ReplyPolicy(), ["empty", "empty"], 2),
        (ReplyPolicy(empty="next"), ["empty"], 1),
    ],
)
def test_what_is_done_about_a_bad_reply_is_the_callers(policy: ReplyPolicy, names: list[str], calls: int) -> None:
    model = replying("")

    async def main() -> Any:
        return await chain(Member(model, tries=2, policy=policy))

    attempts, name, now = run_virtual(main)
    assert [attempt.outcome for attempt in attempts[:-1]] == names
    assert (name, len(model.requests), now) == ("marker", calls, 0)
    assert [request.refused for request in model.requests] == [None, "empty"][:calls]


def test_a_member_around_a_chain_speaks_for_all_of_it() -> None:
    inner = Fallback(Member(replying(""), tries=2), replying(""))
    chained = Fallback(Member(inner, timeout_seconds=3, policy=ReplyPolicy(empty="next")))
    assert [(member.timeout_seconds, member.tries) for member in chained.members] == [(3, 2), (3, 1)]

    async def main() -> None:
        with pytest.raises(NoSummaryError, match="scripted, scripted"):
            await chained.summarize(REQUEST)

    run_virtual(main)
    for wrong in ({"timeout_seconds": 0}, {"tries": 0}):
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            Member(replying(""), **wrong)  # type: ignore[arg-type]
