"""A request with its texts changed, before any of it leaves the process."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Final

import msgspec
from msgspec import structs

from turnfold.errors import SummarizerError
from turnfold.model.summary import SummaryRequest

Redact = Callable[[str], str]
"""Takes a text of the conversation and gives the text that may leave the process. It is called for each text."""

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')


def redacted(request: SummaryRequest, redact: Redact | None) -> SummaryRequest:
    """Return `request` with `redact` applied to every text in it, identifiers and digests included; without facts.

    The names of tools and the ids of calls count as text too. Where `redact` raises, so does this, and nothing is sent:
    a `SummarizerError` that names the class of what was raised, whose message may quote the text. The caller keeps the
    request as it was: a reply is judged against that, and names that were hidden from the summarizer are put in by
    repair without having left the process.
    """
    if redact is None:
        return request

    def perhaps(text: str | None) -> str | None:
        return None if text is None else _text(redact, text)

    return structs.replace(
        request,
        messages=tuple(
            structs.replace(
                message,
                parts=tuple(
                    structs.replace(
                        part, text=_text(redact, part.text), name=perhaps(part.name), call_id=perhaps(part.call_id)
                    )
                    for part in message.parts
                ),
            )
            for message in request.messages
        ),
        task=perhaps(request.task),
        latest=perhaps(request.latest),
        previous=perhaps(request.previous),
        partials=tuple(_text(redact, text) for text in request.partials),
        digests=tuple(
            structs.replace(
                digest,
                tool=_text(redact, digest.tool),
                target=perhaps(digest.target),
                outcome=_text(redact, digest.outcome),
                text=_text(redact, digest.text),
            )
            for digest in request.digests
        ),
        facts=(),
        live=None,
        identifiers=tuple(dict.fromkeys(_text(redact, name) for name in request.identifiers)),
    )


def redacted_body(body: bytes, redact: Redact) -> bytes:
    """Return a request's body, which is valid JSON, with `redact` applied to every string in it; else byte for byte.

    Names of fields count, since arguments of tools may be objects, and so does what the provider sealed. Equal strings
    are asked for once. Raises as `redacted` does. O(bytes).
    """

    @cache
    def shown(literal: bytes) -> bytes:
        text = json.loads(literal)
        changed = _text(redact, text)
        if changed == text:
            return literal
        try:
            return msgspec.json.encode(changed)
        except UnicodeEncodeError:  # lone halves of surrogate pairs, which JSON can escape
            return json.dumps(changed).encode()

    return _STRING.sub(lambda found: shown(found[0]), body)


def careful(redact: Redact) -> Redact:
    """Return `redact`, raising as `redacted` does."""
    return lambda text: _text(redact, text)


def _text(redact: Redact, text: str) -> str:
    fault = ""
    try:
        shown: object = redact(text)
        if isinstance(shown, str):
            return shown
        fault = f"gave {type(shown).__name__}, not str"
    except Exception as error:  # noqa: BLE001  # raised outside of the handler, where it does not carry the text along
        fault = f"raised {type(error).__name__}"
    raise SummarizerError(f"The redaction hook {fault}: nothing was sent")
