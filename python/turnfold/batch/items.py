"""What goes into a batch, and what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.transcript import Transcript

BatchTranscript = Transcript | bytes | Sequence[Message] | Exception
"""A transcript, a request body, or a list of messages; or what its source could not read it for, which makes it
`failed` in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEntry:
    """An item with a policy of its own, and with the wire format that it is read in where that is not detected."""

    item: BatchTranscript
    policy: Policy | None = None
    format: str | None = None


BatchInput = BatchTranscript | BatchEntry
"""What a batch takes."""

BatchStatus = Literal["compacted", "skipped", "failed", "deadline", "elsewhere"]
"""What became of an item.

`compacted`: `result` has the new transcript; `skipped`: nothing was done, and `result` says why; `failed`: `error` was
raised; `deadline`: the batch's time was up before it was done, or begun; `elsewhere`: another run that lives, with the
same journal, is at work on it and hands it over.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """One item of a batch: `index` is its place in the input, `item` what was given, `seconds` how long it took.

    `transcript` is what was read of it, None where nothing was. `resumed` says that an earlier run with the same
    journal had done it: its result is made again of what that one wrote, and nobody is asked. `reused` is how many of
    its requests to a summarizer were answered with the reply to an equal one.
    """

    index: int
    item: BatchInput
    status: BatchStatus
    transcript: Transcript | None = None
    result: CompactionResult | Skip | None = None
    error: Exception | None = None
    seconds: float = 0.0
    resumed: bool = False
    reused: int = 0
