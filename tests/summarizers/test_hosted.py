"""The real SDK clients against a real server on loopback that misbehaves in every way a server can."""

import io
import logging
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anthropic
import anyio
import msgspec
import openai
import pytest
import stamina

import turnfold
from turnfold import telemetry
from turnfold.errors import CallFault, MissingExtraError, NoSummaryError, SummarizerError
from turnfold.model.result import Attempt
from turnfold.model.summary import SummaryReply, Usage
from turnfold.prompts.completion import render_completion
from turnfold.prompts.prompt import render_prompt
from turnfold.summarizers import Anthropic, Fallback, Marker, Member, OpenAICompatible, Summarizer, hosted
from turnfold.summarizers.retry_after import retry_after_seconds
from turnfold.testing.http_server import Answer, serve
from turnfold.testing.requests import GOOD_SUMMARY, WORK, summary_request

pytestmark = pytest.mark.anyio

REQUEST = summary_request()
KEY = "sk-planted-7f3a9c51e0b24d68"
MAKERS: dict[str, Callable[..., Any]] = {"openai": OpenAICompatible, "anthropic": Anthropic}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=sorted(MAKERS))
def sdk(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _no_waits() -> Any:
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


def said(sdk: str, text: str | None, **more: Any) -> dict[str, Any]:
    """A whole answer of the provider's API."""
    if sdk == "openai":
        message = {"role": "assistant", "content": text, **more.pop("message", {})}
        choice = {"index": 0, "message": message, "finish_reason": more.pop("finish", "stop")}
        usage = {"prompt_tokens": 900, "completion_tokens": 80, "total_tokens": 980, **more.pop("usage", {})}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "m-1",
            "choices": [choice],
            "usage": usage,
        }
    content = [*more.pop("blocks", []), *([] if text is None else [{"type": "text", "text": text}])]
    usage = {"input_tokens": 100, "output_tokens": 80, **more.pop("usage", {})}
    return {
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": content,
        "stop_reason": more.pop("finish", "end_turn"),
        "usage": usage,
    }


def at(sdk: str, url: str, **options: Any) -> Any:
    base = f"{url}/v1" if sdk == "openai" else url
    return MAKERS[sdk]("m-1", api_key=KEY, base_url=base, **options)


async def asked(sdk: str, *script: Answer, **options: Any) -> SummaryReply:
    reply: SummaryReply | Exception
    async with serve(*script) as server:
        try:
            reply = await at(sdk, server.url, **options).summarize(REQUEST)
        except SummarizerError as error:
            reply = error
    if isinstance(reply, Exception):
        raise reply
    return reply


async def test_what_is_sent_and_what_comes_back(sdk: str) -> None:
    async with serve(Answer(said(sdk, GOOD_SUMMARY))) as server:
        reply = await at(sdk, server.url, reasoning_tokens=50, extra_body={"seed": 7}).summarize(REQUEST)
    assert (reply.text, reply.stop, reply.model, reply.tool_calls, reply.reasoned) == (
        GOOD_SUMMARY,
        "end",
        "m-1",
        0,
        False,
    )
    assert reply.latency_seconds is not None
    assert reply.latency_seconds > 0
    [request] = server.received
    body = request.json()
    prompt = render_prompt(REQUEST)
    assert "tools" not in body
    assert (body["model"], body["temperature"], body["max_tokens"], body["seed"]) == ("m-1", 0.0, 350, 7)
    messages = [{"role": "user", "content": prompt.user}]
    if sdk == "openai":
        assert request.path == "/v1/chat/completions"
        assert body["messages"] == [{"role": "system", "content": prompt.system}, *messages]
    else:
        assert request.path == "/v1/messages"
        assert (body["system"], body["messages"]) == (prompt.system, messages)


async def test_a_summary_that_the_prompt_begins_is_whole(sdk: str) -> None:
    async with serve(Answer(said(sdk, " asked for rows to be skipped.")), Answer(said(sdk, " "))) as server:
        summarizer = at(sdk, server.url, render=render_completion)
        assert (await summarizer.summarize(REQUEST)).text == "In short, the user asked for rows to be skipped."
        assert (await summarizer.summarize(REQUEST)).text == ""
    body = server.received[0].json()
    assert "system" not in body
    messages: Any = body["messages"]
    assert [message["role"] for message in messages] == ["user"]
    assert messages[0]["content"].endswith("In short, the user")


async def test_usage_is_told_in_one_way() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 640}, "completion_tokens_details": {"reasoning_tokens": 30}}
    one = await asked("openai", Answer(said("openai", "x", usage=details)))
    assert one.usage == Usage(900, 80, 640, 0, 30)
    assert one.reasoned
    deepseek = await asked("openai", Answer(said("openai", "x", usage={"prompt_cache_hit_tokens": 512})))
    assert deepseek.usage.cache_read_tokens == 512
    parts = {
        "cache_read_input_tokens": 640,
        "cache_creation_input_tokens": 160,
        "output_tokens_details": {"thinking_tokens": 9},
    }
    other = await asked("anthropic", Answer(said("anthropic", "x", usage=parts)))
    assert other.usage == Usage(900, 80, 640, 160, 9)
    nothing = {**said("openai", "x"), "usage": None}
    assert (await asked("openai", Answer(nothing))).usage == Usage()
    odd = await asked("openai", Answer(said("openai", "x", usage={"prompt_tokens": "many", "completion_tokens": -3})))
    assert odd.usage == Usage()


OPENAI_CALL = {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}]}
CLAUDE_CALL = {"type": "tool_use", "id": "t", "name": "run", "input": {}}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


@pytest.mark.parametrize(
    ("sdk", "answer", "outcome"),
    [
        ("openai", said("openai", GOOD_SUMMARY), "used"),
        ("openai", said("openai", ""), "empty"),
        ("openai", said("openai", None), "empty"),
        ("openai", said("openai", None, message={"reasoning_content": "The user wants"}), "reasoning_only"),
        ("openai", said("openai", None, message=OPENAI_CALL, finish="tool_calls"), "tool_call"),
        ("openai", said("openai", None, message={"refusal": "No."}), "refusal"),
        ("openai", said("openai", "Some", finish="content_filter"), "refusal"),
        ("openai", said("openai", "Without an end", finish="length"), "cut_off"),
        ("openai", {"object": "chat.completion", "choices": []}, "garbled"),
        ("openai", {"error": {"message": "in a 200"}}, "garbled"),
        ("openai", [1, 2], "garbled"),
        ("openai", said("openai", [{"type": "text"}]), "garbled"),  # type: ignore[arg-type]
        ("anthropic", said("anthropic", GOOD_SUMMARY), "used"),
        ("anthropic", said("anthropic", GOOD_SUMMARY, blocks=[THINKING]), "used"),
        ("anthropic", said("anthropic", None), "empty"),
        ("anthropic", said("anthropic", None, blocks=[THINKING]), "reasoning_only"),
        ("anthropic", said("anthropic", "Let me see.", blocks=[CLAUDE_CALL], finish="tool_use"), "tool_call"),
        ("anthropic", said("anthropic", "", finish="refusal"), "refusal"),
        ("anthropic", said("anthropic", "Without an end", finish="max_tokens"), "cut_off"),
        ("anthropic", {"type": "message"}, "garbled"),
        ("anthropic", {"content": [{"type": "text", "text": 7}]}, "garbled"),
    ],
)
async def test_every_kind_of_reply_has_its_name(sdk: str, answer: Any, outcome: str) -> None:
    attempts: list[Attempt] = []
    async with serve(Answer(answer)) as server:
        chain = Fallback(Member(at(sdk, server.url), tries=1), Marker())
        await chain.ask(REQUEST, attempts.append)
    assert attempts[0].outcome == outcome, attempts[0]


BROKEN: list[tuple[Answer, CallFault]] = [
    (Answer({"error": {"message": "slow down"}}, 429), "rate_limited"),
    (Answer({"error": {"message": "pay", "code": "insufficient_quota", "type": "billing_error"}}, 429), "rejected"),
    (Answer({"error": {"message": "oops"}}, 500), "unavailable"),
    (Answer(b"<html>bad gateway</html>", 502, {"content-type": "text/html"}), "unavailable"),
    (Answer({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529), "unavailable"),
    (Answer({"error": {"message": "no such key"}}, 401), "rejected"),
    (Answer({"error": {"message": "no such model"}}, 404), "rejected"),
    (Answer({"error": {"message": "x", "code": "context_length_exceeded"}}, 400), "too_long"),
    (Answer({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}, 400), "too_long"),
    (Answer(trouble="drop"), "unreachable"),
    (Answer({"a": "b" * 500}, trouble="cut"), "unreachable"),
    (Answer(b'{"choices": [{"mess'), "garbled"),
    (Answer(b"<html>welcome</html>", headers={"content-type": "text/html"}), "garbled"),
    (Answer(b""), "garbled"),
]


@pytest.mark.parametrize(("answer", "reason"), BROKEN)
async def test_every_way_to_break_has_its_name(sdk: str, answer: Answer, reason: str) -> None:
    with pytest.raises(SummarizerError) as broken:
        await asked(sdk, answer)
    assert broken.value.reason == reason, broken.value
    assert broken.value.status == (answer.status if answer.status != 200 else None)


@pytest.mark.parametrize("trouble", ["hang", "stall", "drip"])
async def test_a_request_has_its_own_time(sdk: str, trouble: Any) -> None:
    answer = Answer(said(sdk, GOOD_SUMMARY), trouble=trouble)
    with anyio.fail_after(20), pytest.raises(SummarizerError, match=r"No reply in 0\.2 s|timed out") as broken:
        await asked(sdk, answer, timeout_seconds=0.2)
    assert broken.value.reason == "timeout"


async def test_nobody_listens(sdk: str) -> None:
    async with serve(Answer()) as server:
        url = server.url
    with pytest.raises(SummarizerError) as broken:
        await at(sdk, url).summarize(REQUEST)
    assert broken.value.reason == "unreachable"


async def test_what_may_pass_is_asked_again_and_each_try_is_told(sdk: str) -> None:
    script = (
        Answer({"error": {"message": "slow down"}}, 429, {"retry-after": "1"}),
        Answer(trouble="drop"),
        Answer(said(sdk, GOOD_SUMMARY)),
    )
    attempts: list[Attempt] = []
    async with serve(*script) as server:
        name, reply = await Fallback(at(sdk, server.url, name="model")).ask(REQUEST, attempts.append)
    assert (name, reply.text) == ("model", GOOD_SUMMARY)
    assert [attempt.outcome for attempt in attempts] == ["rate_limited", "unreachable", "used"]
    assert attempts[-1].usage.completion_tokens == 80
    assert len(server.received) == 3


async def test_what_does_not_pass_is_not_asked_again(sdk: str) -> None:
    async with serve(Answer({"error": {"message": "no"}}, 401)) as server:
        with pytest.raises(NoSummaryError):
            await Fallback(at(sdk, server.url)).summarize(REQUEST)
    assert len(server.received) == 1, "neither the chain nor the SDK"


async def test_a_reply_that_is_refused_is_asked_for_again_with_the_reason(sdk: str) -> None:
    async with serve(Answer(said(sdk, "")), Answer(said(sdk, GOOD_SUMMARY))) as server:
        reply = await Fallback(at(sdk, server.url)).summarize(REQUEST)
    assert reply.text == GOOD_SUMMARY
    assert b"could not be used" not in server.received[0].body
    assert b"Your last reply could not be used: it was empty." in server.received[1].body


async def test_cancellation_goes_through(sdk: str) -> None:
    async with serve(Answer(trouble="hang")) as server:
        summarizer = at(sdk, server.url)
        with anyio.move_on_after(0.1) as scope:
            await summarizer.summarize(REQUEST)
        assert scope.cancelled_caught


async def test_one_client_serves_a_block_and_is_closed_with_it(sdk: str) -> None:
    async with serve(Answer(said(sdk, GOOD_SUMMARY))) as server:
        summarizer = at(sdk, server.url)
        opened: list[Any] = []
        make = summarizer._open

        def opening(tls: Any) -> Any:
            opened.append(make(tls))
            return opened[-1]

        summarizer._open = opening
        async with summarizer:
            for _ in range(3):
                await summarizer.summarize(REQUEST)
            assert len(opened) == 1
        assert opened[0].is_closed()
        await summarizer.summarize(REQUEST)
        assert len(opened) == 2
        assert opened[1].is_closed()


def test_a_kept_client_is_not_used_in_another_loop(sdk: str) -> None:
    async def main() -> None:
        async with serve(Answer(said(sdk, GOOD_SUMMARY))) as server:
            summarizer = at(sdk, server.url)
            async with summarizer:
                await summarizer.summarize(REQUEST)
                await anyio.to_thread.run_sync(anyio.run, summarizer.summarize, REQUEST)

    anyio.run(main)


async def test_a_client_of_the_callers_own_is_used_and_left_open(sdk: str) -> None:
    async with serve(Answer({"error": {"message": "x"}}, 500), Answer(said(sdk, GOOD_SUMMARY))) as server:
        client: Any
        if sdk == "openai":
            client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.url}/v1")
        else:
            client = anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url)
        async with client:
            summarizer = MAKERS[sdk]("m-1", client=client)
            with pytest.raises(SummarizerError, match="500"):
                await summarizer.summarize(REQUEST)
            assert len(server.received) == 1, "its own retries are off"
            assert (await summarizer.summarize(REQUEST)).text == GOOD_SUMMARY
            assert not client.is_closed()


async def test_what_is_longer_than_the_window_is_not_sent(sdk: str) -> None:
    async with serve(Answer(said(sdk, GOOD_SUMMARY))) as server:
        with pytest.raises(SummarizerError, match="the window of m-1 is 500") as refused:
            await at(sdk, server.url, window_tokens=500).summarize(REQUEST)
        assert refused.value.reason == "too_long"
        assert server.received == []


async def test_text_is_redacted_before_it_leaves(sdk: str) -> None:
    def hide(text: str) -> str:
        return text.replace("raw.csv", "[file]")

    async with serve(Answer(said(sdk, "## Findings\n- The importer skips broken rows."))) as server:
        summarizer: Summarizer = at(sdk, server.url, redact=hide)
        reply = await Fallback(summarizer).summarize(REQUEST)
    assert b"raw.csv" not in server.received[0].body
    assert b"[file]" in server.received[0].body
    assert "data/raw.csv" in reply.text, "the ledger puts it back, here"


async def test_a_redaction_that_fails_sends_nothing(sdk: str) -> None:
    def broken(text: str) -> str:
        raise KeyError("names")

    async with serve(Answer(said(sdk, GOOD_SUMMARY))) as server:
        with pytest.raises(SummarizerError, match="raised KeyError: nothing was sent") as caught:
            await at(sdk, server.url, redact=broken).summarize(REQUEST)
        assert caught.value.__context__ is None, "what it raised may quote the text"
        with pytest.raises(SummarizerError, match="gave NoneType, not str: nothing was sent"):
            await at(sdk, server.url, redact=lambda _: None).summarize(REQUEST)
        assert server.received == []


async def test_the_key_is_nowhere_but_in_the_request(sdk: str, caplog: pytest.LogCaptureFixture) -> None:
    echoing = Answer({"error": {"message": f"Incorrect key {KEY}, sent as Bearer {KEY}"}}, 401, {"x-seen": KEY[:9]})
    again = Answer({"error": {"message": f"try later, {KEY}"}}, 503)
    caplog.set_level(logging.DEBUG)
    attempts: list[Attempt] = []
    seen = io.StringIO()
    async with serve(again, echoing, Answer(said(sdk, GOOD_SUMMARY))) as server:
        summarizer = at(sdk, server.url, name="model")
        chain = Fallback(summarizer, Marker())
        await chain.ask(REQUEST, attempts.append)
        for answer in (again, echoing):
            server.script = (answer,)
            try:
                await summarizer.summarize(REQUEST)
            except SummarizerError as error:
                traceback.print_exception(error, file=seen)
                seen.write(f"{error!r} {error.args} {vars(error)}")
                assert error.__cause__ is None
                assert error.__context__ is None
        seen.write(f"{summarizer!r} {vars(summarizer)} {chain!r} {vars(chain)} {chain.members!r}")
    seen.write(msgspec.json.encode(attempts).decode())
    seen.write("\n".join(f"{record.getMessage()} {record.args} {vars(record)}" for record in caplog.records))
    assert "[hidden]" in seen.getvalue()
    assert KEY not in seen.getvalue()
    assert any(KEY in "".join(request.headers.values()) for request in server.received)
    assert [attempt.outcome for attempt in attempts] == ["unavailable", "rejected", "used"]


async def test_a_compaction_shows_the_key_to_nobody(sdk: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    messages = [{"role": role, "content": f"{k}: {text} " * 9} for k in range(3) for role, _, text in WORK[:2]]
    transcript = turnfold.Transcript.from_messages(messages, format="openai.chat")
    policy = turnfold.Policy(turnfold.OnRequest(), (turnfold.Summarize(turnfold.KeepMessages(2)),))
    events: list[Any] = []
    async with serve(Answer({"error": {"message": f"Wrong key: Bearer {KEY}"}}, 401)) as server:
        with telemetry.listening(events.append, text=True), telemetry.listening(telemetry.LogSink(), text=True):
            result = await turnfold.compact(transcript, policy, at(sdk, server.url), deadline_seconds=30)
    assert isinstance(result, turnfold.CompactionResult)
    assert [attempt.outcome for attempt in result.attempts] == ["rejected", "used"]
    assert KEY in "".join(server.received[0].headers.values())
    logged = [f"{record.getMessage()} {vars(record)}" for record in caplog.records]
    encoded = [msgspec.json.encode(event).decode() for event in events]
    assert events
    assert any("[hidden]" in text for text in encoded)
    assert KEY not in "\n".join([repr(result), repr(events), *encoded, *logged])


def test_retry_after_in_all_its_forms() -> None:
    now = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
    later = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert retry_after_seconds({"retry-after": "7"}) == 7
    assert retry_after_seconds({"retry-after": "0.5"}) == 0.5
    assert retry_after_seconds({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert retry_after_seconds({"retry-after": later}, now) == 90
    assert retry_after_seconds({"retry-after": later}, now + timedelta(hours=1)) == 0
    for odd in ("", "soon", "-3", "nan", "inf", "Mon, 99 Nov"):
        assert retry_after_seconds({"retry-after": odd}) is None
    assert retry_after_seconds({}) is None


def test_without_the_package_the_extra_is_named(sdk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(hosted, "import_module", missing)
    with pytest.raises(MissingExtraError, match=rf"turnfold\[{sdk}\]"):
        MAKERS[sdk]("m-1")


def test_nothing_is_opened_before_it_is_needed(sdk: str) -> None:
    summarizer = MAKERS[sdk]("m-1")
    assert isinstance(summarizer, Summarizer)
    assert summarizer.name == {"openai": "openai_compatible", "anthropic": "anthropic"}[sdk]


async def test_to_enter_one_loads_what_its_first_call_needs(sdk: str) -> None:
    source = f"""
import anyio, sys
from turnfold.summarizers import {MAKERS[sdk].__name__} as Maker

async def main():
    maker = Maker("some-model", api_key="k", base_url="http://127.0.0.1:9")
    before = {{*sys.modules}}
    async with maker:
        entered = {{*sys.modules}}
        client = maker._client()
        async with client:
            print(len(entered - before) > 50, len({{*sys.modules}} - entered) < 10)

anyio.run(main)
"""
    done = await anyio.run_process([sys.executable, "-c", source])
    assert done.stdout.split() == [b"True", b"True"]
