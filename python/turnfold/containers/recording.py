"""The base of kinds of log that say what was sent or answered: they are read, and not written into."""

from typing import ClassVar

from turnfold.containers.document import Document
from turnfold.containers.protocol import Change, Reading
from turnfold.errors import NotWritableError


class Recording:
    """What a `Container` needs where results have no place in the log. `reason` says why they have none."""

    name: ClassVar[str]
    reason: ClassVar[str]
    writes: ClassVar[bool] = False

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Refuse: the log would no longer say what happened."""
        raise NotWritableError(f"A log of kind {self.name} is a recording and is not written to: {self.reason}")
