"""What holds for every store."""

import threading
from typing import Any

import anyio
import pytest
from msgspec import structs

from turnfold import telemetry
from turnfold.errors import ArgumentError, StoreConflictError
from turnfold.model.events import AnyEvent
from turnfold.model.state import PlanState, ReportedUsage
from turnfold.model.stored import StoredSession, StoredSummary
from turnfold.stores import Owner, Store, this_process

pytestmark = pytest.mark.anyio

GONE = structs.replace(this_process(), started=1)
ELSEWHERE = Owner("another machine", 1, 1)


async def test_what_is_committed_is_there_in_order(make: Any, summary: StoredSummary) -> None:
    store = make()
    assert isinstance(store, Store)
    assert await store.load("c") == StoredSession(conversation="c")
    for version in (1, 2, 3):
        lease = await store.begin("c")
        assert lease is not None
        assert lease.base_version == version - 1
        assert await store.commit(lease, structs.replace(summary, stop=version + 9)) == version
    session = await make().load("c")
    assert session.version == 3
    assert [one.version for one in session.summaries] == [1, 2, 3]
    assert session.summaries[1] == structs.replace(summary, stop=11, version=2)
    assert (await store.load("other")).version == 0


async def test_one_lease_a_conversation(make: Any, summary: StoredSummary) -> None:
    one, two = make(), make()
    lease = await one.begin("c")
    assert lease is not None
    assert await two.begin("c") is None
    assert await two.begin("other") is not None
    await one.abandon(lease)
    await one.abandon(lease)
    later = await two.begin("c")
    assert later is not None
    with pytest.raises(StoreConflictError) as refused:
        await one.commit(lease, summary)
    assert (refused.value.expected_version, refused.value.found_version) == (0, 0)
    assert await two.commit(later, summary) == 1


async def test_whoever_is_superseded_is_refused(make: Any, summary: StoredSummary) -> None:
    told: list[AnyEvent] = []
    one, two = make(), make()
    first = await one.begin("c")
    second = await two.begin("c", supersede=True)
    assert first is not None
    assert second is not None
    with telemetry.listening(told.append):
        assert await two.commit(second, summary) == 1
        with pytest.raises(StoreConflictError):
            await one.commit(first, summary)
        with pytest.raises(StoreConflictError):
            await two.commit(second, summary)
    assert (await one.load("c")).version == 1
    assert [event.kind for event in told] == ["store.committed", "store.conflict", "store.conflict"]
    assert {event.conversation for event in told} == {"c"}


async def test_what_a_dead_process_left_is_settled(make: Any, summary: StoredSummary) -> None:
    if make().name == "memory":
        pytest.skip("a memory store dies with its process")
    told: list[AnyEvent] = []
    dead, alive = make(owner=GONE), make()
    left = await dead.begin("c")
    await dead.begin("d")
    with telemetry.listening(told.append):
        assert await alive.begin("c") is not None
        assert await alive.settle() == ("d",)
        assert await alive.settle() == ()
    assert [(event.kind, event.conversation) for event in told] == [("store.settled", "c"), ("store.settled", "d")]
    with pytest.raises(StoreConflictError):
        await dead.commit(left, summary)


async def test_a_process_that_cannot_be_seen_has_until_its_lease_ends(make: Any) -> None:
    if make().name == "memory":
        pytest.skip("a memory store is not shared")
    far, here = make(owner=ELSEWHERE), make()
    await far.begin("c", lease_seconds=3_600)
    await far.begin("d", lease_seconds=0)
    assert await here.begin("c") is None
    assert await here.begin("d") is not None
    assert await here.settle() == ()


async def test_state_is_kept_beside_the_summaries(make: Any, summary: StoredSummary) -> None:
    store = make()
    state = PlanState(usage=ReportedUsage(7, 9_000), turns_since_compaction=3)
    lease = await store.begin("c")
    await store.save_state("c", PlanState(requested=True))
    await store.save_state("c", state)
    assert await store.commit(lease, summary) == 1, "a state is no version"
    session = await make().load("c")
    assert (session.state, session.version) == (state, 1)


async def test_a_conversation_can_be_forgotten(make: Any, summary: StoredSummary) -> None:
    store = make()
    lease = await store.begin("c")
    await store.commit(lease, summary)
    await store.save_state("c", PlanState(requested=True))
    pending = await store.begin("c")
    await store.delete("c")
    await store.delete("c")
    assert await store.load("c") == StoredSession(conversation="c")
    with pytest.raises(StoreConflictError):
        await store.commit(pending, summary)


@pytest.mark.parametrize("conversation", ["", "a\0b", "x" * 513, "\ud800", 7, None])
async def test_what_is_no_id_is_refused(make: Any, conversation: Any) -> None:
    store = make()
    for call in (store.load, store.begin, store.delete):
        with pytest.raises(ArgumentError):
            await call(conversation)


@pytest.mark.parametrize(
    "conversation", ["a/b", "{x}:session", "ü 💡\n", "%7B", "../../etc", "'; DROP TABLE pending; --"]
)
async def test_any_other_text_is_an_id(make: Any, summary: StoredSummary, conversation: str) -> None:
    store = make(owner=GONE)
    lease = await store.begin(conversation)
    assert await store.commit(lease, summary) == 1
    assert (await store.load(conversation)).version == 1
    if store.name != "memory":
        await store.begin(conversation)
        assert await make().settle() == (conversation,)


async def test_cancelled_before_it_works_it_writes_nothing(make: Any, summary: StoredSummary) -> None:
    store = make()
    lease = await store.begin("c")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.commit(lease, summary)
        raise AssertionError("it went through")
    assert (await store.load("c")).version == 0
    assert await store.commit(lease, summary) == 1, "the lease was not lost on the way"


def test_threads_with_loops_of_their_own(make: Any, summary: StoredSummary) -> None:
    store = make()
    won: list[int] = []
    refused: list[Exception] = []

    async def many() -> None:
        for _ in range(10):
            lease = await store.begin("c", supersede=True)
            try:
                won.append(await store.commit(lease, summary))
            except StoreConflictError as error:
                refused.append(error)

    threads = [threading.Thread(target=anyio.run, args=(many,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def check() -> None:
        session = await store.load("c")
        assert [one.version for one in session.summaries] == list(range(1, session.version + 1))
        assert sorted(won) == list(range(1, session.version + 1))
        assert len(won) + len(refused) == 40

    anyio.run(check)
