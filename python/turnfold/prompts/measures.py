"""Measures of a reply against its source, in any language: they compare texts and know no phrases."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Final

from turnfold import meter
from turnfold.model.summary import SummaryRequest
from turnfold.prompts.schema import SummarySchema
from turnfold.quoting import Shown

_WINDOW_BYTES: Final = 48
_WINDOW_STEP: Final = 12
_MOST_WINDOWS: Final = 256
_LEAST_WINDOWS: Final = 6

_FENCED = re.compile(r"^(```|~~~)[^\n]*\n(.*?)(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
_QUESTION_MARKS: Final = "?\uff1f\u061f"
_SENTENCE_ENDS: Final = _QUESTION_MARKS + ".!:\uff1a\u3002\uff01;\n"
_LEAST_QUESTION: Final = 8
_WORD = re.compile(r"[^\W\d_]{4,}|\d{2,}")
_LEAST_WORDS: Final = 8
_STEM: Final = 5
_SAMPLE: Final = 400  # letters that tell a text's script
_SPOKEN_LINE = re.compile(
    "^[^\\S\n]*(?:system|developer|user|human|assistant|model|tool)\\s*[:\uff1a]", re.IGNORECASE | re.MULTILINE
)
_QUOTATION = re.compile(r"^<turnfold-(?:transcript|message|call|result|reasoning)\b", re.MULTILINE)
_CHUNK: Final = 1 << 13  # characters: one call of the interpreter's on much more would hold it for milliseconds
_RANKS: Final = (3, 1, 2, 0)  # by what the kernel says of a name: neither, the user's, in a failure, both
_UNSPACED: Final = {"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"}


class Source:
    """What a reply is compared with: all that its summarizer was shown, made ready when it is first needed.

    Megabytes are joined, folded and searched in the kernel, while other threads run.
    """

    def __init__(self, request: SummaryRequest) -> None:
        self._request = request

    @cached_property
    def shown(self) -> Shown:
        """The texts in the kernel: the messages that the reply replaces, and what was shown beside them."""
        one = self._request
        parts = [part for message in one.messages for part in message.parts]
        flags = bytes(
            (message.role == "user" and part.kind == "text") + 2 * part.is_error
            for message in one.messages
            for part in message.parts
        )
        texts = [part.text for part in parts]
        return Shown(texts, flags, self._beside(), one.identifiers)

    def texts(self) -> Iterator[str]:
        """Give all texts, one after the other: what is said in none of them is new."""
        yield from (part.text for message in self._request.messages for part in message.parts)
        yield from self._beside()
        yield from self._request.identifiers

    def _beside(self) -> list[str]:
        one = self._request
        texts = [text for text in (one.task, one.latest, one.previous, *one.partials) if text]
        names = (name for message in one.messages for part in message.parts for name in (part.name, part.call_id))
        # In loops of the interpreter's, which let other threads have it.
        return [*texts, *[name for name in names if name]]

    def by_worth(self, names: Sequence[str]) -> list[str]:
        """Return `names`, which are in the order in which they came, the ones first that are missed most.

        Those of the user come first, then those of results that report a failure, then the others; late before early.
        """
        of_rank: list[list[str]] = [[], [], [], []]
        for name, speakers in zip(names, self.shown.speakers([*names]), strict=True):
            of_rank[_RANKS[speakers]].append(name)
        return [name for rank in of_rank for name in reversed(rank)]


def shows_nothing(text: str) -> bool:
    """Whether a text has not one character that can be seen: blanks of all kinds, marks without width, controls."""
    return not any(character.isprintable() and not character.isspace() for character in text)


def copied_share(text: str, source: Source) -> float:
    """Return the share of `text` that consists of stretches of the conversation, 0 for a text too short to tell.

    Windows of 48 bytes (16 ideographs, 48 Latin letters) at even distances are looked up: a quoted name or phrase is
    shorter, a repeated paragraph is not. At most 256 look-ups in the conversation, each at the speed of memory.
    """
    line = " ".join(text.split())
    windows = list(_windows(line))
    if len(windows) < _LEAST_WINDOWS:
        return 0.0
    return source.shown.copied(windows) / len(windows)


def _windows(line: str) -> list[str]:
    # As many characters as make the window's bytes on average: a text changes its script seldom.
    width = max(1, round(_WINDOW_BYTES * len(line) / max(1, len(line.encode("utf-8", "replace")))))
    last = len(line) - width
    step = max(_WINDOW_STEP, last // _MOST_WINDOWS + 1) if width == _WINDOW_BYTES else max(1, width // 4)
    step = max(step, last // _MOST_WINDOWS + 1)
    return [line[start : start + width] for start in range(0, last + 1, step)]


def carries_on(text: str, source: Source, schema: SummarySchema) -> bool:
    """Whether `text` looks like the conversation's next message, or its next turns, instead of a summary.

    What goes on with the quotation is none, whatever it says. A text with one of the headings that were asked for is
    one. A text without is not where it has lines of several speakers, where most of it is code that the conversation
    does not hold, where it ends with a question that nobody asked, or where most of its identifiers are its own.
    """
    if _QUOTATION.search(text):
        return True
    if has_headings(text, schema):
        return False
    if len(_SPOKEN_LINE.findall(text)) >= 2:
        return True
    code = "\n".join(found[2] for found in _FENCED.finditer(text))
    if len(code) > len(text) / 2 and copied_share(code, source) < 0.5 and not source.shown.says(code.strip()):
        return True
    question = _last_question(text)
    if question is not None and not source.shown.holds(question):
        return True
    names = meter.identifiers(text)
    new = new_identifiers(text, source)
    return len(new) >= 3 and len(new) > len(names) / 2


def _last_question(text: str) -> str | None:
    """The question that a text ends with; a pattern for it would start anew at each letter of a line."""
    end = text.rstrip()
    if not end.endswith(tuple(_QUESTION_MARKS)):
        return None
    start = max(end.rfind(mark, 0, -1) for mark in _SENTENCE_ENDS) + 1
    return end[start:].strip() if len(end) - 1 - start >= _LEAST_QUESTION else None


def has_headings(text: str, schema: SummarySchema) -> bool:
    """Whether one of the schema's headings starts a line of `text`, however it is marked up."""
    titles = [section.title for section in schema.sections]
    if schema.heading is not None:
        titles.append(schema.heading.strip("# "))
    lines = (line.lstrip("#*->_ \t").casefold() for line in text.splitlines())
    starts = tuple(title.casefold() for title in titles)
    return any(line.startswith(starts) for line in lines)


def new_identifiers(text: str, source: Source) -> tuple[str, ...]:
    """Return the identifiers of `text` that stand nowhere in what the summarizer was given.

    A function may be called `load()` where the source defines `load(path)`.
    """
    names = meter.identifiers(text)
    bare = [name.removesuffix("()") for name in names]
    return tuple(name for name, known in zip(names, source.shown.occurring(bare), strict=True) if not known)


def shares_nothing(text: str, source: Source) -> bool:
    """Whether not one word or number of `text` begins like one of the source.

    Only for texts of eight words or more, and only where both are in one script: a translation shares few words.
    """
    words = list(_words(text))
    own = chain.from_iterable(_words(piece) for piece in _pieces(source))
    if len(words) < _LEAST_WORDS or len(list(islice(own, _LEAST_WORDS))) < _LEAST_WORDS:
        return False
    return _script([text]) == _script(_pieces(source)) and not source.shown.any_of(words)


def _pieces(source: Source) -> Iterator[str]:
    return (text[start : start + _CHUNK] for text in source.texts() for start in range(0, len(text), _CHUNK))


def _words(text: str) -> Iterator[str]:
    return chain.from_iterable(_stems(found[0]) for found in _WORD.finditer(text.lower()))


def _stems(word: str) -> tuple[str, ...]:
    if _unspaced(word[0]):
        return tuple(word[start : start + 2] for start in range(len(word) - 1))
    return (word[:_STEM],)


def _unspaced(character: str) -> bool:
    """Whether it is of a script that writes without spaces between words."""
    return character >= "\u0e00" and _script([character]) in _UNSPACED


def _script(texts: Iterable[str]) -> str:
    """The script of most of the first letters."""
    counts: dict[str, int] = {}
    letters = chain.from_iterable([*filter(str.isalpha, text)] for text in texts)
    for character in islice(letters, _SAMPLE):
        name = unicodedata.name(character, "?").partition(" ")[0]
        counts[name] = counts.get(name, 0) + 1
    return max(counts, key=counts.__getitem__, default="")
