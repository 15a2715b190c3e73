"""A body read as the continuation of another: the same transcript as the body read alone."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import Transcript, check_pairs, checks, scan
from turnfold.errors import InvalidJsonError, ReadError
from turnfold.model.findings import CallPlace
from turnfold.testing.generators import (
    anthropic_messages,
    bedrock_converse,
    gemini_contents,
    mistral_chat,
    openai_chat,
    openai_responses,
)

MADE = (anthropic_messages, bedrock_converse, gemini_contents, mistral_chat, openai_chat, openai_responses)


def call(name: str, text: str) -> list[dict[str, object]]:
    function = {"name": "read", "arguments": json.dumps({"path": text})}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": name, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": name, "content": text},
    ]


def body(rounds: int, **fields: object) -> bytes:
    messages: list[dict[str, object]] = [{"role": "system", "content": "Be brief."}]
    for k in range(rounds):
        messages.extend(({"role": "user", "content": f"Question {k}"}, *call(f"c{k}", f"/tmp/{k}")))
    return json.dumps({"model": "gpt-4o", "messages": messages, **fields}).encode()


def facts(transcript: Transcript) -> tuple[object, ...]:
    return (
        transcript.format,
        transcript.format_reason,
        transcript.model,
        transcript.roles,
        transcript.messages,
        transcript.to_json(),
        transcript.fingerprint,
        [transcript.blocks(k) for k in range(len(transcript))],
        [transcript.tokens(0, k) for k in range(len(transcript))],
        transcript.tokens(),
        scan(transcript),
        check_pairs(transcript),
        transcript.identifiers(),
    )


@given(st.integers(0, 6), st.integers(0, 6), st.sampled_from([{}, {"max_tokens": 5}, {"tools": []}]), st.booleans())
def test_a_continuation_is_the_body_read_alone(before: int, after: int, fields: dict[str, object], named: bool) -> None:
    previous = Transcript.from_json(body(before), format="chat" if named else None)
    check_pairs(previous)
    raw = body(after, **fields)
    extended = Transcript.extend_from(previous, raw)
    assert facts(extended) == facts(Transcript.from_json(raw, format="chat" if named else None))


@settings(max_examples=20)
@given(st.sampled_from(MADE), st.integers(0, 50), st.integers(1, 4), st.sampled_from([(", ", ": "), (",", ":")]))
def test_a_body_that_goes_on_from_other_texts_is_the_body_read_alone(
    make: Callable[..., dict[str, object]], seed: int, each: int, separators: tuple[str, str]
) -> None:
    raw = json.dumps(make(seed, turns=6, result_words=8), separators=separators)
    previous = Transcript.from_json(raw.encode())
    found = checks.open_results(previous, 0, len(previous), encoding="o200k_base")[::each]
    edited = previous.edited(
        [(index, ((block, f"cut {index}"),)) for index, block in {m: k for m, k, *_ in found}.items()]
    )
    for before in (edited, edited.splice([range(len(edited))])):
        grown = before.append(before.messages[0]).to_json()
        assert facts(Transcript.extend_from(before, grown)) == facts(Transcript.from_json(grown))


def test_other_texts_in_a_body_of_megabytes() -> None:
    whole = json.loads(body(4))
    for message in whole["messages"]:
        if message["role"] == "tool":
            message["content"] = "some words and 3 numbers. " * 25_000
    previous = Transcript.from_json(json.dumps(whole).encode())
    edited = previous.edited([(3, ((0, "cut"),)), (9, ((0, "cut, too"),))])
    parts: list[range | bytes] = [
        range(3),
        previous.rewrite(3, {0: "cut"}),
        range(4, 9),
        previous.rewrite(9, {0: "cut, too"}),
        range(10, 13),
    ]
    assert len(edited.to_json()) > 1 << 20
    assert facts(edited)[4:] == facts(previous.splice(parts))[4:]
    grown = edited.append(edited.messages[1]).to_json()
    assert facts(Transcript.extend_from(edited, grown)) == facts(Transcript.from_json(grown))


@given(st.binary(max_size=40), st.integers(0, 400))
def test_what_cannot_be_read_is_refused_as_it_is_alone(junk: bytes, at: int) -> None:
    previous = Transcript.from_json(body(4))
    raw = body(6)
    raw = raw[:-at] + junk if at else raw + junk
    try:
        alone = Transcript.from_json(raw)
    except ReadError as error:
        with pytest.raises(type(error)) as caught:
            Transcript.extend_from(previous, raw)
        assert str(caught.value) == str(error)
    else:
        assert facts(Transcript.extend_from(previous, raw)) == facts(alone)


def test_the_body_may_be_any_kind_of_bytes() -> None:
    previous = Transcript.from_json(body(2))
    for kind in (bytes, bytearray, memoryview):
        assert Transcript.extend_from(previous, kind(body(3))).to_json() == body(3)
    with pytest.raises(TypeError, match="a body is bytes"):
        Transcript.extend_from(previous, body(3).decode())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Transcript is needed"):
        Transcript.extend_from(body(2), body(3))  # type: ignore[arg-type]


def test_errors_have_the_offset_in_the_whole_body() -> None:
    previous = Transcript.from_json(body(3))
    raw = body(4)[:-2] + b', {"role": "user", "content": "\\x"}]}'
    with pytest.raises(InvalidJsonError, match="unknown escape") as caught:
        Transcript.extend_from(previous, raw)
    assert raw[caught.value.offset :].startswith(b"x")


def test_a_check_of_pairs_names_what_is_not_whole() -> None:
    answered = Transcript.from_json(body(2))
    assert check_pairs(answered).ok
    assert check_pairs(answered).pairs == 2
    asked = answered.append(call("c9", "/tmp")[0])
    assert check_pairs(asked).ok
    assert check_pairs(asked).pending == (CallPlace("c9", 7, 0),)
    left = asked.append({"role": "user", "content": "Never mind."})
    assert not check_pairs(left).ok
    assert check_pairs(left).abandoned_calls == (CallPlace("c9", 7, 0),)
    late = left.append(call("c9", "/tmp")[1])
    assert check_pairs(late).misplaced_results == (CallPlace("c9", 9, 0),)
    twice = answered.append(call("c1", "/tmp")[1])
    assert check_pairs(twice).repeated_results == check_pairs(twice).orphan_results == (CallPlace("c1", 7, 0),)


def test_calls_without_ids_are_named_as_a_scan_names_them() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
    ]
    asked = Transcript.from_json(json.dumps({"contents": contents}).encode())
    assert check_pairs(asked).pending == scan(asked).pending == (CallPlace("weather#0", 1, 0),)
