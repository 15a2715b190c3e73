"""Choosing lines for their worth within a number of tokens, and setting what was chosen."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnfold.prompts.schema import Topic

_FEW_TOKENS = 8

_LENGTH_WEIGHT = 0.5
_FEW_TOKENS = 8
_SHARED_LABEL = 2


@dataclass(slots=True)
class Candidate:
    """One line that may go in. `order` is its place among all others of its topic; `worth` 0 and less waits for room
    that nothing else wants. `after` is the place of the line without which it says nothing.
    """

    topic: Topic
    order: tuple[int, int]
    text: str
    worth: float
    label: str = ""
    after: tuple[int, int] | None = None
    tokens: int = 0


class Chooser:
    """Takes the lines with the most worth for their tokens."""

    def __init__(self, candidates: Sequence[Candidate], headings: Mapping[Topic, tuple[str, int]]) -> None:
        self._ranked = sorted(candidates, key=_rank)
        self._headings = headings
        self._open: Counter[str] = Counter()
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
            if index in self._taken:
                continue
            needed = self._at.get((candidate.topic, candidate.after)) if candidate.after is not None else None
            together = [index] if needed is None or needed in self._taken else [needed, index]
            for wanted in (together, [index]):
                tokens = sum(self._ranked[k].tokens for k in wanted) + self.heading(candidate.topic)
                if tokens <= room:
                    room -= tokens
                    self._taken.update(wanted)
                    self._open[self._headings[candidate.topic][0]] += len(wanted)
                    self.chosen.extend(self._ranked[k] for k in wanted)
                    break
        return len(self.chosen) > before

    def drop_last(self) -> None:
        """Give back what was taken last."""
        candidate = self.chosen.pop()
        self._taken.discard(next(k for k, one in enumerate(self._ranked) if one is candidate))
        self._open[self._headings[candidate.topic][0]] -= 1

    def clear(self) -> None:
        """Give everything back."""
        self.chosen.clear()
        self._taken.clear()
        self._open.clear()


def _rank(candidate: Candidate) -> tuple[bool, float, tuple[int, int]]:
    if candidate.worth <= 0:
        return True, -candidate.worth, (-candidate.order[0], candidate.order[1])
    return False, -candidate.worth / (candidate.tokens + _FEW_TOKENS) ** _LENGTH_WEIGHT, candidate.order


def joined(chosen: Sequence[Candidate]) -> dict[Topic, list[str]]:
    """Set lines by topic, in order: sentences of one message as one item, and under one label what shares it."""
    labels = Counter((one.topic, one.label) for one in chosen if one.label and one.text.startswith(one.label))
    texts: dict[Topic, list[str]] = {}
    places: dict[tuple[Topic, str], int] = {}
    last: Candidate | None = None
    for one in sorted(chosen, key=lambda c: (c.topic, c.order)):
        own = texts.setdefault(one.topic, [])
        key = (one.topic, one.label)
        if labels[key] >= _SHARED_LABEL and one.text.startswith(one.label):
            said = one.text[len(one.label) :].lstrip(" :：")
            if key in places:
                own[places[key]] += f"\n{said}"
            else:
                places[key] = len(own)
                own.append(f"{one.label}:\n{said}")
            last = None
            continue
        if (
            last is not None
            and last.topic == one.topic
            and last.order[0] == one.order[0]
            and one.topic in {"users", "findings"}
        ):
            own[-1] += (" " if one.order[1] == last.order[1] + 1 else " ... ") + one.text
        else:
            own.append(one.text)
        last = one
    return texts
