"""What goes to a summarizer and what comes back: text and usage, nothing else."""

from typing import Literal

import msgspec

from turnfold.model.blocks import BlockKind


class SourcePart(msgspec.Struct, frozen=True):
    """One block of a message: its kind, its text, and for calls and results the tool's name and the call's id."""

    kind: BlockKind
    text: str
    name: str | None = None
    call_id: str | None = None
    is_error: bool = False


class SourceMessage(msgspec.Struct, frozen=True):
    """One message to be summarised, as plain text parts. `index` is its place in the transcript."""

    index: int
    role: str
    parts: tuple[SourcePart, ...]


class Usage(msgspec.Struct, frozen=True):
    """Tokens that a summarizer reports; 0 where it reports none."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


DigestKind = Literal["read", "shell", "search", "write", "other"]


class ToolDigest(msgspec.Struct, frozen=True):
    """What one tool call did, by rule.

    `message` is the index of the message with the call. `target` is what it worked on (a path, a command, a pattern),
    `outcome` what came of it, `text` both in one line. `is_error` says that the tool, its exit code or the text of its
    result reports a failure.
    """

    message: int
    kind: DigestKind
    tool: str
    target: str | None
    outcome: str
    text: str
    is_error: bool


class SummaryRequest(msgspec.Struct, frozen=True):
    """All of what a summary replaces, the summary it continues, and the cap on the answer.

    `task` is the first user message, `latest` the last one where the model is at work on it: both are quoted beside the
    summary, whatever the summarizer writes. `previous` is the text of the earlier summary, which is not among
    `messages`. `digests` are facts made by rule from the tool calls, `identifiers` the ledger of names that the summary
    should carry, in the order first seen. The answer must not count more than `max_tokens` tokens of `encoding`;
    `source_tokens` bounds what it replaces. `schema` names the sections that are asked for, `temperature` is
    for a model that writes them.
    """

    messages: tuple[SourceMessage, ...]
    task: str | None
    latest: str | None
    previous: str | None
    digests: tuple[ToolDigest, ...]
    identifiers: tuple[str, ...]
    max_tokens: int
    source_tokens: int
    encoding: str
    schema: str
    temperature: float = 0.0


class SummaryReply(msgspec.Struct, frozen=True):
    """The summary's text and what it cost."""

    text: str
    usage: Usage = Usage()
