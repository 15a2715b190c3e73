"""A request with its texts changed, before any of it leaves the process."""

from collections.abc import Callable

from msgspec import structs

from turnfold.model.summary import SummaryRequest

Redact = Callable[[str], str]
"""Takes a text of the conversation and gives the text that may leave the process. It is called for each text."""


def redacted(request: SummaryRequest, redact: Redact | None) -> SummaryRequest:
    """Return `request` with `redact` applied to every text in it, identifiers and digests included; without facts.

    The names of tools and the ids of calls count as text too. What `redact` raises goes through, so that nothing is
    sent. The caller keeps the request as it was: a reply is judged against that, and names that were hidden from the
    summarizer are put in by repair without having left the process.
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


def _text(redact: Redact, text: str) -> str:
    shown = redact(text)
    if not isinstance(shown, str):
        raise TypeError(f"The redaction hook gave {type(shown).__name__}, not str: nothing was sent")
    return shown
