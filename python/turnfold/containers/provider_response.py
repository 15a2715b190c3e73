"""One response of a provider, alone: as JSON, or as the event stream it came in."""

from typing import ClassVar, Final

from turnfold.containers.document import Document, object_of, text_of
from turnfold.containers.exchange import answered, format_of_response
from turnfold.containers.protocol import Mark, Reading
from turnfold.containers.recording import Recording
from turnfold.containers.streams import assembled, events
from turnfold.errors import InvalidLogError


class ProviderResponse(Recording):
    """What a model answered, without the request: its messages are the transcript, whose id is the response's.

    Read are the response objects of OpenAI (both APIs), Anthropic, Gemini (its interactions too) and Bedrock, and event
    streams of the first four. Results cannot be written into a recording.
    """

    name: ClassVar[str] = "provider_response"
    title: ClassVar[str] = "A single response of a provider, as JSON or as the event stream it came in."
    reason: ClassVar[str] = "it holds an answer and not the request, so a summary would stand for what is not there"

    def recognise(self, document: Document) -> Mark | None:
        """See the shape of a response, or the first events of a stream."""
        if _is_stream(document.data):
            return Mark("usual", "it starts like an event stream")
        wire_format = format_of_response(object_of(document.value))
        return None if wire_format is None else Mark("usual", f"the object is shaped like a response in {wire_format}")

    def read(self, document: Document) -> Reading:
        """Read the response. One that holds no message, such as a refusal before the first token, has no transcript."""
        if _is_stream(document.data):
            text = document.data.decode("utf-8", "replace")
            response = assembled(_stream_format(text), text)
            if not any(True for _ in events(text)):
                raise InvalidLogError("This is no log of kind provider_response: no event has data", 0, "")
        else:
            response = object_of(document.value)
            if format_of_response(response) is None:
                raise InvalidLogError("This is no log of kind provider_response: no response of a known shape", 0, "")
        identifier = text_of(response, "id") or text_of(response, "responseId") or "response"
        logged = answered(identifier, response)
        return Reading(
            () if logged is None else (logged,), {} if logged is not None else {"response without a message": 1}
        )


def _is_stream(data: bytes) -> bool:
    return data[:512].lstrip(b"\xef\xbb\xbf \r\n").startswith((b"event:", b"data:"))


def _stream_format(text: str) -> str:
    for event in events(text):
        kind = text_of(event, "type") or ""
        if kind.startswith("response."):
            return "openai.responses"
        if kind:
            return "anthropic.messages"
        if "candidates" in event:
            return "gemini.contents"
        return "openai.chat"
    return "openai.chat"


PROVIDER_RESPONSE: Final = ProviderResponse()
"""A single response of a provider."""
