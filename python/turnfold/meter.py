"""What plain text holds: tokens and identifiers."""

import sys
from collections.abc import Iterable
from typing import Final, Literal

from turnfold import _core
from turnfold.errors import ArgumentError
from turnfold.model.counts import DEFAULT_ENCODING, ModelEncoding, ModelLabel, TokenCount
from turnfold.model.identifier import Identifier

_LONGEST_WORD: Final = 64

Said = tuple[bool, str, bool]
"""A text: whether the user said it, what, and whether what stands around the summary quotes it already."""

Line = tuple[str, str, float, bool]
"""A line: its topic, what it says, its worth, and whether that fades with each of its topic behind it."""

Layout = tuple[str | None, list[tuple[str, list[str]]]]
"""How a summary looks: a first line, and the sections in their order, each its title and the topics in it."""

_Statement = tuple[int, int, str, str, bool, float, bool, bool, int | None, int]
KeepEnd = Literal["head", "tail", "both"]


def count(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Count `text` as ordinary text: what looks like a special token is counted by its characters.

    Equal to tiktoken's `encode_ordinary`, lone surrogates included. Linear in time; other threads run meanwhile.
    """
    return _core.count(text, encoding)


def estimate(text: str, encoding: str = DEFAULT_ENCODING) -> TokenCount:
    """Estimate the count of `text` by weights of its pairs of bytes and an exact count of a sample of it.

    For texts of over 200 tokens the mean error is under 3 % on sources that the weights were not fitted on, and a text
    of up to 128 bytes is counted (`docs/metering.md` has tables by language and kind of content). `lo` and `hi` held 99
    of 100 such texts: a share of texts, not a bound. Linear, in a third to a seventh of the time of a count; other
    threads run meanwhile. Raises an `UnknownEncodingError` for an encoding that is not there.
    """
    return TokenCount(*_core.estimate(text, encoding), source="estimate")


def bounds(text: str, encoding: str = DEFAULT_ENCODING) -> TokenCount:
    """Bound the count of `text` from above and below without merging: `lo <= count(text) <= hi` for any text.

    In encodings that ship `hi` is two to three times the count of prose and code, 1.4 times that of logs, and `lo` nine
    tenths of it (`docs/metering.md` has a table and the speed); in a registered one both come from the length alone.
    `n` is a guess, a sixteenth of the way up. The source is "bounds", or "exact" where the two meet. Linear; other
    threads run meanwhile. Raises an `UnknownEncodingError` for an encoding that is not there.
    """
    lo, hi = _core.bounds(text, encoding)
    return TokenCount(lo + (hi - lo) // 16, lo, hi, "exact" if lo == hi else "bounds")


def fits(text: str, limit_tokens: int, encoding: str = DEFAULT_ENCODING) -> bool:
    """Say whether `text` counts at most `limit_tokens`.

    Costs as `bounds` where these tell; where the limit is inside them the text is counted until the bounds of its rest
    tell, which is at the latest where `count_up_to` would stop. Raises an `ArgumentError` for a negative limit and an
    `UnknownEncodingError` for an encoding that is not there.
    """
    return _core.fits(text, encoding, _checked(limit_tokens))


def count_many(texts: Iterable[str], encoding: str = DEFAULT_ENCODING) -> list[int]:
    """Count each text. Enters the kernel once, which is worth it for many short ones.

    Raises an `UnknownEncodingError` for an encoding that is not there. Linear; other threads run meanwhile.
    """
    return _core.count_many(_listed(texts), encoding)


def count_up_to(text: str, limit_tokens: int, encoding: str = DEFAULT_ENCODING) -> int | None:
    """Count `text`, or return None as soon as it is over `limit_tokens`: a long text costs no more than the limit.

    Raises an `ArgumentError` for a negative limit, an `UnknownEncodingError` for an encoding that is not there.
    """
    return _core.count_up_to(text, encoding, _checked(limit_tokens))


def truncate(text: str, max_tokens: int, encoding: str = DEFAULT_ENCODING, *, keep: KeepEnd = "head") -> str:
    """Cut `text` between characters so that it counts at most `max_tokens`; return it as it is where it fits.

    "head" keeps the longest beginning that fits, "tail" the longest end. "both" keeps the longest beginning of half of
    the tokens (the larger half) and, joined to it with nothing between, the longest end for the rest; where joining
    makes tokens of its own the end is shorter by as many. Only in a run of over 4,096 bytes without a word's edge may a
    part that is longer by less than a token be missed. Linear in the text; "head" in what it keeps.
    """
    head, tail, cut = _core.truncate(text, encoding, _checked(max_tokens), keep)
    if not cut:
        return text
    if text.startswith(head) and text.endswith(tail):
        return head + tail
    # Lone surrogates, which the kernel reads as U+FFFD.
    return text[: _characters(text, head)] + text[len(text) - _characters(text[::-1], tail) :]


def _characters(text: str, part: str) -> int:
    """How many characters of a Python string `part` is, which starts it but for surrogates: both have UTF-16 units."""
    units = sum(1 + (character > "\uffff") for character in part)
    for index, character in enumerate(text):
        if units <= 0:
            return index
        units -= 1 + (character > "\uffff")
    return len(text)


def truncate_words(text: str, max_tokens: int, encoding: str = DEFAULT_ENCODING) -> str:
    """Cut the end of `text` as `truncate` does, before a space where one is near the cut; trim white space.

    Half a word or half a path would read as another one.
    """
    head = truncate(text, max_tokens, encoding)
    if len(head) < len(text) and head and not head[-1].isspace() and not text[len(head)].isspace():
        edge = max(head.rfind(" "), head.rfind("\n"))
        if edge > 0 and edge >= len(head) - _LONGEST_WORD:
            head = head[:edge]
    trimmed = head.strip()
    # A word can count more without the space before it.
    return (
        trimmed if count_up_to(trimmed, max_tokens, encoding) is not None else truncate(trimmed, max_tokens, encoding)
    )


def truncate_middle(text: str, max_tokens: int, encoding: str = DEFAULT_ENCODING) -> str:
    """Cut `text` in its middle so that it counts at most `max_tokens`; return it as it is where it fits.

    Head and tail stay, on edges of lines or words where they can, around a line that says how many tokens went. Where
    there is room for nothing else that line is all, and where even that does not fit the result is empty. Linear in
    the text.
    """
    short = _core.truncate_middle(text, encoding, _checked(max_tokens))
    return text if short is None else short


def encoding_for_model(model: str) -> ModelEncoding:
    """Return the encoding that a model is counted in, by its name, and how sure that is; any name has an answer.

    Providers, regions, dates and fine-tuning are read off the name: `azure/gpt-4o-2024-08-06`, `ft:gpt-4o:org::id`,
    `bedrock/us.anthropic.claude-sonnet-4-5`. Letter case makes no difference. A name that nobody knows is counted in
    `o200k_base` and labelled "assumed". Source: tiktoken's own table (0.14).
    """
    return ModelEncoding(*_core.encoding_for_model(model))


def register_model(name: str, encoding: str, *, label: ModelLabel = "exact") -> None:
    """Say what a model is counted in: `name` itself and its variants behind `-`, `:` or `@`, in any letter case.

    Names that are registered come before the table that ships, with a provider before them (`my-gateway/`) or without;
    the longest one decides. The same name again replaces what was said before. For the whole process; 4,096 at most.
    Raises `UnknownEncodingError` for an encoding that is not there, and an `ArgumentError` for an empty name.
    """
    _core.register_model(name, encoding, label)


def identifiers(text: str) -> tuple[str, ...]:
    """Find the identifiers in a text: paths, addresses, ids, names of code and errors, each once, in order."""
    return tuple(name for _, name in _core.extract_identifiers(text))


def typed_identifiers(text: str) -> tuple[Identifier, ...]:
    """Find them as `identifiers` does, and say of each what it names. Linear in the text."""
    return tuple(Identifier(*found) for found in _core.extract_identifiers(text))


def occurring(names: Iterable[str], text: str) -> tuple[bool, ...]:
    """Say of each identifier whether it occurs in `text`, letter for letter. Linear in both."""
    return tuple(_core.occurring(_listed(names), text))


class Statements:
    """Cuts texts into statements and weighs them by closed lists of words.

    `lists` are eight: words that forbid, oblige, wish, decide, update, reset, lead aside, stand from then on; each two
    alternations of regular expressions, of words with their edges and of words of scripts that put no spaces between
    them. Of two words at one place, the first in its list counts. `back` and `back_glued` are the words that point
    back. Raises an `ArgumentError` for a list that cannot be compiled, or that looks around for more than `(?<!i )`.
    """

    __slots__ = ("_kernel",)

    def __init__(self, lists: Iterable[tuple[str, str]], back: str, back_glued: Iterable[str]) -> None:
        self._kernel = _core.Statements(list(lists), back, list(back_glued))

    def rules(self, text: str) -> list[str]:
        """Return the sentences that forbid, oblige or stand from then on. None is a question or code, or in tags."""
        return self._kernel.rules(text)

    def counts(self, text: str) -> list[int]:
        """Count the words of each list in `text`, which is in lower case, without overlap. One linear pass a list."""
        return self._kernel.counts(text)

    def weigh(self, texts: Iterable[tuple[bool, str]]) -> tuple[list[_Statement], list[tuple[str, list[str]]]]:
        """Return the statements of texts, the oldest first and each with whether the user said it, and by text what
        they are compared by and the identifiers in them. Linear in the texts; other threads run meanwhile.

        A statement is the place of its text, its own in it, what it says, its label, whether tags enclose it, its
        worth, whether a later one replaces it, whether one may, the place of the one that it needs, and the place of
        its text among the second.
        """
        return self._kernel.weigh(list(texts))

    def summary(
        self,
        texts: Iterable[Said],
        lines: Iterable[Line],
        identifiers: Iterable[str],
        *,
        quotes: str,
        touched: str,
        elsewhere: Iterable[str],
        layout: Layout,
        encoding: str = DEFAULT_ENCODING,
        max_tokens: int,
    ) -> str:
        """Write a summary of at most `max_tokens` of texts and lines, the oldest first; empty where nothing fits.

        Where all of it fits it is all there but for statements that a later one replaces, else what is worth most for
        its tokens. `identifiers` are listed where it does not name them, those that tools `touched` before others; not
        listed are those that the `quotes` around it name, and those that only a replaced statement does, unless they
        stand `elsewhere`. Raises an `ArgumentError` for a topic or an encoding that is not known. Linear in the texts
        but for what is chosen; other threads run meanwhile.
        """
        return self._kernel.summary(
            list(texts),
            list(lines),
            _listed(identifiers),
            quotes,
            touched,
            _listed(elsewhere),
            layout,
            encoding,
            _checked(max_tokens),
        )


def _listed(texts: Iterable[str]) -> list[str] | tuple[str, ...]:
    if isinstance(texts, str):
        raise TypeError("texts are several: put one text into a list")
    return texts if isinstance(texts, list | tuple) else list(texts)


def _checked(tokens: int) -> int:
    if not isinstance(tokens, int):
        raise TypeError(f"a number of tokens is an int, not {type(tokens).__name__}")
    if tokens < 0:
        raise ArgumentError(f"A number of tokens is not negative: {tokens}")
    return min(tokens, sys.maxsize)
