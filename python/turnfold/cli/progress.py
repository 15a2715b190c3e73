"""How far a batch is, on stderr: a bar on a terminal, a line now and then anywhere else."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final, Protocol

from turnfold.cli.batch_totals import Totals
from turnfold.cli.display import number
from turnfold.cli.faults import complain

_LINE_SECONDS: Final = 10.0


class Progress(Protocol):
    """Takes the totals as they grow."""

    def show(self, totals: Totals) -> None:
        """Show them, if it is time to."""


@contextmanager
def progress(all_bytes: int) -> Iterator[Progress]:
    """Show progress while inside. `all_bytes` is the size of the files to read, 0 where it is not known."""
    if sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
        with _bar(all_bytes) as bar:
            yield bar
    else:
        yield _Lines(all_bytes)


class _Lines:
    def __init__(self, all_bytes: int) -> None:
        self._all_bytes = all_bytes
        self._begun = self._shown = perf_counter()

    def show(self, totals: Totals) -> None:
        now = perf_counter()
        if now - self._shown < _LINE_SECONDS:
            return
        self._shown = now
        complain(f"turnfold batch: {line_of(totals, now - self._begun, self._all_bytes)}")


def line_of(totals: Totals, seconds: float, all_bytes: int) -> str:
    """Return the totals as one line: documents, rate, tokens saved, failures, time left."""
    rate = totals.documents / seconds if seconds else 0.0
    parts = [
        f"{number(totals.documents)} done",
        f"{rate:,.0f} a second",
        f"{number(totals.tokens_before - totals.tokens_after)} tokens saved",
        f"{number(totals.failed)} failed",
    ]
    if totals.resumed:
        parts.insert(1, f"{number(totals.resumed)} from before")
    left_bytes = all_bytes - totals.resumed_bytes - totals.read_bytes
    if totals.read_bytes > 0 and left_bytes > 0:
        parts.append(f"{_clock(seconds * left_bytes / totals.read_bytes)} left")
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def _bar(all_bytes: int) -> Iterator[Progress]:
    from rich import progress as bars
    from rich.console import Console

    columns = (bars.BarColumn(), bars.TextColumn("{task.description}"), bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=all_bytes or None)
        begun = perf_counter()

        class Bar:
            def show(self, totals: Totals) -> None:
                told = line_of(totals, perf_counter() - begun, 0)
                shown.update(task, completed=totals.resumed_bytes + totals.read_bytes, description=told)

        yield Bar()
