"""A real model, asked for: `pytest -m llm -s tests/llm`. Not in the default run; docs/summarizers.md records one."""

import gzip
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_server import (
    CHAT_TEMPLATE,
    COMPLETION_TEMPLATE,
    FRONT_TOKENS,
    HEADER_TOKENS,
    MODEL,
    llama_server,
    register_gemma,
)

import turnfold
from turnfold.model.policy import Policy
from turnfold.objects import Message
from turnfold.prompts.completion import render_completion
from turnfold.summarizers import OpenAICompatible
from turnfold.transcript import Transcript

pytestmark = pytest.mark.llm

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared/corpus/tau-bench/gpt-4o-airline.json.gz"
SAMPLE = ROOT / "samples/coding/rename-across-files.json"

CAREFUL: Message = {"role": "system", "content": "You are careful."}
TALK: list[Message] = [
    CAREFUL,
    {"role": "user", "content": "The tests fail in tests/test_parser.py since Tuesday. Why?"},
    {"role": "assistant", "content": "I look at the parser first, then at what changed on Tuesday."},
    {"role": "user", "content": "Go on."},
]


@pytest.fixture(scope="module")
def chat_server() -> Iterator[str]:
    pytest.importorskip("xllamacpp")
    with llama_server(CHAT_TEMPLATE) as address:
        yield address


@pytest.fixture(scope="module")
def completion_server() -> Iterator[str]:
    pytest.importorskip("xllamacpp")
    with llama_server(COMPLETION_TEMPLATE) as address:
        yield address


@pytest.fixture(scope="module")
def recorded() -> Transcript:
    """A recorded conversation of an airline's agent with a customer, or a sample where that is not there."""
    if not SHARED.exists():
        return Transcript.from_json(SAMPLE.read_bytes())
    log = turnfold.read_log(gzip.decompress(SHARED.read_bytes()))
    return log.transcripts[8].transcript


def post(address: str, path: str, body: object) -> Any:
    request = urllib.request.Request(address + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def chat(messages: list[Message]) -> Transcript:
    return Transcript.from_messages(messages, format="openai.chat")


def spoken(transcript: Transcript) -> list[Message]:
    """The messages with text alone: the template of the setting knows no calls."""
    return [
        {"role": message["role"], "content": message["content"]}
        for message in transcript.messages
        if isinstance(message.get("content"), str) and message["role"] in {"system", "user", "assistant"}
    ]


def usage(address: str, messages: list[Message]) -> tuple[int, int]:
    """Send a request; return what the server counted of its prompt, and how much of that it had in its cache."""
    body = {"model": MODEL, "messages": messages, "max_tokens": 1, "temperature": 0}
    reported = post(address, "/v1/chat/completions", body)["usage"]
    return reported["prompt_tokens"], reported["prompt_tokens_details"]["cached_tokens"]


def predicted(before: Transcript, after: Transcript) -> int:
    """What the server has in its cache of the second request, having seen the first.

    All of the first, where the second starts with it and goes on with the model's own message. Else what they share
    whole, and the header of the first message that differs, whose contents have no beginning in common. The last token
    of a prompt is always read.
    """
    encoding = register_gemma()
    report = turnfold.compare_prefix(before, after, encoding=encoding)
    if report.before_is_prefix:
        shared = before.tokens(encoding=encoding).n
    else:
        shared = FRONT_TOKENS + report.tokens + HEADER_TOKENS
    return min(shared, after.tokens(encoding=encoding).n - 1)


def test_texts_count_as_the_server_tokenizes_them(chat_server: str, recorded: Transcript) -> None:
    encoding = register_gemma()
    samples = [Transcript.from_json(path.read_bytes()) for path in sorted((ROOT / "samples/coding").glob("*.json"))]
    texts = [b.text for t in (recorded, *samples) for i in range(len(t)) for b in t.blocks(i) if b.text]
    counts = turnfold.count_many(texts, encoding)
    there = [post(chat_server, "/tokenize", {"content": t, "add_special": False})["tokens"] for t in texts]
    assert counts == [len(tokens) for tokens in there]
    print(f"\n{len(texts)} texts, {sum(counts)} tokens: each counted as the server tokenizes it")


def test_prompt_tokens_and_cached_tokens_are_predicted_exactly(chat_server: str, recorded: Transcript) -> None:
    encoding = register_gemma()
    real = spoken(recorded)
    compacted = turnfold.compact_sync(
        chat(real), Policy(turnfold.OnRequest(), (turnfold.Summarize(turnfold.KeepMessages(2)),)), encoding=encoding
    )
    assert isinstance(compacted, turnfold.CompactionResult)
    more: list[Message] = [
        {"role": "assistant", "content": "Done with it: the lexer dropped a sign."},
        {"role": "user", "content": "And now?"},
    ]
    requests = {
        "a short talk": TALK,
        "two messages more": [*TALK, *more],
        "its middle folded into one message": [CAREFUL, {"role": "user", "content": "Summary: all is done."}, more[1]],
        "another system text": [{"role": "system", "content": "Be brief."}, *TALK[1:]],
        "a recorded conversation": real,
        "the same, with a turn more": [*real, *more],
        "the recorded one again": real,
        "that one compacted": compacted.messages,
    }
    print(f"\n{'request':<38}{'prompt: server':>16}{'turnfold':>10}{'cached: server':>16}{'turnfold':>10}")
    before: Transcript | None = None
    cached = 0
    for name, messages in requests.items():
        transcript = chat(messages)
        prompt, cached = usage(chat_server, messages)
        ours = transcript.tokens(encoding=encoding)
        expected = cached if before is None else predicted(before, transcript)
        print(f"{name:<38}{prompt:>16}{ours.n:>10}{cached:>16}{'-' if before is None else expected:>10}")
        assert (ours.source, ours.n) == ("exact", prompt), name
        assert cached == expected, name
        before = transcript
    assert compacted.prefix.tokens + FRONT_TOKENS + HEADER_TOKENS == cached


def test_a_call_that_appends_to_the_live_request_finds_it_in_the_cache(chat_server: str, recorded: Transcript) -> None:
    live = {"model": MODEL, "messages": spoken(recorded), "max_tokens": 1, "temperature": 0}
    policy = Policy(turnfold.OnRequest(), (turnfold.Summarize(turnfold.KeepMessages(2)),))
    prompt, _ = usage(chat_server, spoken(recorded))
    summarizer = OpenAICompatible(
        MODEL,
        api_key="none",
        base_url=f"{chat_server}/v1",
        timeout_seconds=300,
        tries=1,
        appends=True,
        extra_body={"max_tokens": 8},
    )
    transcript = Transcript.from_json(json.dumps(live).encode())
    result = turnfold.compact_sync(transcript, policy, summarizer, deadline_seconds=300)
    assert isinstance(result, turnfold.CompactionResult)
    used = result.attempts[0].usage
    print(
        f"\na live request of {prompt} tokens: {used.cache_read_tokens} of the call's {used.prompt_tokens} were cached"
    )
    # All but the role that opens the model's turn: a message of the user comes there instead.
    assert used.cache_read_tokens == prompt - 1


PRESETS = ["turn_window", "token_threshold", "evicted_turns"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_summary_comes_over_http_from_the_model(preset: str, completion_server: str, recorded: Transcript) -> None:
    conversation = chat(spoken(recorded))
    tokens = conversation.tokens().n
    policy = {
        "turn_window": turnfold.presets.turn_window(n=2, m=1),
        "token_threshold": turnfold.presets.token_threshold(limit_tokens=tokens - 50, window_tokens=8_192),
        "evicted_turns": turnfold.presets.evicted_turns(limit_tokens=tokens - 50, timeout_seconds=300),
    }[preset]
    summarizer = OpenAICompatible(
        MODEL,
        api_key="none",
        base_url=f"{completion_server}/v1",
        window_tokens=8_192,
        timeout_seconds=300,
        tries=1,
        render=render_completion,
        # It does not know when it is done.
        extra_body={"stop": ["\n\n", "\nuser:"], "repeat_penalty": 1.1, "max_tokens": 90},
    )
    result = turnfold.compact_sync(conversation, policy, summarizer, deadline_seconds=600)
    assert isinstance(result, turnfold.CompactionResult)
    attempt = result.attempts[0]
    print(f"\n{preset}: {tokens} -> {result.after.n} tokens, {attempt.outcome} ({attempt.detail})")
    print(f"{attempt.usage}, {attempt.latency_seconds:.1f} s\n{result.summary}")
    assert result.method == "openai_compatible"
    assert attempt.usage.prompt_tokens > 0
    assert attempt.usage.completion_tokens > 0
    assert turnfold.scan(result.transcript).ok
