"""A summary by rule: no model, no network, the same text for the same input.

User messages are kept verbatim, tool calls as one-line facts, identifiers in a ledger. Where not all fits the cap, the
least valuable lines go first: older before newer, tool chatter before what the user said.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from turnfold import meter
from turnfold.model.facts import DigestKind
from turnfold.model.judgement import BY_RULE, ReplyPolicy
from turnfold.model.quoting import neutralise
from turnfold.model.summary import SourceMessage, SummaryReply, SummaryRequest, ToolDigest
from turnfold.planning.wrapper import MARKER_BODY
from turnfold.prompts.render import heading_text, item_text, read_sections, render_sections
from turnfold.prompts.schema import SummarySchema, Topic
from turnfold.prompts.schemas import schema_named
from turnfold.summarizers.digest import write_digest
from turnfold.summarizers.marker import Marker

_WORTH: dict[Topic, float] = {
    "state": 100,
    "files": 4,
    "errors": 4,
    "earlier": 3,
    "commands": 2,
    "versions": 2,
    "findings": 2,
    "tools": 1,
}
"""How many of its lines a topic puts in before one of a topic of worth 1."""

_DIGEST_TOPICS: dict[DigestKind, Topic] = {
    "read": "files",
    "write": "files",
    "shell": "commands",
    "search": "commands",
    "other": "tools",
}
_VERSION_CONTROL = re.compile(r"(?:cd [^;&|]+(?:;|&&) *)?(?:git|gh|hg|jj|svn) ")
_LEDGER_PART = 3  # at least one token of so many is for the ledger, where all of it needs that
_SHORTEST_QUOTE_TOKENS = 24
_FINDING_CHARACTERS = 240
_STATE_TOKENS = 300


@dataclass(frozen=True, slots=True)
class _Item:
    """One line of the summary. `order` is its place among the others of its topic, the oldest first."""

    topic: Topic
    order: int
    text: str
    tokens: int


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
        collected = _collect(request, schema)
        items = _cost(collected, request.encoding)
        headings = _heading_costs(schema, request.encoding)
        chosen = _choose(items, headings, request)
        text = _render(schema, chosen)
        while chosen and meter.count(text, request.encoding) > request.max_tokens:
            over = meter.count(text, request.encoding) - request.max_tokens
            while chosen and over > 0:
                over -= chosen.pop().tokens
            text = _render(schema, chosen)
        return text if chosen else Marker().write(request)


def _collect(request: SummaryRequest, schema: SummarySchema) -> list[tuple[Topic, str]]:
    """Everything worth a line, oldest first."""
    found: list[tuple[Topic, str]] = []
    if request.previous is not None:
        earlier = read_sections(schema, request.previous)
        # What was the state is one of the findings by now, and the ledger is made anew.
        earlier.pop("identifiers", None)
        found.extend(("findings", text) for text in earlier.pop("state", []))
        found.extend((topic, text) for topic, texts in earlier.items() for text in texts if text != MARKER_BODY)
    found.extend(("users", text) for text in _user_texts(request))
    said = [text for message in request.messages if message.role == "assistant" if (text := _spoken(message))]
    found.extend(("findings", _first_words(text)) for text in said[:-1])
    found.extend(("state", meter.truncate_middle(text, _STATE_TOKENS, request.encoding)) for text in said[-1:])
    found.extend((_topic_of(digest), digest.text) for digest in _latest_of_each(request.digests))
    return _latest_of_equals((topic, neutralise(text)) for topic, text in found)


def _user_texts(request: SummaryRequest) -> Iterable[str]:
    # The task stands in the wrapper already; it is the first that the user said, unless an earlier summary has it.
    skip = request.task is not None and request.previous is None
    last = max((m.index for m in request.messages if m.role == "user" and _spoken(m)), default=None)
    for message in request.messages:
        if request.latest is not None and message.index == last:
            continue
        if message.role != "user":
            continue
        text = _spoken(message)
        media = sum(part.kind == "media" for part in message.parts)
        if media:
            count = "1 attachment is" if media == 1 else f"{media} attachments are"
            text = f"{text}\n[{count} not shown]".strip()
        if not text:
            continue
        if not skip:
            yield text
        skip = False


def _spoken(message: SourceMessage) -> str:
    return "\n".join(part.text for part in message.parts if part.kind == "text").strip()


def _first_words(text: str) -> str:
    line = " ".join(text.split(maxsplit=80)[:80])
    return line if len(line) <= _FINDING_CHARACTERS else line[:_FINDING_CHARACTERS].rpartition(" ")[0] + " ..."


def _topic_of(digest: ToolDigest) -> Topic:
    if digest.is_error:
        return "errors"
    versions = digest.kind == "shell" and _VERSION_CONTROL.match(digest.target or "") is not None
    return "versions" if versions else _DIGEST_TOPICS[digest.kind]


def _latest_of_each(digests: Iterable[ToolDigest]) -> Iterable[ToolDigest]:
    """Of calls that did the same to the same, the last says how it stands now; what failed stays on record."""
    latest: dict[tuple[object, ...], ToolDigest] = {}
    for digest in digests:
        work = digest.text if digest.target is None or digest.is_error else (digest.kind, digest.target)
        key = (work, digest.is_error)
        latest.pop(key, None)
        latest[key] = digest
    return latest.values()


def _latest_of_equals(items: Iterable[tuple[Topic, str]]) -> list[tuple[Topic, str]]:
    seen = dict.fromkeys(reversed([item for item in items if item[1].strip()]))
    return list(reversed(seen))


def _cost(items: Sequence[tuple[Topic, str]], encoding: str) -> list[_Item]:
    tokens = meter.count_many([item_text(text) for _, text in items], encoding)
    return [_Item(topic, order, text, n) for order, ((topic, text), n) in enumerate(zip(items, tokens, strict=True))]


def _heading_costs(schema: SummarySchema, encoding: str) -> dict[Topic, int]:
    tokens = meter.count_many([heading_text(section.title) for section in schema.sections], encoding)
    costs = {section.title: n for section, n in zip(schema.sections, tokens, strict=True)}
    heading = 0 if schema.heading is None else meter.count(f"{schema.heading}\n", encoding)
    return {topic: heading + costs[schema.section_of(topic).title] for topic in get_args(Topic)}


def _choose(items: Sequence[_Item], headings: dict[Topic, int], request: SummaryRequest) -> list[_Item]:
    """Choose what goes in, the most valuable first."""
    users = [item for item in items if item.topic == "users"]
    others = [item for item in items if item.topic != "users"]
    ledger_tokens = headings["identifiers"] + sum(
        meter.count_many([f", {name}" for name in request.identifiers], request.encoding)
    )
    room = request.max_tokens - min(ledger_tokens, request.max_tokens // _LEDGER_PART)
    others_tokens = sum(item.tokens for item in others) + sum(headings[topic] for topic in {i.topic for i in others})
    users_room = max(room // 2, room - others_tokens)
    chosen = _choose_users(users, users_room - headings["users"], request.encoding) if users else []
    room -= sum(item.tokens for item in chosen) + (headings["users"] if chosen else 0)

    ranks: dict[Topic, int] = {}
    ranked: list[tuple[float, int, _Item]] = []
    for order, item in enumerate(reversed(others)):
        rank = ranks[item.topic] = ranks.get(item.topic, 0) + 1
        ranked.append((rank / _WORTH.get(item.topic, 1), order, item))
    opened: set[Topic] = set()
    for _, _, item in sorted(ranked, key=lambda r: r[:2]):
        tokens = item.tokens + (0 if item.topic in opened else headings[item.topic])
        if tokens <= room:
            room -= tokens
            opened.add(item.topic)
            chosen.append(item)
    return _add_ledger(chosen, headings, request)


def _choose_users(users: Sequence[_Item], room: int, encoding: str) -> list[_Item]:
    """Take the newest verbatim, then as much of the older ones as fits, and a word on those left out."""
    chosen: list[_Item] = []
    for older, item in zip(range(len(users) - 1, -1, -1), reversed(users), strict=True):
        available = room - min(older * _SHORTEST_QUOTE_TOKENS, room // 3)
        quoted = item
        if item.tokens > available:
            text = (
                meter.truncate_middle(item.text, available - 4, encoding) if available >= _SHORTEST_QUOTE_TOKENS else ""
            )
            quoted = _Item("users", item.order, text, meter.count(item_text(text), encoding))
        if not quoted.text or quoted.tokens > room:
            left_out = f"[{older + 1} older user messages are left out]"
            note = _Item("users", -1, left_out, meter.count(item_text(left_out), encoding))
            return [*chosen, note] if note.tokens <= room else chosen
        room -= quoted.tokens
        chosen.append(quoted)
    return chosen


def _add_ledger(chosen: list[_Item], headings: dict[Topic, int], request: SummaryRequest) -> list[_Item]:
    """Name the identifiers that no other line holds, as many as fit."""
    spent = sum(item.tokens for item in chosen) + sum(headings[topic] for topic in {item.topic for item in chosen})
    room = request.max_tokens - spent - headings["identifiers"] - 4
    held = "\n".join([request.task or "", request.latest or "", *(item.text for item in chosen)])
    there = meter.occurring(request.identifiers, held)
    missing = [name for name, held_already in zip(request.identifiers, there, strict=True) if not held_already]
    for order, name in enumerate(missing):
        tokens = meter.count(f", {name}", request.encoding)
        if tokens <= room:
            room -= tokens
            chosen.append(_Item("identifiers", order, name, tokens))
    return chosen


def _render(schema: SummarySchema, chosen: Sequence[_Item]) -> str:
    texts: dict[Topic, list[str]] = {}
    for item in sorted(chosen, key=lambda i: i.order):
        texts.setdefault(item.topic, []).append(item.text)
    if "identifiers" in texts:
        texts["identifiers"] = [", ".join(texts["identifiers"])]
    return render_sections(schema, texts)
