"""Texts as statements: sentences, lines and list items, each with what it is worth to somebody who reads only it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, pairwise
from math import log
from typing import Literal

from turnfold import meter
from turnfold.summarizers.extractive import cues

Speaker = Literal["user", "assistant"]

_END = re.compile(r"[.!?…][\"'”»)\]*_]*\s+|[。！？][」』”）]*|\n+")
_ITEM = re.compile(r"\s*(?:[-*•+>]|\d{1,2}[.)]|[a-z]\))\s+")
_LABEL = re.compile(r"(?!https?:)([^\W\d_][\w .'/-]{1,30}?)\s?[:：]\s?(?=\S)")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:\w|\w\.\w|e\.g|i\.e|etc|vs|cf|ca|Dr|Mr|Mrs|Ms|No|Nr|z\. ?B|bzw|usw|p\. ?ej|т\. ?е|д)\.\W*$"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_GLUED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]+")
_NAME = re.compile(
    r"(?<=[\w,;:)→] )[A-ZÀ-ÞА-ЯЁ][\w'’-]+(?: [A-ZÀ-ÞА-ЯЁ][\w'’-]+)+|^[A-ZÀ-Þ][\w'’-]+ [A-ZÀ-Þ][\w'’-]+(?= )"
)
_QUANTITY = re.compile(r"[$€£¥₽]\s?\d|\d[\d.,:]*\s?(?:%|[^\W\d_]{1,12})|\d")
_QUOTED = re.compile(r"[\"“„«`「][^\"”“»`」\n]{2,80}[\"”“»`」]")
_ENDINGS = ("ing", "ers", "ed", "er", "es", "en", "s", "e")
_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "that",
        "this",
        "with",
        "from",
        "have",
        "has",
        "had",
        "are",
        "was",
        "were",
        "will",
        "would",
        "could",
        "should",
        "can",
        "not",
        "but",
        "you",
        "your",
        "our",
        "their",
        "they",
        "them",
        "then",
        "than",
        "there",
        "here",
        "its",
        "into",
        "onto",
        "over",
        "under",
        "about",
        "which",
        "when",
        "what",
        "who",
        "how",
        "all",
        "any",
        "some",
        "one",
        "two",
        "just",
        "also",
        "been",
        "being",
        "more",
        "most",
        "only",
        "other",
        "such",
        "very",
        "per",
        "via",
        "use",
        "used",
        "using",
        "now",
        "new",
        "instead",
        "update",
        "updated",
        "change",
        "changed",
        "correction",
        "actually",
        "please",
        "und",
        "der",
        "die",
        "das",
        "den",
        "dem",
        "des",
        "ein",
        "eine",
        "ist",
        "sind",
        "war",
        "mit",
        "von",
        "für",
        "auf",
        "aus",
        "bei",
        "nicht",
        "les",
        "des",
        "une",
        "est",
        "sont",
        "pour",
        "avec",
        "dans",
        "sur",
        "pas",
        "que",
        "qui",
        "los",
        "las",
        "una",
        "son",
        "para",
        "con",
        "por",
        "del",
        "как",
        "что",
        "это",
        "для",
        "или",
    ]
)
_FENCE = "```"
_TAG = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?(?<!/)>")
_TICKED = re.compile(r"`[^`\n]*`")
_CODE = re.compile(
    # How a line of source, markup, data or a terminal begins,
    r"^(?:</?[A-Za-z]|\$ [a-z]|[\w.-]{1,64}@[\w.-]{1,64}:\S{0,128}[$#] |[-dl][-rwx]{9}|\"[\w-]+\":|File \"|"
    r"from \S+ import |import [{*\"']|(?:const|let|var) [\w{\[][^=]* = |(?:def|class|function) \w+[(:]|"
    r"[\w.]+(?:: [\w.]+)?,$)|"
    # how one ends, and what stands in none that is said.
    r"(?:[{(\[<]|[)\]}\"'][;,]|=>)$|=> [{(]|</[A-Za-z]|/>|\w=[\"{]"
)
_ENCLOSED_PART = 0.6
_CODE_PART = 0.3
_REMEMBERED = 4096  # statements of a transcript, and of others like it, whose features are not found again
_SHORT = 2048  # characters of a text that is worth remembering: forks and retries say the same
_FEW_STEMS = 5
_LEAST_TO_HANG_ON = 2.0


@dataclass(slots=True)
class Statement:
    """One statement. `order` is its message's place among the texts, `place` its own in that message.

    `label` is what stands before its colon, or the colon of its line, or the line that heads its list; `text` holds the
    label if it is its own.
    `enclosed` is set where it stands in tags, as output, documents and reminders do that somebody hands on.
    `score` says what it is worth; 0 and less is small talk. `replaced` is set where a later statement takes its place,
    `doubtful` where one seems to. Without the sentence at the place `after` it says too little.
    """

    speaker: Speaker
    order: int
    place: int
    text: str
    label: str
    enclosed: bool = False
    score: float = 0.0
    replaced: bool = False
    doubtful: bool = False
    after: int | None = None
    plain: str = ""
    names: tuple[str, ...] = ()
    stems: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_labelled(self) -> bool:
        """Whether its label is its own."""
        return bool(self.label) and self.text.startswith(self.label)


def split(text: str) -> list[tuple[str, str, bool]]:
    """Cut `text` into statements, each with the label or list heading that it stands under, and whether it is enclosed.
    Code in fences is left out.
    """
    found: list[tuple[str, str, bool]] = []
    heading = ""
    fenced = False
    tag = ""
    ends: dict[str, int] = {}
    at = 0
    for line in text.split("\n"):
        at += len(line) + 1
        if tag:
            enclosed = True
            tag = "" if f"</{tag}>" in line else tag
        elif opened := _TAG.match(line.lstrip()):
            # One that is never closed is a word in angle brackets.
            name = opened[1]
            end = ends[name] if name in ends else ends.setdefault(name, text.rfind(f"</{name}>"))
            enclosed = end >= at - len(line) - 1
            tag = name if end >= at else ""
        else:
            enclosed = False
        if line.lstrip().startswith(_FENCE):
            fenced = not fenced
            continue
        if fenced or not line.strip():
            continue
        item = _ITEM.match(line)
        body = line[item.end() :] if item else line.strip()
        indented = line[:1] in {" ", "\t"} or item is not None
        if not indented:
            heading = ""
        stripped = body.rstrip()
        if stripped.endswith((":", "：")) and len(stripped) <= 80:
            heading = stripped[:-1].strip()
            continue
        if stripped.startswith("#"):
            heading = stripped.lstrip("# ").strip()
            continue
        label = heading
        for sentence in _sentences(stripped):
            own = _LABEL.match(sentence)
            label = own[1] if own else label
            found.append((sentence, label, enclosed))
    return found


def _sentences(line: str) -> Iterable[str]:
    start = 0
    for end in _END.finditer(line):
        following = line[end.end() : end.end() + 1]
        before = line[start : end.start() + 1]
        if following.islower() or (line[end.start()] == "." and _ABBREVIATION.search(before)):
            continue
        if before.strip():
            yield line[start : end.end()].strip()
        start = end.end()
    if line[start:].strip():
        yield line[start:].strip()


def _cut(text: str) -> list[tuple[str, str, bool, str]]:
    """Cut `text` into statements: each with its label, whether it is enclosed, and as it is compared."""
    return [(sentence, label, held, " ".join(sentence.lower().split())) for sentence, label, held in split(text)]


@lru_cache(_REMEMBERED)
def _cut_short(text: str) -> list[tuple[str, str, bool, str]]:
    return _cut(text)


def statements_of(texts: Sequence[tuple[Speaker, str]]) -> list[Statement]:
    """Cut texts, the oldest first, into statements and weigh each. Linear in the texts."""
    made: list[Statement] = []
    for order, (speaker, text) in enumerate(texts):
        cut = _cut_short(text) if len(text) <= _SHORT else _cut(text)
        made += [
            Statement(speaker, order, place, sentence, label, enclosed, plain=plain)
            for place, (sentence, label, enclosed, plain) in enumerate(cut)
        ]
    for statement in made:
        statement.names = _names(statement.text)
        statement.stems = stems_of(statement.plain)
    often = Counter(chain.from_iterable(statement.stems for statement in made))
    rare = {stem for stem, times in often.items() if times <= 2}
    said = Counter(statement.plain for statement in made)
    asked = {order + 1 for order, (speaker, text) in enumerate(texts) if speaker == "assistant" and _asks(text)}
    last = max(len(texts) - 1, 1)
    for before, statement in pairwise(made):
        if before.order == statement.order and statement.label == before.label and not statement.is_labelled:
            # It goes on with what stands behind a label.
            statement.after = before.place if before.is_labelled else before.after
    for statement in made:
        speaker, order, stems = statement.speaker, statement.order, statement.stems
        label = statement.label if statement.after is None else ""
        score = _worth(speaker, statement.text, label, statement.plain, said[statement.plain])
        if stems:
            score += 1.2 * len(stems & rare) / len(stems)
        score += 0.6 * order / last
        score += 0.8 if order in asked and speaker == "user" else 0.0
        statement.score = _ENCLOSED_PART * score if statement.enclosed and score > 0 else score
    _lend(made)
    for before, statement in pairwise(made):
        if before.order == statement.order and statement.after is None and _hangs(before, statement):
            statement.after = before.place
    return made


def _hangs(before: Statement, statement: Statement) -> bool:
    return (
        before.score >= _LEAST_TO_HANG_ON
        and len(statement.stems) <= _FEW_STEMS
        and not _has_value(statement)
        and not cues.decides(statement.plain)
        and not cues.updates(statement.plain)
    )


@lru_cache(_REMEMBERED)
def _names(text: str) -> tuple[str, ...]:
    return meter.identifiers(text)


def _has_value(statement: Statement) -> bool:
    return bool(statement.names) or any(p.search(statement.text) for p in (_QUANTITY, _NAME, _QUOTED))


def _asks(text: str) -> bool:
    return text.rstrip().endswith(("?", "？"))


@lru_cache(_REMEMBERED)
def _worth(speaker: Speaker, text: str, label: str, plain: str, times: int) -> float:
    forbids = min(cues.count_forbid(plain), 2)
    obliges = min(cues.count_oblige(plain), 2)
    wish, decision, update = cues.wishes(plain), cues.decides(plain), cues.updates(plain)
    names = len(_names(text))
    score = 1.6 * forbids + 1.4 * obliges + 1.5 * wish + 1.5 * decision + 0.8 * update
    score += 1.8 * cues.stands(plain)
    if label:
        score += 2.0 if label.isupper() else 0.8
    score += min(1.0 * names, 2.4)
    score += 1.0 if _QUANTITY.search(text) else 0.0
    score += 0.9 if _NAME.search(text) else 0.0
    score += 0.5 if _QUOTED.search(text) else 0.0
    if _asks(text):
        score = 0.4 * score - 1.5
    if cues.digresses(plain):
        score -= 1.5
    if times > 1 and not (forbids or obliges or wish):
        score -= min(0.7 * times, 3.0)
    if len(text) < 12 and not names:
        score -= 1.0
    if score > 0 and _CODE.search(_TICKED.sub("", text)):
        score *= _CODE_PART
    return score + 0.8 if speaker == "user" else 0.6 * score - 1.0


def _lend(made: Sequence[Statement]) -> None:
    """Let a statement that points back lend its worth to the one that it points to, some of it to those before."""
    for index, statement in enumerate(made):
        if statement.score < 2.0 or not cues.points_back(statement.plain):
            continue
        strength, lent = 1.0, False
        for earlier in reversed(made[max(0, index - 3) : index]):
            if earlier.order != statement.order or earlier.speaker != statement.speaker:
                break
            earlier.score = max(earlier.score, strength * statement.score)
            strength, lent = 0.85 * strength, True
        # It says little alone.
        statement.score *= 0.6 if lent else 1.0


@lru_cache(_REMEMBERED)
def stems_of(plain: str) -> frozenset[str]:
    """Return the words that say what a text is about, cut to stems; pairs of characters where no spaces part words."""
    return frozenset().union(*map(_stems, _WORD.findall(plain)))


@lru_cache(16 * _REMEMBERED)
def _stems(word: str) -> tuple[str, ...]:
    if _GLUED.search(word):
        runs = _GLUED.findall(word)
        return tuple(run[k : k + 2] for run in runs for k in range(max(len(run) - 1, 1)))
    if len(word) <= 2 or word in _COMMON:
        return ()
    return (next((word[: -len(e)] for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), word),)


def rarity(made: Sequence[Statement]) -> dict[str, float]:
    """How much each stem tells: the logarithm of how few statements have it."""
    often = Counter(chain.from_iterable(statement.stems for statement in made))
    return {stem: log((len(made) + 1) / times) for stem, times in often.items()}
