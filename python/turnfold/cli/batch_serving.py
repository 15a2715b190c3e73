"""The process that compacts documents for the one that started it."""

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

from turnfold._core import share_caches
from turnfold.cli.batch_made import Made, Work, fetched, made_of
from turnfold.cli.batch_pipe import receive, send_made
from turnfold.cli.compaction import compact_opened, failure_of, open_document
from turnfold.cli.extents import Fetching
from turnfold.cli.inputs import Document, recognised
from turnfold.cli.instructions import Instructions
from turnfold.cli.outputs import Target
from turnfold.cli.reading import register_encoding
from turnfold.cli.stopping import STOPPING

if sys.platform == "linux":
    import fcntl

_SPARED: Final = 32
"""The kernel's caches are so many times smaller than in a process that serves."""
_PIPE_BYTES: Final = 1 << 20
"""What waits in a pipe, where the system lets a user have so much: who writes goes on meanwhile."""


def serve() -> None:
    """Be that process: read work and write what came of it, until whoever gives it has ended."""
    # They reach all processes of a group: whoever gives the work stops it.
    for number in (signal.SIGINT, *STOPPING):
        signal.signal(number, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What some module prints is no answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    given = sys.stdin.buffer
    for pipe in (given, answers):
        _widen(pipe.fileno())
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        instructions, among = receive(given)
        # A small part of it: what documents share, they share with the ones beside them, and what is kept of all others
        # takes the processor's own cache from what is in work.
        share_caches(_SPARED * among)
        if instructions.encoding is not None:
            register_encoding(instructions.encoding)
        with Fetching() as fetching:
            while True:
                send_made(compact_each(receive(given), instructions, fetching), answers)


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def compact_each(work: Sequence[Work], instructions: Instructions, fetching: Fetching | None = None) -> list[Made]:
    """Return what came of each document. Whatever is wrong with one is its own outcome."""
    if fetching is None:
        with Fetching() as alone:
            return compact_each(work, instructions, alone)
    return [
        fetched(given, fetching, partial(_made, target=target, instructions=instructions)) for given, target in work
    ]


def _made(document: Document, target: Target, instructions: Instructions) -> Made:
    body = None
    try:
        document = recognised(document, instructions.wanted)
        opened = open_document(document, instructions)
        body = opened.body
        return made_of(document, *compact_opened(document, opened, target, instructions, spare=True), body)
    except Exception as error:  # noqa: BLE001  # one document never ends the others
        return made_of(document, [failure_of(document, error)], None, body)
