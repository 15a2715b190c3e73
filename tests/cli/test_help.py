"""The help text of each command is a snapshot: changed on purpose or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).parent / "snapshots"
COMMANDS = ["count", "scan", "split", "prefix", "repair", "compact", "batch", "plan", "apply", "demo"]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_the_snapshot(run, command):
    ran = run(*filter(None, [command]), "--help")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (SNAPSHOTS / f"help-{command or 'turnfold'}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_the_exit_status(run, command):
    assert "exit status: 0 " in run(command, "--help").out


def test_help_does_not_follow_the_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert run("count", "--help").out == (SNAPSHOTS / "help-count.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", ["turnfold", "turnfold.cli"])
def test_modules_run(module):
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("turnfold 0.")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fold"],
        ["count"],
        ["count", "--encoding"],
        ["count", "x.json", "--encoding", "o200k_base", "--model", "gpt-4o"],
        ["split", "x.json", "--at", "-1"],
        ["split", "x.json", "--at", "1", "--keep-turns", "2"],
        ["split", "x.json", "--keep-messages", "few"],
        ["compact", "x.json"],
        ["compact", "x.json", "-o", "y.json", "--preset", "none"],
        ["compact", "x.json", "-o", "y.json", "--preset", "turn_window", "--limit-tokens", "9"],
        ["compact", "x.json", "-o", "y.json", "--set", "no_such=1"],
        ["compact", "x.json", "-o", "y.json", "--set", "keep_messages"],
        ["compact", "x.json", "-o", "y.json", "--set", "keep_messages=-1"],
        ["compact", "x.json", "-o", "y.json", "--set", 'keep_messages="many"'],
        ["apply", "x.json", "-o", "y.json"],
        ["apply", "x.json", "-o", "y.json", "--plan", "no-such-file"],
        ["prefix", "x.json"],
        ["prefix", "-", "-"],
    ],
)
def test_wrong_usage_is_one_line_and_2(run, arguments):
    ran = run(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert "--help" in ran.err
