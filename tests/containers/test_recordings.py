"""Recordings of traffic with providers: exchanges, streams, single responses."""

import gzip
import json

import pytest

from turnfold.containers import read_log
from turnfold.containers.document import at
from turnfold.containers.streams import assembled
from turnfold.errors import InvalidLogError


def stream(*events: object) -> str:
    return "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def test_an_anthropic_stream_becomes_its_message():
    text = stream(
        {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "S"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "n"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "for a block that is not"}},
    )
    assert assembled("anthropic.messages", text)["content"] == [
        {"type": "thinking", "thinking": "Hm", "signature": "S"},
        {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}},
    ]


def piece(call: object) -> object:
    return {"choices": [{"delta": {"tool_calls": [call]}}]}


def test_a_chat_stream_joins_text_and_calls():
    text = stream(
        {"choices": [{"delta": {"role": "assistant", "content": "He"}}]},
        {"choices": [{"delta": {"content": "llo"}}]},
        {
            "choices": [
                {"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}]}}
            ]
        },
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}}]},
        {"choices": []},
    )
    assert at(assembled("openai.chat", text), ["choices", 0, "message"]) == {
        "role": "assistant",
        "content": "Hello",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }


@pytest.mark.parametrize("text", ["", "data: [DONE]\n", "data: {\n", "event: ping\n"])
def test_a_stream_that_delivered_nothing_is_empty(text: str):
    for wire_format in ("openai.chat", "openai.responses", "anthropic.messages", "gemini.contents", "other"):
        assert assembled(wire_format, text) == {}


def cassette(request: str, response: str) -> bytes:
    return f"interactions:\n- request: {request}\n  response: {response}\n".encode()


SENT = "parsed_body: {messages: [{role: user, content: hi}]}"
CHAT = "{method: POST, uri: 'https://api.example/v1/chat/completions', " + SENT + "}"


@pytest.mark.parametrize(
    "body",
    [
        "parsed_body: {choices: [{message: {role: assistant, content: ho}}]}",
        'body: \'{"choices": [{"message": {"role": "assistant", "content": "ho"}}]}\'',
        'body: {string: \'{"choices": [{"message": {"role": "assistant", "content": "ho"}}]}\'}',
    ],
)
def test_the_layouts_of_bodies_read_alike(body: str):
    (logged,) = read_log(cassette(CHAT, "{status: {code: 200}, " + body + "}")).transcripts
    assert [dict(message) for message in logged.transcript.messages] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "ho"},
    ]


def test_a_packed_body_is_unpacked():
    import base64

    packed = base64.b64encode(gzip.compress(b'{"choices":[{"message":{"role":"assistant","content":"ho"}}]}')).decode()
    (logged,) = read_log(cassette(CHAT, "{body: {base64_string: '" + packed + "'}}")).transcripts
    assert len(logged.transcript) == 2


def test_a_body_that_cannot_be_unpacked_leaves_the_request():
    (logged,) = read_log(cassette(CHAT, "{body: {base64_string: 'H4sI'}}")).transcripts
    assert len(logged.transcript) == 1


def test_a_counting_request_is_no_transcript():
    counted = CHAT.replace("chat/completions", "messages/count_tokens")
    log = read_log(cassette(counted, "{body: '{}'}"))
    assert (log.transcripts, dict(log.unread)) == ((), {"exchange without a transcript": 1})


def test_broken_yaml_is_refused_with_its_place():
    with pytest.raises(InvalidLogError) as caught:
        read_log(b"interactions:\n- request: {a: [\n")
    assert caught.value.offset > 0


def test_a_response_without_a_message_has_no_transcript():
    log = read_log(b'{"id":"r","object":"response","output":[]}', container="provider_response")
    assert log.transcripts == ()
    assert dict(log.unread) == {"response without a message": 1}
