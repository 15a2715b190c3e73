"""The digest by rule: its lines, its header, its updates, and what becomes of it where there is no room."""

import re
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import CompactionResult, Function, PlanState, Skip, Transcript, compact_sync, meter, presets
from turnfold.errors import ArgumentError
from turnfold.model.facts import ToolFacts
from turnfold.model.summary import SummaryRecord, SummaryRequest
from turnfold.summarizers.digest import CUT, LEAST_TOKENS, OMITTED, write_digest

Json = dict[str, object]
PROSE = "The build failed again and nobody knows why, so we looked at every line of the log. "


def request(
    calls: list[ToolFacts], previous: str | None = None, max_tokens: int = 400, record: SummaryRecord | None = None
) -> SummaryRequest:
    return SummaryRequest(
        messages=(),
        task=None,
        latest=None,
        previous=previous,
        digests=(),
        identifiers=(),
        max_tokens=max_tokens,
        source_tokens=10_000,
        encoding="o200k_base",
        schema="tool_digest",
        record=record or SummaryRecord(2 * len(calls)),
        facts=tuple(calls),
    )


def read(number: int) -> ToolFacts:
    return ToolFacts(number, "read_file", "success", (("File", f"src/part{number}.py"), ("Lines", str(10 + number))))


def failed(number: int) -> ToolFacts:
    return ToolFacts(number, "bash", "error", (("Command", f"make {number}"), ("Exit", "2")), error="No rule.")


def test_the_first_digest() -> None:
    record = SummaryRecord(4, None, 1, "2026-01-31T09:00:00Z", "2026-01-31T09:00:00Z")
    header, *lines = write_digest(request([read(1), failed(2)], record=record)).splitlines()
    assert lines == [
        "Update 1:",
        "[✓ read_file: File: src/part1.py | Lines: 11]",
        "[❌ bash: Command: make 2 | Exit: 2 | Error: No rule.]",
    ]
    said = re.fullmatch(
        r"Digest of 2 items from 4 messages, version 1, (\d+) tokens, "
        r"created 2026-01-31T09:00:00Z, updated 2026-01-31T09:00:00Z:",
        header,
    )
    assert said is not None
    assert int(said[1]) == sum(meter.count(f"{line}\n", "o200k_base") for line in lines)


def test_it_is_written_on_under_numbered_updates() -> None:
    text: str | None = None
    for number in range(1, 4):
        text = write_digest(request([read(number)], text, record=SummaryRecord(2 * number, None, number)))
    lines = str(text).splitlines()
    assert lines[0].startswith("Digest of 3 items from 6 messages, version 3, ")
    assert [line for line in lines if line.startswith("Update")] == ["Update 1:", "Update 2:", "Update 3:"]
    assert [k for k in range(1, 4) if f"part{k}.py" in str(text)] == [1, 2, 3]


def test_where_it_is_cut_it_says_so_and_the_newest_stay() -> None:
    first = write_digest(request([read(k) for k in range(5)], max_tokens=140))
    second = write_digest(request([read(k) for k in range(5, 9)], first, max_tokens=140))
    assert CUT in second
    assert "part8.py" in second
    assert "part0.py" not in second
    # The number of a cut update is known to the next one.
    third = write_digest(request([read(9)], second, max_tokens=140))
    assert "Update 3:" in third


def test_what_is_over_twice_the_cap_is_condensed() -> None:
    first = write_digest(request([read(k) for k in range(6)] + [failed(6)], max_tokens=220))
    assert CUT not in first
    second = write_digest(request([read(k) for k in range(10, 40)], first, max_tokens=220))
    condensed = second.splitlines()[1]
    files = ", ".join(f"src/part{k}.py" for k in range(6))
    assert condensed == f"Updates 1-1: 7 items, 1 failed: read_file 6, bash 1 | Files: {files}"
    assert second.startswith("Digest of 37 items")
    assert "part39.py" in second
    assert "Update 2:" in second
    third = write_digest(request([failed(k) for k in range(50, 90)], second, max_tokens=220))
    again = third.splitlines()[1]
    # Most of the second update was cut, and is counted all the same.
    assert again.startswith("Updates 1-2: 37 items, 1 failed: read_file ")
    assert " more | Files: " in again
    assert "1 failed" in again
    assert "Update 3:" in third
    assert meter.count(third, "o200k_base") <= 220


def test_below_the_least_room_only_a_marker_says_so() -> None:
    assert write_digest(request([read(1)], max_tokens=LEAST_TOKENS - 1)) == OMITTED
    assert OMITTED not in write_digest(request([read(1)], max_tokens=LEAST_TOKENS))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.booleans(), st.text(max_size=40)), max_size=12), min_size=1, max_size=5),
    st.integers(0, 300),
)
def test_it_never_counts_more_than_its_cap(updates: list[list[tuple[bool, str]]], cap: int) -> None:
    text: str | None = None
    items = 0
    for update in updates:
        calls = [
            ToolFacts(k, "t", "error" if bad else "success", (("Said", " ".join(said.split())),))
            for k, (bad, said) in enumerate(update)
        ]
        items += len(calls)
        text = write_digest(request(calls, text, cap))
        assert meter.count(text, "o200k_base") <= max(cap, 1)
        if cap >= LEAST_TOKENS:
            assert text.startswith(f"Digest of {items} item")
            assert write_digest(request(calls, None, cap)) == write_digest(request(calls, None, cap))


def session(calls: int) -> Transcript:
    messages: list[Json] = [{"role": "system", "content": "Be careful."}, {"role": "user", "content": "Go."}]
    for k in range(calls):
        function = {"name": "read_file", "arguments": f'{{"path": "/app{k}.ts"}}'}
        call = {"id": f"c{k}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{k}", "content": f"line {k}\n" * 100})
    return Transcript.from_messages([*messages, {"role": "user", "content": "And now?"}], format="openai.chat")


def test_it_stands_after_the_instructions_and_takes_a_tenth_of_what_is_free() -> None:
    transcript = session(60)
    limit = transcript.tokens().n * 2 // 3
    policy = presets.rule_digest(5_000, fraction=None, limit_tokens=limit)
    result = compact_sync(transcript, policy, state=PlanState(now=datetime(2026, 1, 31, tzinfo=UTC)))
    assert isinstance(result, CompactionResult), result
    assert result.messages[0]["role"] == "system"
    assert "[✓ read_file: File: /app43.ts | Lines: 100 | Type: TypeScript]\n</" in str(result.summary)
    assert "created 2026-01-31T00:00:00Z" in str(result.summary)
    kept = result.after.n - result.transcript.tokens(1, 2).n
    assert result.transcript.tokens(1, 2).n <= (limit - kept) // 10 + 60
    assert isinstance(compact_sync(result.transcript, policy), Skip)


@pytest.mark.parametrize(("mode", "cap", "asked"), [("rules", None, 0), ("model", None, 1), ("model", 100, 0)])
def test_a_model_is_asked_in_its_mode_and_up_to_the_cap(mode: str, cap: int | None, asked: int) -> None:
    seen: list[SummaryRequest] = []

    async def write(wanted: SummaryRequest) -> str:
        seen.append(wanted)
        raise RuntimeError("down")

    transcript = session(40)
    policy = presets.BY_NAME["rule_digest"](
        fraction=None, limit_tokens=transcript.tokens().n * 2 // 3, mode=mode, input_tokens=cap
    )
    result = compact_sync(transcript, policy, Function(write))
    assert isinstance(result, CompactionResult), result
    assert len(seen) == asked
    assert result.method == "rules"
    assert "Digest of" in str(result.summary)
    assert result.record.fallback == bool(asked)


def test_a_wrong_mode_is_refused() -> None:
    with pytest.raises(ArgumentError, match="rules or model"):
        presets.rule_digest(mode="other")  # type: ignore[arg-type]


def test_a_policy_with_it_can_be_stored() -> None:
    policy = presets.rule_digest(mode="model", input_tokens=9)
    assert msgspec.json.decode(msgspec.json.encode(policy), type=type(policy)) == policy
