"""A process that compacts documents, for the one that starts it."""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence

from turnfold.cli.batch_made import Made, Work
from turnfold.cli.batch_pipe import receive_made, send
from turnfold.cli.instructions import Instructions


class ProcessEndedError(Exception):
    """The process ended before it had answered, or never ran."""


class _Running:
    """A process that runs, and who waits for it: it answers in the order in which it is told."""

    def __init__(self, instructions: object) -> None:
        self._instructions = instructions
        self._process = _start()
        self._telling = threading.Lock()
        self._told = 0
        self._answers = threading.Condition()
        self._answered = 0
        self._ended = False

    def compact(self, work: Sequence[Work]) -> list[Made]:
        """Have it compact these once it is done with those before. What this raises says that it has ended."""
        try:
            return self._answer(self._tell(work))
        except BaseException:
            with self._answers:
                self._ended = True
                self._answers.notify_all()
            raise

    def _tell(self, work: Sequence[Work]) -> int:
        given = self._process.stdin
        if given is None:
            raise EOFError
        with self._telling:
            turn, self._told = self._told, self._told + 1
            if turn == 0:
                send(self._instructions, given)
            send(work, given)
        return turn

    def _answer(self, turn: int) -> list[Made]:
        answers = self._process.stdout
        with self._answers:
            self._answers.wait_for(lambda: self._ended or self._answered == turn)
            if self._ended or answers is None:
                raise EOFError
        made = receive_made(answers)
        with self._answers:
            self._answered += 1
            self._answers.notify_all()
        return made

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class CompactingProcess:
    """A process that is started with the first work it is given, unless it was before, and again where it has ended.

    Several threads may give it work: it has the next one's at hand when it is done with one. `among` so many share the
    kernel's caches. It holds nothing and writes no file, so it is always stopped by a kill.
    """

    def __init__(self, instructions: Instructions, among: int) -> None:
        self._told = instructions, among
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._closed = False

    def compact(self, work: Sequence[Work]) -> list[Made]:
        """Have it compact these; blocks until it has. Raises `ProcessEndedError` where it ends, or cannot be started.

        What another thread gave it may be why it ended.
        """
        try:
            running = self._started()
        except OSError as error:
            raise ProcessEndedError from error
        try:
            return running.compact(work)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError) as error:
            self._stop(running)
            raise ProcessEndedError from error

    def _started(self) -> _Running:
        with self._lock:
            if self._closed:
                raise ProcessEndedError
            running = self._running
            if running is None:
                running = self._running = _Running(self._told)
        return running

    def begin(self) -> None:
        """Start it before there is work: it loads what it needs meanwhile. Where it cannot be, the work is told so."""
        with contextlib.suppress(OSError, ProcessEndedError):
            self._started()

    def close(self) -> None:
        """Stop it, whatever it does; who waits for it is told that it ended."""
        self._closed = True
        with self._lock:
            running = self._running
        if running is not None:
            self._stop(running)

    def _stop(self, running: _Running) -> None:
        with self._lock:
            if self._running is not running:
                return
            self._running = None
        running.stop()


def _start() -> "subprocess.Popen[bytes]":
    # Ctrl-C goes to the whole process group of a terminal; this one is stopped by the one that started it.
    return subprocess.Popen(
        # -P: what lies in the folder that a user works in is none of its modules.
        [sys.executable, "-P", "-c", "from turnfold.cli import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        process_group=0,
    )
