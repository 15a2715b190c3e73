"""A process that compacts documents, for the one that starts it."""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO

from turnfold.cli.batch_made import Made, Work
from turnfold.cli.batch_pipe import receive_made, send
from turnfold.cli.instructions import Instructions


class ProcessEndedError(Exception):
    """The process ended before it had answered."""


class CompactingProcess:
    """A process that is started with the first work it is given, and again where it has ended.

    `among` so many share the kernel's caches. It holds nothing and writes no file, so it is always stopped by a kill.
    """

    def __init__(self, instructions: Instructions, among: int) -> None:
        self._told = instructions, among
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def compact(self, work: Sequence[Work]) -> list[Made]:
        """Have it compact these; blocks until it has. Raises `ProcessEndedError` where it ends instead."""
        try:
            given, answers = self._pipes()
            send(work, given)
            made = receive_made(answers)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError) as error:
            self._stop()
            raise ProcessEndedError from error
        return made

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        with self._lock:
            if self._closed:
                raise ProcessEndedError
            process, told = self._process, self._process is not None
            if process is None:
                process = self._process = _start()
        if process.stdin is None or process.stdout is None:
            raise ProcessEndedError
        if not told:
            send(self._told, process.stdin)
        return process.stdin, process.stdout

    def close(self) -> None:
        """Stop it, whatever it does; who waits for it is told that it ended."""
        self._closed = True
        self._stop()

    def _stop(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


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
