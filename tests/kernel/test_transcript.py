"""The typed face of a transcript: bytes and objects come back as they went in."""

import copy
import json
import math
import pickle
from collections import ChainMap, OrderedDict, UserDict
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold import Transcript, _core, checks, meter
from turnfold.errors import ArgumentError, InvalidMessageError, ReadError, UnknownEncodingError, UnknownFormatError
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import KeepMessages, KeepTokens, KeepTurns

Object: TypeAlias = dict[str, object]

CHAT = b"""{
  "model": "gpt-4o", "temperature": 0.10,
  "messages": [
    {"role": "system", "content": "Be brief."},
    {"role":"user","content":"List /tmp \\u00e9\\ud83d"} ,
    {"role":"assistant","content":null,"tool_calls":[
      {"id":"c1","type":"function","function":{"name":"ls","arguments":"{\\"path\\": \\"/tmp\\"}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"a\\nb", "x_unknown": [1, 2.50]}
  ], "x": 12345678901234567890123
}"""

CLAUDE = b"""{"model":"claude-sonnet-5","system":"Be brief.","max_tokens":100,"messages":[
 {"role":"user","content":"List /tmp"},
 {"role":"assistant","content":[{"type":"text","text":"Sure."},
   {"type":"tool_use","id":"toolu_1","name":"ls","input":{"path":"/tmp"}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a\\nb","is_error":true}]}]}"""


@pytest.mark.parametrize("body", [CHAT, CLAUDE])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_an_untouched_body_is_the_same_bytes(body: bytes, kind: type[bytes]) -> None:
    assert Transcript.from_json(kind(body)).to_json() == body


def test_a_changed_buffer_changes_nothing() -> None:
    buffer = bytearray(CHAT)
    transcript = Transcript.from_json(buffer)
    buffer[:] = b"x" * len(buffer)
    assert transcript.to_json() == CHAT


@pytest.mark.parametrize("body", ["{}", 5, None, [1]])
def test_what_is_not_bytes_is_a_type_error(body: object) -> None:
    with pytest.raises(TypeError, match="bytes"):
        Transcript.from_json(body)  # type: ignore[arg-type]


def test_what_a_chat_body_says() -> None:
    transcript = Transcript.from_json(CHAT)
    assert (transcript.format, transcript.model, transcript.leading, len(transcript)) == ("openai.chat", "gpt-4o", 1, 4)
    assert transcript.roles == ("system", "user", "assistant", "tool")
    assert not transcript.remote
    assert transcript.format_reason
    assert repr(transcript) == "<Transcript openai.chat, 4 messages>"
    assert (
        transcript.message_json(3) == b'{"role":"tool","tool_call_id":"c1","content":"a\\nb", "x_unknown": [1, 2.50]}'
    )
    (call,) = transcript.blocks(2)
    assert (call.kind, call.call_id, call.name, call.is_error) == ("tool_call", "c1", "ls", False)
    assert call.path == "messages[2].tool_calls[0]"
    assert '{"path": "/tmp"}' in call.text
    (result,) = transcript.blocks(3)
    assert (result.kind, result.call_id, result.text) == ("tool_result", "c1", "a\nb")
    assert transcript.messages[1]["content"] == "List /tmp é\ud83d"


def test_what_a_claude_body_says() -> None:
    transcript = Transcript.from_json(CLAUDE)
    assert (transcript.format, transcript.model) == ("anthropic.messages", "claude-sonnet-5")
    text, call = transcript.blocks(1)
    assert (text.kind, text.text, text.path) == ("text", "Sure.", "messages[1].content[0]")
    assert (call.kind, call.call_id, call.name) == ("tool_call", "toolu_1", "ls")
    (result,) = transcript.blocks(2)
    assert (result.kind, result.call_id, result.text, result.is_error) == ("tool_result", "toolu_1", "a\nb", True)


def test_a_format_can_be_named_and_an_unknown_one_is_refused() -> None:
    body = b'[{"role":"user","content":"x"}]'
    assert Transcript.from_json(body, format="anthropic.messages").format == "anthropic.messages"
    with pytest.raises(UnknownFormatError, match=r"openai\.chat"):
        Transcript.from_json(body, format="nobody.chat")


def test_objects_come_back_as_the_same_ones() -> None:
    messages: list[Object] = [{"role": "user", "content": str(k)} for k in range(5)]
    transcript = Transcript.from_messages(messages)
    assert [id(m) for m in transcript.messages] == [id(m) for m in messages]
    last: Object = {"role": "user", "content": "last"}
    longer = transcript.append(last)
    assert longer.messages[-1] is last
    assert longer.messages[0] is messages[0]
    spliced = longer.splice([range(1), b'{"role":"user","content":"summary"}', range(4, 6)])
    assert [m is n for m, n in zip(spliced.messages, [messages[0], None, messages[4], last], strict=True)] == [
        *(True, False, True, True)
    ]
    assert spliced.messages[1] == {"role": "user", "content": "summary"}
    assert len(transcript) == 5


def test_an_appended_object_comes_back_even_where_the_others_were_bytes() -> None:
    last: Object = {"role": "user", "content": "last"}
    longer = Transcript.from_json(CHAT).append(last)
    assert longer.messages[-1] is last
    assert longer.messages[0] == {"role": "system", "content": "Be brief."}
    assert longer.messages[0] is longer.messages[0]


@pytest.mark.parametrize("given", [[], "x", 5, None])
def test_append_says_what_a_message_is(given: Any) -> None:
    with pytest.raises(TypeError, match="a message is a mapping or its JSON as bytes, not"):
        Transcript.from_messages([{"role": "user", "content": "a"}], format="openai.chat").append(given)


def test_append_puts_bytes_at_the_end_of_the_body() -> None:
    message = b'{"role" : "user", "content":"more"}'
    longer = Transcript.from_json(CHAT).append(message)
    body = longer.to_json()
    assert longer.message_json(4) == message
    assert json.loads(body)["messages"][:4] == json.loads(CHAT)["messages"]
    assert body.startswith(CHAT[: CHAT.index(b', "x_unknown"')])
    assert body.endswith(b'"x": 12345678901234567890123\n}')


@pytest.mark.parametrize("body", [CHAT, CLAUDE])
def test_a_splice_of_everything_is_the_identity(body: bytes) -> None:
    transcript = Transcript.from_json(body)
    spliced = transcript.splice([range(1), range(1, len(transcript))])
    assert spliced.to_json() == body
    assert spliced.fingerprint == transcript.fingerprint


def test_a_splice_outside_the_transcript_is_refused() -> None:
    transcript = Transcript.from_json(CHAT)
    for step in (range(0, 4, 2), range(-1, 2), range(3, -1, -1)):
        with pytest.raises(ArgumentError, match="step 1"):
            transcript.splice([step])
    for bad in (range(2, 5), range(3, 2)):
        with pytest.raises(ArgumentError, match="keeps messages"):
            transcript.splice([bad])
    with pytest.raises(ReadError):
        transcript.splice([range(4), b"{"])


@pytest.mark.parametrize("index", [-1, 4, 10**30])
def test_a_message_that_is_not_there(index: int) -> None:
    transcript = Transcript.from_json(CHAT)
    for call in (transcript.blocks, transcript.message_json, transcript.block_tokens):
        with pytest.raises(ArgumentError, match="no message"):
            call(index)


def test_a_rewritten_block_changes_only_its_text() -> None:
    transcript = Transcript.from_json(CHAT)
    message = transcript.rewrite(3, {0: 'short "é" \ud800'})
    assert json.loads(message) == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": 'short "é" \ufffd',
        "x_unknown": [1, 2.5],
    }
    assert message.endswith(b'"x_unknown": [1, 2.50]}')


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool", "nobody"])
@pytest.mark.parametrize("body", [CHAT, CLAUDE])
def test_a_new_message_reads_as_one(body: bytes, role: str) -> None:
    transcript = Transcript.from_json(body)
    longer = transcript.append(transcript.text_message(role, 'a "quoted"\ntext'))
    (block,) = longer.blocks(len(transcript))
    assert (block.kind, block.text) == ("text", 'a "quoted"\ntext')


TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXT, v, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system"]), "content": TEXT}, optional={"extra": VALUES}
    ),
    max_size=6,
)


@given(messages=MESSAGES)
def test_from_messages_says_what_json_says(messages: list[Object]) -> None:
    transcript = Transcript.from_messages(messages, format="openai.chat")
    assert [m is n for m, n in zip(transcript.messages, messages, strict=True)] == [True] * len(messages)
    read = Transcript.from_json(transcript.to_json(), format="openai.chat")
    assert read.messages == json.loads(json.dumps(messages))
    assert read.tokens() == transcript.tokens()


def test_a_message_without_a_json_form_is_named() -> None:
    messages: list[Object] = [{"role": "user", "content": "x"}, {"role": "user", "content": object()}]
    with pytest.raises(InvalidMessageError) as caught:
        Transcript.from_messages(messages)
    assert caught.value.path == "messages[1]"
    loop: Object = {"role": "user"}
    loop["content"] = loop
    with pytest.raises(InvalidMessageError) as caught:
        Transcript.from_messages([loop])
    assert caught.value.path == "messages[0]"


def test_structs_and_typed_dicts_are_messages_too() -> None:
    class Text(msgspec.Struct):
        type: str
        text: str

    messages: list[Mapping[str, object]] = [{"role": "user", "content": [Text("text", "hello")]}]
    transcript = Transcript.from_messages(messages)
    assert [block.text for block in transcript.blocks(0)] == ["hello"]
    assert transcript.messages[0] is messages[0]


def test_numbers_that_python_does_not_parse_are_kept() -> None:
    body = b'[{"role":"user","content":"x","a":' + b"7" * 10_000 + b',"b":1e400}]'
    transcript = Transcript.from_json(body, format="openai.chat")
    assert transcript.to_json() == body
    assert str(transcript.messages[0]["a"]) == "7" * 10_000


@pytest.mark.parametrize("error", [ReadError("x", 3, "messages[1]")])
def test_a_read_error_says_where(error: ReadError) -> None:
    assert (error.offset, error.path, str(error)) == (3, "messages[1]", "x at byte 3 (messages[1])")
    assert pickle.loads(pickle.dumps(error)).offset == 3


def test_what_messages_holds_is_what_from_messages_takes() -> None:
    body = b'[{"role":"user","content":"x","a":' + b"7" * 10_000 + b',"b":1E+400,"c":-1E+999}]'
    messages = Transcript.from_json(body, format="openai.chat").messages
    assert Transcript.from_messages(messages, format="openai.chat").to_json() == body


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("text", ["x", "\ud800"])
def test_what_is_no_number_in_json_is_refused(number: float, text: str) -> None:
    odd: Object = {"role": "user", "content": text, "x": [None, {"y": (1.5, number)}]}
    with pytest.raises(InvalidMessageError) as caught:
        Transcript.from_messages([{"role": "user", "content": None}, odd])
    assert caught.value.path == "messages[1]"
    with pytest.raises(InvalidMessageError):
        Transcript.from_json(CHAT).append(odd)


class Word(str):
    __slots__ = ()


ODD = st.sampled_from(
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        1.5,
        Decimal(1),
        Word("x"),
        (1,),
        {1, 2},
        OrderedDict(a=1),
        object(),
        b"x",
    ]
)
OBJECTS = st.recursive(
    VALUES | ODD, lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXT, v, max_size=3), max_leaves=12
)


def plain(value: object) -> bool:
    if type(value) is dict:
        return all(map(plain, value.values()))
    if type(value) is list:
        return all(map(plain, value))
    return math.isfinite(value) if type(value) is float else value is None or type(value) in {str, int, bool}


@pytest.mark.parametrize("body", [CHAT, CLAUDE])
def test_what_is_said_is_texts_and_media_of_user_and_model(body: bytes) -> None:
    transcript = Transcript.from_json(body)
    shown = list(transcript.parts(0, len(transcript)))
    said = [
        tuple(p for p in parts if speaker not in {"user", "assistant"} or p.kind in {"text", "media"})
        for speaker, parts in zip(transcript.speakers, shown, strict=True)
    ]
    assert said != shown
    assert list(transcript.parts(0, len(transcript), said=True)) == said
    texts = ["\n".join(part.text for part in parts if part.kind == "text") for parts in shown]
    assert transcript.said(range(len(transcript))) == texts


@given(messages=st.lists(st.dictionaries(TEXT, OBJECTS, max_size=4) | OBJECTS, max_size=4))
def test_plain_objects_are_told_from_all_others(messages: list[object]) -> None:
    assert _core.is_plain(tuple(messages)) == all(map(plain, messages))


@pytest.mark.parametrize("make", [MappingProxyType, UserDict, OrderedDict, ChainMap])
@pytest.mark.parametrize("text", ["x", "\ud800"])
def test_any_mapping_is_a_message(make: Callable[[Object], Mapping[str, object]], text: str) -> None:
    message = make({"role": "user", "content": [{"type": "text", "text": text}]})
    transcript = Transcript.from_messages([message], format="openai.chat").append(message)
    assert transcript.messages[0] is message
    assert transcript.messages[1] is message
    assert transcript.message_json(0) == transcript.message_json(1)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_transcript_can_be_copied_and_pickled(copied: Callable[[Transcript], Transcript]) -> None:
    message: Object = {"role": "user", "content": "more \ud800"}
    transcript = Transcript.from_json(CHAT).append(message)
    twin = copied(transcript)
    assert (twin.to_json(), twin.format, len(twin)) == (transcript.to_json(), transcript.format, len(transcript))
    assert (twin.messages, twin.tokens()) == (transcript.messages, transcript.tokens())
    assert transcript.messages[-1] is message is not twin.messages[-1]


@pytest.mark.parametrize("name", ["x", "\ud800"])
def test_a_name_that_nothing_has(name: str) -> None:
    with pytest.raises(UnknownFormatError):
        Transcript.from_json(CHAT, format=name)
    with pytest.raises(UnknownEncodingError):
        Transcript.from_json(CHAT).tokens(encoding=name)
    with pytest.raises(UnknownEncodingError):
        meter.count("x", name)
    assert checks.scan(Transcript.from_json(CHAT), ScanOptions(pending_ids=(name,))).pairs


HUGE = 10**30


def test_numbers_out_of_any_range() -> None:
    transcript = Transcript.from_json(CHAT)
    for call in (
        lambda: transcript.splice([range(HUGE)]),
        lambda: transcript.rewrite(-1, {0: "x"}),
        lambda: transcript.rewrite(HUGE, {0: "x"}),
        lambda: transcript.rewrite(0, {-1: "x"}),
        lambda: transcript.rewrite(0, {HUGE: "x"}),
        lambda: transcript.edited_tokens([(0, {0: "x"}), (HUGE, {0: "x"})], bound=True),
        lambda: transcript.edited_tokens([(0, {HUGE: "x"})], bound=True),
        lambda: meter.truncate("x", -HUGE),
    ):
        with pytest.raises(ArgumentError):
            call()
    assert meter.truncate("abc", HUGE) == meter.truncate_middle("abc", HUGE) == "abc"
    assert meter.count_up_to("abc", HUGE) == 1
    keeps = (KeepMessages(HUGE), KeepTurns(HUGE), KeepTokens(HUGE))
    points = [checks.find_split(transcript, keep) for keep in keeps]
    assert [point.index for point in points if point] == [transcript.leading] * 3


@pytest.mark.parametrize("given", [None, [{"role": "user", "content": "x"}], CHAT])
def test_what_is_no_transcript_is_a_type_error_that_helps(given: Any) -> None:
    known = Transcript.from_json(CHAT)
    for call in (
        lambda: checks.scan(given),
        lambda: checks.split_points(given),
        lambda: checks.find_split(given, KeepTurns(1)),
        lambda: checks.compare_prefix(known, given),
        lambda: checks.compare_prefix(given, known),
    ):
        with pytest.raises(TypeError, match=r"from_messages or from_json"):
            call()
