"""A compaction that is left to the provider: the request that asks it for one, byte for byte the caller's otherwise."""

from collections.abc import Mapping, Sequence

import msgspec

from turnfold import checks
from turnfold.errors import ArgumentError
from turnfold.model.counts import TokenCount
from turnfold.model.plan import Skip
from turnfold.model.policy import AskProvider
from turnfold.model.provider import LIMIT, ProviderRequest, ProviderRule, SetField
from turnfold.model.scan import ScanOptions
from turnfold.planning.ground import Ground
from turnfold.transcript import Transcript

_Json = dict[str, object] | list[object] | str | float | bool | None


def provider_body(transcript: Transcript, request: ProviderRequest) -> bytes:
    """Return the body of `request`: that of `transcript`, whose values stay byte for byte, with other top-level fields.

    Raises an `ArgumentError` where the transcript is a list of messages, and no request. O(bytes).
    """
    values = transcript.request_fields()
    if values is None:
        raise ArgumentError("The transcript is a list of messages: a request has fields beside them, such as the model")
    fields = dict(request.fields)
    kept = {name: value for name, value in values.items() if name not in request.dropped}
    texts = kept | {name: value.encode() for name, value in fields.items()}
    return b"{" + b",".join(msgspec.json.encode(name) + b":" + value for name, value in texts.items()) + b"}"


def ask_provider(
    ground: Ground, step: AskProvider, *, limit_tokens: int | None, before: TokenCount, options: ScanOptions
) -> Skip:
    """Return the outcome: the request that asks the provider, or why there is none. O(bytes)."""
    transcript = ground.transcript
    rule = next((one for one in step.rules if one.format == transcript.format), None)
    if rule is None:
        known = ", ".join(sorted({one.format for one in step.rules}))
        return _none(f"No compaction by the provider is known for {transcript.format}, only for {known}.", before)
    values = transcript.request_fields()
    if values is None:
        return _none("The transcript is a list of messages: only a whole request can ask the provider.", before)
    if rule.needs_limit and (limit_tokens is None or limit_tokens < rule.least_limit_tokens):
        least = rule.least_limit_tokens
        return _none(
            f"The provider wants a limit of {least} tokens or more, and the policy's is {limit_tokens}.", before
        )
    if not transcript.remote and ground.start >= len(transcript):
        return Skip("nothing_to_compact", "Nothing stands after the instructions and what is compacted.", before)
    request = _request(rule, values, limit_tokens)
    body = provider_body(transcript, request)
    if rule.fields and body == provider_body(transcript, ProviderRequest(rule.endpoint, (), (), ())):
        return Skip("nothing_to_compact", "The request asks the provider for that already.", before)
    report = checks.scan(Transcript.from_json(body, format=transcript.format), options)
    if not report.ok:
        errors = tuple(finding for finding in report.findings if finding.severity == "error")
        return Skip("invalid_input", f"The provider would refuse: {errors[0].text}.", before, errors)
    return Skip("left_to_provider", f"The provider is asked to compact: {said(request)}.", before, (), request)


def said(request: ProviderRequest) -> str:
    """Say in words where a request is sent."""
    headers = "".join(f", with the header {name}: {value}" for name, value in request.headers)
    return f"send the request to {request.endpoint}{headers}"


def _none(text: str, before: TokenCount) -> Skip:
    return Skip("no_provider_compaction", text, before)


def _request(rule: ProviderRule, values: Mapping[str, bytes], limit_tokens: int | None) -> ProviderRequest:
    fields = tuple((one.name, _value(one, values.get(one.name), limit_tokens)) for one in rule.fields)
    named = {name for name, _ in fields}
    dropped = [
        name
        for name in values
        if name not in named and (name in rule.dropped or (rule.only is not None and name not in rule.only))
    ]
    return ProviderRequest(rule.endpoint, rule.headers, fields, tuple(dropped))


def _value(field: SetField, there: bytes | None, limit_tokens: int | None) -> str:
    value = _with_limit(msgspec.json.decode(field.value.encode()), limit_tokens)
    if field.into is not None and isinstance(value, dict):
        held: _Json = None if there is None else msgspec.json.decode(there)
        changed = _with_entry(held, field.into, value)
        if there is not None and changed == held:
            return there.decode()
        value = changed
    return msgspec.json.encode(value).decode()


def _with_limit(value: _Json, limit_tokens: int | None) -> _Json:
    match value:
        case str() if value == LIMIT:
            return limit_tokens
        case dict():
            return {name: _with_limit(_known(one), limit_tokens) for name, one in value.items()}
        case list():
            return [_with_limit(_known(one), limit_tokens) for one in value]
        case _:
            return value


def _with_entry(held: _Json, keys: Sequence[str], entry: dict[str, object]) -> _Json:
    """Put an entry into the list that `keys` lead to, in the place of the one with its type."""
    if keys:
        around = dict(held) if isinstance(held, dict) else {}
        return around | {keys[0]: _with_entry(_known(around.get(keys[0])), keys[1:], entry)}
    entries = list(held) if isinstance(held, list) else []
    same = [k for k, one in enumerate(entries) if isinstance(one, dict) and one.get("type") == entry["type"]]
    if not same:
        return [*entries, entry]
    # What else the caller says of it stays.
    old = entries[same[0]]
    entries[same[0]] = (old | entry) if isinstance(old, dict) else entry
    return entries


def _known(value: object) -> _Json:
    return value if isinstance(value, dict | list | str | float | bool | int) else None
