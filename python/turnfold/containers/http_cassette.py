"""HTTP traffic recorded as YAML cassettes (VCR.py and its kin)."""

import base64
import binascii
import gzip
import re
import zlib
from typing import ClassVar, Final

from turnfold.containers.document import Document, decode, list_of, object_of, text_of
from turnfold.containers.exchange import read_exchanges
from turnfold.containers.protocol import Mark, Reading
from turnfold.containers.recording import Recording
from turnfold.errors import InvalidLogError

_START: Final = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:#[^\n]*\n|---[^\n]*\n|version:[^\n]*\n|\s*\n)*interactions:\s*(?:\n|\[)"
)


class HttpCassette(Recording):
    """`interactions` of `request` (`uri`, `body`) and `response`, with bodies as text, as `string`, or parsed already.

    A transcript is one exchange: the messages of the request and those of its response, a streamed one put together. A
    conversation that grows from exchange to exchange is one transcript an exchange. Needs the extra `yaml`. A recording
    of what was sent is not changed: results cannot be written into it.
    """

    name: ClassVar[str] = "http_cassette"
    title: ClassVar[str] = "HTTP recordings in YAML (VCR cassettes): requests to model providers with their responses."
    reason: ClassVar[str] = (
        "each answer in it was given to the request as it stands, and a player would give it to another"
    )

    def recognise(self, document: Document) -> Mark | None:
        """See `interactions:` at the start of the first line that is neither a comment nor a version."""
        if _START.match(document.data[:4096]) is None:
            return None
        return Mark("proof", "it starts with `interactions:`, as YAML cassettes do")

    def read(self, document: Document) -> Reading:
        """Read every exchange with a provider. Raises an `InvalidLogError` where the YAML cannot be read."""
        return read_exchanges(
            (
                f"interactions[{index}]",
                text_of(interaction, "request", "uri") or "",
                _body(interaction, "request"),
                _body(interaction, "response"),
            )
            for index, interaction in enumerate(_interactions(document.data))
        )


def _interactions(data: bytes) -> list[object]:
    try:
        import yaml
    except ImportError as error:
        raise InvalidLogError(
            "Reading YAML cassettes needs a YAML parser: pip install 'turnfold[yaml]'", 0, ""
        ) from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(data, Loader=loader)  # noqa: S506  # both loaders are the safe ones
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        offset = 0 if mark is None else mark.index
        raise InvalidLogError(f"This is no YAML: {str(error).splitlines()[0]}", offset, "") from error
    if not isinstance(value, dict) or not isinstance(value.get("interactions"), list):
        raise InvalidLogError("This is no log of kind http_cassette: no list `interactions`", 0, "")
    return list_of(value, "interactions")


def _body(interaction: object, side: str) -> object:
    """Return a body as decoded JSON, or as the text of an event stream."""
    parsed = object_of(interaction, side).get("parsed_body")
    if parsed is not None:
        return parsed
    body = object_of(interaction, side).get("body")
    if isinstance(body, dict):
        body = body.get("string", body.get("base64_string"))
        if isinstance(body, str) and "base64_string" in object_of(interaction, side, "body"):
            try:
                body = base64.b64decode(body)
            except (binascii.Error, ValueError):
                return None
    if isinstance(body, bytes):
        if body.startswith(b"\x1f\x8b"):
            try:
                body = gzip.decompress(body)
            except (OSError, EOFError, zlib.error):
                return None
        body = body.decode("utf-8", "replace")
    if not isinstance(body, str):
        return body
    return body if _is_stream(body) else decode(body.encode("utf-8", "surrogatepass"))


def _is_stream(text: str) -> bool:
    return text.lstrip().startswith(("event:", "data:", ":"))


HTTP_CASSETTE: Final = HttpCassette()
"""HTTP recordings in YAML (VCR cassettes)."""
