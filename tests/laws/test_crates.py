"""The crates' floors: arrows only down, one crate that names pyo3, one place that leaves the interpreter."""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ("turnfold-tokens", "turnfold-core", "turnfold-py")


def named_dependencies() -> dict[str, set[str]]:
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    packages = json.loads(done.stdout)["packages"]
    return {p["name"]: {d["name"] for d in p["dependencies"]} for p in packages}


def reachable(name: str) -> set[str]:
    """Everything below a crate: dev and build dependencies, and those of other platforms, included."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    edges: dict[str, set[str]] = {}
    for package in locked:
        edges.setdefault(package["name"], set()).update(d.split()[0] for d in package.get("dependencies", ()))
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for below in edges[waiting.pop()] - found:
            found.add(below)
            waiting.append(below)
    return found


def test_the_workspace_is_these_crates() -> None:
    assert set(named_dependencies()) == set(FLOORS)


def test_arrows_go_down_only() -> None:
    dependencies = named_dependencies()
    for floor, name in enumerate(FLOORS):
        # A crate may name itself: its own tests turn a feature on.
        assert dependencies[name].isdisjoint(FLOORS[floor + 1 :]), name
        assert reachable(name).isdisjoint(FLOORS[floor + 1 :]), name


def test_only_the_bindings_know_python() -> None:
    named = {name for name, below in named_dependencies().items() if any(d.startswith("pyo3") for d in below)}
    assert named == {"turnfold-py"}
    assert not any(d.startswith("pyo3") for d in reachable("turnfold-core") | reachable("turnfold-tokens"))


def test_the_tokenizer_knows_no_json() -> None:
    normal = tomllib.loads((ROOT / "rust/turnfold-tokens/Cargo.toml").read_text()).get("dependencies", {})
    assert not {d for d in normal if "json" in d or "serde" in d}


def test_one_place_leaves_the_interpreter() -> None:
    sources = (ROOT / "rust/turnfold-py/src").glob("**/*.rs")
    assert [s.name for s in sources if ".detach(" in s.read_text()] == ["door.rs"]


@pytest.mark.parametrize("name", FLOORS)
def test_each_crate_takes_the_workspace_lints(name: str) -> None:
    manifest = tomllib.loads((ROOT / "rust" / name / "Cargo.toml").read_text())
    assert manifest["lints"] == {"workspace": True}
