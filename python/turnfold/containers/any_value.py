"""Values as OTLP JSON spells them (`AnyValue`, `KeyValue`), both ways."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from turnfold.containers.document import list_of, object_of, text_of

_KINDS: Final = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")


def plain(value: object) -> object:
    """Return the value that an OTLP `AnyValue` spells; anything else as it is."""
    fields = object_of(value)
    if "arrayValue" in fields:
        return [plain(item) for item in list_of(value, "arrayValue", "values")]
    if "kvlistValue" in fields:
        return fields_of(list_of(value, "kvlistValue", "values"))
    whole = text_of(value, "intValue")
    if whole is not None and re.fullmatch(r"-?[0-9]{1,19}", whole):
        return int(whole)
    return next((fields[kind] for kind in _KINDS if kind in fields), None if isinstance(value, Mapping) else value)


def fields_of(pairs: Sequence[object]) -> dict[str, object]:
    """Return the object that a list of `KeyValue` spells."""
    return {name: plain(object_of(pair).get("value")) for pair in pairs if (name := text_of(pair, "key")) is not None}


def spelled(value: object) -> object:
    """Return the `AnyValue` of an object, a list or a text."""
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": pairs_of(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [spelled(item) for item in value]}}
    return {"stringValue": value}


def pairs_of(fields: Mapping[str, object]) -> list[object]:
    """Return the list of `KeyValue` of an object."""
    return [{"key": key, "value": spelled(value)} for key, value in fields.items()]
