"""Importing turnfold reads no data, opens no connection, starts nothing, and loads little."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import turnfold

PACKAGE = Path(turnfold.__file__).parent
EVENT_LOOP = {"anyio", "asyncio", "concurrent.futures", "ssl", "logging"}
WATCH = """
import json, sys
events = []
watching = True
sys.addaudithook(lambda name, args: events.append((name, str(args[0]) if args else "")) if watching else None)
import turnfold
watching = False
print(json.dumps([events, sorted(sys.modules)]))
"""
CODE = (".py", ".pyc", ".so", ".pyd")


@pytest.fixture(scope="module")
def watched() -> tuple[list[tuple[str, str]], set[str]]:
    done = subprocess.run([sys.executable, "-IB", "-c", WATCH], check=True, capture_output=True)
    events, modules = json.loads(done.stdout)
    return [(name, argument) for name, argument in events], set(modules)


def test_only_code_is_opened(watched: tuple[list[tuple[str, str]], set[str]]) -> None:
    events, _ = watched
    opened = [argument for name, argument in events if name == "open" and ".pyc." not in argument]
    assert opened
    assert not [path for path in opened if not path.endswith(CODE)]


def test_each_public_name_is_there() -> None:
    assert sorted(turnfold.__all__) == dir(turnfold)
    for name in turnfold.__all__:
        assert getattr(turnfold, name) is not None
    with pytest.raises(AttributeError, match="nobody"):
        turnfold.nobody  # noqa: B018


def test_nothing_is_connected_or_started(watched: tuple[list[tuple[str, str]], set[str]]) -> None:
    events, _ = watched
    names = {name for name, _ in events}
    assert not [
        name for name in names if name.startswith(("socket.", "subprocess.", "os.system", "os.fork", "os.exec"))
    ]
    assert not {"_thread.start_new_thread", "os.putenv"} & names


def test_little_is_loaded(watched: tuple[list[tuple[str, str]], set[str]]) -> None:
    _, modules = watched
    assert not (EVENT_LOOP | {"sqlite3", "http", "rich", "argparse"}) & modules


@pytest.mark.parametrize(
    ("module", "unused"),
    [
        ("turnfold.cli.batch_serving", {"sqlite3", "argparse", "turnfold.containers"}),
        ("turnfold.cli.program", {"sqlite3", "turnfold.containers", "turnfold.planning"}),
        ("turnfold.cli.batch_work, turnfold.cli.batch_files", {"turnfold.containers", "turnfold.planning"}),
        ("turnfold.cli.batch_files, turnfold.containers", {"turnfold.planning"}),
    ],
)
def test_both_sides_of_a_batch_load_only_what_they_use(module: str, unused: set[str]) -> None:
    program = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-IB", "-c", program], check=True, capture_output=True)
    assert not (EVENT_LOOP | {"http", "rich"} | unused) & set(json.loads(done.stdout))


ROOMS = {"_core", *(path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py")}


def modules() -> list[Path]:
    return sorted(PACKAGE.glob("**/*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_goes_through_the_front_door(path: Path) -> None:
    """`from turnfold import plan` inside the package would pass every floor by."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "turnfold":
            assert {alias.name for alias in node.names} <= ROOMS
        if isinstance(node, ast.Import):
            assert "turnfold" not in [alias.name for alias in node.names]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_stays_readable_in_one_go(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 450
