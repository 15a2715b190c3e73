"""A field case as data: one JSON file, read without passing over anything that is not known."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

Layer = Literal["meter", "pairs", "split", "prefix", "summarize", "adapters", "store", "batch"]
Format = Literal["text", "openai-chat", "openai-responses", "anthropic", "gemini"]

WIRE_FORMATS: Mapping[str, str] = {
    "openai-chat": "openai.chat",
    "openai-responses": "openai.responses",
    "anthropic": "anthropic.messages",
    "gemini": "gemini.contents",
}
"""The formats of the cases that this version reads, and its own names for them."""

Shape = TypeVar("Shape")


class CaseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One case. `input` and `expect` are read by the layer that checks it."""

    id: str
    title: str
    source: str
    relation: Literal["reproduces", "derived"]
    layer: Layer
    format: Format
    input: dict[str, object]
    expect: dict[str, object]
    class_: str = msgspec.field(name="class")
    see_also: list[str] = []


class Mismatch(msgspec.Struct, frozen=True):
    """One expectation that does not hold: where it stands in the case, what it says, and what there is."""

    where: str
    expected: str
    got: str


class CaseError(Exception):
    """The case itself cannot be checked: an unknown key, a value of the wrong shape, an unused parameter."""


Mismatches = Iterator[Mismatch]


def read_case(path: Path) -> CaseFile:
    """Read one case file; raises CaseError where it does not have the layout, OSError where it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=CaseFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CaseError(f"not a case: {error}") from error


def shaped(value: object, shape: type[Shape], where: str) -> Shape:
    """Return the value as `shape`; an unknown key anywhere in it is a CaseError."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise CaseError(f"{where}: {error}") from error


def given(struct: msgspec.Struct) -> Iterator[tuple[str, object]]:
    """Return the fields that the case gives, in order, under the names that the case uses."""
    for field in msgspec.structs.fields(struct):
        value = getattr(struct, field.name)
        if value is not msgspec.UNSET:
            yield field.encode_name, value


def differs(where: str, expected: object, got: object) -> Mismatches:
    """Yield a mismatch where the two are not equal."""
    if expected != got:
        yield Mismatch(where, brief(expected), brief(got))


def brief(value: object) -> str:
    """Return a value in at most 300 characters."""
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=repr).decode("utf-8", "replace")
    return text if len(text) <= 300 else text[:297] + "..."


def holds(operator: str, left: float, right: float, tolerance: float = 0) -> bool:
    """Whether `left operator right` holds; `near` is within the tolerance."""
    match operator:
        case "lt":
            return left < right
        case "le":
            return left <= right
        case "eq":
            return left == right
        case "ge":
            return left >= right
        case "gt":
            return left > right
        case "near":
            return abs(left - right) <= tolerance
        case _:
            raise CaseError(f"unknown relation {operator!r}")
