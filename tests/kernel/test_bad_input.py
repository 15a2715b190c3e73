"""Any bytes: a typed error with its place, or kept to the last byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnfold
from turnfold import Transcript
from turnfold.errors import ERRORS, InvalidMessageError, ReadError, UnknownFormatError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/errors.json").read_text())


def body_of(vector: dict[str, Any]) -> bytes:
    if "hex" in vector:
        return bytes.fromhex(vector["hex"])
    if "zeros" in vector:
        return bytes(vector["zeros"])
    return b"".join(text.encode() * times for text, times in vector["input"])


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(ReadError) as caught:
        Transcript.from_json(body_of(vector))
    error = caught.value
    assert (type(error), error.offset, error.path) == (ERRORS[vector["code"]], vector["offset"], vector["path"])


def test_each_way_of_being_unreadable_has_a_vector() -> None:
    vectors = VECTORS["refused"] + VECTORS["logs"]
    assert {v["code"] for v in vectors} == {c for c, cls in ERRORS.items() if issubclass(cls, ReadError)}


@pytest.mark.parametrize("vector", VECTORS["kept"], ids=lambda vector: vector["name"])
def test_kept(vector: dict[str, Any]) -> None:
    body = body_of(vector)
    transcript = Transcript.from_json(body)
    assert transcript.to_json() == body
    look_everywhere(transcript)


def look_everywhere(transcript: Transcript) -> None:
    turnfold.scan(transcript)
    count = transcript.tokens()
    assert 0 <= count.lo <= count.n <= count.hi
    points = turnfold.split_points(transcript)
    for index in range(len(transcript) + 1):
        assert bool(points.why_not(index)) != (index in points)
    assert len(transcript.messages) == len(transcript)
    for index in range(len(transcript)):
        assert len(transcript.blocks(index)) == len(transcript.block_tokens(index))
    look_at_heads(transcript)
    assert transcript.splice([range(len(transcript))]).to_json() == transcript.to_json()


def look_at_heads(transcript: Transcript) -> None:
    empty = transcript.splice([])
    for index, heads in enumerate(transcript.block_heads):
        blocks = transcript.blocks(index)
        assert [(h.kind, h.name, h.is_error, h.rewritable) for h in heads] == [
            (b.kind, b.name, b.is_error, b.rewritable) for b in blocks
        ]
        spans = zip(heads, blocks, strict=True)
        assert all(len(b.text.encode("utf-8", "replace")) <= h.text_bytes + b.text.count("\n") for h, b in spans)
        edits = [(index, {k: "a line"}) for k, head in enumerate(heads) if head.rewritable]
        alone = [empty.append(transcript.rewrite(*edit)).tokens(0, 1) for edit in edits]
        assert transcript.edited_tokens(edits, bound=True) == [count.hi for count in alone]


PIECES = st.sampled_from(
    [
        *("{", "}", "[", "]", ",", ":", '"', "\\", "null", "true", "-1", "1e5", " ", '"a"', "\\ud800"),
        *('"role":"user"', '"role":"assistant"', '"role":"tool"', '"content":"x"', '"content":null', '"content":[]'),
        *('{"role":"user","content":"x"}', '{"type":"text","text":"x"}', '"tool_call_id":"a"', '"messages":['),
        *('{"type":"tool_use","id":"a","name":"f","input":{}}', '{"type":"tool_result","tool_use_id":"a"}'),
        *('{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}', '"system":"s"'),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ["role", "content", "tool_calls", "tool_call_id", "name", "type", "id", "function", "function_call", "text"]
ODD_MESSAGES = st.lists(
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6).map(lambda m: {"role": "user"} | m), max_size=5
)


@given(body=st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=20).map(lambda p: "".join(p).encode())))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        transcript = Transcript.from_json(body)
    except ReadError as error:
        assert 0 <= error.offset <= len(body)
    else:
        assert transcript.to_json() == body
        look_everywhere(transcript)


@pytest.mark.parametrize("name", ["openai.chat", "anthropic.messages", "bedrock.converse", "mistral.chat"])
@given(messages=ODD_MESSAGES)
def test_messages_of_any_shape_are_read_or_refused(name: str, messages: list[dict[str, object]]) -> None:
    try:
        transcript = Transcript.from_messages(messages, format=name)
    except InvalidMessageError as error:
        assert error.path.startswith("messages[")
    except UnknownFormatError:
        pass
    else:
        look_everywhere(transcript)


@pytest.mark.slow
def test_a_string_of_200_megabytes() -> None:
    head, unit, tail = b'[{"role":"user","content":"', b"abcd ", b'"},{"role":"user","content":"b"}]'
    times = 200_000_000 // len(unit)
    body = head + unit * times + tail
    transcript = Transcript.from_json(body)
    assert transcript.to_json() == body
    assert turnfold.scan(transcript).ok
    hundred, thousand = (turnfold.count(unit.decode() * k) for k in (100, 1_000))
    per_unit = (thousand - hundred) // 900
    frame = 4  # the message and its role
    assert transcript.tokens(0, 1).n == thousand + per_unit * (times - 1_000) + frame
    del transcript
    with pytest.raises(ReadError) as caught:
        Transcript.from_json(body[: -len(tail)])
    assert caught.value.offset == len(body) - len(tail)
