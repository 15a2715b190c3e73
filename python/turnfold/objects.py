"""Messages as Python objects: to JSON and back, with nothing lost that the bytes can say."""

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

import msgspec

from turnfold import _core
from turnfold.errors import InvalidMessageError

Message = Mapping[str, object]
"""A message as Python objects."""

_INTEGER_DIGITS: Final = 4_300
"""Python refuses to parse longer integers."""


def _plain(value: object) -> object:
    """Return what JSON has for a value that the encoder does not know."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


# `messages` holds decimals for the numbers that no other type of Python holds exactly.
_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number")


def encode_all(messages: tuple[Message, ...], first: int = 0) -> bytes:
    """Return the JSON of a list of messages, which stand from `first` on.

    Raises an `InvalidMessageError` that names what has no JSON form.
    """
    try:
        encoded = _ENCODER.encode(messages)
        # Null is what the encoder writes for NaN and the infinities, too.
        if b"null" not in encoded or _core.is_plain(messages):
            return encoded
    except (TypeError, ValueError, RecursionError):
        pass
    return b"[%b]" % b",".join(encode(message, k) for k, message in enumerate(messages, first))


def listed(given: object) -> tuple[Message, ...]:
    """Return the messages of a list of them."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        return tuple(given)
    raise TypeError(f"a body is bytes, bytearray, memoryview or a list of messages, not {type(given).__name__}")


def read_after(
    previous: _core.Transcript, seen: _core.SeenObjects | None, messages: tuple[Message, ...]
) -> tuple[_core.Transcript, _core.SeenObjects]:
    """Read messages that go on from `previous`, whose own were as `seen`. Return what is seen now, too."""
    seen = _core.SeenObjects() if seen is None else seen
    kept = seen.shared(messages)
    grown = previous.grown(kept, encode_all(messages[kept:], kept)) if kept else None
    if grown is None:
        grown = _core.Transcript.extend_from(previous, encode_all(messages))
    return grown, seen.followed_by(kept, messages)


def encode(message: Message, message_index: int) -> bytes:
    """Return the JSON of one message. Raises an `InvalidMessageError` with its index where it has none."""
    try:
        try:
            encoded = _ENCODER.encode(message)
        except UnicodeEncodeError:
            # Only escapes can carry a lone surrogate.
            return json.dumps(_builtins(message), separators=(",", ":"), allow_nan=False).encode()
        finite = b"null" not in encoded or _is_finite(_builtins(message))
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_json_form(message_index, str(error)) from error
    if not finite:
        raise _no_json_form(message_index, "NaN and the infinities are no numbers there")
    return encoded


def _no_json_form(message_index: int, why: str) -> InvalidMessageError:
    return InvalidMessageError(f"Message {message_index} has no JSON form: {why}", 0, f"messages[{message_index}]")


def _builtins(message: Message) -> object:
    return msgspec.to_builtins(message, enc_hook=_plain, builtin_types=(Decimal,))


def _is_finite(plain: object) -> bool:
    waiting = [plain]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
        elif isinstance(value, float) and not math.isfinite(value):
            return False
    return True


def decode(message: bytes) -> Message:
    """Return a message that the kernel has read. Of two equal keys the last is seen."""
    try:
        decoded = msgspec.json.decode(message)
    except msgspec.MsgspecError:
        # Lone surrogates and numbers out of range, which the kernel keeps.
        decoded = json.loads(message, parse_int=_parse_int, parse_float=_parse_float)
    if not isinstance(decoded, dict):  # the kernel reads nothing else as a message
        raise InvalidMessageError("A message is an object", 0, "")
    return decoded


def _parse_int(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _INTEGER_DIGITS else Decimal(digits)


def _parse_float(digits: str) -> float | Decimal:
    number = float(digits)
    return number if math.isfinite(number) else Decimal(digits)
