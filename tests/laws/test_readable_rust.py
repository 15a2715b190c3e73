"""A Rust file stays readable in one go."""

from pathlib import Path

import pytest

RUST = Path(__file__).parents[2] / "rust"


@pytest.mark.parametrize("path", sorted(RUST.glob("*/src/**/*.rs")), ids=lambda path: str(path.relative_to(RUST)))
def test_a_file_stays_readable_in_one_go(path: Path) -> None:
    lines = path.read_text().splitlines()
    generated = lines[0].startswith("//! Written by `")
    assert generated or len(lines) <= 600
