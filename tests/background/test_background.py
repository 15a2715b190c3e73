"""Compactions beside a conversation: the old one or the new one, whatever happens, on both event loops."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from turnfold import telemetry
from turnfold.background import CLEANUP_SECONDS, BackgroundCompactor
from turnfold.errors import ArgumentError, CorruptStoreError, StoreUnavailableError
from turnfold.model import events
from turnfold.model.judgement import BY_RULE
from turnfold.model.policy import OnRequest, Policy, Summarize, TokensOver, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryRequest
from turnfold.objects import Message
from turnfold.planning.wrapper import recognise
from turnfold.stores import MemoryStore, SQLiteStore
from turnfold.summarizers import Function
from turnfold.testing.fakes import Step, replying, scripted
from turnfold.testing.virtual_time import BACKENDS, run_virtual
from turnfold.transcript import Transcript

PROSE = "The build failed again and nobody knows why, so we looked at every line of the log. "
POLICY = Policy(OnRequest(), (Summarize(KeepMessages(2)), TruncateResults()), name="test")
GOOD = "## Findings\n- The build failed in src/a0.py, and nobody knows why."


@pytest.fixture(params=BACKENDS)
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Awaitable[Any]]], Any]:
    return lambda main: run_virtual(main, request.param)


def conversation(turns: int = 5) -> Transcript:
    messages: list[Message] = [{"role": "system", "content": "You are careful."}]
    for k in range(turns):
        messages.append({"role": "user", "content": f"Question {k} about src/a{k}.py. {PROSE * 5}"})
        messages.append({"role": "assistant", "content": f"Answer {k}. {PROSE * 5}"})
    return Transcript.from_messages(messages, format="openai.chat")


def grown(transcript: Transcript, *texts: str) -> Transcript:
    for text in texts:
        transcript = transcript.append({"role": "user", "content": text})
    return transcript


def test_what_was_appended_meanwhile_stays_behind_the_summary(run: Any) -> None:
    told: list[events.AnyEvent] = []

    async def main() -> None:
        source, store = conversation(), MemoryStore()
        with telemetry.listening(told.append):
            async with BackgroundCompactor(POLICY, replying(GOOD, seconds=9), store=store) as background:
                assert background.start("c", source)
                assert not background.start("c", source), "one at a time"
                await anyio.sleep(1)
                longer = grown(source, "And now?", "Hurry.")
                assert background.status("c") == "running"
                assert await background.swap("c", longer) is longer
                assert await background.wait("c") == "ready"
                swapped = await background.swap("c", longer)
                assert background.status("c") == "idle"
                assert await background.swap("c", swapped) is swapped
        assert [swapped.messages[0], *swapped.messages[2:]] == [source.messages[0], *longer.messages[9:]]
        assert [swapped.messages[k] is longer.messages[k] for k in (-1, -2, -3, -4)] == [True] * 4
        wrapped = recognise(swapped.blocks(1)[0].text)
        assert wrapped is not None
        assert "src/a0.py" in wrapped.body
        session = await store.load("c")
        assert (session.version, session.summaries[0].start, session.summaries[0].stop) == (1, 1, 9)

    run(main)
    of_background = [event for event in told if event.kind.startswith(("background", "store"))]
    assert [event.kind for event in of_background] == ["background.started", "store.committed", "background.swapped"]
    last = of_background[-1]
    assert isinstance(last, events.BackgroundSwapped)
    assert (last.appended, last.messages_before, last.messages_after, last.version) == (2, 13, 6, 1)
    assert {event.conversation for event in told} == {"c"}


def test_a_covered_message_that_changed_discards_it(run: Any) -> None:
    told: list[events.AnyEvent] = []

    async def main() -> None:
        source, store = conversation(), MemoryStore()
        messages = [dict(message) for message in source.messages]
        messages[3]["content"] = "Edited."
        edited = Transcript.from_messages([*messages, {"role": "user", "content": "x"}], format="openai.chat")
        for changed in (edited, source.splice([range(7)])):
            with telemetry.listening(told.append):
                async with BackgroundCompactor(POLICY, replying(GOOD), store=store) as background:
                    background.start("c", source)
                    await background.wait("c")
                    assert await background.swap("c", changed) is changed
                    assert background.status("c") == "idle"
                    assert await store.begin("c") is not None, "the lease was given back"
                    await store.delete("c")

    run(main)
    assert [event.reason for event in told if isinstance(event, events.BackgroundDiscarded)] == ["changed"] * 2


def test_a_changed_message_before_or_behind_the_covered_ones_does_not_matter(run: Any) -> None:
    async def main() -> None:
        source = conversation()
        messages = [dict(message) for message in source.messages]
        messages[0]["content"], messages[10]["content"] = "It is noon.", "Another answer."
        other = Transcript.from_messages(messages, format="openai.chat")
        async with BackgroundCompactor(POLICY, replying(GOOD)) as background:
            background.start("c", source)
            await background.wait("c")
            swapped = await background.swap("c", other)
        assert [swapped.messages[k] for k in (0, 2, 3)] == [other.messages[k] for k in (0, 9, 10)]

    run(main)


def test_edits_of_kept_messages_are_done_again(run: Any) -> None:
    policy = Policy(OnRequest(), (TruncateResults(20, 10),), target_tokens=600, name="shorten")

    async def main() -> None:
        call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        source = Transcript.from_messages(
            [
                {"role": "user", "content": "Run it."},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": PROSE * 60},
                {"role": "assistant", "content": "It ran."},
            ],
            format="openai.chat",
        )
        store = MemoryStore()
        async with BackgroundCompactor(policy, store=store) as background:
            background.start("c", source)
            await background.wait("c")
            swapped = await background.swap("c", grown(source, "Thanks."))
            assert await background.resume("c", grown(source, "Thanks.")) is not source
            resumed = await background.resume("c", grown(source, "Thanks."))
        assert swapped.to_json() == resumed.to_json()
        assert len(swapped.blocks(2)[0].text) < 400
        assert PROSE not in str((await store.load("c")).summaries), "what is kept or cut is not stored"

    run(main)


def test_summaries_are_found_again_one_on_the_other(run: Any) -> None:
    async def main() -> None:
        store = MemoryStore()
        whole = now = conversation()
        async with BackgroundCompactor(POLICY, replying(GOOD), store=store) as background:
            for turn in range(3):
                background.start("c", now)
                await background.wait("c")
                now = await background.swap("c", now)
                for k in range(6):
                    role = ("user", "assistant")[k % 2]
                    message = {"role": role, "content": f"Turn {turn}, {k}: {PROSE * 5}"}
                    whole, now = whole.append(message), now.append(message)
        async with BackgroundCompactor(POLICY, store=store) as later:
            assert (await later.resume("c", whole)).messages == now.messages
            assert (await later.resume("c", now)).messages == now.messages, "nothing is done twice"
            assert await later.resume("other", whole) is whole
        assert (await store.load("c")).version == 3

    run(main)


def test_identical_requests_share_one_call(run: Any) -> None:
    async def main() -> tuple[int, list[bool]]:
        asked = replying(GOOD, seconds=5)
        source = conversation()
        shared: list[events.AnyEvent] = []
        with telemetry.listening(shared.append):
            async with BackgroundCompactor(POLICY, asked) as background:
                for name in ("a", "b", "c"):
                    background.start(name, source)
                background.start("d", conversation(6))
                await anyio.sleep(1)
                background.cancel("a")
                for name in ("b", "c", "d"):
                    assert await background.wait(name) == "ready"
                assert await background.wait("a") == "idle"
                one, two = await background.swap("b", source), await background.swap("c", source)
        assert one.to_json() == two.to_json()
        return len(asked.requests), [e.shared for e in shared if isinstance(e, events.BackgroundStarted)]

    calls, shared = run(main)
    assert calls == 2
    assert sorted(shared) == [False, False, True, True]


def test_the_call_stops_when_nobody_waits_for_it(run: Any) -> None:
    async def main() -> None:
        hanging = scripted([Step(way="hang")])
        store = MemoryStore()
        async with BackgroundCompactor(POLICY, hanging, store=store, deadline_seconds=None) as background:
            for name in ("a", "b"):
                background.start(name, conversation())
            await anyio.sleep(1)
            assert background.cancel("a")
            await anyio.sleep(1)
            assert (hanging.in_flight, hanging.stopped) == (1, 0)
            assert background.cancel("b")
            assert not background.cancel("b")
            await anyio.sleep(1)
            assert (hanging.in_flight, hanging.stopped) == (0, 1)
            for name in ("a", "b"):
                assert await store.begin(name) is not None

    run(main)


def test_what_the_block_raises_is_not_wrapped(run: Any) -> None:
    async def main() -> None:
        with pytest.raises(KeyError, match="mine"):
            async with BackgroundCompactor(POLICY, scripted([Step(way="hang")])) as background:
                background.start("c", conversation())
                await anyio.sleep(1)
                raise KeyError("mine")

    run(main)


def test_leaving_stops_what_runs_and_gives_leases_back(run: Any) -> None:
    async def main() -> None:
        store = MemoryStore()
        fakes = (scripted([Step(way="hang")]), replying(GOOD))
        for fake in fakes:
            async with BackgroundCompactor(POLICY, fake, store=store, deadline_seconds=None) as background:
                background.start("c", conversation())
                await anyio.sleep(1)
            assert fake.in_flight == 0
            lease = await store.begin("c")
            assert lease is not None
            await store.abandon(lease)
        with pytest.raises(ArgumentError, match="async with"):
            BackgroundCompactor(POLICY).start("c", conversation())

    run(main)


@pytest.mark.parametrize("supersede", [True, False])
def test_of_two_that_share_a_store_one_takes_effect(run: Any, supersede: bool) -> None:
    async def main() -> None:
        source, store = conversation(), MemoryStore()
        async with (
            BackgroundCompactor(POLICY, replying(GOOD, seconds=2), store=store) as one,
            BackgroundCompactor(POLICY, replying(GOOD), store=store) as two,
        ):
            one.start("c", source)
            await anyio.sleep(1)
            two.start("c", source, supersede=supersede)
            assert await two.wait("c") == ("ready" if supersede else "idle")
            assert await one.wait("c") == "ready"
            swapped = [await two.swap("c", source) is not source, await one.swap("c", source) is not source]
            assert swapped == [supersede, not supersede]
        assert (await store.load("c")).version == 1

    run(main)


def test_a_new_start_may_take_over_from_the_one_that_runs(run: Any) -> None:
    async def main() -> None:
        source, store = conversation(), MemoryStore()
        fake = scripted([Step(way="hang"), Step(text=GOOD)])
        async with BackgroundCompactor(POLICY, fake, store=store, deadline_seconds=None) as background:
            background.start("c", source)
            await anyio.sleep(1)
            longer = grown(source, *(f"{k}: {PROSE * 5}" for k in range(3)))
            assert background.start("c", longer, supersede=True)
            assert await background.wait("c") == "ready"
            assert len(await background.swap("c", longer)) == 5
        assert fake.stopped == 1

    run(main)


def test_what_is_skipped_or_fails_leaves_nothing_behind(run: Any) -> None:
    told: list[events.AnyEvent] = []

    async def main() -> None:
        store = MemoryStore()
        unmet = Policy(TokensOver(10**6), POLICY.steps, name="never")
        failing = scripted([Step(way="raise", error=ValueError("no"))])
        for policy in (unmet, POLICY):
            with telemetry.listening(told.append):
                async with BackgroundCompactor(policy, failing, store=store, on_failure="skip") as background:
                    background.start("c", conversation())
                    assert await background.wait("c") == "idle"
                    assert await store.begin("c") is not None
                    await store.delete("c")

    run(main)
    of_background = [event.kind for event in told if event.kind.startswith("background")]
    assert of_background == ["background.started", "background.discarded"], "a trigger that does not fire is no news"


class Failing(MemoryStore):
    fails: str | None = None

    async def begin(self, *arguments: Any, **options: Any) -> Any:
        if self.fails == "begin":
            raise StoreUnavailableError("The disk is full of planted-text.")
        return await super().begin(*arguments, **options)

    async def commit(self, *arguments: Any) -> int:
        if self.fails == "commit":
            raise OSError("The disk is full of planted-text.")
        return await super().commit(*arguments)

    async def load(self, conversation: str) -> Any:
        if self.fails == "load":
            raise CorruptStoreError("It is broken.")
        return await super().load(conversation)


def test_a_store_that_fails_costs_no_turn(run: Any, caplog: pytest.LogCaptureFixture) -> None:
    told: list[events.AnyEvent] = []

    async def main() -> None:
        source, store = conversation(), Failing()
        with telemetry.listening(told.append):
            async with BackgroundCompactor(POLICY, replying(GOOD), store=store) as background:
                store.fails = "begin"
                background.start("c", source)
                assert await background.wait("c") == "idle"
                store.fails = None
                background.start("c", source)
                await background.wait("c")
                store.fails = "commit"
                assert await background.swap("c", source) is source
                assert background.status("c") == "ready"
                store.fails = None
                assert await background.swap("c", source) is not source
                store.fails = "load"
                with pytest.raises(CorruptStoreError):
                    await background.resume("c", source)

    run(main)
    failed = [event for event in told if isinstance(event, events.BackgroundFailed)]
    assert [(event.error, event.error_text) for event in failed] == [
        ("StoreUnavailableError", None),
        ("OSError", None),
    ]
    assert len(caplog.records) == 2
    assert "planted-text" not in caplog.text


class Dead(MemoryStore):
    """Answers no call of those in `dead`."""

    dead: tuple[str, ...] = ()

    async def commit(self, *arguments: Any) -> int:
        await self._answer("commit")
        return await super().commit(*arguments)

    async def abandon(self, *arguments: Any) -> None:
        await self._answer("abandon")
        await super().abandon(*arguments)

    async def settle(self) -> tuple[str, ...]:
        await self._answer("settle")
        return await super().settle()

    async def _answer(self, call: str) -> None:
        if call in self.dead:
            await anyio.sleep(10**6)


def test_a_store_that_does_not_answer_holds_up_a_turn_for_so_long_at_most(run: Any) -> None:
    told: list[events.AnyEvent] = []

    async def main() -> None:
        source, store = conversation(), Dead()
        with telemetry.listening(told.append, text=True):
            async with BackgroundCompactor(POLICY, replying(GOOD), store=store, store_seconds=3) as background:
                for number in range(50):
                    background.start(str(number), source)
                await background.wait("0")
                store.dead = ("commit", "abandon")
                begun = anyio.current_time()
                assert await background.swap("0", source) is source
                assert anyio.current_time() - begun == pytest.approx(3)
                assert background.status("0") == "ready"
                left = anyio.current_time()
            assert anyio.current_time() - left == pytest.approx(CLEANUP_SECONDS), "not once a conversation"
            store.dead = ("settle",)
            with pytest.raises(StoreUnavailableError, match="the store memory gave no answer in 3 s"):
                await BackgroundCompactor(POLICY, store=store, store_seconds=3).__aenter__()

    run(main)
    assert [e.error for e in told if isinstance(e, events.BackgroundFailed)] == ["StoreUnavailableError"]


def test_a_commit_that_answers_garbage_is_looked_up(run: Any) -> None:
    class Odd(MemoryStore):
        commits = True

        async def commit(self, *arguments: Any) -> int:
            if self.commits:
                await super().commit(*arguments)
            return None  # type: ignore[return-value]  # that is the fault

    async def main() -> None:
        source, store = conversation(), Odd()
        async with BackgroundCompactor(POLICY, replying(GOOD), store=store) as background:
            background.start("c", source)
            await background.wait("c")
            store.commits = False
            assert await background.swap("c", source) is source
            assert background.status("c") == "ready"
            store.commits = True
            assert len(await background.swap("c", source)) == 4

    run(main)


def test_a_commit_whose_answer_was_lost_is_known_again(run: Any) -> None:
    class Losing(MemoryStore):
        loses = True

        async def commit(self, *arguments: Any) -> int:
            version = await super().commit(*arguments)
            if self.loses:
                self.loses = False
                raise OSError("no answer")
            return version

    async def main() -> None:
        source, store = conversation(), Losing()
        async with BackgroundCompactor(POLICY, replying(GOOD), store=store) as background:
            background.start("c", source)
            await background.wait("c")
            assert await background.swap("c", source) is source
            assert len(await background.swap("c", source)) == 4
        assert (await store.load("c")).version == 1

    run(main)


def test_cancelled_at_any_await_of_a_swap_it_is_the_old_or_the_new_one(run: Any) -> None:
    async def story(steps: int) -> str:
        source, store = conversation(), MemoryStore()
        async with BackgroundCompactor(POLICY, replying(GOOD), store=store) as background:
            background.start("c", source)
            await background.wait("c")
            now = source
            async with anyio.create_task_group() as group:
                group.start_soon(_cancel_after, steps, group.cancel_scope)
                now = await background.swap("c", source)
                group.cancel_scope.cancel()
            version = (await store.load("c")).version
            assert version == int(now is not source)
            if version:
                return "new"
            assert len(await background.swap("c", source)) == 4, "it can be swapped in later"
            return "old"

    async def main() -> None:
        outcomes = [await story(steps) for steps in range(30)]
        assert outcomes == sorted(outcomes, reverse=True), "first old, then new"
        assert set(outcomes) == {"old", "new"}

    run(main)


def test_cancelled_at_any_await_of_a_compaction_nothing_stays(run: Any) -> None:
    async def story(steps: int) -> str:
        source, store = conversation(), MemoryStore()
        async with BackgroundCompactor(POLICY, replying(GOOD, seconds=1), store=store) as background:
            background.start("c", source)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            job = background._jobs["c"]
            status = background.status("c")
            assert background.cancel("c")
            await job.over.wait()
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            assert await background.swap("c", source) is source
            assert await store.begin("c") is not None, "its lease was given back"
            assert (await store.load("c")).version == 0
            return status

    async def main() -> None:
        assert {await story(steps) for steps in range(25)} == {"running"}

    run(main)


async def _cancel_after(steps: int, scope: anyio.CancelScope) -> None:
    for _ in range(steps):
        await anyio.lowlevel.checkpoint()
    scope.cancel()


def test_given_up_in_the_moment_in_which_it_is_done_it_gives_its_lease_back(run: Any) -> None:
    """Whoever is told that a compaction is over may give it up before its own task goes on."""

    async def main() -> None:
        store = MemoryStore()
        async with BackgroundCompactor(POLICY, replying(GOOD, seconds=5), store=store) as background:

            def give_up(event: events.AnyEvent) -> None:
                if isinstance(event, events.CompactionCompleted):
                    group.start_soon(cancel)

            async def cancel() -> None:
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                background.cancel("c")

            for steps in range(8):
                async with anyio.create_task_group() as group:
                    with telemetry.listening(give_up):
                        background.start("c", conversation())
                    await background.wait("c")
                await anyio.sleep(1)
                assert background.status("c") == "idle"
                assert await store.begin("c") is not None, f"after {steps} steps the lease was kept"
                await store.delete("c")

    run(main)


def test_many_conversations_side_by_side(run: Any) -> None:
    async def main() -> float:
        fake = replying(GOOD, seconds=1)
        async with BackgroundCompactor(POLICY, fake, calls=anyio.CapacityLimiter(10)) as background:
            sources = {f"c{k}": grown(conversation(), f"Number {k}.") for k in range(40)}
            for name, source in sources.items():
                background.start(name, source)
            for name, source in sources.items():
                await background.wait(name)
                assert len(await background.swap(name, source)) < len(source)
            assert fake.most_in_flight == 10
            return anyio.current_time()

    assert run(main) == pytest.approx(4.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_blocking_summarizer_and_a_file(backend: Any, tmp_path: Any) -> None:
    """Real threads and a real clock."""

    def blocking(_: SummaryRequest) -> str:
        return GOOD

    async def main() -> None:
        source = conversation()
        async with SQLiteStore(tmp_path / f"{backend}.db") as store:
            summarizer = Function(blocking, policy=BY_RULE)
            async with BackgroundCompactor(POLICY, summarizer, store=store) as background:
                background.start("c", source)
                await background.wait("c")
                swapped = await background.swap("c", source)
                assert swapped.to_json() == (await background.resume("c", source)).to_json()
            assert len(swapped) == 4

    anyio.run(main, backend=backend)


def test_wrong_arguments_are_named(run: Any) -> None:
    async def main() -> None:
        with pytest.raises(ArgumentError, match="lease_seconds"):
            BackgroundCompactor(POLICY, lease_seconds=0)
        with pytest.raises(ArgumentError, match="store_seconds"):
            BackgroundCompactor(POLICY, store_seconds=0)
        wrong: Any = len
        with pytest.raises(TypeError, match="wrap a function"):
            BackgroundCompactor(POLICY, wrong)
        wrong = 4
        with pytest.raises(TypeError, match="calls must be a limiter"):
            BackgroundCompactor(POLICY, calls=wrong)
        async with BackgroundCompactor(POLICY) as background:
            with pytest.raises(ArgumentError):
                background.start("", conversation())
            with pytest.raises(ArgumentError, match="once"):
                await background.__aenter__()

    run(main)
