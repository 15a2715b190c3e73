"""Facts of tool calls by rule: one extractor a kind of tool, and those that a program registers for its own tools."""

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import attrgetter
from typing import Final, get_args

import msgspec

from turnfold.errors import ArgumentError
from turnfold.meter import truncate_middle
from turnfold.model.facts import DigestKind, Extracted, Fact, FactDetail, ToolCall, ToolFacts, ToolStatus
from turnfold.model.summary import ToolDigest
from turnfold.planning.extractors import other, read, search, shell, write
from turnfold.planning.ground import Ground

Extractor = Callable[[ToolCall], Extracted]
"""Asked of one call. Must be pure: the same facts for the same call."""

_BY_KIND: Final[dict[DigestKind, Extractor]] = {
    "read": read.extract,
    "shell": shell.extract,
    "search": search.extract,
    "write": write.extract,
    "other": other.extract,
}
_REGISTERED: Final[dict[str, Extractor]] = {}
_ALIASES: Final[dict[str, DigestKind]] = {}

_PATHS = ("path", "file_path", "filePath", "file", "filename", "uri")
_TARGETS: Final[dict[DigestKind, tuple[str, ...]]] = {
    "read": _PATHS,
    "write": _PATHS,
    "shell": ("command", "cmd", "script", "code"),
    "search": ("pattern", "query", "regex", "q", "text"),
    "other": (),
}
"""Where a tool of a registered name has what it works on: the kernel knows the arguments of those that it knows."""

_CUT = re.compile(
    r"\btruncated\b|\b(?:output|results?|lines?) (?:was |were )?(?:cut|omitted|clipped)\b|\[\.\.\.|\btimed out\b",
    re.IGNORECASE,
)
_EXIT = re.compile(r"^exit (-?\d+)\b")
_QUOTED = re.compile(r'"(?P<line>.*)"$', re.DOTALL)
_EDGE_CHARACTERS = 400
_LONGEST_VALUE = 160


def register_extractor(tool: str, extractor: Extractor) -> None:
    """Let `extractor` describe calls of the tool with this name; the same name again replaces what was there.

    Names are compared by their last part, without case, `_` and `-`: `mcp__box__read_file` and `ReadFile` are one. For
    the whole process; an extractor is called for each call of the tool in what goes, so it should be fast.
    """
    _REGISTERED[_plain(tool)] = extractor


def register_alias(tool: str, kind: DigestKind) -> None:
    """Say what a tool of this name does, where that is not known: its calls are then described as such."""
    if kind not in get_args(DigestKind):
        raise ArgumentError(f"kind must be one of {', '.join(get_args(DigestKind))}, got {kind!r}")
    _ALIASES[_plain(tool)] = kind


def facts_of(
    ground: Ground, parts: Iterable[range], encoding: str, detail: FactDetail, *, error_tokens: int
) -> tuple[ToolFacts, ...]:
    """Describe every call in these messages, in order, in as much detail.

    The text of an error is cut in its middle to `error_tokens`. O(bytes).
    """
    if detail == "none":
        return ()
    kept_tokens = error_tokens if detail == "errors" else None
    transcript = ground.transcript
    answers = {
        (pair.call_message, pair.call_block): (pair.result_message, pair.result_block) for pair in ground.report.pairs
    }
    found: list[ToolFacts] = []
    for part in parts:
        digests = transcript.digests(part.start, part.stop)
        for index, own in groupby(digests, attrgetter("message")):
            blocks = transcript.blocks(index)
            calls = [k for k, block in enumerate(blocks) if block.kind == "tool_call"]
            for at, digest in zip(calls, own, strict=False):
                answer = answers.get((index, at))
                result = None if answer is None else transcript.blocks(answer[0])[answer[1]].text
                found.append(_facts(_call(digest, blocks[at].text, result), index, encoding, kept_tokens))
    return tuple(found)


def _call(digest: ToolDigest, text: str, result: str | None) -> ToolCall:
    # The text of a call is its tool's name, and in the next line its arguments.
    arguments = text.removeprefix(digest.tool).strip()
    try:
        values = msgspec.json.decode(arguments.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        values = None
    named = isinstance(values, dict)
    exit_code = _EXIT.match(digest.outcome)
    line = _QUOTED.search(digest.outcome) if digest.is_error else None
    kind = _ALIASES.get(_plain(digest.tool), digest.kind)
    target = digest.target
    if kind != digest.kind and named:
        target = next((str(values[name]) for name in _TARGETS[kind] if values.get(name)), target)
    return ToolCall(
        tool=digest.tool,
        kind=kind,
        arguments=values if named else {},
        freeform="" if named else arguments,
        target=target,
        result=result,
        failed=digest.is_error,
        exit_code=None if exit_code is None else int(exit_code[1]),
        error_line=None if line is None else line["line"],
    )


def _facts(call: ToolCall, message: int, encoding: str, error_tokens: int | None) -> ToolFacts:
    extractor = _REGISTERED.get(_plain(call.tool)) or _BY_KIND[call.kind]
    extracted = extractor(call)
    facts: list[Fact] = [(name, _one_line(value)) for name, value in extracted.facts]
    error = None
    if call.failed:
        if error_tokens is not None:
            whole = " ".join((call.result or "").split())
            error = " ".join(truncate_middle(whole, error_tokens, encoding).split())
        if error is None and call.error_line:
            facts.append(("Error", _one_line(call.error_line)))
    elif call.result is None:
        facts.append(("Result", "none"))
    return ToolFacts(message, call.tool, _status(call), tuple(facts), extracted.metadata, error or None)


def _status(call: ToolCall) -> ToolStatus:
    if call.failed:
        return "error"
    if call.result is None:
        return "partial"
    # What a tool says of its own output stands at one of its ends.
    edges = call.result[:_EDGE_CHARACTERS] + call.result[-_EDGE_CHARACTERS:]
    return "partial" if _CUT.search(edges) else "success"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_VALUE else f"{line[: _LONGEST_VALUE - 1]}…"


def _plain(tool: str) -> str:
    last = re.split(r"[./:]|__", tool)[-1]
    return last.replace("_", "").replace("-", "").lower()
