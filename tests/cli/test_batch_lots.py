"""Work in threads: results in order, within bounds, and an end to it whoever makes one."""

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from turnfold.cli.batch_lots import InOrder
from turnfold.cli.batch_work import uninterrupted


def in_order(
    source: Iterable[int], work: Callable[[int], Any], *, at_once: int = 2, ahead: int = 1, take_until: float = math.inf
) -> InOrder[int, Any]:
    return InOrder(iter(source), work, at_once=at_once, ahead=ahead, take_until=take_until)


def test_results_come_in_the_order_of_their_items():
    later = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert later.wait(60)
        if item == 1:
            later.set()
        return item * item

    with in_order(range(50), work) as lots:
        assert list(lots) == [item * item for item in range(50)]


@pytest.mark.parametrize(("at_once", "ahead"), [(1, 0), (2, 1), (4, 8)])
def test_no_more_are_taken_than_there_are_places(at_once, ahead):
    read = 0

    def source() -> Iterator[int]:
        for item in range(100):
            assert item - read <= at_once + ahead
            yield item

    with in_order(source(), lambda item: item, at_once=at_once, ahead=ahead) as lots:
        for item in lots:
            assert item == read
            read += 1
    assert read == 100


@pytest.mark.parametrize("where", ["source", "work"])
def test_what_is_raised_is_raised_where_the_results_end(where):
    def source() -> Iterator[int]:
        yield from range(3)
        if where == "source":
            raise OSError("read")
        yield from range(3, 9)

    def work(item: int) -> int:
        if item == 3:
            raise OSError("work")
        return item

    seen: list[int] = []
    with pytest.raises(OSError, match="read" if where == "source" else "work"), in_order(source(), work) as lots:
        for item in lots:
            seen.append(item)  # noqa: PERF402  # those that came before the error
    assert seen == [0, 1, 2]


def test_stopped_it_hands_over_nothing_more():
    begun, go_on = threading.Event(), threading.Event()

    def work(item: int) -> int:
        begun.set()
        assert go_on.wait(60)
        return item

    def stop() -> None:
        assert begun.wait(60)
        lots.stop()
        go_on.set()

    lots = in_order(range(9), work)
    stopping = threading.Thread(target=stop)
    stopping.start()
    with lots:
        assert list(lots) == []
    stopping.join()


def test_at_its_time_no_further_item_is_taken():
    taken: list[int] = []
    with in_order(range(9), taken.append, take_until=-math.inf) as lots:
        assert list(lots) == []
    assert taken == []


def test_who_waits_is_told_what_was_raised():
    def work() -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        uninterrupted(work, lambda: None)


def test_an_interruption_stops_the_work_and_waits_for_its_end(monkeypatch):
    stopped, ended = threading.Event(), threading.Event()
    wait, interrupted = threading.Event.wait, list[bool]()

    def work() -> None:
        assert wait(stopped, 60)
        ended.set()

    def interrupt_once(event, timeout=None):
        if threading.current_thread() is threading.main_thread() and timeout is not None and not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", interrupt_once)
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work, stopped.set)
    assert ended.is_set()
