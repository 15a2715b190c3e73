"""Facts of tool calls: one line each, by rule."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import Transcript
from turnfold.errors import ArgumentError
from turnfold.model.facts import Extracted, FactDetail, ToolCall, ToolFacts
from turnfold.model.scan import BODY_ONLY
from turnfold.planning import facts as module
from turnfold.planning.facts import facts_of, register_alias, register_extractor
from turnfold.planning.ground import Ground
from turnfold.summarizers.digest import fact_line
from turnfold.testing.generators import BY_FORMAT

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "tool_facts.json").read_text(encoding="utf-8")
)


def called(tool: str, arguments: object, result: str | None) -> Transcript:
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    if result is not None:
        messages.append({"role": "tool", "tool_call_id": "c1", "content": result})
    return Transcript.from_messages(messages, format="openai.chat")


def facts(transcript: Transcript, detail: FactDetail = "lines", error_tokens: int = 400) -> tuple[ToolFacts, ...]:
    ground = Ground(transcript, BODY_ONLY)
    return facts_of(ground, [range(len(transcript))], "o200k_base", detail, error_tokens=error_tokens)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_vector(vector: dict[str, Any]) -> None:
    transcript = called(vector["tool"], vector["arguments"], vector["result"])
    (found,) = facts(transcript)
    assert fact_line(found) == vector["line"]
    if "metadata" in vector:
        assert dict(found.metadata) == vector["metadata"]
    (whole,) = facts(transcript, "errors")
    assert (whole.error is not None) == (whole.status == "error")
    if "error" in vector:
        assert whole.error == vector["error"]
        assert fact_line(whole).endswith(f"Error: {vector['error']}]")


def test_a_long_error_is_cut_in_its_middle() -> None:
    (found,) = facts(
        called("bash", {"command": "make"}, "exit code: 2\nError: " + "so it went on. " * 400), "errors", 40
    )
    assert found.error is not None
    assert found.error.startswith("exit code: 2 Error: so it")
    assert "removed ...]" in found.error
    assert "\n" not in found.error


def test_a_tool_of_ones_own_is_described_by_an_extractor_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REGISTERED", {})
    monkeypatch.setattr(module, "_ALIASES", {})
    transcript = called("mcp__house__Fetch-Ticket", {"key": "AB-1"}, "Broken door")
    assert fact_line(facts(transcript)[0]) == "[✓ mcp__house__Fetch-Ticket: key: AB-1 | Result: Broken door]"

    def ticket(call: ToolCall) -> Extracted:
        return Extracted((("Ticket", str(call.arguments["key"])), ("Title", call.result or "")), {"key": "AB-1"})

    register_extractor("fetch_ticket", ticket)
    (found,) = facts(transcript)
    assert fact_line(found) == "[✓ mcp__house__Fetch-Ticket: Ticket: AB-1 | Title: Broken door]"
    assert found.metadata == {"key": "AB-1"}


def test_a_tool_of_ones_own_can_be_said_to_do_what_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ALIASES", {})
    transcript = called("slurp", {"path": "a.py"}, "import os\nx = 1")
    assert "File:" not in fact_line(facts(transcript)[0])
    register_alias("slurp", "read")
    assert fact_line(facts(transcript)[0]) == "[✓ slurp: File: a.py | Lines: 2 | Type: Python | Imports: 1]"
    with pytest.raises(ArgumentError, match="kind must be one of"):
        register_alias("slurp", "drink")  # type: ignore[arg-type]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(BY_FORMAT)), st.integers(0, 1_000))
def test_every_call_of_any_format_is_described_in_one_line(format: str, seed: int) -> None:
    transcript = Transcript.from_json(msgspec.json.encode(BY_FORMAT[format](seed, turns=5)), format=format)
    calls = [block for k in range(len(transcript)) for block in transcript.blocks(k) if block.kind == "tool_call"]
    found = facts(transcript, "errors")
    assert [one.tool for one in found] == [call.name for call in calls]
    for one in found:
        assert "\n" not in fact_line(one)
        assert all(len(value) <= 160 for _, value in one.facts)
    assert facts(transcript, "none") == ()


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["read_file", "bash", "grep", "edit_file", "apply_patch", "anything"]),
    st.dictionaries(
        st.sampled_from(["path", "command", "pattern", "old_text", "edits", "input"]), st.text() | st.lists(st.text())
    ),
    st.none() | st.text(max_size=300),
)
def test_no_call_is_too_odd(tool: str, arguments: dict[str, object], result: str | None) -> None:
    transcript = Transcript.from_json(msgspec.json.encode(called("x", {}, result).messages), format="openai.chat")
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    messages = [*transcript.messages]
    messages[1] = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert len(facts(Transcript.from_messages(messages, format="openai.chat"), "errors")) == 1
