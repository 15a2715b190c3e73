"""docs/errors.md has a row for each error, in the words of its docstring, and shows what is raised."""

import inspect
from pathlib import Path

import pytest

import turnfold
from turnfold.errors import ERRORS, ReadError

PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")


def test_the_rows_are_the_errors() -> None:
    rows = [row for row in PAGE.splitlines() if row.startswith("| `")]
    says = [(code, error, (inspect.getdoc(error) or "").split("\n\n")[0]) for code, error in ERRORS.items()]
    assert rows == [f"| `{code}` | `{error.__name__}` | {' '.join(said.split())} |" for code, error, said in says]


def test_errors_of_reading_are_the_last() -> None:
    reading = [issubclass(error, ReadError) for error in ERRORS.values()]
    assert reading == sorted(reading)
    assert list(ERRORS)[reading.index(True)] == "invalid_utf8"


def test_the_example_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    _, code, _, printed, _ = PAGE.split("```", 4)
    exec(code.removeprefix("python\n"), {"turnfold": turnfold})
    assert capsys.readouterr().out == printed.removeprefix("text\n")
