"""The shared table of splices and rewrites, through the Python face."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnfold import Transcript
from turnfold.errors import ERRORS

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/splice.json").read_text())


def _read(case: dict[str, Any]) -> Transcript:
    return Transcript.from_json(case["body"].encode(), format=case["format"])


def _raises(expect: dict[str, Any]) -> Any:
    return pytest.raises(ERRORS[expect["error"]])


@pytest.mark.parametrize("case", VECTORS["splice"], ids=lambda case: case["name"])
def test_splice(case: dict[str, Any]) -> None:
    kernel = _read(case).kernel
    parts = [part.encode() if isinstance(part, str) else tuple(part) for part in case["parts"]]
    if "json" in case["expect"]:
        assert kernel.splice(parts).to_json().decode() == case["expect"]["json"]
        return
    with _raises(case["expect"]) as caught:
        kernel.splice(parts)
    assert getattr(caught.value, "path", "") == case["expect"].get("path", "")


@pytest.mark.parametrize("case", VECTORS["rewrite"], ids=lambda case: case["name"])
def test_rewrite(case: dict[str, Any]) -> None:
    kernel = _read(case).kernel
    texts = [tuple(text) for text in case["texts"]]
    if "json" in case["expect"]:
        assert kernel.rewrite(case["message"], texts).decode() == case["expect"]["json"]
        return
    with _raises(case["expect"]):
        kernel.rewrite(case["message"], texts)


@pytest.mark.parametrize("case", VECTORS["fingerprint"], ids=lambda case: case["body"])
def test_fingerprint(case: dict[str, Any]) -> None:
    assert _read(case).fingerprint == case["hex"]
