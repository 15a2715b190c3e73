"""A batch: bounded, isolated, in order or as completed, and over at its deadline."""

import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from turnfold.batch import BatchInput, BatchItem, BatchLimits, compact_batch
from turnfold.errors import ArgumentError, TurnfoldError
from turnfold.model.plan import Skip
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.testing.fakes import Step, replying, scripted
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual
from turnfold.transcript import Transcript

POLICY = Policy(OnRequest(), (Summarize(KeepMessages(1)),), name="test")
PROSE = "The build failed again and nobody knows why. " * 10


def conversation(name: str) -> list[Message]:
    turns = ((f"{name}: question {k}. {PROSE}", f"Answer {k}. {PROSE}") for k in range(3))
    return [m for q, a in turns for m in ({"role": "user", "content": q}, {"role": "assistant", "content": a})]


def chat(name: str) -> Transcript:
    return Transcript.from_messages(conversation(name), format="openai.chat")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


def test_every_kind_of_item_and_one_bad_one_of_each(backend: Backend) -> None:
    bad: list[Any] = [b'{"messages": [', 7, "text", [{"role": 7}], None]
    good: list[BatchInput] = [chat("a"), conversation("b"), chat("c").to_json()]

    async def main() -> list[BatchItem]:
        return [one async for one in compact_batch([*good, *bad], POLICY, replying("Done."), ordered=True)]

    done = run_virtual(main, backend)
    assert [one.index for one in done] == list(range(8))
    assert [one.status for one in done] == ["compacted"] * 3 + ["failed"] * 5
    assert all(isinstance(one.error, TurnfoldError | TypeError) for one in done[3:])
    assert [one.item for one in done] == [*good, *bad]
    assert all(isinstance(one.result, CompactionResult) for one in done[:3])


@pytest.mark.parametrize("ordered", [True, False])
def test_back_pressure(backend: Backend, ordered: bool) -> None:
    taken = 0

    def endless() -> Iterator[Transcript]:
        nonlocal taken
        while True:
            taken += 1
            yield chat(f"item {taken}")

    async def main() -> None:
        fake = replying("Done.", seconds=1)
        limits = BatchLimits(concurrency=3, ahead=2)
        async with aclosing(compact_batch(endless(), POLICY, fake, limits=limits, ordered=ordered)) as batch:
            for handed in range(1, 8):
                await anext(batch)
                await anyio.sleep(100)  # a slow reader
                assert taken <= handed + 3 + 2
        assert fake.most_in_flight <= 3
        before = len(fake.requests)
        await anyio.sleep(100)
        assert (len(fake.requests), fake.in_flight) == (before, 0)

    run_virtual(main, backend)
    assert taken < 20


def test_leaving_early_without_closing_stops_the_work(backend: Backend) -> None:
    async def main() -> None:
        fake = replying("Done.", seconds=1)
        source = (chat(str(k)) for k in range(50))
        async for _ in compact_batch(source, POLICY, fake, limits=BatchLimits(concurrency=2)):
            break
        gc.collect()
        await anyio.sleep(5)
        asked = len(fake.requests)
        await anyio.sleep(100)
        assert (len(fake.requests), fake.in_flight) == (asked, 0)
        assert asked < 10

    if backend == "trio":
        with pytest.warns(ResourceWarning, match="garbage collected"):
            run_virtual(main, backend)
    else:
        run_virtual(main, backend)


def test_results_come_in_order_or_as_they_are_done(backend: Backend) -> None:
    async def main(*, ordered: bool) -> list[int]:
        fake = scripted([Step(seconds=5), Step(seconds=1), Step(seconds=2)])
        batch = compact_batch([chat(str(k)) for k in range(3)], POLICY, fake, ordered=ordered)
        return [one.index async for one in batch]

    async def both() -> None:
        assert await main(ordered=True) == [0, 1, 2]
        assert await main(ordered=False) == [1, 2, 0]

    run_virtual(both, backend)


def test_calls_are_limited_over_all_items(backend: Backend) -> None:
    async def main() -> None:
        fake = replying("Done.", seconds=1)
        limits = BatchLimits(concurrency=8, calls=2)
        done = [one async for one in compact_batch([chat(str(k)) for k in range(8)], POLICY, fake, limits=limits)]
        assert (len(done), fake.most_in_flight) == (8, 2)
        assert anyio.current_time() == pytest.approx(4)

    run_virtual(main, backend)


def test_an_async_source_its_error_and_its_silence(backend: Backend) -> None:
    async def broken() -> AsyncIterator[Transcript]:
        yield chat("a")
        await anyio.sleep(3)
        yield chat("b")
        raise OSError("the disk is gone")

    async def silent() -> AsyncIterator[Transcript]:
        yield chat("a")
        await anyio.sleep(10**6)
        yield chat("never")

    async def main() -> None:
        done = []
        with pytest.raises(OSError, match="disk"):
            async for one in compact_batch(broken(), POLICY, replying("Done.", seconds=9)):
                done.append(one.status)  # noqa: PERF401
        assert done == ["compacted"] * 2
        started = anyio.current_time()
        limits = BatchLimits(deadline_seconds=50)
        statuses = [one.status async for one in compact_batch(silent(), POLICY, replying("Done."), limits=limits)]
        assert statuses == ["compacted"]
        assert anyio.current_time() - started == pytest.approx(50)

    run_virtual(main, backend)


def test_the_deadline_of_the_batch(backend: Backend) -> None:
    transcripts = [chat(str(k)) for k in range(6)]

    async def main() -> None:
        limits = BatchLimits(concurrency=2, deadline_seconds=12, item_seconds=None)
        for on_failure, middle in (("rules", "compacted"), ("skip", "deadline")):
            fake, started = replying("Done.", seconds=8), anyio.current_time()
            batch = compact_batch(
                transcripts,
                POLICY,
                fake,
                limits=limits,
                ordered=True,
                on_failure=on_failure,  # type: ignore[arg-type]
            )
            done = [one async for one in batch]
            assert anyio.current_time() - started == pytest.approx(12)
            assert [one.status for one in done] == ["compacted"] * 2 + [middle] * 2 + ["deadline"] * 2
            assert [one.result is None for one in done] == [False] * 4 + [True] * 2
        late = replying("Done.", seconds=8)
        generated = [one async for one in compact_batch((t for t in transcripts), POLICY, late, limits=limits)]
        assert len(generated) == 4

    run_virtual(main, backend)


def test_ctrl_c_in_a_summarizer_ends_the_batch(backend: Backend) -> None:
    async def main() -> None:
        fake = scripted([Step(seconds=1), Step(seconds=2, error=KeyboardInterrupt()), Step(way="hang")])
        with pytest.raises(KeyboardInterrupt):
            async for _ in compact_batch([chat(str(k)) for k in range(3)], POLICY, fake):
                pass
        assert fake.in_flight == 0

    run_virtual(main, backend)


def test_skips_and_empty_sources(backend: Backend) -> None:
    async def main() -> None:
        assert [one async for one in compact_batch([], POLICY)] == []
        short = [Transcript.from_messages([{"role": "user", "content": "Hi."}], format="openai.chat")]
        (one,) = [one async for one in compact_batch(short, POLICY)]
        assert one.status == "skipped"
        assert isinstance(one.result, Skip)

    run_virtual(main, backend)


def test_wrong_arguments() -> None:
    wrong: Any
    for wrong in (chat("a"), b"{}", "text", 7):
        with pytest.raises(TypeError, match="an iterable of transcripts"):
            compact_batch(wrong, POLICY)
    for name in ("concurrency", "calls", "ahead", "item_seconds", "deadline_seconds"):
        with pytest.raises(ArgumentError, match=name):
            BatchLimits(**{name: -1})  # type: ignore[arg-type]
