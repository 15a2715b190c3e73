"""The README's table of containers is the list of them."""

from pathlib import Path

from turnfold.containers import BUILT_IN

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_lists_every_container():
    rows = [
        f"| `{c.name}` | {c.title}{'' if c.writes else ' Read only.'} |" for c in sorted(BUILT_IN, key=lambda c: c.name)
    ]
    lines = README.read_text(encoding="utf-8").split("\n")
    start = lines.index("| container | what it is |") + 2
    stop = next(k for k in range(start, len(lines)) if not lines[k].startswith("|"))
    assert lines[start:stop] == rows
