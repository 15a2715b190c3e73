"""docs/logs.md says of each container what is written into it."""

import re
from pathlib import Path

from turnfold.containers import BUILT_IN

PAGE = (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8")
ROWS = [line.split(" | ") for line in PAGE.split("\n") if line.startswith("| `")]


def named(row: list[str]) -> set[str]:
    return set(re.findall(r"`(\w+)`", row[0]))


def test_every_kind_that_is_named_is_one_and_none_is_named_twice():
    names = [name for row in ROWS for name in sorted(named(row))]
    assert set(names) <= {container.name for container in BUILT_IN}
    assert len(set(names)) == len(names)


def test_each_recording_has_its_reason():
    said = {name: row[1] for row in ROWS if len(row) == 2 for name in named(row)}
    for container in BUILT_IN:
        if not container.writes:
            reason: str = container.reason  # type: ignore[attr-defined]  # what is not written to says why
            assert said.pop(container.name).removesuffix(". |").lower() == reason.lower()
    assert not said


def test_every_kind_that_is_written_to_takes_any_plan():
    assert {
        c.name
        for c in BUILT_IN
        if c.writes and not getattr(c, "takes_out", False) and not getattr(c, "holds_any_result", False)
    } == set()
