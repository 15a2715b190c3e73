"""HTTP traffic recorded as a JSON list of exchanges, as snapshot tests of SDKs keep it."""

from typing import ClassVar, Final

from turnfold.containers.document import Document, object_of, text_of
from turnfold.containers.exchange import read_exchanges
from turnfold.containers.protocol import Mark, Reading
from turnfold.containers.recording import Recording
from turnfold.errors import InvalidLogError


class HttpExchanges(Recording):
    """A list of `{"request": {"url", "body"}, "response": {"body"}}`; bodies are JSON values or texts of streams.

    A transcript is one exchange: the messages of the request and those of its response. Results cannot be written into
    a recording.
    """

    name: ClassVar[str] = "http_exchanges"
    title: ClassVar[str] = "HTTP recordings in JSON: a list of `request` and `response` with their bodies."
    reason: ClassVar[str] = "each answer in it was given to the request as it stands"

    def recognise(self, document: Document) -> Mark | None:
        """See a list whose first item has a request with an address and a response."""
        value = document.value
        first = value[0] if isinstance(value, list) and value else None
        if _address(first) is not None and object_of(first, "response"):
            return Mark("proof", "[0] has a `request` with an address, and a `response`")
        return None

    def read(self, document: Document) -> Reading:
        """Read every exchange with a provider."""
        value = document.value
        if not isinstance(value, list) or not any(_address(item) is not None for item in value):
            raise InvalidLogError("This is no log of kind http_exchanges: no list of requests with addresses", 0, "")
        return read_exchanges(
            (
                f"[{index}]",
                _address(item) or "",
                object_of(item, "request").get("body"),
                object_of(item, "response").get("body"),
            )
            for index, item in enumerate(value)
        )


def _address(item: object) -> str | None:
    return text_of(item, "request", "url") or text_of(item, "request", "uri")


HTTP_EXCHANGES: Final = HttpExchanges()
"""HTTP recordings in JSON."""
