"""Containers from outside: an installed distribution's, and one that a program registers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from turnfold.containers import named, register
from turnfold.errors import ArgumentError

MODULE = '''
"""A made-up log: one JSON object a line, `{"who": ..., "said": ...}`."""

from typing import ClassVar

from turnfold.containers import ChatView, Mark, Records, view


class Parrot(Records):
    """Lines of `who` and `said`."""

    name: ClassVar[str] = "parrot"
    title: ClassVar[str] = "Parrot's log: lines of `who` and `said`."

    def mark(self, record):
        return Mark("proof", "who and said") if {"who", "said"} <= set(record) else None

    def transcripts(self, records, data):
        chat = ChatView()
        for record in records:
            said = record.value or {}
            if "said" in said:
                chat.text("user" if said["who"] == "keeper" else "assistant", said["said"], record.index)
        yield view("parrot", "openai.chat", chat.messages)

    def spell(self, records, change, role, text):
        return {"who": "keeper" if role == "user" else "parrot", "said": text}


PARROT = Parrot()
'''

DRIVE = """
import json, sys
import turnfold
from turnfold.cli import main
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.errors import BrokenPluginError, UnknownContainerError

data = open(sys.argv[1], "rb").read()
log = turnfold.read_log(data)
assert log.container == "parrot", log
assert log.write() == data
assert [kind.name for kind in turnfold.containers.available()][-1] == "parrot"
transcript = log.transcripts[0].transcript
result = turnfold.compact_sync(transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
written = log.write({"parrot": result})
lines = written.splitlines(keepends=True)
assert lines[1:] == data.splitlines(keepends=True)[-3:], lines
assert turnfold.read_log(written).transcripts[0].transcript.to_json() == result.body

try:
    turnfold.read_log(b"{}", container="broken-one")
except BrokenPluginError as error:
    assert "distribution broken-plugin" in str(error) and "no_such_module" in str(error), error
else:
    raise AssertionError
try:
    turnfold.read_log(b"{}")
except UnknownContainerError as error:
    assert "distribution broken-plugin offers 'broken_one'" in str(error), error
else:
    raise AssertionError
for command in sys.argv[2:]:
    assert main(command.split()) == 0, command
"""


def install(folder: Path, distribution: str, entry: str) -> None:
    info = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[turnfold.containers]\n{entry}\n")


def drive(tmp_path: Path, *commands: str) -> str:
    site = tmp_path / "site"
    site.mkdir()
    (site / "parrot_log.py").write_text(MODULE)
    install(site, "parrot-plugin", "parrot = parrot_log:PARROT")
    install(site, "broken-plugin", "broken_one = no_such_module:THING")
    log = tmp_path / "talk.jsonl"
    said = [{"who": ("keeper", "parrot")[k % 2], "said": f"Word {k}. " * 40} for k in range(9)]
    log.write_text("".join(json.dumps(line) + "\n" for line in [*said, {"note": "no message"}]))
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{DRIVE}", log, *commands],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_distribution_adds_a_container_and_a_broken_one_hides_nothing(tmp_path):
    drive(tmp_path)


def test_the_command_line_takes_its_logs_like_any_other(tmp_path):
    log, out = tmp_path / "talk.jsonl", tmp_path / "out" / "talk.jsonl"
    shown = drive(
        tmp_path,
        f"count {log} --json",
        f"scan {log} --json",
        f"split {log} --json --container parrot",
        f"compact {log} -o {out.parent} --limit-tokens 800 --keep-messages 2 --json",
        f"count {out} --json",
    )
    records = [json.loads(line) for line in shown.splitlines()]
    assert [record["id"] for record in records] == ["parrot"] * 5
    assert records[3]["status"] == "compacted"
    assert records[4]["tokens"]["n"] == records[3]["tokens"]["after"] < records[0]["tokens"]["n"]
    assert out.read_text().endswith('{"note": "no message"}\n')


def test_a_name_is_taken_once():
    sharegpt = named("sharegpt")
    with pytest.raises(ArgumentError, match="already"):
        register(type(sharegpt)())
    with pytest.raises(ArgumentError, match="lacks"):
        register(object())  # type: ignore[arg-type]
    assert named("ShareGPT") is sharegpt
