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

_WINDOW_BYTES: Final = 48
_WINDOW_STEP: Final = 12
_MOST_WINDOWS: Final = 256
_LEAST_WINDOWS: Final = 6

_FENCED = re.compile(r"^(```|~~~)[^\n]*\n(.*?)(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile("[^.!?:\uff1a\u3002\uff01\uff1f\u061f;\n]{8,}[?\uff1f\u061f]\\s*\\Z")
_WORD = re.compile(r"[^\W\d_]{4,}|\d{2,}")
_LEAST_WORDS: Final = 8
_STEM: Final = 5
_SAMPLE: Final = 400  # letters that tell a text's script
_SPOKEN_LINE = re.compile(
    "^\\s*(?:system|developer|user|human|assistant|model|tool)\\s*[:\uff1a]", re.IGNORECASE | re.MULTILINE
)
_QUOTATION = re.compile(r"^<turnfold-(?:transcript|message|call|result|reasoning)\b", re.MULTILINE)
_SPACE = re.compile(r"\s")
_CHUNK: Final = 1 << 15  # characters: one call of the interpreter's on much more would hold it for milliseconds
_UNSPACED: Final = {"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"}


class Source:
    """What a reply is compared with. Each form of the text is made when it is first needed, once."""

    def __init__(self, request: SummaryRequest) -> None:
        self._request = request

    @cached_property
    def conversation(self) -> str:
        """The messages that the reply replaces, one text after the other."""
        return "\n".join(self._texts())

    @cached_property
    def all(self) -> str:
        """Everything that the summarizer was given: what is said in none of it is new."""
        one = self._request
        names = (name for message in one.messages for part in message.parts for name in (part.name, part.call_id))
        texts = chain((one.task, one.latest, one.previous, *one.partials), names, one.identifiers)
        return "\n".join(chain((self.conversation,), filter(None, texts)))

    @cached_property
    def collapsed(self) -> str:
        """The conversation on one line."""
        return on_one_line(self._texts())

    @cached_property
    def folded(self) -> str:
        """Everything, without regard to case."""
        return folded(self.all)

    def _texts(self) -> Iterator[str]:
        return (part.text for message in self._request.messages for part in message.parts)

    def by_worth(self, names: Sequence[str]) -> list[str]:
        """Return `names`, which are in the order in which they came, the ones first that are missed most.

        Those of the user come first, then those of results that report a failure, then the others; late before early.
        """
        parts = [(m.role, part) for m in self._request.messages for part in m.parts]
        user = "\n".join(part.text for role, part in parts if role == "user" and part.kind == "text")
        failed = "\n".join(part.text for _, part in parts if part.is_error)
        ranks = zip(names, meter.occurring(names, user), meter.occurring(names, failed), strict=True)
        of_rank: dict[tuple[bool, bool], list[str]] = {}
        for name, by_user, in_failure in ranks:
            of_rank.setdefault((by_user, in_failure), []).append(name)
        return [name for rank in sorted(of_rank, reverse=True) for name in reversed(of_rank[rank])]


def shows_nothing(text: str) -> bool:
    """Whether a text has not one character that can be seen: blanks of all kinds, marks without width, controls."""
    return not any(character.isprintable() and not character.isspace() for character in text)


def on_one_line(texts: Iterable[str]) -> str:
    """Return texts with single spaces for all that is blank between words; the interpreter is free now and then."""
    return " ".join(filter(None, (" ".join(piece.split()) for text in texts for piece in _between_words(text))))


def folded(text: str) -> str:
    """Return a text without regard to case, as `str.casefold`; the interpreter is free now and then."""
    return "".join(text[start : start + _CHUNK].casefold() for start in range(0, len(text), _CHUNK))


def _between_words(text: str) -> Iterator[str]:
    """Cut a text where it is blank, into pieces of a chunk or a little more."""
    start = 0
    while len(text) - start > _CHUNK and (gap := _SPACE.search(text, start + _CHUNK)) is not None:
        yield text[start : gap.start()]
        start = gap.start()
    yield text[start:]


def copied_share(text: str, source: Source) -> float:
    """Return the share of `text` that consists of stretches of the conversation, 0 for a text too short to tell.

    Windows of 48 bytes (16 ideographs, 48 Latin letters) at even distances are looked up: a quoted name or phrase is
    shorter, a repeated paragraph is not. At most 256 look-ups in the conversation, each at the speed of memory.
    """
    line = " ".join(text.split())
    windows = list(_windows(line))
    if len(windows) < _LEAST_WINDOWS:
        return 0.0
    return sum(window in source.collapsed for window in windows) / len(windows)


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
    if len(code) > len(text) / 2 and copied_share(code, source) < 0.5 and code.strip() not in source.conversation:
        return True
    question = _QUESTION.search(text)
    if question is not None and question[0].strip() not in source.all:
        return True
    names = meter.identifiers(text)
    new = new_identifiers(text, source)
    return len(new) >= 3 and len(new) > len(names) / 2


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
    return tuple(name for name, known in zip(names, meter.occurring(bare, source.all), strict=True) if not known)


def shares_nothing(text: str, source: Source) -> bool:
    """Whether not one word or number of `text` begins like one of the source.

    Only for texts of eight words or more, and only where both are in one script: a translation shares few words.
    """
    words = list(_words(folded(text)))
    if len(words) < _LEAST_WORDS or len(list(islice(_words(source.folded), _LEAST_WORDS))) < _LEAST_WORDS:
        return False
    return _script(text) == _script(source.all) and not any(word in source.folded for word in words)


def _words(text: str) -> "chain[str]":
    return chain.from_iterable(_stems(found[0]) for found in _WORD.finditer(text))


def _stems(word: str) -> tuple[str, ...]:
    if _unspaced(word[0]):
        return tuple(word[start : start + 2] for start in range(len(word) - 1))
    return (word[:_STEM],)


def _unspaced(character: str) -> bool:
    """Whether it is of a script that writes without spaces between words."""
    return character >= "\u0e00" and _script(character) in {
        "CJK",
        "HIRAGANA",
        "KATAKANA",
        "THAI",
        "LAO",
        "KHMER",
        "MYANMAR",
    }


def _script(text: str) -> str:
    """The script of most of the first letters."""
    counts: dict[str, int] = {}
    for character in islice(filter(str.isalpha, text), _SAMPLE):
        name = unicodedata.name(character, "?").partition(" ")[0]
        counts[name] = counts.get(name, 0) + 1
    return max(counts, key=counts.__getitem__, default="")
