"""Whatever bytes come in, there is a status and at most one line a transcript, and never a traceback."""

import gzip
import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=True) | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool", "developer", "function"]) | JSON
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "role": ROLES,
            "content": JSON | st.text(),
            "tool_calls": JSON,
            "tool_call_id": JSON,
            "name": JSON,
            "function_call": JSON,
        },
    ),
    max_size=5,
)
BODIES = (
    MESSAGES | st.fixed_dictionaries({"messages": MESSAGES | JSON}, optional={"model": JSON, "system": JSON}) | JSON
).map(lambda value: json.dumps(value).encode())
TORN = st.tuples(BODIES, st.integers(0, 200)).map(lambda pair: pair[0][: pair[1]])
LINES = st.lists(BODIES | st.binary(max_size=40), max_size=4).map(b"\n".join)
ANYTHING = st.binary(max_size=300) | BODIES | TORN | LINES | BODIES.map(gzip.compress)


COMMANDS = [
    ["count", "--by-message"],
    ["scan"],
    ["split", "--at", "0"],
    ["compact", "-o", "-", "--limit-tokens", "5"],
]
EXTRAS = [[], ["--json"], ["--format", "anthropic.messages"], ["--format", "openai.chat", "--json"]]
HARD = [
    b"",
    b"\n\n",
    b"\x1f\x8b",
    b"[" * 20_000,
    b'[{"role":"user","content":' + b"9" * 10_000 + b"}]",
    b'[{"role":"user","content":"\\ud800"}]',
    b'\xef\xbb\xbf[{"role":"user","content":"x"}]',
    b'[{"role":"user","content":"\x00\xff"}]',
]


def check(ran: Any) -> None:
    assert ran.status in (0, 1, 2), ran
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(COMMANDS), st.sampled_from(EXTRAS), ANYTHING)
def test_any_bytes(run, command, extra, data):
    check(run(*command, "-", *extra, stdin=data))


@pytest.mark.parametrize("data", HARD, ids=range(len(HARD)))
@pytest.mark.parametrize("extra", EXTRAS, ids=" ".join)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_hard_bytes(run, command, extra, data):
    ran = run(*command, "-", *extra, stdin=data)
    check(ran)
    # With -o - and --json the record of a failure is a second line.
    assert ran.err.count("\n") <= 2
