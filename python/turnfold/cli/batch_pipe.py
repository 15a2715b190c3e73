"""What goes through the two pipes of a process that compacts for another one.

It is pickled, as both ends are the same program; the bytes to write follow as they are.
"""

import os
import pickle
import sys
from collections.abc import Sequence
from typing import IO, Any, Final

from turnfold.cli.batch_made import Made

_PICKLED: Final = 5


def send(told: object, pipe: IO[bytes]) -> None:
    """Send what the process is told: its instructions first, then work."""
    pickle.dump(told, pipe, _PICKLED)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:  # whatever was sent
    """Return what was sent; what the pipe or pickle raises says that the other end has ended."""
    return pickle.load(pipe)  # noqa: S301  # what this program has written


def send_made(made: Sequence[Made], answers: IO[bytes]) -> None:
    """Send what came of some work."""
    told = [
        (one.records, None if one.body is None else len(one.body), one.key, one.failed, one.faults, one.unread)
        for one in made
    ]
    parts = [pickle.dumps(told, _PICKLED), *(one.body for one in made if one.body is not None)]
    # In one piece: who waits at the other end is woken up by each write. Joined, they would be copied once more.
    written = os.writev(answers.fileno(), parts) if sys.platform != "win32" else 0
    if written < sum(map(len, parts)):
        answers.write(memoryview(b"".join(parts))[written:])
        answers.flush()


def receive_made(answers: IO[bytes]) -> list[Made]:
    """Read what `send_made` wrote. All bodies are parts of one buffer: neither is any copied."""
    told = receive(answers)
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
