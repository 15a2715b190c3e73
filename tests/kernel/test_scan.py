"""The shared table of scans, through the Python face."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnfold import ScanOptions, Transcript, scan
from turnfold.model.findings import CallPlace

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/scan.json").read_text())["cases"]


def transcript_of(case: dict[str, Any], field: str = "body") -> Transcript:
    text = case.get(f"{field}_text")
    body = json.dumps(case[field]) if text is None else text
    return Transcript.from_json(body.encode(), format=case["format"])


def options_of(case: dict[str, Any]) -> ScanOptions:
    return msgspec.convert(case.get("options", {}), ScanOptions)


def places(found: tuple[CallPlace, ...]) -> list[list[int]]:
    return [[place.message, place.block] for place in found]


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_scan(case: dict[str, Any]) -> None:
    transcript = transcript_of(case)
    before = transcript_of(case, "before") if "before" in case else None
    report = scan(transcript, options_of(case), before=before)
    keys = ("code", "rule", "severity", "message", "block", "call_id", "path")
    assert [{key: getattr(finding, key) for key in keys} for finding in report.findings] == case["findings"]
    assert report.ok == all(finding["severity"] != "error" for finding in case["findings"])
    got = {
        "pairs": [[p.call_message, p.call_block, p.result_message, p.result_block, p.misplaced] for p in report.pairs],
        "orphan_results": places(report.orphan_results),
        "pending": places(report.pending),
        "abandoned": places(report.abandoned_calls),
        "duplicate_call_ids": list(report.duplicate_call_ids),
        "duplicate_result_ids": list(report.duplicate_result_ids),
    }
    assert got == got | {key: value for key, value in case.items() if key in got}
    for finding in report.findings:
        if finding.message is not None and finding.block is not None:
            assert finding.block < len(transcript.blocks(finding.message))


def test_a_place_names_the_call() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    transcript = Transcript.from_messages(
        [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}]
    )
    assert scan(transcript).pending == (CallPlace("c1", 1, 0),)
    assert scan(transcript, ScanOptions(closed=True)).abandoned_calls == (CallPlace("c1", 1, 0),)


def test_pairs_that_are_remembered_are_those_of_a_first_scan() -> None:
    calls = [
        message
        for k in range(1_100)
        for message in (
            {"role": "assistant", "content": None, "tool_calls": [call(f"c{k}")]},
            {"role": "tool", "tool_call_id": f"c{k}", "content": "done"},
        )
    ]
    body = json.dumps([{"role": "user", "content": "go"}, *calls, {"role": "assistant", "tool_calls": [call("last")]}])
    told = [
        ScanOptions(),
        ScanOptions(closed=True),
        ScanOptions(pending_ids=("last",)),
        ScanOptions(severities=(("unanswered_call", "warning"),)),
    ]
    shared = Transcript.from_json(body.encode())
    for options in (*told, *told):
        first = scan(Transcript.from_json(body.encode()), options)
        assert scan(shared, options) == first
        assert [pair.call_id for pair in first.pairs] == [f"c{k}" for k in range(1_100)]
        assert (len(first.pending), len(first.abandoned_calls)) == ((0, 1) if options.closed else (1, 0))


def call(call_id: str) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
