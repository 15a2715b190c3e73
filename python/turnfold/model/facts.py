"""What a tool call was and did, as facts: read by rule, for summaries that say one line a call."""

from collections.abc import Mapping
from typing import Literal

import msgspec

DigestKind = Literal["read", "shell", "search", "write", "other"]
"""What a tool does, as far as its name and its arguments tell."""

FactDetail = Literal["none", "lines", "errors"]
"""Whether a summarizer is given facts of each call: none, those of one line each, or the whole text of errors too."""

ToolStatus = Literal["success", "error", "partial"]
"""How a call ended: `partial` where no result is there, or the tool says that it left something out of it."""

Fact = tuple[str, str]
"""A name and what is known of it: `("Lines", "100")`."""


class ToolCall(msgspec.Struct, frozen=True):
    """A call as an extractor sees it.

    `kind` is what the tool is known to do, `arguments` what it was called with (empty where that is no JSON object:
    then `freeform` has it), `target` the file, command or pattern among them. `result` is the text that came back,
    None without one. `failed` says that the tool, its exit code or its text reports a failure, `error_line` the line
    that does.
    """

    tool: str
    kind: DigestKind
    arguments: Mapping[str, object]
    freeform: str
    target: str | None
    result: str | None
    failed: bool
    exit_code: int | None = None
    error_line: str | None = None


class Extracted(msgspec.Struct, frozen=True, gc=False):
    """What an extractor finds: facts for the line, in order, and numbers or names for programs."""

    facts: tuple[Fact, ...]
    metadata: Mapping[str, int | str] = {}


class ToolFacts(msgspec.Struct, frozen=True, gc=False):
    """One call: the message that it stands in, its tool, how it ended, and what is known of it.

    `error` is the whole error text, on one line, where a policy asks for it.
    """

    message: int
    tool: str
    status: ToolStatus
    facts: tuple[Fact, ...]
    metadata: Mapping[str, int | str] = {}
    error: str | None = None
