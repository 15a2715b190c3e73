"""The named texts of a case and the relations between their counts."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from turnfold.meter import count
from turnfold.testing.case_files import CaseError, Mismatch, Mismatches, brief, holds

ENCODINGS = ("cl100k_base", "o200k_base")


class TextSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text that is not written out: repeated, or given as UTF-16 code units so that it may hold half a pair."""

    repeat: tuple[str, int] | msgspec.UnsetType = msgspec.UNSET
    utf16: list[int] | msgspec.UnsetType = msgspec.UNSET


class LeftSide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The count of a named text."""

    count: str


class RightSide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number: given, or a count, or a length of a named text, times a factor."""

    value: float | msgspec.UnsetType = msgspec.UNSET
    count: str | msgspec.UnsetType = msgspec.UNSET
    chars: str | msgspec.UnsetType = msgspec.UNSET
    utf8: str | msgspec.UnsetType = msgspec.UNSET
    times: float = 1.0


class Relation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A relation between the count of a text and a number; for both encodings unless one is named."""

    op: Literal["lt", "le", "eq", "ge", "gt"]
    left: LeftSide
    right: RightSide
    encoding: str | msgspec.UnsetType = msgspec.UNSET


Texts = Mapping[str, str]


def texts_of(specs: Mapping[str, str | TextSpec]) -> dict[str, str]:
    """Return the texts, written out."""
    return {name: _text(name, spec) for name, spec in specs.items()}


def _text(name: str, spec: str | TextSpec) -> str:
    if isinstance(spec, str):
        return spec
    if spec.repeat is not msgspec.UNSET and spec.utf16 is msgspec.UNSET:
        text, times = spec.repeat
        return text * times
    if spec.utf16 is not msgspec.UNSET and spec.repeat is msgspec.UNSET:
        # Each unit stays a character of its own, so that halves of a pair arrive as halves.
        return "".join(map(chr, spec.utf16))
    raise CaseError(f"text {name!r} is neither a repetition nor UTF-16")


def check_relations(relations: list[Relation], texts: Texts, where: str) -> Mismatches:
    """Every relation, in every encoding that it holds for."""
    for k, relation in enumerate(relations):
        encodings = ENCODINGS if relation.encoding is msgspec.UNSET else (relation.encoding,)
        for encoding in encodings:
            left = count(named(texts, relation.left.count), encoding)
            right = _right(relation.right, texts, encoding)
            if not holds(relation.op, left, right):
                yield Mismatch(
                    f"{where}[{k}] in {encoding}", f"{brief(relation.left.count)} {relation.op} {right:g}", str(left)
                )


def named(texts: Texts, name: str) -> str:
    """Return the text of that name."""
    if name not in texts:
        raise CaseError(f"no text is named {name!r}")
    return texts[name]


def _right(side: RightSide, texts: Texts, encoding: str) -> float:
    numbers: list[float] = []
    if side.value is not msgspec.UNSET:
        numbers.append(side.value)
    if side.count is not msgspec.UNSET:
        numbers.append(count(named(texts, side.count), encoding))
    if side.chars is not msgspec.UNSET:
        numbers.append(len(named(texts, side.chars)))
    if side.utf8 is not msgspec.UNSET:
        numbers.append(len(named(texts, side.utf8).encode("utf-8", "surrogatepass")))
    if len(numbers) != 1:
        raise CaseError("the right side of a relation needs exactly one of value, count, chars and utf8")
    return numbers[0] * side.times
