"""Cases of the layer `prefix`: what two requests share from the start."""

import json
from typing import Literal

import msgspec

from turnfold.checks import compare_prefix
from turnfold.model.prefix import Difference, PrefixReport
from turnfold.testing.case_files import WIRE_FORMATS, CaseError, CaseFile, Mismatches, differs, given, shaped
from turnfold.transcript import Transcript

_UNSET = msgspec.UNSET
_Unset = msgspec.UnsetType


class _Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tools and messages are JSON texts whose bytes count; system is plain text."""

    tools: str
    system: str
    messages: list[str]


class _Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    requests: tuple[_Request, _Request]


class _Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    segment: Literal["tools", "system", "messages"]
    index: int


class _WithoutMarkers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    first_is_prefix_of_second: bool


class _Prefix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    first_is_prefix_of_second: bool | _Unset = _UNSET
    first_divergence: _Place | _Unset | None = _UNSET
    ignoring_cache_markers: _WithoutMarkers | _Unset = _UNSET


class _Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    prefix: _Prefix


def check_prefix(case: CaseFile) -> Mismatches:
    """All expectations of one case."""
    requests = shaped(case.input, _Input, "input").requests
    expect = shaped(case.expect, _Expect, "expect").prefix
    before, after = (Transcript.from_json(_body(r, case.format), format=WIRE_FORMATS[case.format]) for r in requests)
    report = compare_prefix(before, after)
    for name, value in given(expect):
        yield from differs(f"expect.prefix.{name}", msgspec.to_builtins(value), _got(name, case.format, report))


def _got(name: str, wire_format: str, report: PrefixReport) -> object:
    match name:
        case "first_is_prefix_of_second":
            return report.before_is_prefix
        case "first_divergence":
            return _place(report.first_difference, wire_format)
        case "ignoring_cache_markers":
            return {"first_is_prefix_of_second": report.ignoring_cache_markers}
        case _:
            raise CaseError(f"expect.prefix.{name} is not checked")


def _body(request: _Request, wire_format: str) -> bytes:
    """Return the request's bytes, its tools and messages as they stand in the case."""
    system = json.dumps(request.system, ensure_ascii=False)
    messages = list(request.messages)
    if wire_format == "anthropic":
        return f'{{"tools":{request.tools},"system":{system},"messages":[{",".join(messages)}]}}'.encode()
    messages.insert(0, f'{{"role":"system","content":{system}}}')
    return f'{{"tools":{request.tools},"messages":[{",".join(messages)}]}}'.encode()


def _place(difference: Difference | None, wire_format: str) -> dict[str, object] | None:
    """Return the difference in the case's terms, where OpenAI's system text is a segment and not message 0."""
    if difference is None:
        return None
    segment, index = difference.section, difference.message or 0
    if segment == "messages" and wire_format != "anthropic":
        segment, index = ("system", 0) if index == 0 else ("messages", index - 1)
    return {"segment": segment, "index": index}
