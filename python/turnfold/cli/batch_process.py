"""A process that compacts documents for the one that started it: both ends of its two pipes.

What goes through them is pickled, as both ends are the same program; the bytes to write follow as they are.
"""

import contextlib
import gc
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Final

from turnfold._core import share_caches
from turnfold.cli import COLLECTED_AT
from turnfold.cli.batch_made import Made, Work, made_of, unread
from turnfold.cli.compaction import Instructions, compact_opened, failure_of, open_document
from turnfold.cli.extents import Extent, Fetching
from turnfold.cli.inputs import Document, recognised
from turnfold.cli.outputs import Target
from turnfold.cli.reading import register_encoding

if TYPE_CHECKING:
    # Only the end that starts the other one loads it.
    import subprocess
if sys.platform == "linux":
    import fcntl

_PICKLED: Final = 5
_SPARED: Final = 16
"""The kernel's caches are so many times smaller than in a process that serves."""
_PIPE_BYTES: Final = 1 << 20
"""What waits in a pipe, where the system lets a user have so much: who writes goes on meanwhile."""


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
            pickle.dump(work, given, _PICKLED)
            given.flush()
            made = _received(answers)
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
            pickle.dump(self._told, process.stdin, _PICKLED)
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
    import subprocess

    # Ctrl-C goes to the whole process group of a terminal; this one is stopped by the one that started it.
    return subprocess.Popen(
        # -P: what lies in the folder that a user works in is none of its modules.
        [sys.executable, "-P", "-c", "from turnfold.cli.batch_process import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        process_group=0,
    )


def serve() -> None:
    """Be that process: read work and write what came of it, until whoever gives it has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What some module prints is no answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    given = sys.stdin.buffer
    for pipe in (given, answers):
        _widen(pipe.fileno())
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        instructions, among = pickle.load(given)  # noqa: S301  # what this program has written
        gc.set_threshold(COLLECTED_AT)
        # A small part of it: what documents share, they share with the ones beside them, and what is kept of all others
        # takes the processor's own cache from what is in work.
        share_caches(_SPARED * among)
        if instructions.encoding is not None:
            register_encoding(instructions.encoding)
        with Fetching() as fetching:
            while True:
                _send(compact_each(pickle.load(given), instructions, fetching), answers)  # noqa: S301


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _send(made: Sequence[Made], answers: IO[bytes]) -> None:
    told = [
        (one.records, None if one.body is None else len(one.body), one.key, one.failed, one.faults, one.unread)
        for one in made
    ]
    pickle.dump(told, answers, _PICKLED)
    for one in made:
        if one.body is not None:
            answers.write(one.body)
    answers.flush()


def _received(answers: IO[bytes]) -> list[Made]:
    """Read what `_send` wrote. All bodies are parts of one buffer: neither is any copied."""
    told = pickle.load(answers)  # noqa: S301  # what this program has written
    size = sum(size for _, size, *_ in told if size is not None)
    bodies = memoryview(answers.read(size))
    if len(bodies) < size:
        raise EOFError
    made: list[Made] = []
    begun = 0
    for records, size, *rest in told:
        body = None if size is None else bodies[begun : begun + size]
        begun += size or 0
        made.append(Made(records, body, *rest))
    return made


def compact_each(work: Sequence[Work], instructions: Instructions, fetching: Fetching | None = None) -> list[Made]:
    """Return what came of each document. Whatever is wrong with one is its own outcome."""
    if fetching is None:
        with Fetching() as alone:
            return compact_each(work, instructions, alone)
    return [
        fetched(given, fetching, partial(_made, target=target, instructions=instructions)) for given, target in work
    ]


def fetched(given: Document | Extent, fetching: Fetching, make: Callable[[Document], Made]) -> Made:
    """Return what `make` makes of a document, which is read first where it was not."""
    try:
        document = fetching.document(given) if isinstance(given, Extent) else given
    except OSError as error:
        return unread(given, error)
    return make(document)


def _made(document: Document, target: Target, instructions: Instructions) -> Made:
    body = None
    try:
        document = recognised(document, instructions.wanted)
        opened = open_document(document, instructions)
        body = opened.body
        return made_of(document, *compact_opened(document, opened, target, instructions, spare=True), body)
    except Exception as error:  # noqa: BLE001  # one document never ends the others
        return made_of(document, [failure_of(document, error)], None, body)
