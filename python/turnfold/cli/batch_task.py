"""What a batch has in hand: a file that grows, and the documents of it, one after the other."""

from pathlib import Path

import msgspec

from turnfold.batch.journal import FileState, JournaledDocument, JournaledFile
from turnfold.cli.batch_made import Made
from turnfold.cli.extents import Extent
from turnfold.cli.faults import Fault
from turnfold.cli.inputs import Document
from turnfold.cli.outputs import Target
from turnfold.cli.part_file import PartFile

InputState = tuple[int | None, int | None]
"""Bytes of an input file, and when it was changed, in nanoseconds; None where nobody can know."""


class FileRun(msgspec.Struct):
    """One file in work. `skip` documents of it are done already. It is `unread` where reading it ended with a fault,
    and `lost` where its output could not be written: the rest of it is passed over.
    """

    target: Target
    journaled: JournaledFile
    input_state: InputState
    part: PartFile | None = None
    skip: int = 0
    written: bool = False
    failed: bool = False
    unread: bool = False
    lost: bool = False
    read_bytes: int = 0
    waiting: list[JournaledDocument] = msgspec.field(default_factory=list)

    @property
    def ended(self) -> FileState:
        """What the journal says of it at the end. What could not be read may be readable the next time."""
        return "open" if self.unread else "done"

    @property
    def path(self) -> Path:
        """Where its output goes."""
        if self.target.path is None:
            raise ValueError("a batch does not write to stdout")
        return self.target.path


class Task(msgspec.Struct, frozen=True):
    """What the reader hands on: a document of a file, a fault in reading it, or, with neither, its end."""

    run: FileRun
    number: int = 0
    item: Document | Extent | Fault | None = None

    @property
    def work(self) -> Document | Extent | None:
        """The document that is to be compacted, if there is one: a blank line is not."""
        item = self.item
        return None if item is None or isinstance(item, Fault) or self.run.lost or item.is_gap else item


class Concluded(msgspec.Struct, frozen=True):
    """A task, and what came of it; of a fault, or of a file's end, it is nothing.

    `reused` is how many requests to a summarizer were answered with the reply to an equal one.
    """

    task: Task
    made: Made
    reused: int = 0
