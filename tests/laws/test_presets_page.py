"""The page of presets is what the code has. `python tests/laws/test_presets_page.py` writes the columns that it can."""

import inspect
import re
from pathlib import Path

import pytest

from turnfold import presets
from turnfold.model.policy import Policy, Summarize
from turnfold.planning import facts

PAGE = Path(__file__).parents[2] / "docs" / "presets.md"
ROW = re.compile(r"^\| `(?P<name>\w+)` \|(?P<rest>.*) \|$")
PROSE, PUT, DEFAULTS = "## What each one does", "## What is put there", "## Parameters"


def put_there(policy: Policy) -> str:
    """The row of the second table: schema, place and limits of the one summary."""
    steps = [step for step in policy.steps if isinstance(step, Summarize)]
    if not steps:
        return " nothing | |"
    (step,) = steps
    place = "at the start" if step.place == "start" else "in the slot"
    said = [f"{step.max_tokens} tokens"]
    if step.max_share < 1:
        said.append(f"at most {step.max_share:.0%} of what is free".replace("%", " %"))
    if step.model_input_tokens == 0:
        said.append("by rule")
    if step.temperature:
        said.append(f"temperature {step.temperature:g}")
    if step.timeout_seconds is not None:
        said.append(f"{step.timeout_seconds:g} s")
    return f" `{step.schema}` | {step.role}, {place} | {', '.join(said)}"


def defaults(name: str) -> str:
    """The row of the third table: the parameters as they stand in the code."""
    parameters = inspect.signature(presets.BY_NAME[name]).parameters.values()
    return " " + ", ".join(f"`{one.name}={one.default!r}`" for one in parameters)


def written(text: str) -> str:
    """The page with those columns as the code has them."""
    before, prose, rest = text.partition(PROSE)
    prose_rows, put, rest = rest.partition(PUT)
    _, rule, rest = rest.partition("|---|---|---|---|\n")
    heading = "\n\n| preset | asked for (schema) | placed | summary |\n"
    rest = rest[rest.index("\n\n") :] if not rest.startswith("\n") else rest
    middle, parameters, rest = rest.partition(DEFAULTS)
    after = rest[rest.index("\n\n## ") :]
    names = sorted(presets.BY_NAME)
    second = "\n".join(f"| `{name}` |{put_there(presets.BY_NAME[name]())} |" for name in names)
    third = "\n".join(f"| `{name}` |{defaults(name)} |" for name in names)
    return (
        f"{before}{prose}{prose_rows}{put}{heading}{rule}{second}{middle}{parameters}"
        f"\n\n| preset | defaults |\n|---|---|\n{third}{after}"
    )


def test_the_page_says_what_the_code_has() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert written(text) == text


def test_no_preset_is_forgotten() -> None:
    prose = PAGE.read_text(encoding="utf-8").partition(PROSE)[2].partition(PUT)[0]
    rows = [found["name"] for line in prose.splitlines() if (found := ROW.match(line))]
    assert rows == sorted(presets.BY_NAME)
    for name in rows:
        row = next(line for line in prose.splitlines() if line.startswith(f"| `{name}` |"))
        known = {*inspect.signature(presets.BY_NAME[name]).parameters, *presets.BY_NAME}
        assert set(re.findall(r"`(\w+)(?:=[^`]*)?`", row)) <= known


def test_the_example_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: dict[str, object] = {}
    aliases: dict[str, object] = {}
    monkeypatch.setattr(facts, "_REGISTERED", registered)
    monkeypatch.setattr(facts, "_ALIASES", aliases)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})  # what the page says
    assert list(registered) == ["fetchticket"]
    assert aliases == {"slurp": "read"}


def write() -> None:
    """Bring the page up to date."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
