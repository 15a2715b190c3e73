"""The README is run: its examples print what it shows, its tables are what the code says.

`python tests/test_readme.py` writes what the examples print into the README; look at the difference before you keep it.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args

import pytest

from turnfold.cli import main
from turnfold.model.plan import SkipReason

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@contextlib.contextmanager
def workplace() -> Iterator[None]:
    """A folder with the samples in it, and a terminal of a known width."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "samples").symlink_to(ROOT / "samples")
        os.chdir(folder)
        os.environ["COLUMNS"] = "118"
        try:
            yield
        finally:
            os.chdir(before)
            del os.environ["COLUMNS"]
            if columns is not None:
                os.environ["COLUMNS"] = columns


@contextlib.contextmanager
def captured() -> Iterator[io.BytesIO]:
    saved, out = sys.stdout, io.BytesIO()
    wrapped = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stdout = wrapped
    try:
        yield out
    finally:
        sys.stdout = saved
        wrapped.detach()


def ran(text: str) -> str:
    """The README with what its examples print now."""
    names: dict[str, Any] = {}
    printed: list[str] = []

    def replace(match: re.Match[str]) -> str:
        kind, body = match[1], match[2]
        if kind == "python":
            with captured() as out:
                exec(compile(body, "README.md", "exec"), names)
            printed.append(out.getvalue().decode())
        elif kind == "text":
            body = printed.pop()
        elif kind == "sh":
            for line in body.splitlines():
                console(f"$ {line}")
        elif kind == "console":
            body = "".join(console(line) for line in body.splitlines() if line.startswith("$ "))
        return f"```{kind}\n{body}```"

    with workplace():
        new = BLOCK.sub(replace, text)
    assert printed == [], "a Python block without the text that it prints"
    return new


def console(line: str) -> str:
    program, *arguments = shlex.split(line.removeprefix("$ "))
    assert program == "turnfold", line
    with captured() as out:
        status = main(arguments)
    assert status == (1 if "dirty" in line else 0), line
    return f"{line}\n{out.getvalue().decode()}"


def test_examples_print_what_is_shown():
    text = README.read_text(encoding="utf-8")
    assert ran(text) == text


def test_first_screen_has_both_commands_and_both_uses():
    screen = "\n".join(README.read_text(encoding="utf-8").splitlines()[:38])
    assert "make demo" in screen
    assert "make test" in screen
    assert screen.count("```python") == 1
    assert screen.count("```sh") == 1


@pytest.mark.parametrize("kind", ["python", "sh"])
def test_first_use_has_five_lines(kind):
    blocks = [body for name, body in BLOCK.findall(README.read_text(encoding="utf-8")) if name == kind]
    assert len(blocks[0].splitlines()) == 5


def table(heading: str) -> dict[str, str]:
    text = README.read_text(encoding="utf-8")
    rows = text[text.index(heading) :].split("\n\n")[0].splitlines()[2:]
    return {row.split("|")[1].strip(" `"): row.split("|")[2].strip() for row in rows}


def test_codes_are_those_of_the_kernel():
    rules = ROOT / "rust/turnfold-core/src/findings"
    expected = {}
    for path in sorted(rules.glob("*.rs")):
        if path.stem != "mod":
            lines = path.read_text(encoding="utf-8").splitlines()
            page = takewhile(lambda line: line.startswith("//! "), lines)
            expected[path.stem] = " ".join(line.removeprefix("//! ") for line in page)
    assert table("| code |") == expected


def test_depth_is_that_of_the_reader():
    source = (ROOT / "rust/turnfold-core/src/json/scan.rs").read_text(encoding="utf-8")
    depth = re.search(r"MAX_DEPTH: usize = (\d+)", source)
    assert depth is not None
    assert f"nests at most {depth[1]} deep" in README.read_text(encoding="utf-8")


def test_extras_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    expected = set(project["optional-dependencies"]) - {"dev", "bench", "quality", "llm"}
    named = [name for row in table("| extra |") for name in re.findall(r"\w+", row)]
    assert sorted(named) == sorted(expected)


def test_skip_reasons_are_those_of_the_planner():
    assert tuple(table("| reason |")) == get_args(SkipReason)


if __name__ == "__main__":
    README.write_text(ran(README.read_text(encoding="utf-8")), encoding="utf-8")
