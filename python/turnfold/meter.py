"""What plain text holds: tokens and identifiers."""

import sys
from collections.abc import Iterable
from typing import Final, Literal

from turnfold import _core
from turnfold.errors import ArgumentError
from turnfold.model.counts import DEFAULT_ENCODING

_LONGEST_WORD: Final = 64

KeepEnd = Literal["head", "tail"]


def count(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Count `text` as ordinary text: what looks like a special token is counted by its characters.

    Equal to tiktoken's `encode_ordinary`, lone surrogates included. Linear in time; other threads run meanwhile.
    """
    return _core.count(text, encoding)


def count_many(texts: Iterable[str], encoding: str = DEFAULT_ENCODING) -> list[int]:
    """Count each text. Enters the kernel once, which is worth it for many short ones."""
    return _core.count_many(list(texts), encoding)


def count_up_to(text: str, limit_tokens: int, encoding: str = DEFAULT_ENCODING) -> int | None:
    """Count `text`, or return None as soon as it is over `limit_tokens`: a long text costs no more than the limit."""
    return _core.count_up_to(text, encoding, _checked(limit_tokens))


def truncate(text: str, max_tokens: int, encoding: str = DEFAULT_ENCODING, *, keep: KeepEnd = "head") -> str:
    """Cut `text` between characters so that it counts at most `max_tokens`; return it as it is where it fits."""
    head, tail, cut = _core.truncate(text, encoding, _checked(max_tokens), keep)
    return head + tail if cut else text


def truncate_words(text: str, max_tokens: int, encoding: str = DEFAULT_ENCODING) -> str:
    """Cut the end of `text` as `truncate` does, before a space where one is near the cut; trim white space.

    Half a word or half a path would read as another one.
    """
    head = truncate(text, max_tokens, encoding)
    if len(head) < len(text) and head and not head[-1].isspace() and not text[len(head)].isspace():
        edge = max(head.rfind(" "), head.rfind("\n"))
        if edge >= len(head) - _LONGEST_WORD:
            head = head[:edge]
    return head.strip()


def truncate_middle(text: str, max_tokens: int, encoding: str = DEFAULT_ENCODING) -> str:
    """Cut `text` in its middle so that it counts at most `max_tokens`; return it as it is where it fits.

    Head and tail stay, on edges of lines or words where they can, around a line that says how many tokens went. Where
    there is room for nothing else that line is all, and where even that does not fit the result is empty. Linear in
    the text.
    """
    short = _core.truncate_middle(text, encoding, _checked(max_tokens))
    return text if short is None else short


def identifiers(text: str) -> tuple[str, ...]:
    """Find the identifiers in a text: paths, addresses, ids, names of code and errors, each once, in order."""
    return tuple(name for _, name in _core.extract_identifiers(text))


def occurring(names: Iterable[str], text: str) -> tuple[bool, ...]:
    """Say of each identifier whether it occurs in `text`, letter for letter. Linear in both."""
    return tuple(_core.occurring(list(names), text))


def _checked(tokens: int) -> int:
    if tokens < 0:
        raise ArgumentError(f"A number of tokens is not negative: {tokens}")
    return min(tokens, sys.maxsize)
