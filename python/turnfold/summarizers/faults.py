"""What a summarizer raised, by name and without secrets."""

import re
from typing import Final

from turnfold.errors import CallFault, SummarizerError

MOST_CHARACTERS: Final = 400
"""A server's error may be a whole page; its beginning says what there is to say."""

# What comes after the words that announce a key, and what the keys of known providers look like.
_SECRET = re.compile(
    r"\b(?i:bearer|x-api-key|api[-_ ]?key|authorization)\b[\"']?\s*[:=]?\s*[\"']?(?P<said>(?=\S*\d)[\w.~+/=*-]{12,})"
    r"|(?<![\w-])(?:sk|pk|rk|xai|gsk|AIza|AKIA|ghp|glpat|hf)[-_]?(?=\S*\d)[\w*-]{12,}"
)
_HIDDEN: Final = "[hidden]"


def fault_of(error: Exception) -> SummarizerError:
    """Return `error` as a fault of a call, with a short text that holds no key. A `TimeoutError` is a timeout."""
    if isinstance(error, SummarizerError):
        error.text = without_secrets(error.text)
        return error
    reason: CallFault = "timeout" if isinstance(error, TimeoutError) else "failed"
    return SummarizerError(without_secrets(f"{type(error).__name__}: {error}"), reason)


def without_secrets(text: str, *known: str) -> str:
    """Return the beginning of `text`, with `known` secrets and what looks like an API key hidden."""
    for secret in known:
        if secret:
            text = text.replace(secret, _HIDDEN)
    text = _SECRET.sub(lambda found: found[0].replace(found["said"] or found[0], _HIDDEN), text)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} ..."
