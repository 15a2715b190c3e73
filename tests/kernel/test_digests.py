"""The shared table of tool digests, through the Python face."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnfold import Transcript

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/digests.json").read_text())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_digests(case: dict[str, Any]) -> None:
    transcript = Transcript.from_messages(case["messages"], format=case["format"])
    assert msgspec.to_builtins(list(transcript.digests())) == case["expect"]
    assert transcript.digests(len(transcript)) == ()
