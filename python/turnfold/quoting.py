"""The typed face of what summarizers are shown: delimiters that it imitates, and what a reply is compared with."""

from typing import TypeAlias

from turnfold import _core

Shown: TypeAlias = _core.Shown
"""What a summarizer was shown, as one text in the kernel: it is searched while other threads run."""


def neutralise(text: str) -> str:
    """Make everything in `text` plain that imitates one of turnfold's delimiters. Twice is the same as once.

    Only the `<` of such a delimiter changes, to `&lt;`: all else, and every other tag, stays as it is. Linear.
    """
    plain = _core.neutralise(text) if "<" in text else None
    return text if plain is None else plain
