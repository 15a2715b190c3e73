"""A summary by rule: no model, no network, the same text for the same input.

Where all of it fits the cap, messages of the user stand as they are, tool calls as one-line facts, identifiers in a
ledger. Where it does not, statements are chosen by what they are worth for their tokens: rules, wishes, decisions and
updates first, names and numbers next, small talk last. A statement that a later one replaces goes, and what failed
again and again says how often.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from turnfold import meter
from turnfold.model.judgement import BY_RULE, ReplyPolicy
from turnfold.model.summary import SourceMessage, SummaryReply, SummaryRequest
from turnfold.planning.wrapper import MARKER_BODY
from turnfold.prompts.render import heading_text, item_text, read_sections, render_sections
from turnfold.prompts.schema import SummarySchema, Topic
from turnfold.prompts.schemas import schema_named
from turnfold.quoting import neutralise
from turnfold.summarizers.digest import write_digest
from turnfold.summarizers.extractive.choice import Candidate, Chooser, joined
from turnfold.summarizers.extractive.outcomes import outcomes
from turnfold.summarizers.extractive.statements import Speaker, Statement, statements_of
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
_STATE_WORTH: Final = 6.0
_AGE: Final = 0.08
_LEDGER_PART = 3  # at most one token of so many is kept free for the ledger
_STATE_PART = 6
_SAID_IN_EARNEST = 1.0
_FINDING_CHARACTERS = 240
_STATE_TOKENS = 300
_STATEMENT_TOKENS = 120
_STATUS_EDGES: Final = 2  # tokens that two texts may take more where they meet
_FILE = re.compile(r"\.[A-Za-z]{1,5}$")


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
    source = _Source.of(request, schema)
    ledger = _Ledger(request, source)
    whole = _whole(request, schema, source, ledger)
    return _chosen(request, schema, source, ledger) if whole is None else whole


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


class _Text(msgspec.Struct, frozen=True, gc=False):
    """One text that somebody said. `quoted` is set where the wrapper around the summary quotes it already."""

    speaker: Speaker
    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class _Source:
    """What there is to say, oldest first: what was said, and lines of other topics with what they are worth."""

    texts: tuple[_Text, ...]
    statements: tuple[Statement, ...]
    lines: tuple[tuple[Topic, str, float], ...]

    @classmethod
    def of(cls, request: SummaryRequest, schema: SummarySchema) -> "_Source":
        texts: list[_Text] = []
        lines: list[tuple[Topic, str, float]] = []
        if request.previous is not None:
            earlier = read_sections(schema, request.previous)
            # The ledger is made anew.
            earlier.pop("identifiers", None)
            texts += [_Text("user", neutralise(text)) for text in earlier.pop("users", [])]
            texts += [
                _Text("assistant", neutralise(text))
                for topic in ("findings", "state")
                for text in earlier.pop(topic, [])
                if text not in (schema.statuses or ())
            ]
            lines += [
                (topic, neutralise(text), _WORTH[topic])
                for topic, found in earlier.items()
                for text in found
                if text != MARKER_BODY
            ]
        texts += _said(request)
        lines += [
            (topic, neutralise(text), _REPEATED_WORTH if times > 1 else _WORTH[topic])
            for topic, text, times in outcomes(request.digests)
        ]
        statements = statements_of([(one.speaker, one.text) for one in texts])
        return cls(tuple(texts), tuple(statements), tuple(_latest_of_equals(lines)))


def _said(request: SummaryRequest) -> Iterable[_Text]:
    """What user and model said. The task and the request in work stand in the wrapper."""
    speaking = (message for message in request.messages if message.role in {"user", "assistant"})
    spoken = [(message, text) for message in speaking if (text := _spoken(message))]
    users = [message.index for message, _ in spoken if message.role == "user"]
    for message, text in spoken:
        if message.role == "user":
            first = request.task is not None and request.previous is None and message.index == users[0]
            latest = request.latest is not None and message.index == users[-1]
            yield _Text("user", neutralise(text), first or latest)
        elif message.role == "assistant":
            yield _Text("assistant", neutralise(text))


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


def _latest_of_equals(lines: Sequence[tuple[Topic, str, float]]) -> list[tuple[Topic, str, float]]:
    latest = {(topic, text): worth for topic, text, worth in lines if text.strip()}
    seen = dict.fromkeys((topic, text) for topic, text, _ in reversed(lines) if text.strip())
    return [(topic, text, latest[topic, text]) for topic, text in reversed(seen)]


class _Ledger:
    """The identifiers that a summary lists where it does not name them, the most telling first."""

    def __init__(self, request: SummaryRequest, source: _Source) -> None:
        quoted = meter.occurring(request.identifiers, "\n".join([request.task or "", request.latest or ""]))
        names = [name for name, there in zip(request.identifiers, quoted, strict=True) if not there]
        said: dict[str, float] = {}
        for one in source.statements:
            for name in one.names:
                said[name] = max(one.score, said.get(name, one.score))
        touched = "\n".join(digest.target for digest in request.digests if digest.target is not None)
        used = dict(zip(names, meter.occurring(names, touched), strict=True))
        stale = _stale(request, source)
        # Names that only small talk has come last, but for files: those are worked on, whoever mentions them.
        ranked = sorted(
            enumerate(names),
            key=lambda n: (
                said.get(n[1], _SAID_IN_EARNEST) < _SAID_IN_EARNEST and not _FILE.search(n[1]),
                not used[n[1]],
                not _FILE.search(n[1]),
                n[1] not in said,
                -n[0],
            ),
        )
        self._names = [name for _, name in ranked if name not in stale]

    def missing(self, held: str) -> list[str]:
        """Return those that `held` does not name. Replaced values are none of them."""
        there = meter.occurring(self._names, held)
        return [name for name, held_already in zip(self._names, there, strict=True) if not held_already]


def _stale(request: SummaryRequest, source: _Source) -> set[str]:
    """Return the identifiers that only replaced statements name."""
    gone = {(one.order, one.text) for one in source.statements if one.replaced or one.doubtful}
    stale = {name for one in source.statements if one.replaced or one.doubtful for name in one.names}
    if not stale:
        return stale
    rest = [one.text for one in source.statements if (one.order, one.text) not in gone]
    parts = [part.text for m in request.messages if m.role not in {"user", "assistant"} for part in m.parts]
    names = sorted(stale)
    elsewhere = meter.occurring(names, "\n".join([*rest, *parts]))
    return {name for name, used in zip(names, elsewhere, strict=True) if not used}


def _whole(request: SummaryRequest, schema: SummarySchema, source: _Source, ledger: _Ledger) -> str | None:
    """Everything, as it was said but for what was replaced; None where that is over the cap."""
    stale: dict[int, list[str]] = {}
    for statement in source.statements:
        if statement.replaced:
            stale.setdefault(statement.order, []).append(statement.text)
    texts: dict[Topic, list[str]] = {}
    last = max((order for order, one in enumerate(source.texts) if one.speaker == "assistant"), default=None)
    for order, one in enumerate(source.texts):
        text = one.text
        for sentence in stale.get(order, ()):
            text = text.replace(sentence, "", 1).strip()
        if one.quoted or not text.strip():
            continue
        if one.speaker == "user":
            texts.setdefault("users", []).append(text)
        elif order == last:
            texts["state"] = [meter.truncate_middle(text, _STATE_TOKENS, request.encoding)]
        else:
            texts.setdefault("findings", []).append(_first_words(text))
    for topic, line, _ in source.lines:
        texts.setdefault(topic, []).append(line)
    unique = {topic: list(reversed(dict.fromkeys(reversed(own)))) for topic, own in texts.items()}
    # Most often it is far too much: then nothing else needs to be known.
    if not meter.fits(render_sections(schema, unique), request.max_tokens, request.encoding):
        return None
    missing = ledger.missing("\n".join(text for own in unique.values() for text in own))
    if missing:
        unique["identifiers"] = [", ".join(missing)]
    text = render_sections(schema, unique) if unique else ""
    return text if meter.fits(text, request.max_tokens, request.encoding) else None


def _first_words(text: str) -> str:
    line = " ".join(text.split(maxsplit=80)[:80])
    return line if len(line) <= _FINDING_CHARACTERS else line[:_FINDING_CHARACTERS].rpartition(" ")[0] + " ..."


def _chosen(request: SummaryRequest, schema: SummarySchema, source: _Source, ledger: _Ledger) -> str:
    """What is worth most, within the cap."""
    chooser = Chooser(_candidates(request, source), _heading_costs(schema, request.encoding))

    def render(names: Sequence[str]) -> str:
        return _rendered(schema, joined(chooser.chosen), names)

    # What the best statements name needs no place in the ledger.
    chooser.choose(request.max_tokens)
    missing = ledger.missing(render(()))
    costs = meter.count_many([f", {name}" for name in missing], request.encoding)
    heading = chooser.heading("identifiers")
    reserve = min(sum(costs) + heading, request.max_tokens // _LEDGER_PART) if missing else 0
    chooser.clear()
    chooser.choose(request.max_tokens - reserve)
    names: list[str] = []
    for _ in range(3):
        lines = joined(chooser.chosen)
        held = _rendered(schema, lines, ())
        room = request.max_tokens - meter.count(held, request.encoding) - heading - 2
        names = _fitting(ledger.missing(held), room, request.encoding)
        text = _rendered(schema, lines, names)
        spare = request.max_tokens - meter.count(text, request.encoding)
        if not chooser.choose_more(spare):
            return _trimmed(request, chooser, names, text, render)
    return _trimmed(request, chooser, names, render(names), render)


def _rendered(schema: SummarySchema, lines: Mapping[Topic, Sequence[str]], names: Sequence[str]) -> str:
    texts = {**lines, "identifiers": [", ".join(names)]} if names else lines
    return render_sections(schema, texts) if texts else ""


def _trimmed(
    request: SummaryRequest, chooser: Chooser, names: list[str], text: str, render: Callable[[Sequence[str]], str]
) -> str:
    """Return `text`, without the last that were chosen where their costs did not add up."""
    while True:
        over = meter.count(text, request.encoding) - request.max_tokens
        if over <= 0 or not (names or chooser.chosen):
            return text
        if names:
            del names[-max(1, over // 8) :]
        else:
            chooser.drop_last()
        text = render(names)


def _fitting(names: Sequence[str], room: int, encoding: str) -> list[str]:
    fitting: list[str] = []
    for name, tokens in zip(names, meter.count_many([f", {name}" for name in names], encoding), strict=True):
        if tokens <= room:
            room -= tokens
            fitting.append(name)
    return fitting


def _candidates(request: SummaryRequest, source: _Source) -> list[Candidate]:
    found: list[Candidate] = []
    state = _state(source)
    latest = {statement.plain: index for index, statement in enumerate(source.statements)}
    for index, statement in enumerate(source.statements):
        one = source.texts[statement.order]
        if one.quoted or statement.replaced or latest[statement.plain] != index or statement.order == state:
            continue
        text = statement.text
        if len(text) > 4 * _STATEMENT_TOKENS:
            text = meter.truncate_middle(text, _STATEMENT_TOKENS, request.encoding)
        topic: Topic = "users" if one.speaker == "user" else "findings"
        if statement.doubtful or (statement.score <= 0 and topic == "findings") or not any(map(str.isalnum, text)):
            continue
        after = None if statement.after is None else (statement.order, statement.after)
        found.append(
            Candidate(topic, (statement.order, statement.place), text, statement.score, statement.label, after)
        )
    if state is not None:
        room = min(_STATE_TOKENS, request.max_tokens // _STATE_PART)
        text = meter.truncate_middle(source.texts[state].text, room, request.encoding)
        found.append(Candidate("state", (state, 0), text, _STATE_WORTH))
    ages: dict[Topic, int] = {}
    for order, (topic, text, worth) in reversed(list(enumerate(source.lines))):
        age = ages[topic] = ages.get(topic, -1) + 1
        value = worth if worth >= _REPEATED_WORTH else worth / (1 + _AGE * age)
        found.append(Candidate(topic, (order, 0), text, value))
    for candidate, tokens in zip(
        found, meter.count_many([item_text(one.text) for one in found], request.encoding), strict=True
    ):
        candidate.tokens = tokens
    labelled = [one for one in found if one.begins_with_label]
    for candidate, tokens in zip(
        labelled, meter.count_many([f"{one.label}:" for one in labelled], request.encoding), strict=True
    ):
        candidate.label_tokens = tokens
    return found


def _state(source: _Source) -> int | None:
    """The last text of the model, unless it says what it has said before."""
    said = [(order, one.text) for order, one in enumerate(source.texts) if one.speaker == "assistant"]
    if not said or sum(text == said[-1][1] for _, text in said) > 1:
        return None
    return said[-1][0]


def _heading_costs(schema: SummarySchema, encoding: str) -> dict[Topic, tuple[str, int]]:
    """By topic, the title it stands under and what that costs."""
    tokens = meter.count_many([heading_text(section.title) for section in schema.sections], encoding)
    heading = 0 if schema.heading is None else meter.count(f"{schema.heading}\n", encoding)
    return {
        topic: (section.title, n + heading)
        for section, n in zip(schema.sections, tokens, strict=True)
        for topic in (section.topic, *section.also)
    }
