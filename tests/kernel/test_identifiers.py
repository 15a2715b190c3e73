"""The shared table of identifiers, through the Python face."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from turnfold import Transcript, _core, meter
from turnfold.model.identifier import IdentifierKind

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/identifiers.json").read_text())


@pytest.mark.parametrize("case", VECTORS["extract"], ids=lambda case: case["name"])
def test_extract(case: dict[str, Any]) -> None:
    expected = [tuple(pair) for pair in case["identifiers"]]
    assert _core.extract_identifiers(case["text"]) == expected
    assert [(one.kind, one.text) for one in meter.typed_identifiers(case["text"])] == expected
    assert meter.identifiers(case["text"]) == tuple(text for _, text in expected)
    transcript = Transcript.from_messages([{"role": "user", "content": case["text"]}])
    assert transcript.identifiers() == tuple(text for _, text in expected)
    assert transcript.identifiers(1) == transcript.identifiers(0, 0) == ()


@pytest.mark.parametrize("case", VECTORS["survival"], ids=lambda case: case["text"])
def test_survival(case: dict[str, Any]) -> None:
    assert meter.occurring(case["identifiers"], case["text"]) == tuple(case["found"])
    transcript = Transcript.from_messages([{"role": "user", "content": case["text"]}])
    assert transcript.surviving(case["identifiers"]) == tuple(case["found"])


def test_every_kind_is_named() -> None:
    assert {kind for case in VECTORS["extract"] for kind, _ in case["identifiers"]} == set(get_args(IdentifierKind))
