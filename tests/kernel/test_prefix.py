"""The shared table of compared requests, through the Python face."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnfold import Transcript, compare_prefix

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/prefix.json").read_text())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_compare(case: dict[str, Any]) -> None:
    before, after = (Transcript.from_json(case[key].encode(), format=case["format"]) for key in ("before", "after"))
    report = msgspec.to_builtins(compare_prefix(before, after))
    tokens = report.pop("tokens")
    assert report == case["expect"]
    assert tokens <= before.tokens().n
    assert tokens >= before.tokens(0, report["messages"]).n
