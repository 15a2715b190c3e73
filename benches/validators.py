"""What three other validators of message histories say of a transcript, beside what turnfold says.

`turnsafe`, `tessera-transcript` and `tool-call-repair` read OpenAI Chat Completions and Anthropic Messages. Each knows
some of the rules; a verdict is compared within those only. Where they and turnfold differ on purpose, the difference
has a name in `EXPLAINED`, and a vector in `tests/vectors/agreement.json` that shows it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import tessera
import toolrepair
import turnsafe

from turnfold.checks import scan
from turnfold.model.scan import ScanOptions
from turnfold.transcript import Transcript

Messages = Sequence[Mapping[str, Any]]

_SHORT = {"openai.chat": "openai", "anthropic.messages": "anthropic"}
FORMATS = tuple(_SHORT)
"""The formats that all three read."""

_PAIRING = {"orphan_result", "unanswered_call", "duplicate_result", "duplicate_call_id"}


@dataclass(frozen=True)
class Validator:
    """One validator: the finding codes of turnfold that it has rules for, by format, and what it finds in messages."""

    name: str
    knows: Mapping[str, set[str]]
    finds: Callable[[list[Any], str], list[str]]


def _turnsafe(messages: list[Any], provider: str) -> list[str]:
    try:
        found = turnsafe.validate(messages, provider=provider).violations
    except ValueError as error:
        # It refuses calls and results without an id instead of reporting them.
        return [str(error)]
    return [violation.code for violation in found if violation.severity == "error"]


def _tool_call_repair(messages: list[Any], provider: str) -> list[str]:
    return [violation.code for violation in toolrepair.validate(messages, format=provider)]


def _tessera(messages: list[Any], provider: str) -> list[str]:
    return [finding.defect.value for finding in tessera.inspect(messages, adapter=provider).findings]


_EVERYWHERE = _PAIRING | {"misplaced_result"}
_CONTENT = {"result_not_first", "blank_text", "empty_content", "leading_system"}

VALIDATORS = (
    Validator(
        "turnsafe",
        {
            "openai.chat": _EVERYWHERE | {"call_without_id", "result_without_id"},
            "anthropic.messages": _EVERYWHERE | _CONTENT | {"call_without_id", "result_without_id"},
        },
        _turnsafe,
    ),
    Validator(
        "tool-call-repair",
        {"openai.chat": _EVERYWHERE, "anthropic.messages": _EVERYWHERE | {"result_not_first"}},
        _tool_call_repair,
    ),
    Validator(
        "tessera-transcript",
        dict.fromkeys(_SHORT, _PAIRING | {"call_without_id", "result_without_id", "empty_content"}),
        _tessera,
    ),
)


@dataclass(frozen=True)
class Disagreement:
    """One verdict that differs: what the validator found, what turnfold found of the rules that it knows."""

    validator: str
    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    explained: str | None
    """The name of the difference that explains it, if one does."""


def disagreements(transcript: Transcript) -> Iterator[Disagreement]:
    """Compare the verdicts on a transcript of `FORMATS`, as one that nothing follows: no call is awaited."""
    provider = _SHORT[transcript.format]
    messages: list[Any] = list(transcript.messages)
    findings = scan(transcript, ScanOptions(closed=True)).findings
    # To the others a second result is an error whatever the receiver.
    codes = {f.code for f in findings if f.severity == "error" or f.code in _PAIRING}
    for validator in VALIDATORS:
        theirs = tuple(sorted(set(validator.finds(messages, provider))))
        ours = tuple(sorted(codes & validator.knows[transcript.format]))
        if bool(theirs) != bool(ours):
            names = (
                name for name, applies in EXPLAINED.items() if applies(validator.name, transcript.format, messages)
            )
            yield Disagreement(validator.name, theirs, ours, next(names, None))


def _joins_neighbours(validator: str, wire_format: str, messages: Messages) -> bool:
    roles = [message.get("role") for message in messages]
    same = any(a == b for a, b in pairwise(roles))
    return validator == "tool-call-repair" and wire_format == "anthropic.messages" and same


def _reuses_ids(validator: str, wire_format: str, messages: Messages) -> bool:
    del validator
    ids = Counter(
        call.get("id") for message in messages for call in message.get("tool_calls") or () if isinstance(call, Mapping)
    )
    return wire_format == "openai.chat" and any(count > 1 for count in ids.values())


def _overlooks_legacy_calls(validator: str, wire_format: str, messages: Messages) -> bool:
    legacy = any(message.get("function_call") or message.get("role") == "function" for message in messages)
    return validator == "tessera-transcript" and wire_format == "openai.chat" and legacy


def _overlooks_unknown_kinds(validator: str, wire_format: str, messages: Messages) -> bool:
    contents = [message.get("content") for message in messages]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    kinds = {part.get("type") for part in parts if isinstance(part, Mapping)}
    return validator == "tessera-transcript" and wire_format == "openai.chat" and bool(kinds - {"text", "refusal"})


def _takes_no_empty_answer(validator: str, wire_format: str, messages: Messages) -> bool:
    last = messages[-1] if messages else {}
    empty = last.get("role") == "assistant" and last.get("content") in (None, "", [])
    return validator == "tessera-transcript" and wire_format == "anthropic.messages" and empty


def _takes_empty_users(validator: str, wire_format: str, messages: Messages) -> bool:
    contents = [message.get("content") for message in messages if message.get("role") == "user"]
    empty = any(not content or (isinstance(content, str) and not content.strip()) for content in contents)
    return validator == "tessera-transcript" and wire_format == "anthropic.messages" and empty


EXPLAINED: dict[str, Callable[[str, str, Messages], bool]] = {
    "neighbours of one role are one message": _joins_neighbours,
    "ids may come again once the call is answered": _reuses_ids,
    "a legacy function call is a call": _overlooks_legacy_calls,
    "a block of an unknown kind is content": _overlooks_unknown_kinds,
    "the last answer may be empty": _takes_no_empty_answer,
    "a message of the user holds something": _takes_empty_users,
}
"""Differences that are meant, by name: whether one can explain a verdict of this validator on these messages."""
