"""The shared table of details, and what a compaction keeps of those of a transcript."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from turnfold import Detail, Transcript, _core, compact_sync, detail_report, details_of, presets
from turnfold.details import details_in
from turnfold.errors import ArgumentError
from turnfold.model.detail import DetailKind
from turnfold.planning.apply import CompactionResult

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/details.json").read_text())


@pytest.mark.parametrize("case", VECTORS["extract"], ids=lambda case: case["name"])
def test_extract(case: dict[str, Any]) -> None:
    expected = tuple(Detail(*pair) for pair in case["details"])
    assert details_in(case["text"]) == expected
    transcript = Transcript.from_messages([{"role": "assistant", "content": case["text"]}])
    assert details_of(transcript) == expected
    assert details_of(transcript, 1) == details_of(transcript, 0, 0) == ()


@pytest.mark.parametrize("case", VECTORS["rules"], ids=lambda case: case["name"])
def test_rules(case: dict[str, Any]) -> None:
    rules = tuple(Detail("rule", rule) for rule in case["rules"])
    assert details_in(case["text"], rules=True) == (*details_in(case["text"]), *rules)
    said = [Transcript.from_messages([{"role": role, "content": case["text"]}]) for role in ("user", "assistant")]
    assert [tuple(d for d in details_of(one) if d.kind == "rule") for one in said] == [rules, ()]


def test_every_kind_is_in_the_table() -> None:
    kinds = {kind for case in VECTORS["extract"] for kind, _ in case["details"]}
    assert kinds | {"rule"} == set(get_args(DetailKind))


def test_a_range_that_does_not_lie_in_the_transcript() -> None:
    kernel = Transcript.from_messages([{"role": "user", "content": "x"}]).kernel
    with pytest.raises(ArgumentError, match="do not lie"):
        kernel.details(0, 2)
    assert _core.extract_details("") == []


RULE = "Never push to main."
COMMAND = "pytest -q tests/test_pay.py"
ERROR = "ValueError: amount must be positive"


def called(k: int) -> list[dict[str, Any]]:
    call = {
        "id": f"c{k}",
        "type": "function",
        "function": {"name": "bash", "arguments": json.dumps({"command": COMMAND})},
    }
    said = f"Step {k}. " + "The suite runs, and the ledger is read again. " * 20
    return [
        {
            "role": "assistant",
            "content": said,
            "tool_calls": [call],
        },
        {"role": "tool", "tool_call_id": f"c{k}", "content": f"{ERROR}\nafter 250 ms\n" + "a line of output\n" * 40},
    ]


def test_what_a_compaction_kept_and_lost() -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Mend the payments. {RULE}"}]
    messages += [message for k in range(12) for message in called(k)]
    messages.append({"role": "user", "content": "Go on."})
    source = Transcript.from_messages(messages)
    found = (Detail("command", COMMAND), Detail("error", ERROR), Detail("quantity", "250 ms"), Detail("rule", RULE))
    assert details_of(source) == found

    result = compact_sync(source, presets.token_threshold(limit_tokens=2_000))
    assert isinstance(result, CompactionResult)
    report = detail_report(source, result)
    assert sorted((*report.kept, *report.lost), key=found.index) == list(found)
    body = "\n".join(block.text for k in range(len(result.transcript)) for block in result.transcript.blocks(k))
    assert all(detail.text in body for detail in report.kept)
    assert all(detail.text not in body for detail in report.lost)
    assert Detail("rule", RULE) in report.kept


def test_masks_lose_what_only_their_results_said() -> None:
    messages = [{"role": "user", "content": "Mend the payments."}, *(m for k in range(12) for m in called(k))]
    messages[2] = {**messages[2], "content": "took 731 ms\n" + "a line of output\n" * 40}
    source = Transcript.from_messages(messages)
    result = compact_sync(source, presets.observation_mask(2, limit_tokens=4_500))
    assert isinstance(result, CompactionResult)
    report = detail_report(source, result)
    assert report.lost == (Detail("quantity", "731 ms"),)
    assert Detail("error", ERROR) in report.kept
