"""Which statements a later one replaces: the same said with another value, or an update about the same."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from math import fsum

from turnfold.summarizers.extractive import cues
from turnfold.summarizers.extractive.statements import Statement, rarity, stems_of

_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|"
    "nov(?:ember)?|dec(?:ember)?"
)
_NUMBER = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|forty|fifty|hundred|thousand|million)"
_VALUES = (
    (
        "date",
        re.compile(
            rf"\b\d{{4}}-\d\d?-\d\d?\b|\b\d\d?-\d\d?\b|\b(?:{_MONTH})\.? \d{{1,2}}\b|\b\d{{1,2}}\.\d{{1,2}}\.\d*"
        ),
    ),
    (
        "money",
        re.compile(
            rf"[$€£¥₽]\s?\d[\d.,]*|\d[\d.,]*\s?(?:usd|eur|dollars?|euros?|yen)\b|{_NUMBER}[\w -]* (?:dollars?|euros?)"
        ),
    ),
    ("path", re.compile(r"(?<![\w/])(?:https?://)?[\w.-]+(?:/[\w.-]+)+")),
    ("id", re.compile(r"\b(?=\w*[a-z-]*\d)[\w]+-[\w-]*\d[\w-]*\b|\b[0-9a-f]{7,40}\b")),
    ("size", re.compile(r"\d[\d.,]*\s?[^\W\d_]{1,12}|\d[\d.,]*\s?%")),
    ("number", re.compile(r"\d[\d.,:]*")),
)
_MAY_HOLD_VALUE = re.compile("[\\d/]|dollar|euro|[a-f]{7}")
"""What every match of `_VALUES` holds one of."""
_MAY_HOLD_MONEY = re.compile("[$€£¥₽]|usd|eur|dollar|yen")
"""The same for money."""
_REMEMBERED = 4096
_PROPER = re.compile(
    r"(?<=[\w,;)→] )[A-ZÀ-ÞА-ЯЁ][\w'’-]*(?: [A-ZÀ-ÞА-ЯЁ][\w'’-]*)*|"
    r"(?<!\S)[A-ZÀ-ÞА-ЯЁ][\w'’-]+(?: [A-ZÀ-ÞА-ЯЁ][\w'’-]+)+"
)
_SETTING = re.compile(
    r"\b(?:is|are|was|be|to|at|of|=|equals|ist|sind|liegt|bei|auf|est|vaut|sur|es|son|de|è|равн[аоы]?|на|limit|cap|max|"
    r"min|set)\b|[=:：]|是|为|は|を|に|—|-?(?:이|가|은|는) "
)
_SET_TO = re.compile(r"(?<!\w)(?:is|to|at|=|ist|auf|est|es|son|è|на)\s$|(?:是|为|は)\s?$")
_LIKENESS = 0.55
_LEAST_LIKENESS = 0.16
_MARK = "\0"
_LIST_LENGTH = 4


def mark_replaced(made: Sequence[Statement]) -> None:
    """Set `replaced` where a later statement says the same with another value, `doubtful` where it seems to."""
    _by_frame(made)
    _by_topic(made)
    _by_reset(made)


def _by_frame(made: Sequence[Statement]) -> None:
    """Of statements that differ in the values of a setting only, the last counts; a list of them stays."""
    framed: dict[str, list[tuple[Statement, tuple[str, ...]]]] = defaultdict(list)
    for statement in made:
        frame, values = frame_of(statement.plain)
        if values and _is_setting(frame):
            framed[frame].append((statement, values))
    for group in framed.values():
        if len({values for _, values in group}) < 2:
            continue
        orders = [statement.order for statement, _ in group]
        if len(group) >= _LIST_LENGTH and len(set(orders)) == 1:
            continue
        last, latest = group[-1]
        for statement, values in group[:-1]:
            if values != latest and statement.order < last.order:
                statement.replaced = True


@lru_cache(_REMEMBERED)
def frame_of(plain: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement without its quantities, and those. What names a thing (a path, an id) is part of the frame
    unless it is what the setting is set to.
    """
    values: list[str] = []

    def take(match: re.Match[str]) -> str:
        values.append(match[0])
        return _MARK

    def take_what_is_set(match: re.Match[str]) -> str:
        return take(match) if _SET_TO.search(match.string, 0, match.start()) else match[0]

    def take_what_is_no_part(match: re.Match[str]) -> str:
        return match[0] if _inside_word(match) else take(match)

    frame = plain
    for kind, pattern in _values_in(plain):
        frame = pattern.sub(take_what_is_set if kind in {"path", "id"} else take_what_is_no_part, frame)
    return frame, tuple(values)


def _values_in(plain: str) -> Iterable[tuple[str, re.Pattern[str]]]:
    """The patterns of `_VALUES`, without those that match nothing in `plain` whatever is taken out of it."""
    if _MAY_HOLD_VALUE.search(plain) is None:
        return ()
    path, money = "/" in plain, _MAY_HOLD_MONEY.search(plain) is not None
    return [one for one in _VALUES if (path or one[0] != "path") and (money or one[0] != "money")]


def _inside_word(match: re.Match[str]) -> bool:
    """Whether a number is a part of a name: `us-west-2`, `judge-004`, `v2`."""
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    # Scripts without spaces (from U+0E00 on) stand beside a number as a space would.
    glued = before < "\u0e00" and before.isalnum()
    return glued or before in {"-", "_", "/", "."} or after in {"-", "_", "/"}


def _is_setting(frame: str) -> bool:
    key = frame.partition(_MARK)[0]
    return len(key) >= 3 and _SETTING.search(key) is not None


@lru_cache(_REMEMBERED)
def _classes_of(plain: str, said: str) -> Mapping[str, set[str]]:
    """The values in a statement by class; `said` is its text without its label."""
    found: dict[str, set[str]] = defaultdict(set)
    rest = plain
    for kind, pattern in _values_in(rest):
        for match in pattern.finditer(rest):
            found[kind].add(match[0])
        rest = pattern.sub(" ", rest)
    for match in _PROPER.finditer(said):
        found["name"].add(match[0])
    return dict(found)


def _by_topic(made: Sequence[Statement]) -> None:
    """An update replaces the earlier statement that shares most of its telling words, if their values are of a kind."""
    topics = _Topics(made)
    at: dict[str, list[int]] = defaultdict(list)
    for index, statement in enumerate(made):
        if cues.updates(statement.plain) and statement.speaker == "user" and not statement.replaced:
            found = topics.closest(index, at)
            if found is not None:
                found.doubtful = True
        if statement.score > 0 and not statement.replaced:
            for stem in statement.stems:
                at[stem].append(index)


def _unlabelled(statement: Statement) -> str:
    return statement.text.removeprefix(statement.label).lstrip(" :：")


@lru_cache(_REMEMBERED)
def _telling(plain: str, said: str) -> frozenset[str]:
    """The words of a statement that say what it is about, without its label and its values."""
    text = _PROPER.sub(" ", said).lower()
    for _, pattern in _values_in(text):
        text = pattern.sub(" ", text)
    return stems_of(text) & stems_of(plain)


class _Topics:
    """What statements are about. Each is looked at once, however many updates it is compared with."""

    def __init__(self, made: Sequence[Statement]) -> None:
        self._made = made
        self._tells = rarity(made)
        self._weight = cache(lambda index: fsum(self._tells[stem] for stem in self._telling(index)) or 1.0)

    def _telling(self, index: int) -> frozenset[str]:
        return _telling(self._made[index].plain, _unlabelled(self._made[index]))

    def _classes(self, index: int) -> Mapping[str, set[str]]:
        return _classes_of(self._made[index].plain, _unlabelled(self._made[index]))

    def closest(self, index: int, at: Mapping[str, Sequence[int]]) -> Statement | None:
        """Return the statement before the update at `index` that it is about, if there is one."""
        update = self._made[index]
        shares: dict[int, float] = defaultdict(float)
        # In an order of their own, for sums and ties to come out the same in every process.
        for stem in sorted(self._telling(index)):
            # What stands everywhere tells nothing, and would make this quadratic.
            for earlier in at.get(stem, ())[-12:]:
                shares[earlier] += self._tells[stem]
        best: tuple[float, Statement] | None = None
        for earlier, shared in shares.items():
            statement = self._made[earlier]
            if statement.order == update.order or statement.plain == update.plain:
                continue
            likeness = shared / self._weight(earlier)
            # Too little in common, whatever its values.
            if likeness < _LEAST_LIKENESS:
                continue
            alike = self._are_alike(index, earlier)
            if alike or likeness >= _LIKENESS:
                score = likeness + (0.4 if alike else 0.0)
                if best is None or score > best[0]:
                    best = (score, statement)
        return None if best is None else best[1]

    def _are_alike(self, update: int, earlier: int) -> bool:
        """Whether both have values of a class, which are not the same."""
        own, theirs = self._classes(update), self._classes(earlier)
        return any(found and own.get(kind) and found != own[kind] for kind, found in theirs.items())


def _by_reset(made: Sequence[Statement]) -> None:
    """What takes back replaces the decisions in the message of the same speaker before it."""
    previous: dict[str, list[Statement]] = {}
    current: dict[str, list[Statement]] = {}
    for statement in made:
        speaker = statement.speaker
        own = current.setdefault(speaker, [])
        if own and own[-1].order != statement.order:
            previous[speaker] = own
            own = current[speaker] = []
        own.append(statement)
        if speaker == "user" and cues.resets(statement.plain):
            for earlier in previous.get(speaker, ()):
                if cues.decides(earlier.plain) and not cues.count_forbid(earlier.plain):
                    earlier.doubtful = True
