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
