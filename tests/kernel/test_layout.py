"""The shared table of parts, and the reasoning that a provider binds to what stands before it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnfold import ScanOptions, Transcript
from turnfold.checks import layout

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/layout.json").read_text())["cases"]


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_parts(case: dict[str, Any]) -> None:
    transcript = Transcript.from_json(json.dumps(case["body"]).encode(), format=case["format"])
    found = layout(transcript, msgspec.convert(case.get("options", {}), ScanOptions))
    assert list(found.turns) == case["turns"]
    for name in ("folded", "barrier", "reasoned_loop"):
        start, stop = getattr(found, name)
        assert ([start, stop] if start < stop else None) == case.get(name), name
    assert [list(group) for group in found.lasting] == case.get("lasting", [])


@pytest.mark.parametrize(
    ("model", "refuses"),
    [
        ("claude-fable-5-1", True),
        ("claude-fable-5-2-20261120", True),
        ("us.anthropic.claude-fable-5-1-v1:0", True),
        ("anthropic/claude-fable-5-1", True),
        ("claude-fable-5", False),
        ("claude-fable-5-10", False),
        ("claude-opus-5-5", False),
        ("", False),
        (None, True),
    ],
)
def test_models_that_refuse_reasoning_after_other_words(model: str | None, refuses: bool) -> None:
    body = b'{"model":"claude-fable-5-1","max_tokens":1,"messages":[]}'
    bound = Transcript.from_json(body, format="anthropic.messages").bound_reasoning(model)
    assert bound is not None
    assert bound.refused is refuses
    assert bound.header[0] == "anthropic-beta"
    assert Transcript.from_json(b"[]", format="openai.chat").bound_reasoning(model) is None
