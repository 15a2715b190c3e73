"""A transcript put together from what a log holds, in a wire format, with the way back to the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from turnfold.containers.document import encode, text_of
from turnfold.containers.protocol import LoggedTranscript, Place
from turnfold.transcript import Transcript

_MESSAGES_FIELD: Final = {"openai.responses": b"input", "gemini.contents": b"contents"}


@dataclass(frozen=True, slots=True)
class ViewMessage:
    """One message of a view: its JSON, the records it was read from, and where its results' texts stand."""

    json: bytes
    origins: tuple[int, ...] = ()
    results: tuple[Place | None, ...] = ()


def view(
    identifier: str,
    wire_format: str,
    messages: Sequence[ViewMessage],
    head: Mapping[str, object] | None = None,
    path: tuple[str | int, ...] = (),
) -> LoggedTranscript:
    """Return a transcript of `messages`, with the fields of `head` (model, tools, system) beside them.

    Raises a `ReadError` for a message that the wire format cannot read. O(bytes).
    """
    fields = [b"%b:%b" % (encode(key), encode(value)) for key, value in (head or {}).items() if value is not None]
    joined = b",".join(message.json for message in messages)
    fields.append(b'"%b":[%b]' % (_MESSAGES_FIELD.get(wire_format, b"messages"), joined))
    body = b"{%b}" % b",".join(fields)
    return LoggedTranscript(
        identifier,
        Transcript.from_json(body, format=wire_format),
        tuple(message.origins for message in messages),
        tuple(message.results for message in messages),
        path,
    )


class ChatView:
    """Makes messages of `openai.chat` from what records say: texts, calls with ids, results of calls.

    A log without call ids gets them from place: `call_<record>`, and `call_<record>_<k>` for its further calls. A
    result without an id answers the oldest call that is still open.
    """

    def __init__(self) -> None:
        self.messages: list[ViewMessage] = []
        self._open: dict[str, None] = {}

    def text(self, role: str, text: object, record: int | Sequence[int] = (), **fields: object) -> None:
        """Add a message: `text` is a string or a list of content parts, `record` the one or ones that it was read from.

        `fields` that are None are left out.
        """
        self._add({"role": role, "content": text, **fields}, record)

    def calls(
        self,
        text: object,
        calls: Sequence[tuple[str | None, str, object]],
        record: int | Sequence[int],
        **fields: object,
    ) -> tuple[str, ...]:
        """Add an assistant message with calls: id, name, and arguments as a JSON text or any other value.

        Returns the calls' ids, those made from place included.
        """
        first = record if isinstance(record, int) else record[0]
        ids = tuple(given or (f"call_{first}_{k}" if k else f"call_{first}") for k, (given, _, _) in enumerate(calls))
        spelled = [
            {
                "id": call_id,
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else encode(arguments).decode(),
                },
            }
            for call_id, (_, name, arguments) in zip(ids, calls, strict=True)
        ]
        self._open.update(dict.fromkeys(ids))
        self._add({"role": "assistant", "content": text, "tool_calls": spelled or None, **fields}, record)
        return ids

    def parts(
        self,
        role: str,
        parts: Sequence[object],
        record: int,
        *,
        thoughts: Sequence[str] = (),
        calls: Sequence[tuple[str | None, str, object]] = (),
    ) -> tuple[str, ...]:
        """Add a message of content parts, thoughts and calls, unless it has none. One part of text is a string.

        Returns the calls' ids.
        """
        thought = "\n".join(thoughts) or None
        only = text_of(parts[0], "text") if len(parts) == 1 and text_of(parts[0], "type") == "text" else None
        text = parts if only is None else only
        if calls:
            return self.calls(text or None, calls, record, reasoning_content=thought)
        if parts or thoughts:
            self.text(role, text or "", record, reasoning_content=thought)
        return ()

    def result(
        self, call_id: str | None, text: object, record: int, place: Place | None = None, **fields: object
    ) -> None:
        """Add a tool message. `place` is where its text stands, if it is one JSON value."""
        if call_id is None:
            call_id = next(iter(self._open), f"call_{record}")
        self._open.pop(call_id, None)
        message = {"role": "tool", "tool_call_id": call_id, "content": text, **fields}
        self._add(message, record, (place,))

    def also_from(self, record: int) -> None:
        """Say that the last message was read from this record too."""
        last = self.messages[-1]
        self.messages[-1] = ViewMessage(last.json, (*last.origins, record), last.results)

    def _add(
        self, message: Mapping[str, object], record: int | Sequence[int], results: tuple[Place | None, ...] = ()
    ) -> None:
        spelled = {key: value for key, value in message.items() if value is not None or key == "content"}
        origins = (record,) if isinstance(record, int) else tuple(dict.fromkeys(record))
        self.messages.append(ViewMessage(encode(spelled), origins, results))
