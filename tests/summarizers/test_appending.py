"""A call that sends the live request: every byte of it stands before what is asked for, or it is quoted."""

from typing import Any

import msgspec
import pytest

import turnfold
from turnfold.summarizers import Anthropic, OpenAICompatible
from turnfold.testing.http_server import Answer, Received, serve
from turnfold.testing.requests import GOOD_SUMMARY
from turnfold.transcript import Transcript

pytestmark = pytest.mark.anyio

LONG = " ".join(["The importer stops at the first broken row of src/importer.py."] * 12)
TALK = b",".join(
    b'{"role": "%s",  "content":"%d: %s"}' % (role, k, LONG.encode())
    for k in range(3)
    for role in (b"user", b"assistant")
)
FUNCTION = b'{"type":"function","function":{"name":"run","parameters":{"type":"object"}}}'
TOOL = b'{"name":"run","input_schema":{"type":"object"}}'
BODIES = {
    "openai": b'{"model":"m-1","tools":[%s],"stream":true,"messages":[%s]}' % (FUNCTION, TALK),
    "anthropic": b'{"model":"m-1","max_tokens":9000,"tools":[%s],"stream":true,"messages":[%s]}' % (TOOL, TALK),
}
ANSWERS: dict[str, Any] = {
    "openai": {"choices": [{"message": {"role": "assistant", "content": GOOD_SUMMARY}, "finish_reason": "stop"}]},
    "anthropic": {"type": "message", "content": [{"type": "text", "text": GOOD_SUMMARY}], "stop_reason": "end_turn"},
}
FORMATS = {"openai": "openai.chat", "anthropic": "anthropic.messages"}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=sorted(BODIES))
def sdk(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def sent(sdk: str, body: bytes, **options: Any) -> Received:
    transcript = Transcript.from_json(body, format=FORMATS[sdk])
    policy = turnfold.Policy(turnfold.OnRequest(), (turnfold.Summarize(turnfold.KeepMessages(2)),))
    async with serve(Answer(ANSWERS[sdk])) as server:
        make: Any = {"openai": OpenAICompatible, "anthropic": Anthropic}[sdk]
        base = f"{server.url}/v1" if sdk == "openai" else server.url
        summarizer = make("m-1", api_key="none", base_url=base, **{"appends": True, **options})
        result = await turnfold.compact(transcript, policy, summarizer)
    assert isinstance(result, turnfold.CompactionResult), result
    assert result.method == summarizer.name
    return server.received[0]


async def test_every_byte_of_the_live_request_stands_before_what_is_asked(sdk: str) -> None:
    received = await sent(sdk, BODIES[sdk])
    assert received.path == {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}[sdk]
    assert TALK + b"," in received.body
    body: Any = received.json()
    assert len(body["messages"]) == 7
    assert "Write only the summary." in msgspec.json.encode(body["messages"][-1]).decode()
    assert "stream" not in body
    assert body["max_tokens"] < 9000
    assert body["tools"] == msgspec.json.decode(BODIES[sdk])["tools"]
    assert body.get("tool_choice") == {"openai": "none", "anthropic": None}[sdk]
    before = Transcript.from_json(BODIES[sdk], format=FORMATS[sdk])
    after = Transcript.from_json(received.body, format=FORMATS[sdk])
    assert turnfold.compare_prefix(before, after).before_is_prefix


async def test_it_is_quoted_where_it_cannot_be_sent(sdk: str) -> None:
    for body, options in (
        (BODIES[sdk], {"appends": False}),
        (BODIES[sdk], {"redact": str.upper}),
        (BODIES[sdk].replace(b"m-1", b"m-2"), {}),
        (b"[" + TALK + b"]", {}),
    ):
        received = await sent(sdk, body, **options)
        assert b"<turnfold-transcript>" in received.body
        assert "tools" not in received.json()
