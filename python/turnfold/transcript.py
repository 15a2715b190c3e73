"""The typed face of one transcript: read, measured, appended to and spliced without touching what is kept."""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final, Self

import msgspec

from turnfold import _core
from turnfold.errors import ArgumentError, InvalidMessageError
from turnfold.model.blocks import Block
from turnfold.model.counts import DEFAULT_ENCODING, TokenCount
from turnfold.model.summary import ToolDigest

Message = Mapping[str, object]
"""A message as Python objects."""

_INTEGER_DIGITS: Final = 4_300
"""Python refuses to parse longer integers."""


class Transcript:
    """One request, read. Immutable, and safe to share between threads.

    Make one with `from_json` or `from_messages`. The bytes (and the caller's objects) of every kept message are handed
    back as they came.
    """

    __slots__ = ("_objects", "_roles", "kernel")

    def __init__(self, kernel: _core.Transcript, objects: Sequence[Message | None]) -> None:
        self.kernel: Final = kernel
        """The compiled side. Only the faces of the kernel, this module's neighbours, look at it."""
        # One a message: the caller's object, or None until it is asked for.
        self._objects = list(objects)
        self._roles: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, body: bytes | bytearray | memoryview, *, format: str | None = None) -> Self:
        """Read a whole request body, or a bare array of messages.

        `bytes` are borrowed, not copied. The format is detected unless `format` names it. Raises a `ReadError` with
        the byte offset, and the JSON path where there is one. One pass, O(bytes), other threads run meanwhile.
        """
        kernel = _core.Transcript.from_json(body, format)
        return cls(kernel, [None] * len(kernel))

    @classmethod
    def from_messages(cls, messages: Iterable[Message], *, format: str | None = None) -> Self:
        """Read messages that are Python objects already.

        The objects are kept: `messages` of this transcript, and of all made from it, holds the same ones. Don't change
        them afterwards. Raises a `ReadError`; its byte offset is into the JSON that `to_json` would give.
        """
        objects = tuple(messages)
        return cls(_core.Transcript.from_json(_encode_all(objects), format), objects)

    def append(self, message: Message | bytes | bytearray | memoryview) -> Self:
        """Return a transcript with one message more. Everything before is shared, counts included."""
        if isinstance(message, Mapping):
            return type(self)(self.kernel.append(_encode(message, len(self))), [*self._objects, message])
        return type(self)(self.kernel.append(message), [*self._objects, None])

    def splice(self, parts: Sequence[range | bytes]) -> Self:
        """Put a transcript together from ranges of this one's messages and from new messages as JSON bytes.

        Ranges stand in order and don't overlap. Their messages keep bytes, objects and counts. Raises a `ReadError`
        for new bytes that are no message, an `ArgumentError` for a range that is not there.
        """
        if any(isinstance(part, range) and (part.step != 1 or part.start < 0 or part.stop < 0) for part in parts):
            raise ArgumentError("A range of messages has step 1 and no negative end")
        kernel = self.kernel.splice([(p.start, p.stop) if isinstance(p, range) else p for p in parts])
        objects: list[Message | None] = []
        for part in parts:
            objects.extend(self._objects[part.start : part.stop] if isinstance(part, range) else (None,))
        return type(self)(kernel, objects)

    def rewrite(self, message_index: int, texts: Mapping[int, str]) -> bytes:
        """Return the JSON of one message with the texts of some blocks replaced, by block index."""
        return self.kernel.rewrite(message_index, list(texts.items()))

    def text_message(self, role: str, text: str) -> bytes:
        """Return the JSON of a new message in this transcript's format, in `role` or the nearest it allows."""
        return self.kernel.text_message(role, text)

    def to_json(self) -> bytes:
        """Return the request body: byte for byte the input, where nothing was changed."""
        return self.kernel.to_json()

    def message_json(self, message_index: int) -> bytes:
        """Return one message's own bytes."""
        return self.kernel.message_json(self._index(message_index))

    @property
    def messages(self) -> list[Message]:
        """A new list of the messages as objects: the caller's own where given, else decoded once.

        A lone surrogate stays one; of two equal keys the last is seen. The bytes keep both.
        """
        found: list[Message] = []
        for index, known in enumerate(self._objects):
            found.append(_decode(self.kernel.message_json(index)) if known is None else known)
        self._objects[:] = found
        return found

    def __len__(self) -> int:
        return len(self.kernel)

    def __repr__(self) -> str:
        return f"<Transcript {self.format}, {len(self)} messages>"

    @property
    def format(self) -> str:
        """The wire format: `openai.chat`, `anthropic.messages`."""
        return self.kernel.format

    @property
    def format_reason(self) -> str:
        """Why that format: the mark that decided, or that the caller named it."""
        return self.kernel.format_reason

    @property
    def model(self) -> str | None:
        """The model that the body names."""
        return self.kernel.model

    @property
    def leading(self) -> int:
        """Number of system and developer messages at the start."""
        return self.kernel.leading

    @property
    def roles(self) -> tuple[str, ...]:
        """Each message's role, as the input spells it."""
        if self._roles is None:
            self._roles = tuple(self.kernel.roles())
        return self._roles

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change when any byte of the request does."""
        return self.kernel.fingerprint()

    def blocks(self, message_index: int) -> tuple[Block, ...]:
        """Return the blocks of one message."""
        return tuple(Block(*fields) for fields in self.kernel.blocks(self._index(message_index)))

    def identifiers(self, start: int = 0, stop: int | None = None) -> tuple[str, ...]:
        """Find the identifiers in the texts of messages `[start, stop)`: each once, in the order first seen.

        Paths, addresses, ids, names of code and errors; call ids are not among them. Linear in the bytes.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        return tuple(text for _, text in self.kernel.identifiers(start, max(start, stop)))

    def digests(self, start: int = 0, stop: int | None = None) -> tuple[ToolDigest, ...]:
        """Say what each tool call of messages `[start, stop)` did, by rule. Linear in the bytes of both halves."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return tuple(ToolDigest(*fields) for fields in self.kernel.digests(start, max(start, stop)))

    def surviving(self, identifiers: Sequence[str]) -> tuple[bool, ...]:
        """Say of each identifier whether it occurs in a text of this transcript, letter for letter. Linear in both."""
        return tuple(_core.surviving(list(identifiers), self.kernel))

    def encoding(self, encoding: str | None = None, model: str | None = None) -> str:
        """Return the encoding that counts are made in: the one named, or the model's, or the body's model's."""
        return self._encoding(encoding, model)[0]

    def tokens(
        self,
        start: int | None = None,
        stop: int | None = None,
        *,
        encoding: str | None = None,
        model: str | None = None,
    ) -> TokenCount:
        """Count the whole request, or the messages `[start, stop)` with slice rules.

        The whole request includes tools, system and reply priming. Where a model has another vocabulary than those
        that ship, the count is an interval; naming `encoding` takes it as the model's own. The first count in an
        encoding reads all text; later ones, and those of transcripts that share messages, are O(1).
        """
        whole = start is None and stop is None
        first, last, _ = slice(start, stop).indices(len(self))
        span = None if whole else (first, max(first, last))
        return TokenCount(*self.kernel.tokens(*self._encoding(encoding, model), span))

    def block_tokens(self, message_index: int, *, encoding: str | None = None, model: str | None = None) -> list[int]:
        """Count the text of each block of one message."""
        return self.kernel.block_tokens(self.encoding(encoding, model), self._index(message_index))

    def _encoding(self, encoding: str | None, model: str | None) -> tuple[str, str]:
        if encoding is not None:
            return encoding, "exact"
        named = self.model if model is None else model
        return (DEFAULT_ENCODING, "exact") if named is None else _core.encoding_for_model(named)

    def _index(self, message_index: int) -> int:
        if not 0 <= message_index < len(self):
            raise ArgumentError(f"There is no message {message_index}: the transcript has {len(self)}")
        return message_index


def _encode_all(messages: Sequence[Message]) -> bytes:
    try:
        return msgspec.json.encode(messages)
    except (TypeError, ValueError, RecursionError):
        return b"[%b]" % b",".join(_encode(message, k) for k, message in enumerate(messages))


def _encode(message: Message, message_index: int) -> bytes:
    try:
        try:
            return msgspec.json.encode(message)
        except UnicodeEncodeError:
            # Only escapes can carry a lone surrogate.
            return json.dumps(msgspec.to_builtins(message), separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        text = f"Message {message_index} has no JSON form: {error}"
        raise InvalidMessageError(text, 0, f"messages[{message_index}]") from error


def _decode(message: bytes) -> Message:
    try:
        decoded = msgspec.json.decode(message)
    except msgspec.MsgspecError:
        # Lone surrogates and numbers out of range, which the kernel keeps.
        decoded = json.loads(message, parse_int=_parse_int)
    if not isinstance(decoded, dict):  # the kernel reads nothing else as a message
        raise InvalidMessageError("A message is an object", 0, "")
    return decoded


def _parse_int(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _INTEGER_DIGITS else Decimal(digits)
