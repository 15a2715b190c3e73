"""Counts of whole requests and of ranges: exact where the framing is published, honest everywhere else."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from turnfold import TokenCount, Transcript, _core, count
from turnfold.errors import UnknownEncodingError

Oracle = Callable[[str], tiktoken.Encoding]

MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant"]), "content": st.text(max_size=40)},
        optional={"name": st.sampled_from(["ann", "bob_2"])},
    ),
    max_size=8,
)


def by_the_cookbook(messages: list[dict[str, Any]], encoding: tiktoken.Encoding) -> int:
    """OpenAI cookbook, "How to count tokens with tiktoken"."""
    total = 3
    for message in messages:
        total += 3 + ("name" in message)
        total += sum(len(encoding.encode_ordinary(value)) for value in message.values())
    return total


@given(messages=MESSAGES)
def test_plain_chat_is_exact(oracle: Oracle, messages: list[dict[str, Any]]) -> None:
    transcript = Transcript.from_messages(messages, format="openai.chat")
    n = by_the_cookbook(messages, oracle("o200k_base"))
    assert transcript.tokens() == transcript.tokens(model="gpt-4o") == TokenCount(n, n, n, "exact")
    n = by_the_cookbook(messages, oracle("cl100k_base"))
    assert transcript.tokens(encoding="cl100k_base") == transcript.tokens(model="gpt-4") == TokenCount(n, n, n, "exact")


@given(messages=MESSAGES, data=st.data())
def test_ranges_add_up(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    transcript = Transcript.from_messages(messages, format="openai.chat")
    ends = st.integers(0, len(messages))
    start, middle, stop = sorted((data.draw(ends), data.draw(ends), data.draw(ends)))
    parts = transcript.tokens(start, middle).n + transcript.tokens(middle, stop).n
    assert transcript.tokens(start, stop).n == parts
    assert transcript.tokens().n == transcript.tokens(0).n + 3
    assert transcript.tokens(-1) == transcript.tokens(max(len(messages) - 1, 0), len(messages))
    assert transcript.tokens(stop, start - 1 if start else 0).n == 0


@given(messages=MESSAGES, added=MESSAGES)
def test_what_was_appended_counts_as_if_read_at_once(
    messages: list[dict[str, Any]], added: list[dict[str, Any]]
) -> None:
    transcript = Transcript.from_messages(messages, format="openai.chat")
    transcript.tokens()
    for message in added:
        transcript = transcript.append(message)
    whole = Transcript.from_messages(messages + added, format="openai.chat")
    assert transcript.tokens() == whole.tokens()
    assert [transcript.block_tokens(k) for k in range(len(whole))] == [whole.block_tokens(k) for k in range(len(whole))]


@pytest.mark.parametrize("model", ["claude-sonnet-5", "gemini-3-pro", "some-model-that-nobody-knows"])
def test_a_foreign_vocabulary_makes_an_interval(model: str) -> None:
    transcript = Transcript.from_messages(
        [{"role": "user", "content": "How many tokens is this?"}], format="openai.chat"
    )
    count = transcript.tokens(model=model)
    assert count.source == "estimate"
    assert count.lo < count.n < count.hi
    exact = transcript.tokens(encoding="o200k_base")
    assert exact.source == "exact"
    assert count.lo <= exact.n <= count.hi


@pytest.mark.parametrize("name", ["anthropic.messages", "bedrock.converse", "mistral.chat"])
def test_a_request_of_a_secret_vocabulary_is_never_exact(name: str) -> None:
    transcript = Transcript.from_messages([{"role": "user", "content": "x"}], format=name)
    assert {transcript.tokens(model=m).source for m in (None, "gpt-4o", "claude-sonnet-5")} == {"estimate"}


GEMINI = [
    {"role": "user", "parts": [{"text": "What is the weather in Paris?"}]},
    {
        "role": "model",
        "parts": [
            {"functionCall": {"name": "weather", "args": {"city": "Paris"}}, "thoughtSignature": "Cq" + 998 * "A"},
        ],
    },
    {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"sky": "clear"}}}]},
]


def test_gemini_counts_signatures_and_frames_of_calls_by_its_generation() -> None:
    transcript = Transcript.from_messages(GEMINI, format="gemini.contents")
    call, earlier, later = (
        [transcript.tokens(k, k + 1, model=model) for k in range(3)]
        for model in ("gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-pro-preview")
    )
    words = count("What is the weather in Paris?")
    assert [one[0].n for one in (call, earlier, later)] == [words] * 3
    # 20 tokens for a signature before Gemini 3; from 3 on a token in 4.8 letters, and the frame.
    texts = count("weather") + count('{"city":"Paris"}')
    assert earlier[1].n == texts + 20
    assert later[1].n == texts + (1002 - 100) * 5 // 24 + 7
    # A result's name and the names of its fields are counted by their letters before 3, within the frame from 3 on.
    named = len('"weather"') // 5 + 2
    assert (earlier[2].n, later[2].n) == (count('"clear"') - 2 + named, count('"clear"') - 2 + 15)
    for counts in (call, earlier, later):
        assert all(one.lo <= one.n <= one.hi for one in counts)
    for model in ("gemini-2.5-pro", "gemini-3-pro-preview"):
        each = transcript.each_tokens(bound=False, model=model)
        assert sum(each) == transcript.tokens(0, 3, model=model).n
        parts = transcript.splice([range(1, 2), range(2, 3)])
        assert parts.tokens(0, 2, model=model).n == sum(each[1:])


def test_claude_counts_a_prompt_for_tools_and_more_where_a_call_is_demanded() -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
    }
    choices = ({"type": "auto"}, {"type": "any"}, {"type": "tool", "name": "look"})
    free, *demanded = (Transcript.from_json(json.dumps(body | {"tool_choice": choice}).encode()) for choice in choices)
    bare = Transcript.from_json(json.dumps(body | {"tool_choice": {"type": "any"}, "tools": None}).encode())
    assert [one.tokens().n - free.tokens().n for one in demanded] == [100, 100]
    assert 490 < free.tokens().n - bare.tokens().n < 530


def test_claude_behind_bedrock_counts_a_demanded_call_and_other_models_do_not() -> None:
    def count(model: str, choice: dict[str, object]) -> int:
        tool = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}
        body = {
            "modelId": model,
            "messages": [{"role": "user", "content": [{"text": "x"}]}],
            "toolConfig": {"tools": [tool], "toolChoice": choice},
        }
        return Transcript.from_json(json.dumps(body).encode()).tokens().n

    choices: tuple[dict[str, object], ...] = ({"auto": {}}, {"any": {}}, {"tool": {"name": "look"}})
    free, *demanded = (count("anthropic.claude-sonnet-4-5", choice) for choice in choices)
    assert [n - free for n in demanded] == [100, 100]
    assert len({count("amazon.nova-pro", choice) for choice in choices}) == 1


def test_encrypted_reasoning_is_counted_by_its_length_and_its_summary_is_not() -> None:
    def body(letters: int, summary: str) -> bytes:
        texts = [{"type": "summary_text", "text": summary}] if summary else []
        thought = {"type": "reasoning", "id": "rs_1", "encrypted_content": letters * "A", "summary": texts}
        said = {"role": "user", "content": "x"}
        return json.dumps({"model": "gpt-5", "input": [said, thought]}).encode()

    short, long, told = (
        Transcript.from_json(body(letters, summary), format="openai.responses").tokens().n
        for letters, summary in ((400, ""), (948 + 625, ""), (948 + 625, "It looked at the file first."))
    )
    assert long - short == 100
    assert told == long


def test_the_encoding_is_the_named_one_or_the_models() -> None:
    transcript = Transcript.from_json(b'{"model":"gpt-4","messages":[{"role":"user","content":"x"}]}')
    assert transcript.encoding() == "cl100k_base"
    assert transcript.encoding(model="gpt-5") == "o200k_base"
    assert transcript.encoding("o200k_harmony", "gpt-4") == "o200k_harmony"
    assert Transcript.from_json(b"[]").encoding() == "o200k_base"
    with pytest.raises(UnknownEncodingError):
        transcript.tokens(encoding="gpt2")


def test_a_block_is_counted_by_its_text(oracle: Oracle) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"path": "/tmp"}'}}
    message = {"role": "assistant", "content": "Let me look.", "tool_calls": [call]}
    transcript = Transcript.from_messages([message])
    spoken, called = transcript.block_tokens(0)
    assert spoken == len(oracle("o200k_base").encode_ordinary("Let me look."))
    assert called == sum(len(oracle("o200k_base").encode_ordinary(t)) for t in ("look", '{"path": "/tmp"}'))
    assert _core.encoding_for_model("gpt-4o") == ("o200k_base", "exact")


SAID = "word " * 400
ODD_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("openai.chat", {"tool_calls": [{"id": "c", "type": "mcp", "mcp": {"name": "f", "arguments": SAID}}]}),
    ("openai.chat", {"tool_calls": [{"id": "c", "type": "function", "function": SAID}]}),
    ("openai.chat", {"tool_calls": [{"id": "c", "function": {"name": "f", "parameters": {"a": SAID}}}]}),
    ("openai.chat", {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": None, "args": SAID}}]}),
    ("openai.chat", {"function_call": {"name": "f", "parameters": SAID}}),
    ("mistral.chat", {"content": "", "tool_calls": [{"id": "c", "type": "mcp", "mcp": {"input": SAID}}]}),
    ("anthropic.messages", {"content": [{"type": "tool_use", "id": "c", "name": "f", "arguments": {"a": SAID}}]}),
    ("bedrock.converse", {"content": [{"toolUse": {"toolUseId": "c", "name": "f", "arguments": {"a": SAID}}}]}),
    ("gemini.contents", {"role": "model", "parts": [{"functionCall": {"name": "f", "arguments": {"a": SAID}}}]}),
    ("openai.responses", {"type": "function_call", "call_id": "c", "name": "f", "parameters": {"a": SAID}}),
]


@pytest.mark.parametrize(("wire_format", "message"), ODD_CALLS)
def test_a_call_of_an_unknown_shape_is_counted_by_its_json(wire_format: str, message: dict[str, Any]) -> None:
    role = {} if "type" in message else {"role": "assistant"}
    transcript = Transcript.from_messages([role | message], format=wire_format)
    tokens = transcript.tokens()
    assert tokens.lo >= 400 // 2
    assert tokens.n >= 400
    (block,) = [block for block in transcript.blocks(0) if block.kind == "tool_call"]
    assert SAID in block.text


def test_a_call_without_arguments_costs_its_name_alone() -> None:
    call = {"id": "c", "type": "function", "index": 0, "function": {"name": "now"}}
    given = {**call, "function": {"name": "now", "arguments": ""}}
    bare, empty = (
        Transcript.from_messages([{"role": "assistant", "tool_calls": [one]}], format="openai.chat").tokens()
        for one in (call, given)
    )
    assert bare == empty


def test_what_bedrock_hands_on_is_in_the_interval() -> None:
    body = {"modelId": "anthropic.claude-sonnet-4-5", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    tool = {"name": "find", "description": SAID, "input_schema": {"type": "object"}}
    plain, handed_on = (
        Transcript.from_json(json.dumps(one).encode(), format="bedrock.converse").tokens()
        for one in (body, {**body, "additionalModelRequestFields": {"tools": [tool]}})
    )
    assert handed_on.n >= plain.n + 400
    assert handed_on.hi >= plain.hi + 400
    assert handed_on.lo >= plain.lo


def test_required_fields_of_a_schema_are_looked_up() -> None:
    # A list that was gone through for each of them would take minutes here.
    fields = {f"field_{number}": {"type": "string"} for number in range(100_000)}
    schema = {"type": "object", "properties": fields, "required": list(reversed(fields))}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], "tools": tools}
    assert Transcript.from_json(json.dumps(body).encode()).tokens().n > 500_000
