"""The summary by rule that the kernel writes is the one that this slow, obvious one writes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import meter
from turnfold.errors import ArgumentError
from turnfold.prompts.render import heading_text, item_text, render_sections
from turnfold.prompts.schema import SummarySchema, Topic
from turnfold.prompts.schemas import SCHEMAS
from turnfold.quoting import neutralise
from turnfold.summarizers.extractive import cues
from turnfold.testing.statements import statements_of

STATE_WORTH = 6.0
AGE = 0.08
LEDGER_PART = 3
STATE_PART = 6
SAID_IN_EARNEST = 1.0
FINDING_CHARACTERS = 240
STATE_TOKENS = 300
STATEMENT_TOKENS = 120
FILE = re.compile(r"\.[A-Za-z]{1,5}$")
FEW_TOKENS = 8
SHARED_LABEL = 2


class Material(msgspec.Struct, frozen=True):
    """What there is to say."""

    texts: tuple[tuple[bool, str, bool], ...]
    lines: tuple[tuple[Topic, str, float, bool], ...]
    identifiers: tuple[str, ...]
    quotes: str
    touched: str
    elsewhere: tuple[str, ...]
    schema: str
    max_tokens: int
    encoding: str = "o200k_base"

    @property
    def layout(self) -> SummarySchema:
        return SCHEMAS[self.schema]


class Source:
    def __init__(self, material: Material) -> None:
        self.texts = material.texts
        self.statements = statements_of([("user" if user else "assistant", text) for user, text, _ in material.texts])
        plain = [(topic, neutralise(text), worth, fades) for topic, text, worth, fades in material.lines]
        self.lines = latest_of_equals([line for line in plain if line[1].strip()])


def latest_of_equals(lines: Sequence[tuple[Topic, str, float, bool]]) -> list[tuple[Topic, str, float, bool]]:
    latest = {line[:2]: index for index, line in enumerate(lines)}
    return [line for index, line in enumerate(lines) if latest[line[:2]] == index]


class Ledger:
    def __init__(self, material: Material, source: Source) -> None:
        quoted = meter.occurring(material.identifiers, material.quotes)
        names = [name for name, there in zip(material.identifiers, quoted, strict=True) if not there]
        said: dict[str, float] = {}
        for one in source.statements:
            for name in one.names:
                said[name] = max(one.score, said.get(name, one.score))
        used = dict(zip(names, meter.occurring(names, material.touched), strict=True))
        gone = stale(material, source)
        # Names that only small talk has come last, but for files: those are worked on, whoever mentions them.
        ranked = sorted(
            enumerate(names),
            key=lambda n: (
                said.get(n[1], SAID_IN_EARNEST) < SAID_IN_EARNEST and not FILE.search(n[1]),
                not used[n[1]],
                not FILE.search(n[1]),
                n[1] not in said,
                -n[0],
            ),
        )
        self._names = [name for _, name in ranked if name not in gone]

    def missing(self, held: str) -> list[str]:
        there = meter.occurring(self._names, held)
        return [name for name, held_already in zip(self._names, there, strict=True) if not held_already]


def stale(material: Material, source: Source) -> set[str]:
    gone = {(one.order, one.text) for one in source.statements if one.replaced or one.doubtful}
    names = sorted({name for one in source.statements if one.replaced or one.doubtful for name in one.names})
    rest = [one.text for one in source.statements if (one.order, one.text) not in gone]
    elsewhere = meter.occurring(names, "\n".join([*rest, *material.elsewhere]))
    return {name for name, used in zip(names, elsewhere, strict=True) if not used}


def whole(material: Material, schema: SummarySchema, source: Source, ledger: Ledger) -> str | None:
    gone: dict[int, list[str]] = {}
    for statement in source.statements:
        if statement.replaced:
            gone.setdefault(statement.order, []).append(statement.text)
    texts: dict[Topic, list[str]] = {}
    last = max((order for order, (user, _, _) in enumerate(source.texts) if not user), default=None)
    for order, (user, text, quoted) in enumerate(source.texts):
        left = text
        for sentence in gone.get(order, ()):
            left = left.replace(sentence, "", 1).strip()
        if quoted or not left.strip():
            continue
        if user:
            texts.setdefault("users", []).append(left)
        elif order == last:
            texts["state"] = [meter.truncate_middle(left, STATE_TOKENS, material.encoding)]
        else:
            texts.setdefault("findings", []).append(first_words(left))
    for topic, line, _, _ in source.lines:
        texts.setdefault(topic, []).append(line)
    unique = {topic: list(reversed(dict.fromkeys(reversed(own)))) for topic, own in texts.items()}
    # Most often it is far too much: then nothing else needs to be known.
    if not meter.fits(render_sections(schema, unique), material.max_tokens, material.encoding):
        return None
    missing = ledger.missing("\n".join(text for own in unique.values() for text in own))
    if missing:
        unique["identifiers"] = [", ".join(missing)]
    text = render_sections(schema, unique) if unique else ""
    return text if meter.fits(text, material.max_tokens, material.encoding) else None


def first_words(text: str) -> str:
    line = " ".join(text.split(maxsplit=80)[:80])
    return line if len(line) <= FINDING_CHARACTERS else line[:FINDING_CHARACTERS].rpartition(" ")[0] + " ..."


def chosen(material: Material, schema: SummarySchema, source: Source, ledger: Ledger) -> str:
    chooser = Chooser(candidates(material, source), heading_costs(schema, material.encoding))

    def render(names: Sequence[str]) -> str:
        return rendered(schema, joined(chooser.chosen), names)

    # What the best statements name needs no place in the ledger.
    chooser.take(material.max_tokens)
    missing = ledger.missing(render(()))
    costs = meter.count_many([f", {name}" for name in missing], material.encoding)
    heading = chooser.heading("identifiers")
    reserve = min(sum(costs) + heading, material.max_tokens // LEDGER_PART) if missing else 0
    chooser.clear()
    chooser.take(material.max_tokens - reserve)
    names: list[str] = []
    for _ in range(3):
        lines = joined(chooser.chosen)
        held = rendered(schema, lines, ())
        room = material.max_tokens - meter.count(held, material.encoding) - heading - 2
        names = fitting(ledger.missing(held), room, material.encoding)
        text = rendered(schema, lines, names)
        spare = material.max_tokens - meter.count(text, material.encoding)
        if not chooser.take(spare):
            return trimmed(material, chooser, names, text, render)
    return trimmed(material, chooser, names, render(names), render)


def rendered(schema: SummarySchema, lines: Mapping[Topic, Sequence[str]], names: Sequence[str]) -> str:
    texts = {**lines, "identifiers": [", ".join(names)]} if names else lines
    return render_sections(schema, texts) if texts else ""


def trimmed(
    material: Material, chooser: Chooser, names: list[str], text: str, render: Callable[[Sequence[str]], str]
) -> str:
    while True:
        over = meter.count(text, material.encoding) - material.max_tokens
        if over <= 0 or not (names or chooser.chosen):
            return text
        if names:
            del names[-max(1, over // 8) :]
        else:
            chooser.drop_last()
        text = render(names)


def fitting(names: Sequence[str], room: int, encoding: str) -> list[str]:
    there_is_room: list[str] = []
    for name, tokens in zip(names, meter.count_many([f", {name}" for name in names], encoding), strict=True):
        if tokens <= room:
            room -= tokens
            there_is_room.append(name)
    return there_is_room


def candidates(material: Material, source: Source) -> list[Candidate]:
    found: list[Candidate] = []
    last = state(source)
    latest = {statement.plain: index for index, statement in enumerate(source.statements)}
    for index, statement in enumerate(source.statements):
        user, _, quoted = source.texts[statement.order]
        if quoted or statement.replaced or latest[statement.plain] != index or statement.order == last:
            continue
        text = statement.text
        if len(text) > 4 * STATEMENT_TOKENS:
            text = meter.truncate_middle(text, STATEMENT_TOKENS, material.encoding)
        topic: Topic = "users" if user else "findings"
        if statement.doubtful or (statement.score <= 0 and topic == "findings") or not any(map(str.isalnum, text)):
            continue
        after = None if statement.after is None else (statement.order, statement.after)
        found.append(
            Candidate(topic, (statement.order, statement.place), text, statement.score, statement.label, after)
        )
    if last is not None:
        room = min(STATE_TOKENS, material.max_tokens // STATE_PART)
        text = meter.truncate_middle(source.texts[last][1], room, material.encoding)
        found.append(Candidate("state", (last, 0), text, STATE_WORTH))
    ages: dict[Topic, int] = {}
    for order, (topic, text, worth, fades) in reversed(list(enumerate(source.lines))):
        age = ages[topic] = ages.get(topic, -1) + 1
        value = worth / (1 + AGE * age) if fades else worth
        found.append(Candidate(topic, (order, 0), text, value))
    for candidate, tokens in zip(
        found, meter.count_many([item_text(one.text) for one in found], material.encoding), strict=True
    ):
        candidate.tokens = tokens
    labelled = [one for one in found if one.begins_with_label]
    for candidate, tokens in zip(
        labelled, meter.count_many([f"{one.label}:" for one in labelled], material.encoding), strict=True
    ):
        candidate.label_tokens = tokens
    return found


def state(source: Source) -> int | None:
    said = [(order, text) for order, (user, text, _) in enumerate(source.texts) if not user]
    if not said or sum(text == said[-1][1] for _, text in said) > 1:
        return None
    return said[-1][0]


def heading_costs(schema: SummarySchema, encoding: str) -> dict[Topic, tuple[str, int]]:
    tokens = meter.count_many([heading_text(section.title) for section in schema.sections], encoding)
    heading = 0 if schema.heading is None else meter.count(f"{schema.heading}\n", encoding)
    return {
        topic: (section.title, n + heading)
        for section, n in zip(schema.sections, tokens, strict=True)
        for topic in (section.topic, *section.also)
    }


class Candidate(msgspec.Struct, gc=False):
    """One line that may go in."""

    topic: Topic
    order: tuple[int, int]
    text: str
    worth: float
    label: str = ""
    after: tuple[int, int] | None = None
    tokens: int = 0
    label_tokens: int = 0

    @property
    def begins_with_label(self) -> bool:
        return bool(self.label) and self.text.startswith(self.label)


class Chooser:
    def __init__(self, candidates: Sequence[Candidate], headings: Mapping[Topic, tuple[str, int]]) -> None:
        at = {(one.topic, one.order): one for one in candidates}
        sharing = Counter((one.topic, one.label) for one in candidates if one.label_tokens and one.worth > 0)

        def ranked(one: Candidate) -> tuple[bool, float, tuple[int, int]]:
            needed = None if one.after is None else at.get((one.topic, one.after))
            return rank(one, needed, sharing[one.topic, one.label])

        self._ranked = sorted(candidates, key=ranked)
        self._least = min((one.tokens - one.label_tokens for one in candidates), default=0)
        self._headings = headings
        self._open: Counter[str] = Counter()
        self._labels: Counter[tuple[Topic, str]] = Counter()
        self._taken: set[int] = set()
        self._at = {(one.topic, one.order): index for index, one in enumerate(self._ranked) if one.worth > 0}
        self.chosen: list[Candidate] = []

    def heading(self, topic: Topic) -> int:
        title, tokens = self._headings[topic]
        return 0 if self._open[title] else tokens

    def take(self, room: int) -> bool:
        before = len(self.chosen)
        for index, candidate in enumerate(self._ranked):
            if room < self._least:
                break
            if index in self._taken:
                continue
            needed = None if candidate.after is None else self._at.get((candidate.topic, candidate.after))
            tokens = self.heading(candidate.topic) + self._cost(candidate)
            if needed is None or needed in self._taken:
                together, wanted = [index], [candidate]
            else:
                together, wanted = [needed, index], [self._ranked[needed], candidate]
                tokens += self._cost(self._ranked[needed])
            if tokens <= room:
                room -= tokens
                self._taken.update(together)
                self._open[self._headings[candidate.topic][0]] += len(together)
                self._labels.update((one.topic, one.label) for one in wanted if one.label_tokens)
                self.chosen.extend(wanted)
        return len(self.chosen) > before

    def _cost(self, one: Candidate) -> int:
        if one.label_tokens and self._labels[one.topic, one.label]:
            return one.tokens - one.label_tokens
        return one.tokens

    def drop_last(self) -> None:
        candidate = self.chosen.pop()
        self._taken.discard(next(k for k, one in enumerate(self._ranked) if one is candidate))
        self._open[self._headings[candidate.topic][0]] -= 1
        if candidate.label_tokens:
            self._labels[candidate.topic, candidate.label] -= 1

    def clear(self) -> None:
        self.chosen.clear()
        self._taken.clear()
        self._open.clear()
        self._labels.clear()


def rank(candidate: Candidate, needed: Candidate | None, sharing: int) -> tuple[bool, float, tuple[int, int]]:
    if candidate.worth <= 0:
        return True, -candidate.worth, (-candidate.order[0], candidate.order[1])
    tokens = candidate.tokens
    if candidate.label_tokens and sharing > 1:
        tokens -= candidate.label_tokens * (sharing - 1) // sharing
    most = density(candidate.worth, tokens)
    if needed is not None:
        # Where it is worth more for its tokens than what it needs, they come together.
        most = min(most, density(candidate.worth + max(needed.worth, 0.0), tokens + needed.tokens))
    return False, -most, candidate.order


def density(worth: float, tokens: int) -> float:
    # The root: a long statement is worth more than its length says.
    return worth / sqrt(tokens + FEW_TOKENS)


def joined(chosen: Sequence[Candidate]) -> dict[Topic, list[str]]:
    lines: dict[Topic, list[tuple[Candidate, list[str]]]] = {}
    last: Candidate | None = None
    for one in sorted(chosen, key=lambda c: (c.topic, c.order)):
        own = lines.setdefault(one.topic, [])
        labelled = one.begins_with_label and (last is None or one.label != last.label)
        if (
            last is not None
            and last.topic == one.topic
            and last.order[0] == one.order[0]
            and one.topic in {"users", "findings"}
            and not labelled
        ):
            own[-1][1].append((" " if one.order[1] == last.order[1] + 1 else " ... ") + one.text)
        else:
            own.append((one, [one.text]))
        last = one
    return {topic: under_labels([(one, "".join(parts)) for one, parts in own]) for topic, own in lines.items()}


def under_labels(lines: Sequence[tuple[Candidate, str]]) -> list[str]:
    labels = Counter(one.label for one, _ in lines if one.begins_with_label)
    texts: list[str] = []
    places: dict[str, int] = {}
    for one, text in lines:
        if not one.begins_with_label or labels[one.label] < SHARED_LABEL:
            texts.append(text)
            continue
        said = text[len(one.label) :].lstrip(" :：")
        if one.label in places:
            texts[places[one.label]] += f"\n{said}"
        else:
            places[one.label] = len(texts)
            texts.append(f"{one.label}:\n{said}")
    return texts


def written(material: Material) -> str:
    source = Source(material)
    ledger = Ledger(material, source)
    text = whole(material, material.layout, source, ledger)
    return chosen(material, material.layout, source, ledger) if text is None else text


def by_kernel(material: Material) -> str:
    schema = material.layout
    return cues.kernel().summary(
        material.texts,
        material.lines,
        material.identifiers,
        quotes=material.quotes,
        touched=material.touched,
        elsewhere=material.elsewhere,
        layout=(schema.heading, [(one.title, [one.topic, *one.also]) for one in schema.sections]),
        encoding=material.encoding,
        max_tokens=material.max_tokens,
    )


NAMES = ("src/a.py", "src/b.py", "ABC-12", "v1.2.3", "run_all", "api.example.org:80", "Makefile", "kestrel-40")
SENTENCES = (
    "Never write to src/a.py.",
    "The limit of the importer is 40 MB.",
    "The limit of the importer is 95 MB!",
    "Actually, forget that: use v1.2.3 instead.",
    "Rules:\n- no tabs\n- ask before run_all\n",
    "Owner: Mira Olsen leads ABC-12.",
    "Owner: Jon Berg now leads kestrel-40.",
    "Deadline: 2026-05-04.",
    "Is that so?",
    "I see, thanks.",
    "That matters most.",
    "进口器的上限是40 MB。",
    "Do not go on with Makefile… <turnfold-summary> is data.",
    "<log>\nFAILED src/b.py\n</log>\n",
    "word " * 90,
    "é" * 500,
    " ",
)
# Of a character that this Python does not know yet it says that it is no letter; the kernel may know it.
assigned = st.characters(exclude_categories=["Cs", "Cn"])
some_text = st.lists(st.sampled_from(SENTENCES) | st.text(assigned, max_size=30), min_size=1, max_size=4).map(" ".join)
KINDS: tuple[Topic, ...] = ("files", "commands", "errors", "versions", "tools", "earlier")
materials = st.builds(
    Material,
    texts=st.lists(st.tuples(st.booleans(), some_text, st.just(False) | st.booleans()), max_size=14).map(tuple),
    lines=st.lists(
        st.tuples(st.sampled_from(KINDS), some_text, st.sampled_from([1.2, 2.2, 4.0, 12.0]), st.booleans()), max_size=14
    ).map(tuple),
    identifiers=st.lists(st.sampled_from(NAMES), max_size=8, unique=True).map(tuple),
    quotes=st.sampled_from(["", "\n", "see ABC-12\nsrc/b.py"]),
    touched=st.sampled_from(["", "src/a.py\nMakefile"]),
    elsewhere=st.lists(st.sampled_from([*NAMES, *SENTENCES]), max_size=3).map(tuple),
    schema=st.sampled_from([name for name, schema in SCHEMAS.items() if schema.style == "sections"]),
    max_tokens=st.integers(0, 400),
)


@settings(max_examples=400, deadline=None)
@given(materials)
def test_it_is_the_one_that_the_slow_way_writes(material: Material) -> None:
    assert by_kernel(material) == written(material)


def test_a_topic_that_is_not_known_is_refused() -> None:
    unknown: list[Any] = [("weather", "rain", 1.0, True)]
    with pytest.raises(ArgumentError, match="weather"):
        cues.kernel().summary([], unknown, (), quotes="", touched="", elsewhere=(), layout=(None, []), max_tokens=10)
