"""Choosing lines for their worth within a number of tokens, and setting what was chosen."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt

import msgspec

from turnfold.prompts.schema import Topic

_FEW_TOKENS = 8
_SHARED_LABEL = 2


class Candidate(msgspec.Struct, gc=False):
    """One line that may go in. `order` is its place among all others of its topic; `worth` 0 and less waits for room
    that nothing else wants. `after` is the place of the line without which it says nothing. `label_tokens` is what the
    label costs where the line begins with it.
    """

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
        """Whether it has a label and says it first."""
        return bool(self.label) and self.text.startswith(self.label)


class Chooser:
    """Takes the lines with the most worth for their tokens."""

    def __init__(self, candidates: Sequence[Candidate], headings: Mapping[Topic, tuple[str, int]]) -> None:
        at = {(one.topic, one.order): one for one in candidates}
        sharing = Counter((one.topic, one.label) for one in candidates if one.label_tokens and one.worth > 0)

        def rank(one: Candidate) -> tuple[bool, float, tuple[int, int]]:
            needed = None if one.after is None else at.get((one.topic, one.after))
            return _rank(one, needed, sharing[one.topic, one.label])

        self._ranked = sorted(candidates, key=rank)
        self._least = min((one.tokens - one.label_tokens for one in candidates), default=0)
        self._headings = headings
        self._open: Counter[str] = Counter()
        self._labels: Counter[tuple[Topic, str]] = Counter()
        self._taken: set[int] = set()
        self._at = {(one.topic, one.order): index for index, one in enumerate(self._ranked) if one.worth > 0}
        self.chosen: list[Candidate] = []

    def heading(self, topic: Topic) -> int:
        """What it costs to begin with `topic`, in tokens; 0 where its section is there already."""
        title, tokens = self._headings[topic]
        return 0 if self._open[title] else tokens

    def choose(self, room: int) -> None:
        """Take as much as fits `room` tokens."""
        self._take(room)

    def choose_more(self, room: int) -> bool:
        """Take what still fits `room` tokens; say whether that was anything."""
        return self._take(room)

    def _take(self, room: int) -> bool:
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
        """What a line costs; a label that stands there already is not paid for again."""
        if one.label_tokens and self._labels[one.topic, one.label]:
            return one.tokens - one.label_tokens
        return one.tokens

    def drop_last(self) -> None:
        """Give back what was taken last."""
        candidate = self.chosen.pop()
        self._taken.discard(next(k for k, one in enumerate(self._ranked) if one is candidate))
        self._open[self._headings[candidate.topic][0]] -= 1
        if candidate.label_tokens:
            self._labels[candidate.topic, candidate.label] -= 1

    def clear(self) -> None:
        """Give everything back."""
        self.chosen.clear()
        self._taken.clear()
        self._open.clear()
        self._labels.clear()


def _rank(candidate: Candidate, needed: Candidate | None, sharing: int) -> tuple[bool, float, tuple[int, int]]:
    if candidate.worth <= 0:
        return True, -candidate.worth, (-candidate.order[0], candidate.order[1])
    tokens = candidate.tokens
    if candidate.label_tokens and sharing > 1:
        tokens -= candidate.label_tokens * (sharing - 1) // sharing
    density = _density(candidate.worth, tokens)
    if needed is not None:
        # Where it is worth more for its tokens than what it needs, they come together.
        density = min(density, _density(candidate.worth + max(needed.worth, 0.0), tokens + needed.tokens))
    return False, -density, candidate.order


def _density(worth: float, tokens: int) -> float:
    # The root: a long statement is worth more than its length says.
    return worth / sqrt(tokens + _FEW_TOKENS)


def joined(chosen: Sequence[Candidate]) -> dict[Topic, list[str]]:
    """Set lines by topic, in order: sentences of one message as one item, and under one label what shares it."""
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
    return {topic: _under_labels([(one, "".join(parts)) for one, parts in own]) for topic, own in lines.items()}


def _under_labels(lines: Sequence[tuple[Candidate, str]]) -> list[str]:
    labels = Counter(one.label for one, _ in lines if one.begins_with_label)
    texts: list[str] = []
    places: dict[str, int] = {}
    for one, text in lines:
        if not one.begins_with_label or labels[one.label] < _SHARED_LABEL:
            texts.append(text)
            continue
        said = text[len(one.label) :].lstrip(" :：")
        if one.label in places:
            texts[places[one.label]] += f"\n{said}"
        else:
            places[one.label] = len(texts)
            texts.append(f"{one.label}:\n{said}")
    return texts
