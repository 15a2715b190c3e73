"""The delimiters that turnfold writes around quoted text, and how an imitation of one is made plain."""

import re

_IMITATION = re.compile(r"<(?=\s*+(?:/\s*+)?turnfold-)", re.IGNORECASE)


def neutralise(text: str) -> str:
    """Make everything in `text` plain that imitates one of turnfold's delimiters. Twice is the same as once.

    Only the `<` of such a delimiter changes, to `&lt;`: all else, and every other tag, stays as it is.
    """
    return _IMITATION.sub("&lt;", text) if "<" in text else text
