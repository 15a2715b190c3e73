"""Signals that stop a command: SIGTERM and the end of its terminal stop it as Ctrl-C does."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

STOPPING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopped:
    """By which signal a command was stopped, if it was."""

    signal: int = signal.SIGINT

    @property
    def status(self) -> int:
        """The exit status that a shell gives a process of that end."""
        return 128 + self.signal


@contextlib.contextmanager
def stopped_as_by_ctrl_c() -> Iterator[Stopped]:
    """Let these signals do what Ctrl-C does, but where somebody else handles or ignores them."""
    stopped = Stopped()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.signal = number
        # Whoever handles Ctrl-C knows best how to end what runs: an event loop has a handler of its own.
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            # In the background of a shell it is ignored.
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    taken = [number for number in STOPPING if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, stop)
    try:
        yield stopped
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
