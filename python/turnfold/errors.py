"""The errors that turnfold raises: one class a code, under `TurnfoldError`.

Each docstring says what happened and what to do. An argument of a wrong type raises a `TypeError`, as Python's own do.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Literal

CallFault = Literal[
    "failed",
    "timeout",
    "rate_limited",
    "unavailable",
    "unreachable",
    "rejected",
    "too_long",
    "garbled",
    "spend_cap",
    "busy",
]
"""Why a call of a summarizer gave no reply.

`failed`: it raised; `timeout`: its own time was up; `rate_limited`: too many requests or tokens (429); `unavailable`:
the server failed (5xx); `unreachable`: no connection, or one that broke; `rejected`: the request or its key is refused
(4xx); `too_long`: the request is longer than the model takes; `garbled`: the answer is not what the API promises;
`spend_cap`: the cap on what may be spent is reached; `busy`: too many earlier calls still run.
"""


class TurnfoldError(Exception):
    """The root of the family: catch it to catch all of them.

    `code` is stable and names the class; `text` is one sentence for a person.
    """

    code: ClassVar[str] = "turnfold"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class InternalError(TurnfoldError):
    """The kernel failed at something that it should have handled. Report it, with the input if you can."""

    code: ClassVar[str] = "internal"


class ArgumentError(TurnfoldError, ValueError):
    """An argument is out of its range, such as an index past the end. Correct the call."""

    code: ClassVar[str] = "argument"


class UnknownEncodingError(ArgumentError):
    """No encoding of that name ships with this version or was registered. Take one of the names in the message."""

    code: ClassVar[str] = "unknown_encoding"


class VocabularyError(ArgumentError):
    """A vocabulary cannot be counted with exactly, or its file is damaged. The message says where, and what to do."""

    code: ClassVar[str] = "vocabulary"


class UnknownWindowError(ArgumentError):
    """A policy is a share of the model's window, and nobody said how large that is. Pass `window_tokens` or a limit."""

    code: ClassVar[str] = "unknown_window"


class ColumnError(ArgumentError):
    """No column of a table is the one with the transcripts. Name one of those in the message."""

    code: ClassVar[str] = "column"


class UnknownSchemaError(ArgumentError):
    """No summary schema of that name ships with this version. Take one of the names in the message."""

    code: ClassVar[str] = "unknown_schema"


class RunningLoopError(TurnfoldError, RuntimeError):
    """A blocking call was made inside a running event loop. Await the call of the same name without `_sync`."""

    code: ClassVar[str] = "running_loop"


class MissingExtraError(TurnfoldError, ImportError):
    """An optional part needs a package that is not installed. Install the extra that the message names."""

    code: ClassVar[str] = "missing_extra"


class SummarizerError(TurnfoldError):
    """A call of a summarizer gave no reply. `reason` says why; a chain asks again or asks the next one.

    `status` is that of the HTTP answer, where there was one; `retry_after_seconds` how long the server wants to be left
    alone. The message never holds an API key.
    """

    code: ClassVar[str] = "summarizer"

    def __init__(
        self,
        text: str,
        reason: CallFault = "failed",
        *,
        status: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(text)
        self.reason: CallFault = reason
        self.status = status
        self.retry_after_seconds = retry_after_seconds

    @property
    def passes(self) -> bool:
        """Whether the same request may do better a little later."""
        return self.reason in {"timeout", "rate_limited", "unavailable", "unreachable", "garbled"}


class NoSummaryError(TurnfoldError):
    """No summarizer of a chain gave an acceptable reply. End the chain with one that always answers."""

    code: ClassVar[str] = "no_summary"


class JournalError(TurnfoldError):
    """The journal of a batch cannot be used: the message says why.

    With `stale` it is of another run or damaged: begin anew, or name another journal.
    """

    code: ClassVar[str] = "journal"

    def __init__(self, text: str, *, stale: bool = False) -> None:
        super().__init__(text)
        self.stale = stale


class PlanMismatchError(TurnfoldError):
    """A plan was applied to a transcript that it was not made for. Plan again from the transcript you hold."""

    code: ClassVar[str] = "plan_mismatch"


class StoreConflictError(TurnfoldError):
    """A commit was refused: another compaction of the conversation took over or came first. Start from what is there.

    `expected_version` is what the commit went out from, `found_version` what the store has.
    """

    code: ClassVar[str] = "store_conflict"

    expected_version: int | None = None
    found_version: int | None = None

    @classmethod
    def of(cls, conversation: str, expected_version: int, found_version: int) -> "StoreConflictError":
        """Make the error of one commit."""
        error = cls(
            f"Conversation {conversation!r}: the commit went out from version {expected_version} and no longer holds "
            f"the lease; the store has version {found_version}"
        )
        error.expected_version, error.found_version = expected_version, found_version
        return error


class StoreUnavailableError(TurnfoldError):
    """A store cannot be reached, is locked for too long, or cannot write. Nothing was changed: mend that, try again."""

    code: ClassVar[str] = "store_unavailable"


class CorruptStoreError(TurnfoldError):
    """A store holds what cannot be read, or is none. It is left as it is: restore a copy, or name another place."""

    code: ClassVar[str] = "corrupt_store"


class NewerStoreError(TurnfoldError):
    """A newer version of turnfold wrote the store. It is left as it is: update turnfold, or name another place."""

    code: ClassVar[str] = "newer_store"


class BrokenPluginError(TurnfoldError):
    """A container that another distribution offers cannot be used. Mend or remove the distribution that is named."""

    code: ClassVar[str] = "broken_plugin"


class NotWritableError(TurnfoldError):
    """The log cannot hold this result in its own form. Nothing is written; the message says what to change."""

    code: ClassVar[str] = "not_writable"


class ReadError(TurnfoldError):
    """The input cannot be read as a transcript.

    `offset` is the byte where reading stopped; `path` is the JSON path, or "" where none is known yet.
    """

    code: ClassVar[str] = "read"

    def __init__(self, text: str, offset: int, path: str) -> None:
        super().__init__(text)
        self.offset = offset
        self.path = path

    def __str__(self) -> str:
        return f"{self.text} at byte {self.offset}" + (f" ({self.path})" if self.path else "")

    def __reduce__(self) -> tuple[type["ReadError"], tuple[str, int, str]]:
        return type(self), (self.text, self.offset, self.path)


class InvalidUtf8Error(ReadError):
    """The bytes are not UTF-8. Send the body as UTF-8; a truncated download often ends inside a character."""

    code: ClassVar[str] = "invalid_utf8"


class InvalidJsonError(ReadError):
    """The bytes are UTF-8 but not one JSON value. Look at `offset`; a body cut short fails at its last byte."""

    code: ClassVar[str] = "invalid_json"


class TooDeepError(ReadError):
    """Objects and arrays nest deeper than the reader goes. No provider accepts such a body; shorten the value."""

    code: ClassVar[str] = "too_deep"


class TooLargeError(ReadError):
    """The body is 4 GiB or larger. Split it."""

    code: ClassVar[str] = "too_large"


class NotATranscriptError(ReadError):
    """JSON, but neither a request body with messages nor a bare array of messages. Pass one of the two."""

    code: ClassVar[str] = "not_a_transcript"


class UnknownFormatError(ReadError):
    """No wire format fits, marks of two formats stand in one body, or `format=` names none. Name a format."""

    code: ClassVar[str] = "unknown_format"


class InvalidMessageError(ReadError):
    """A message cannot be read as one: not an object, or without a role. `path` says which; correct it."""

    code: ClassVar[str] = "invalid_message"


class UnknownContainerError(ReadError):
    """No container fits a log, two fit equally, or `container=` names none. Name one of those in the message."""

    code: ClassVar[str] = "unknown_container"


class InvalidLogError(ReadError):
    """A log is not of the kind that was named, or its records contradict each other. `path` says where; correct it."""

    code: ClassVar[str] = "invalid_log"


ERRORS: Mapping[str, type[TurnfoldError]] = MappingProxyType(
    {
        error.code: error
        for error in (
            InternalError,
            ArgumentError,
            UnknownEncodingError,
            VocabularyError,
            UnknownWindowError,
            ColumnError,
            UnknownSchemaError,
            RunningLoopError,
            MissingExtraError,
            SummarizerError,
            NoSummaryError,
            JournalError,
            PlanMismatchError,
            StoreConflictError,
            StoreUnavailableError,
            CorruptStoreError,
            NewerStoreError,
            BrokenPluginError,
            NotWritableError,
            InvalidUtf8Error,
            InvalidJsonError,
            TooDeepError,
            TooLargeError,
            NotATranscriptError,
            UnknownFormatError,
            InvalidMessageError,
            UnknownContainerError,
            InvalidLogError,
        )
    }
)
"""Every error that is raised, by code."""


def from_kernel(code: str, text: str, offset: int | None, path: str | None) -> TurnfoldError:
    """Build the exception for a fault of the kernel. The kernel calls this; nothing else needs it."""
    error = ERRORS.get(code, InternalError)
    if issubclass(error, ReadError):
        return error(text, offset or 0, path or "")
    return error(text)
