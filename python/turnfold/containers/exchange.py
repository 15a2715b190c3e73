"""Requests to providers with their responses, as recordings of HTTP traffic and dumps of single responses hold them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from turnfold.containers.document import encode, list_of, object_of, text_of
from turnfold.containers.interactions import interaction_messages, is_interaction
from turnfold.containers.protocol import LoggedTranscript, Reading
from turnfold.containers.streams import assembled
from turnfold.containers.view import ViewMessage, view
from turnfold.errors import ReadError

_ENDPOINTS: Final = (
    ("mistral.ai/v1/chat/completions", "mistral.chat"),
    ("/chat/completions", "openai.chat"),
    ("/responses", "openai.responses"),
    ("/messages", "anthropic.messages"),
    ("generatecontent", "gemini.contents"),
    ("/converse", "bedrock.converse"),
)
_MESSAGES: Final = {"openai.responses": "input", "gemini.contents": "contents"}


def format_of_request(uri: str) -> str | None:
    """Return the wire format that an endpoint speaks; None for an endpoint that takes no transcript."""
    path = uri.lower().split("?")[0]
    if path.endswith(("/count_tokens", "/input_tokens")):
        return None
    return next((wire_format for part, wire_format in _ENDPOINTS if part in path), None)


def format_of_response(response: Mapping[str, object]) -> str | None:
    """Return the wire format of a response by its shape; None where it is no answer of a model.

    An interaction of Gemini's, which is none of these formats, is read as `openai.chat`.
    """
    if is_interaction(response):
        return "openai.chat"
    if response.get("object") == "response" or (list_of(response, "output") and "choices" not in response):
        return "openai.responses"
    if list_of(response, "choices"):
        return "openai.chat"
    if response.get("type") == "message" and response.get("role") == "assistant":
        return "anthropic.messages"
    if list_of(response, "candidates"):
        return "gemini.contents"
    if object_of(response, "output", "message"):
        return "bedrock.converse"
    return None


def replies(wire_format: str, response: object) -> Sequence[object]:
    """Return the messages that a response holds, of its first alternative."""
    match wire_format:
        case "openai.responses":
            return list_of(response, "output")
        case "anthropic.messages":
            kept = {key: value for key, value in object_of(response).items() if key in {"role", "content"}}
            return [kept] if list_of(kept, "content") else []
        case "gemini.contents":
            found = object_of(response, "candidates", 0, "content")
            return [found] if list_of(found, "parts") else []
        case "bedrock.converse":
            return [found] if (found := object_of(response, "output", "message")) else []
        case _ if is_interaction(response):
            return interaction_messages(response)
        case _:
            return [found] if (found := object_of(response, "choices", 0, "message")) else []


def exchanged(identifier: str, uri: str, request: object, response: object, place: int) -> LoggedTranscript | None:
    """Return the messages of one request and of its response; None where they hold no transcript.

    `response` is decoded JSON, or the text of an event stream.
    """
    body = object_of(request)
    wire_format = format_of_request(uri)
    if wire_format is None:
        return None
    field = _MESSAGES.get(wire_format, "messages")
    head = {key: value for key, value in body.items() if key != field}
    sent = body.get(field)
    if isinstance(sent, str):
        sent = [{"role": "user", "content": sent}]
    if isinstance(response, str):
        response = assembled(wire_format, response)
    answered = replies(wire_format, response)
    return _view(identifier, wire_format, [*(sent if isinstance(sent, list) else ()), *answered], place, head)


def read_exchanges(exchanges: Iterable[tuple[str, str, object, object]]) -> Reading:
    """Read exchanges in order: the id, address, request body and response body of each."""
    found: list[LoggedTranscript] = []
    unread: Counter[str] = Counter()
    for index, (identifier, uri, request, response) in enumerate(exchanges):
        logged = exchanged(identifier, uri, request, response, index)
        if logged is None:
            unread["exchange without a transcript"] += 1
        else:
            found.append(logged)
    return Reading(tuple(found), dict(unread))


def answered(identifier: str, response: object, place: int = 0) -> LoggedTranscript | None:
    """Return the messages of a response alone; None where it is no answer of a model."""
    body = object_of(response)
    wire_format = format_of_response(body)
    if wire_format is None:
        return None
    return _view(identifier, wire_format, replies(wire_format, body), place, {"model": text_of(body, "model")})


def _view(
    identifier: str, wire_format: str, messages: Iterable[object], place: int, head: Mapping[str, object]
) -> LoggedTranscript | None:
    spelled = [ViewMessage(encode(message), (place,)) for message in messages]
    if not spelled:
        return None
    try:
        return view(identifier, wire_format, spelled, head)
    except ReadError:
        return None
