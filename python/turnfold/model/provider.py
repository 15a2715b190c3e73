"""How a provider is asked to compact a conversation itself, as data: which request asks it, and what goes with that."""

from typing import Final

import msgspec

from turnfold.errors import ArgumentError

LIMIT: Final = "$limit_tokens"
"""Stands in a field's value for the policy's limit."""


class SetField(msgspec.Struct, frozen=True):
    """A top-level field of the request that is set to `value`, which is JSON.

    The string `$limit_tokens` in it stands for the limit, as a number. With `into` the value is an entry of a list,
    which is found by these keys in the field, and takes the place of the entry with the same `type`; the list and what
    is around it are made where they are missing. An empty `into` says that the field itself is the list.
    """

    name: str
    value: str
    into: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        try:
            value: object = msgspec.json.decode(self.value.encode())
        except msgspec.DecodeError as error:
            raise ArgumentError(f"The value of {self.name} is no JSON: {error}") from None
        if self.into is not None and not (isinstance(value, dict) and "type" in value):
            raise ArgumentError(f"The value of {self.name} is an entry of a list, and needs a type")


class ProviderRule(msgspec.Struct, frozen=True):
    """How one provider is asked, by the wire format that it speaks.

    `endpoint` is method and path, `headers` go along. `fields` are set in the request, those named in `dropped` taken
    out, and with `only` all others. `needs_limit` says that the provider is told a number of tokens, of which it takes
    `least_limit_tokens` and more.
    """

    format: str
    endpoint: str
    headers: tuple[tuple[str, str], ...] = ()
    fields: tuple[SetField, ...] = ()
    dropped: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    needs_limit: bool = False
    least_limit_tokens: int = 1


class ProviderRequest(msgspec.Struct, frozen=True):
    """The request that asks the provider to compact: the transcript's own body with other top-level fields.

    `endpoint` is method and path, `headers` go along, beside the caller's own. `fields` are the top-level fields with
    the JSON of their values, `dropped` those that are taken out. `turnfold.provider_body` makes the body.
    """

    endpoint: str
    headers: tuple[tuple[str, str], ...]
    fields: tuple[tuple[str, str], ...]
    dropped: tuple[str, ...]
