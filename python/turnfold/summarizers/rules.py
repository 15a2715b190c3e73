"""A summary by rule: no model, no network, the same text for the same input.

Where all of it fits the cap, messages of the user stand as they are, tool calls as one-line facts, identifiers in a
ledger. Where it does not, statements are chosen by what they are worth for their tokens: rules, wishes, decisions and
updates first, names and numbers next, small talk last. A statement that a later one replaces goes, and what failed
again and again says how often.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

import msgspec

from turnfold import meter
from turnfold.meter import Layout, Line, Said
from turnfold.model.judgement import BY_RULE, ReplyPolicy
from turnfold.model.summary import SourceMessage, SummaryReply, SummaryRequest
from turnfold.planning.wrapper import MARKER_BODY
from turnfold.prompts.render import heading_text, item_text, read_sections
from turnfold.prompts.schema import SummarySchema, Topic
from turnfold.prompts.schemas import schema_named
from turnfold.quoting import neutralise
from turnfold.summarizers.digest import write_digest
from turnfold.summarizers.extractive import cues
from turnfold.summarizers.extractive.outcomes import outcomes
from turnfold.summarizers.marker import Marker

_WORTH: Final[dict[Topic, float]] = {
    "errors": 4.5,
    "earlier": 4.0,
    "files": 3.0,
    "commands": 2.2,
    "versions": 2.2,
    "findings": 2.0,
    "tools": 1.2,
}
"""What a line of a topic is worth, on the scale of statements, before its age is taken off."""

_REPEATED_WORTH: Final = 12.0
_SAID: Final[tuple[Topic, ...]] = ("findings", "state")
_STATUS_EDGES: Final = 2  # tokens that two texts may take more where they meet


class Rules:
    """Always answers, at once and offline, with at most the tokens that the request allows."""

    @property
    def name(self) -> str:
        """What results call it."""
        return "rules"

    @property
    def reply_policy(self) -> ReplyPolicy:
        """How its replies are judged."""
        return BY_RULE

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Return the summary, as a reply."""
        return SummaryReply(self.write(request))

    def write(self, request: SummaryRequest) -> str:
        """Write the summary. Linear in the source; counts at most `request.max_tokens` tokens of `request.encoding`."""
        schema = schema_named(request.schema)
        if schema.style == "digest":
            return write_digest(request)
        if schema.style == "marker":
            return schema.marker or MARKER_BODY
        return _with_status(request, schema) or _sections(request, schema) or Marker().write(request)


def _sections(request: SummaryRequest, schema: SummarySchema) -> str:
    """All of it as it was said where that fits the cap, else what is worth most; chosen and written by the kernel."""
    texts, lines = _earlier(request, schema)
    texts += _said(request)
    lines += [
        (topic, text, _REPEATED_WORTH if times > 1 else _WORTH[topic], times == 1)
        for topic, text, times in outcomes(request.digests)
    ]
    others = (message for message in request.messages if message.role not in {"user", "assistant"})
    return cues.kernel().summary(
        texts,
        lines,
        request.identifiers,
        quotes="\n".join([request.task or "", request.latest or ""]),
        touched="\n".join(digest.target for digest in request.digests if digest.target is not None),
        elsewhere=[part.text for message in others for part in message.parts],
        layout=_layout(request.schema),
        encoding=request.encoding,
        max_tokens=request.max_tokens,
    )


@cache
def _layout(name: str) -> Layout:
    schema = schema_named(name)
    return schema.heading, [(section.title, [section.topic, *section.also]) for section in schema.sections]


def _with_status(request: SummaryRequest, schema: SummarySchema) -> str | None:
    """The sections with a word for how the work stands; None where the schema has none, or there is no room.

    Whether all is done no rule can tell: it goes on, or its last call failed.
    """
    if schema.statuses is None:
        return None
    _, going_on, stuck = schema.statuses
    failed = bool(request.digests) and request.digests[-1].is_error
    heading = heading_text(schema.section_of("state").title)
    status = item_text(stuck if failed else going_on)
    room = request.max_tokens - meter.count(heading + status, request.encoding) - _STATUS_EDGES
    text = _sections(msgspec.structs.replace(request, max_tokens=room), schema) if room > 0 else ""
    if not text:
        return None
    before, found, after = f"\n{text}".rpartition(f"\n{heading}")
    text = f"{before}{found}{status}{after}".strip() if found else f"{text}\n{heading}{status}".rstrip()
    return text if meter.count(text, request.encoding) <= request.max_tokens else None


def _earlier(request: SummaryRequest, schema: SummarySchema) -> tuple[list[Said], list[Line]]:
    """What an earlier summary has: what was said, and lines. Its ledger is made anew."""
    if request.previous is None:
        return [], []
    earlier = read_sections(schema, request.previous)
    earlier.pop("identifiers", None)
    texts = [(True, neutralise(text), False) for text in earlier.pop("users", [])]
    texts += [
        (False, neutralise(text), False)
        for topic in _SAID
        for text in earlier.pop(topic, [])
        if text not in (schema.statuses or ())
    ]
    lines: list[Line] = [
        (topic, text, _WORTH[topic], True) for topic, found in earlier.items() for text in found if text != MARKER_BODY
    ]
    return texts, lines


def _said(request: SummaryRequest) -> Iterator[Said]:
    """What user and model said. The task and the request in work stand in the wrapper."""
    speaking = (message for message in request.messages if message.role in {"user", "assistant"})
    spoken = [(message, text) for message in speaking if (text := _spoken(message))]
    users = [message.index for message, _ in spoken if message.role == "user"]
    for message, text in spoken:
        if message.role == "user":
            first = request.task is not None and request.previous is None and message.index == users[0]
            latest = request.latest is not None and message.index == users[-1]
            yield True, neutralise(text), first or latest
        else:
            yield False, neutralise(text), False


def _spoken(message: SourceMessage) -> str:
    texts: list[str] = []
    media = 0
    for part in message.parts:
        if part.kind == "text":
            texts.append(part.text)
        elif part.kind == "media":
            media += 1
    text = "\n".join(texts).strip()
    if media and message.role == "user":
        count = "1 attachment is" if media == 1 else f"{media} attachments are"
        text = f"{text}\n[{count} not shown]".strip()
    return text
