"""What goes to a summarizer and what comes back: text and usage, nothing else."""

from typing import Final, Literal

import msgspec

from turnfold.model.blocks import BlockKind
from turnfold.model.facts import DigestKind, ToolFacts
from turnfold.model.judgement import ReplyFault


class SourcePart(msgspec.Struct, frozen=True, gc=False):
    """One block of a message: its kind, its text, and for calls and results the tool's name and the call's id."""

    kind: BlockKind
    text: str
    name: str | None = None
    call_id: str | None = None
    is_error: bool = False


class SourceMessage(msgspec.Struct, frozen=True, gc=False):
    """One message to be summarised, as plain text parts. `index` is its place in the transcript."""

    index: int
    role: str
    parts: tuple[SourcePart, ...]


class Usage(msgspec.Struct, frozen=True):
    """Tokens that a summarizer reports; 0 where it reports none. Usages can be added.

    `prompt_tokens` is all of the input: what was read from a cache (`cache_read_tokens`) or written to one
    (`cache_write_tokens`) is part of it, whatever the provider's own fields leave out. `completion_tokens` is all of
    the output, `reasoning_tokens` among it.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


NO_USAGE: Final = Usage()
"""Nothing was used, or nobody said what."""


class SummaryRecord(msgspec.Struct, frozen=True):
    """What a summary message says of itself.

    `messages` is how many messages it stands for, and `turns` the first and the last of the turns among them, counted
    from 1; both count what earlier summaries stood for. `turns` is None where it covers no turn. `version` counts the
    summaries that it continues, itself included. `created` is when the first of them was made, `updated` when this one
    was, as the caller's clock said (`PlanState.now`).
    """

    messages: int
    turns: tuple[int, int] | None = None
    version: int = 1
    created: str | None = None
    updated: str | None = None


class ToolDigest(msgspec.Struct, frozen=True, gc=False):
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

    Where all of it is too much for one call it comes in pieces: `piece` is the number of this one, from 1, and how many
    there are; `partials` are the summaries of consecutive pieces, to be made into one. `refused` says why the last
    reply to this request was not used.

    `record` is what the summary message will say of itself. `facts` are more of each call than `digests` have, where
    the policy asks for them: models are not shown them. `by_rule` says that no model is to be asked.

    `live` is the body of the live request with what is asked for behind it, for a summarizer that `appends`: sent as it
    is to the model of the conversation, all before that is read from the prompt cache. It is neither quoted nor
    redacted.
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
    piece: tuple[int, int] | None = None
    partials: tuple[str, ...] = ()
    refused: ReplyFault | None = None
    record: SummaryRecord | None = None
    facts: tuple[ToolFacts, ...] = ()
    by_rule: bool = False
    live: bytes | None = None


StopReason = Literal["end", "length", "refusal", "tool_call", "other"]
"""Why a model stopped: it was done, the output limit cut it, it refuses (or a filter does), it wants a tool called, or
something else."""


class SummaryReply(msgspec.Struct, frozen=True):
    """The summary's text, what it cost, and what the provider says of the reply.

    `stop` is None where nobody says why it ended. `tool_calls` is how many it asks for, `reasoned` that it holds
    reasoning beside its text (or in its place). `latency_seconds` is from the request to the whole reply.
    """

    text: str
    usage: Usage = NO_USAGE
    stop: StopReason | None = None
    tool_calls: int = 0
    reasoned: bool = False
    model: str | None = None
    latency_seconds: float | None = None
