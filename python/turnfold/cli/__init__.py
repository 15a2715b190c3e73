"""The command line."""

import gc
from collections.abc import Sequence
from typing import Final

__all__ = ["main", "serve"]

_COLLECTED_AT: Final = 50_000
"""The collector of cycles looks for them after so many new objects that could be in one: modules are made of tens of
thousands, and a document of some hundreds, that are in none."""
_KEPT_BYTES: Final = 4 << 20
"""glibc keeps blocks that it is given back, up to the size of the largest one so far: with none so large, the bytes of
each document go back to the system, which hands them out again page by page."""


def _keep_freed() -> None:
    bytes(_KEPT_BYTES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program `turnfold`; returns its exit status."""
    before = gc.get_threshold()
    gc.set_threshold(_COLLECTED_AT)
    _keep_freed()
    try:
        from turnfold.cli.program import main as program

        return program(arguments)
    finally:
        gc.set_threshold(*before)


def serve() -> None:
    """Be a process that compacts for a batch: it has no use for the commands."""
    gc.set_threshold(_COLLECTED_AT)
    _keep_freed()
    from turnfold.cli.batch_serving import serve as process

    process()
