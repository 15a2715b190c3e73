"""Runs the command line in this process, with streams of bytes like a shell's."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tokenizers import pre_tokenizers

from turnfold.cli import main

ROOT = Path(__file__).parents[2]


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Ran]


def _run(*arguments: object, stdin: bytes = b"") -> Ran:
    saved = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8")
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8")
    try:
        status = main([str(argument) for argument in arguments])
        sys.stdout.flush()
        sys.stderr.flush()
        return Ran(status, out.getvalue().decode(), err.getvalue().decode())
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved


@pytest.fixture(scope="session")
def run() -> Run:
    return _run


@pytest.fixture(scope="session")
def samples() -> Path:
    return ROOT / "samples"


CLEAN = [
    {"role": "system", "content": "You are a careful build assistant."},
    {"role": "user", "content": "List the services."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"q":"services"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "api, worker"},
    {"role": "assistant", "content": "Two: api and worker."},
    {"role": "user", "content": "Restart the worker."},
]


@pytest.fixture
def clean() -> bytes:
    return json.dumps(CLEAN).encode()


@pytest.fixture
def orphan() -> bytes:
    return json.dumps([CLEAN[0], CLEAN[1], CLEAN[3], CLEAN[5]]).encode()


@pytest.fixture
def long() -> bytes:
    """A transcript that compacts well: many turns of tool output."""
    messages = list(CLEAN[:2])
    for turn in range(12):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"a.py"}'}}
        messages.append({"role": "assistant", "content": f"Step {turn}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": f"line {turn} of the file\n" * 60})
    messages += [{"role": "assistant", "content": "All read."}, {"role": "user", "content": "Now fix it."}]
    return json.dumps({"model": "gpt-4o", "messages": messages, "x_unknown": [1.50, "kept"]}, indent=1).encode()


@pytest.fixture
def byte_level() -> dict[str, Any]:
    """A `tokenizer.json` whose tokens are the bytes."""
    characters = pre_tokenizers.ByteLevel.alphabet()
    model = {"type": "BPE", "vocab": {c: place for place, c in enumerate("".join(characters))}, "merges": []}
    return {"model": model, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}}
