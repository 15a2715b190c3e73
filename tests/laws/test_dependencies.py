"""Every dependency has its line in ARCHITECTURE.md, and no line stands there for one that is gone."""

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Installed by make, in no manifest.
TOOLS = {"cargo-fuzz"}


def manifest(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def named() -> set[str]:
    project = manifest(ROOT / "pyproject.toml")["project"]
    python = chain(project["dependencies"], *project["optional-dependencies"].values())
    names = {re.split(r"[<>=]", requirement)[0] for requirement in python}
    for path in [*ROOT.glob("rust/*/Cargo.toml"), ROOT / "fuzz/Cargo.toml"]:
        crate = manifest(path)
        for tables in [crate, *crate.get("target", {}).values()]:
            names |= {*tables.get("dependencies", ()), *tables.get("dev-dependencies", ())}
    return {name for name in names if not name.startswith("turnfold")}


def test_each_dependency_has_its_line() -> None:
    _, _, section = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## Dependencies\n")
    cells = re.findall(r"^\| ([a-z][^|]*) \|", section, re.MULTILINE)
    listed = [name for cell in cells for name in cell.split(", ")]
    assert sorted(listed) == sorted(named() | TOOLS)
