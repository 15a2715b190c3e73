"""A list of messages read as the continuation of another: the same transcript as the list read alone."""

import contextlib
import copy
import gc
import json
import subprocess
import sys
import types
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import Transcript, _core, check_pairs, scan
from turnfold.errors import InvalidMessageError, ReadError
from turnfold.objects import encode_all
from turnfold.testing.generators import anthropic_messages, gemini_contents, openai_chat, openai_responses

MADE = ((anthropic_messages, "messages"), (openai_chat, "messages"), (openai_responses, "input"))


def session(turns: int = 4) -> list[dict[str, Any]]:
    """Return messages of text, of blocks, of calls and of results."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for k in range(turns):
        function = {"name": "read", "arguments": json.dumps({"path": f"/tmp/{k}"})}
        messages += [
            {"role": "user", "content": [{"type": "text", "text": f"Question {k}"}], "extra": (k, 0.5, None, True)},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{k}", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"c{k}", "content": f"Result {k}"},
        ]
    return messages


def facts(transcript: Transcript) -> tuple[object, ...]:
    return (
        transcript.format,
        transcript.format_reason,
        transcript.roles,
        transcript.messages,
        transcript.to_json(),
        transcript.fingerprint,
        [transcript.blocks(k) for k in range(len(transcript))],
        [transcript.tokens(0, k) for k in range(len(transcript) + 1)],
        transcript.tokens(),
        scan(transcript),
        check_pairs(transcript),
        transcript.identifiers(),
    )


def holders(value: object) -> list[dict[str, Any] | list[Any]]:
    """Return every dict and list in it."""
    if isinstance(value, dict):
        return [value, *(inner for item in value.values() for inner in holders(item))]
    if isinstance(value, list):
        return [value, *(inner for item in value for inner in holders(item))]
    return []


def change(holder: dict[str, Any] | list[Any], how: int) -> None:
    """Change one thing in place."""
    if isinstance(holder, list):
        if how % 3 == 0:
            holder.append({"type": "text", "text": "more"})
        elif holder and how % 3 == 1:
            holder.pop()
        elif holder:
            holder[0] = copy.deepcopy(holder[0])
        return
    if how % 4 == 0:
        holder["note"] = how
    elif how % 4 == 1:
        holder.pop("content", None)
    elif how % 4 == 2 and holder:
        name = next(iter(holder))
        holder[name] = holder.pop(name)  # the same field, last
    else:
        for name, text in holder.items():
            if isinstance(text, str) and name not in {"role", "type"}:
                holder[name] = text[:-1] + "~"


def read(read_it: Callable[[], Transcript]) -> object:
    try:
        return facts(read_it())
    except ReadError as error:
        return type(error), str(error), error.offset, error.path


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 11), st.integers(0, 14), st.booleans()), max_size=6),
    st.booleans(),
)
def test_a_list_that_was_changed_in_place_is_the_list_read_alone(
    steps: list[tuple[int, int, int, bool]], named: bool
) -> None:
    messages = session()
    previous = Transcript.from_messages(messages, format="openai.chat" if named else None)
    previous = Transcript.extend_from(previous, messages)
    for where, how, length, counted in steps:
        if counted:
            previous.tokens()
            check_pairs(previous)
        inside = holders(messages)
        change(inside[where % len(inside)], how)
        # A list that became shorter, too.
        messages[length:] = session()[length:]
        alone = read(lambda: Transcript.from_messages(messages, format="openai.chat" if named else None))
        assert read(partial(Transcript.extend_from, previous, messages)) == alone
        with contextlib.suppress(ReadError):
            previous = Transcript.extend_from(previous, messages)


@settings(max_examples=20)
@given(st.sampled_from(MADE), st.integers(0, 50), st.integers(1, 9))
def test_each_list_of_a_growing_session_is_the_list_read_alone(
    made: tuple[Callable[..., Any], str], seed: int, step: int
) -> None:
    make, field = made
    messages = make(seed, turns=8)[field]
    grown = Transcript.from_messages(messages[:1])
    for length in range(1, len(messages), step):
        grown = Transcript.extend_from(grown, messages[:length])
        assert facts(grown) == facts(Transcript.from_messages(messages[:length]))


def test_a_format_may_show_late() -> None:
    # Alone this is a message of a chat; what follows is of another format.
    contents: Any = gemini_contents(1, turns=3)["contents"]
    first = Transcript.extend_from(Transcript.from_messages(contents[:1]), contents[:1])
    assert Transcript.extend_from(first, contents).format == Transcript.from_messages(contents).format


def test_what_is_the_same_is_found_without_its_text() -> None:
    messages = session()
    seen = _core.SeenObjects().followed_by(0, tuple(messages))
    assert seen.shared(tuple(messages)) == len(messages)
    assert seen.shared((*messages, {"role": "user", "content": "More."})) == len(messages)
    assert seen.shared(tuple(copy.deepcopy(messages))) == len(messages)
    # Equal texts that are others would have to be compared.
    assert seen.shared(tuple(json.loads(json.dumps(messages)))) == 0
    messages[5]["tool_calls"][0]["function"]["arguments"] += " "
    assert seen.shared(tuple(messages)) == 5
    assert seen.followed_by(5, tuple(messages)).shared(tuple(messages)) == len(messages)


def test_what_is_the_same_is_not_read_again() -> None:
    previous = Transcript.from_messages(session())
    rest = session()[7:9]
    grown = previous.kernel.grown(7, encode_all(tuple(rest)))
    assert grown is not None
    assert facts(Transcript(grown)) == facts(Transcript.from_json(Transcript.from_messages(session()[:9]).to_json()))
    for other in (
        previous.append(rest[0]),
        previous.splice([range(1, 9)]),
        Transcript.from_json(b'[ {"role": "user", "content": "Hi"} ]'),
    ):
        again = other.kernel.grown(1, b"[]")
        assert again is None or Transcript(again).to_json() == Transcript.from_messages(other.messages[:1]).to_json()
    for kept, broken in ((0, b"[]"), (99, b"[]"), (2, b"[5]"), (2, b"[{},]"), (2, b"{}"), (2, b"")):
        assert previous.kernel.grown(kept, broken) is None


def test_another_text_at_an_address_that_was_free_is_another() -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "".join(["0", "0", "0", "0"])}]
    previous = Transcript.extend_from(Transcript.from_messages(messages), messages)
    for k in range(2_000):
        messages[0]["content"] = f"{k:04}"
        gc.collect(0)
        previous = Transcript.extend_from(previous, messages)
        assert previous.to_json() == b'[{"role":"user","content":"%04d"}]' % k


@pytest.mark.parametrize(
    "message",
    [
        types.MappingProxyType({"role": "user", "content": "Hi"}),
        {"role": "user", "content": "Hi", "extra": OrderedDict(a=1)},
        {"role": "user", "content": "Hi", "weight": Decimal("0.1")},
        {"role": "user", "content": "Hi", "tree": [[[[[]]]]]},
    ],
)
def test_messages_of_other_classes_are_read_each_time(message: Any) -> None:
    messages = [{"role": "user", "content": "First."}, message]
    previous = Transcript.extend_from(Transcript.from_messages(messages), messages)
    messages.append({"role": "assistant", "content": "Yes."})
    assert facts(Transcript.extend_from(previous, messages)) == facts(Transcript.from_messages(messages))


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [62, 63, 64, 65, 400])
def test_deep_messages_and_those_that_hold_themselves(depth: int) -> None:
    message: dict[str, Any] = {"role": "user", "content": "Hi", "tree": nested(depth)}
    previous = Transcript.from_messages([message])
    for _ in range(2):
        previous = Transcript.extend_from(previous, [message])
        assert facts(previous) == facts(Transcript.from_messages([message]))
    message["tree"].append(message["tree"])
    with pytest.raises(InvalidMessageError):
        Transcript.extend_from(previous, [message])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), object(), {"inner": [float("nan")]}])
def test_errors_name_the_message_in_the_whole_list(bad: object) -> None:
    messages = session()
    previous = Transcript.extend_from(Transcript.from_messages(messages), messages)
    messages.append({"role": "user", "content": "Hi", "weight": bad})
    with pytest.raises(InvalidMessageError) as alone:
        Transcript.from_messages(messages)
    with pytest.raises(InvalidMessageError) as caught:
        Transcript.extend_from(previous, messages)
    assert str(caught.value) == str(alone.value)
    assert caught.value.path == alone.value.path == f"messages[{len(messages) - 1}]"
    messages[-1] = {"role": 5}
    with pytest.raises(ReadError) as alone_read:
        Transcript.from_messages(messages)
    with pytest.raises(ReadError) as caught_read:
        Transcript.extend_from(previous, messages)
    assert (str(caught_read.value), caught_read.value.offset) == (str(alone_read.value), alone_read.value.offset)


def test_the_callers_objects_are_kept_and_bytes_and_objects_go_on_from_each_other() -> None:
    messages = session()
    grown = Transcript.extend_from(Transcript.from_messages(messages[:3]), messages)
    assert all(kept is given for kept, given in zip(grown.messages, messages, strict=True))
    longer = Transcript.from_messages([*messages, {"role": "user", "content": "Go on."}])
    assert facts(Transcript.extend_from(grown, longer.to_json())) == facts(Transcript.from_json(longer.to_json()))
    assert facts(Transcript.extend_from(grown.append(messages[1]), tuple(messages))) == facts(grown)
    assert facts(Transcript.extend_from(grown.splice([range(4)]), messages)) == facts(grown)
    assert facts(Transcript.extend_from(Transcript.from_json(b'{"messages": []}'), messages)) == facts(grown)
    assert len(Transcript.extend_from(grown, [])) == 0
    for wrong in ("Hi", {"role": "user"}, None):
        with pytest.raises(TypeError, match="a body is bytes"):
            Transcript.extend_from(grown, wrong)  # type: ignore[arg-type]


def test_threads_share_what_one_goes_on_from() -> None:
    messages = session(40)
    previous = Transcript.extend_from(Transcript.from_messages(messages), messages)
    expected = facts(Transcript.from_messages([*messages, messages[1]]))

    def go_on(_: int) -> bool:
        return facts(Transcript.extend_from(previous, [*messages, messages[1]])) == expected

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(go_on, range(40)))


# What a build without the interpreter's lock answers: dicts are copied there before anything goes through them.
WITHOUT_LOCK = """
import sys, pytest
sys._is_gil_enabled = lambda: False
some = "found_without or read_again or growing or deep"
sys.exit(pytest.main([sys.argv[1], "-q", "-p", "no:cacheprovider", "-k", some]))
"""


def test_it_is_the_same_where_threads_change_dicts_meanwhile() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_LOCK, __file__], check=True)
