"""A compaction by the provider, through the real clients: what comes back stands in the transcript byte for byte."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import msgspec
import openai
import pytest

import turnfold
from turnfold.errors import ArgumentError, SummarizerError
from turnfold.model.plan import Skip
from turnfold.model.provider import ProviderRequest
from turnfold.model.summary import Usage
from turnfold.summarizers import compact_at_provider
from turnfold.testing.http_server import Answer, ScriptedServer, serve
from turnfold.transcript import Transcript

pytestmark = pytest.mark.anyio

LONG = "The build failed again and nobody knows why. " * 40
RESPONSES = {
    "model": "gpt-5.6",
    "previous_response_id": "resp_1",
    "input": [{"type": "message", "role": "user", "content": LONG}] * 4,
    "store": False,
}
MESSAGES = {
    "model": "claude-opus-5-5",
    "max_tokens": 900,
    "context_management": {"edits": []},
    "messages": [{"role": "user", "content": LONG}, {"role": "assistant", "content": LONG}] * 3
    + [{"role": "user", "content": "Go on."}],
}
# Spaces and an escape that no encoder would write so.
ITEM = b'{"type" : "compaction", "id":"cmp_1", "encrypted_content":"g\\u0041=="}'
BLOCK = b'{"type":"compaction","content":"It was  built.", "signature": "s\\/1"}'


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def asked(body: dict[str, Any]) -> tuple[Transcript, ProviderRequest]:
    transcript = Transcript.from_json(msgspec.json.encode(body))
    policy = turnfold.presets.provider_compaction(None, 100)
    skip = turnfold.plan(transcript, policy)
    assert isinstance(skip, Skip)
    assert skip.request is not None, skip
    return transcript, skip.request


@asynccontextmanager
async def at(kind: str, *script: Answer) -> AsyncIterator[tuple[ScriptedServer, Any]]:
    async with serve(*script) as server:
        client: Any
        if kind == "openai":
            client = openai.AsyncOpenAI(api_key="sk-key-123456789", base_url=f"{server.url}/v1")
        else:
            client = anthropic.AsyncAnthropic(api_key="sk-key-123456789", base_url=server.url)
        async with client:
            yield server, client


async def test_openai_gives_the_users_messages_and_a_sealed_item() -> None:
    transcript, request = asked(RESPONSES)
    user = b'{"type":"message","role":"user","content":"Build it."}'
    usage = b'{"input_tokens":900,"output_tokens":50,"input_tokens_details":{"cached_tokens":800}}'
    answer = b'{"object":"response.compaction","output":[' + user + b", " + ITEM + b'],"usage":' + usage + b"}"
    async with at("openai", Answer(answer)) as (server, client):
        made = await compact_at_provider(transcript, request, client)
    [sent] = server.received
    assert (sent.method, sent.path) == ("POST", "/v1/responses/compact")
    assert set(sent.json()) == {"model", "previous_response_id", "input"}
    assert b"".join((b"[", user, b",", ITEM, b"]")) in made.transcript.to_json()
    assert set(made.transcript.request_fields() or ()) == {"model", "input", "store"}
    assert made.usage == Usage(900, 50, 800)
    assert turnfold.scan(made.transcript).ok


async def test_anthropic_gives_one_block_for_all_messages() -> None:
    transcript, request = asked(MESSAGES)
    iteration = b'{"type":"compaction","input_tokens":700,"output_tokens":60}'
    usage = b'{"input_tokens":1,"output_tokens":1,"iterations":[' + iteration + b"]}"
    answer = b'{"role":"assistant","model":"claude-opus-5-5","stop_reason":"compaction","content":[' + BLOCK + b"]"
    async with at("anthropic", Answer(answer + b',"usage":' + usage + b"}")) as (server, client):
        made = await compact_at_provider(transcript, request, client)
    [sent] = server.received
    assert sent.headers["anthropic-beta"] == "compact-2026-09-04"
    assert sent.json()["compaction"] == {"type": "summarize"}
    assert "context_management" not in sent.json()
    assert BLOCK in made.transcript.to_json()
    assert set(made.transcript.request_fields() or ()) == {"model", "max_tokens", "messages"}
    assert (made.usage, made.model) == (Usage(700, 60), "claude-opus-5-5")
    goes_on = made.transcript.append({"role": "user", "content": "And now?"})
    assert turnfold.scan(goes_on).ok
    assert goes_on.tokens().n < transcript.tokens().n


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer({"content": [{"type": "compaction", "content": None}]}), "unavailable"),
        (Answer({"content": [{"type": "text", "text": "Hello."}]}), "garbled"),
        (Answer({"content": "Hello."}), "garbled"),
        (Answer(b"<html>"), "garbled"),
        (Answer({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}, 529), "unavailable"),
        (Answer(trouble="drop"), "unreachable"),
        (Answer(trouble="hang"), "timeout"),
    ],
)
async def test_what_goes_wrong_has_its_name(answer: Answer, reason: str) -> None:
    transcript, request = asked(MESSAGES)
    before = transcript.to_json()
    async with at("anthropic", answer) as (server, client):
        try:
            await compact_at_provider(transcript, request, client, timeout_seconds=0.5)
        except SummarizerError as error:
            assert (error.reason, error.__context__) == (reason, None)
        else:
            raise AssertionError
        assert len(server.received) <= 1
    assert transcript.to_json() == before


async def test_a_client_of_another_provider_is_refused() -> None:
    transcript, request = asked(MESSAGES)
    async with at("openai", Answer()) as (_, client):
        refused = None
        try:
            await compact_at_provider(transcript, request, client)
        except ArgumentError as error:
            refused = error
    assert "anthropic.messages is not compacted by AsyncOpenAI" in str(refused)
