"""What goes to a summarizer and what comes back: text and usage, nothing else."""

from typing import Literal

import msgspec


class SourceMessage(msgspec.Struct, frozen=True):
    """One message to be summarised, as plain text parts."""

    index: int
    role: str
    parts: tuple["SourcePart", ...]


class SourcePart(msgspec.Struct, frozen=True):
    """One block of it: its kind, its texts, and for calls and results the tool's name and the call's id."""

    kind: Literal["text", "tool_call", "tool_result", "reasoning", "media", "opaque"]
    text: str
    name: str | None
    call_id: str | None
    is_error: bool


class Usage(msgspec.Struct, frozen=True):
    """Tokens that a summarizer reports; 0 where it reports none."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class SummaryRequest(msgspec.Struct, frozen=True):
    """All of what a summary replaces, the summary it continues, and the cap on the answer."""

    messages: tuple[SourceMessage, ...]
    previous: str | None
    identifiers: tuple[str, ...]
    max_tokens: int
    encoding: str
    schema: str


class SummaryReply(msgspec.Struct, frozen=True):
    """The summary's text, which summarizer wrote it, and what it cost."""

    text: str
    method: str
    usage: Usage = Usage()
