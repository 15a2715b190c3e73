"""The kernel's work beside an event loop: what it does to the process, and what it must not change."""

import sys
import threading
from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest

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


@pytest.mark.parametrize(("before", "within"), [(0.005, SWITCH_SECONDS), (0.0005, 0.0005), (SWITCH_SECONDS,) * 2])
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
