"""What must not leave: text that a redaction hook hides, and API keys. Looked for in everything that leaves."""

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import anyio
import msgspec
import openai
import pytest
import stamina
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import turnfold
from turnfold import telemetry
from turnfold.background import BackgroundCompactor
from turnfold.batch import compact_batch
from turnfold.batch.journal import Journal
from turnfold.compactor import compact
from turnfold.errors import SummarizerError
from turnfold.model.events import AnyEvent
from turnfold.model.plan import Skip
from turnfold.model.policy import DedupeResults, MaskResults, OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.provider import ProviderRequest
from turnfold.model.selection import KeepToolGroups
from turnfold.model.splits import KeepMessages
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.stores import SQLiteStore
from turnfold.summarizers import (
    Anthropic,
    Fallback,
    Function,
    Hedged,
    Limited,
    OpenAICompatible,
    RateLimit,
    Redacting,
    Rules,
    compact_at_provider,
)
from turnfold.testing.fakes import Scripted, Step, replying, scripted
from turnfold.testing.http_server import Answer, serve
from turnfold.transcript import Transcript

pytestmark = pytest.mark.anyio

SECRET = "hunter2-planted-9f31"
KEY = "sk-planted-5d1e77c0a94b4f"
PROSE = "The build failed again and nobody knows why, so we looked at every line of the log. "
SUMMARIZE = Policy(OnRequest(), (Summarize(KeepMessages(2)), TruncateResults()), name="summarize")
IN_PLACE = Policy(
    OnRequest(),
    (DedupeResults(), MaskResults(KeepToolGroups(1)), TruncateResults(40, 10)),
    target_tokens=1_400,
    name="edit",
)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    with stamina.set_testing(True, attempts=2, cap=True):
        yield


def hide(text: str) -> str:
    return text.replace(SECRET, "[hidden]")


def conversation() -> Transcript:
    """The secret stands in every kind of text: prompt, calls and their names, results, answers, the last request."""
    messages: list[Message] = [{"role": "system", "content": f"Never say {SECRET}."}]
    for k in range(4):
        call = {"name": f"run_{SECRET}", "arguments": f'{{"command": "login --password {SECRET} {k}"}}'}
        messages += [
            {"role": "user", "content": f"Step {k} with /srv/{SECRET}/a{k}.py. {PROSE * 3}"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{k}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{k}", "content": f"{SECRET} was taken. {PROSE * 20}{SECRET}"},
            {"role": "assistant", "content": f"Done with {SECRET}. {PROSE * 3}"},
        ]
    return Transcript.from_messages(messages, format="openai.chat")


class Watch:
    """All that leaves, as one text."""

    def __init__(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.path = folder / "store.db"
        self.caplog = caplog
        self.told: list[AnyEvent] = []
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.sinks = (self.told.append, telemetry.LogSink(), telemetry.OpenTelemetrySink(provider))
        caplog.set_level(logging.DEBUG, "turnfold")

    def left(self) -> str:
        spans = [span.to_json() for span in self.exporter.get_finished_spans()]
        files = [file.read_bytes() for file in self.path.parent.iterdir()]
        rows = []
        if self.path.exists():
            connection = sqlite3.connect(self.path)
            rows = connection.execute("SELECT * FROM summaries").fetchall()
            connection.close()
        return f"{msgspec.json.encode(self.told)!r} {self.caplog.text} {spans} {files} {rows}"


@pytest.fixture
def watch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Watch:
    return Watch(tmp_path, caplog)


def asked(fake: Scripted) -> str:
    return msgspec.json.encode(fake.requests).decode()


@pytest.mark.parametrize("policy", [SUMMARIZE, IN_PLACE], ids=lambda policy: policy.name)
@pytest.mark.parametrize("way", ["model", "rules", "fails"])
async def test_nothing_unredacted_reaches_summarizers_events_or_stores(watch: Watch, policy: Policy, way: str) -> None:
    steps = {
        "model": Step(text=f"## Findings\n- /srv/[hidden]/a0.py failed, and nobody knows why; {SECRET} leaked."),
        "rules": Step(text=""),
        "fails": Step(way="raise", error=ValueError(f"cannot say {SECRET}")),
    }
    fake = scripted([steps[way]])
    source = conversation()
    subscriptions = [telemetry.subscribe(sink, text=True, redact=hide) for sink in watch.sinks]
    try:
        async with (
            SQLiteStore(watch.path) as store,
            BackgroundCompactor(policy, Fallback(fake, Rules()), store=store, redact=hide) as background,
        ):
            background.start("c", source)
            assert await background.wait("c") == "ready"
            swapped = await background.swap("c", source)
            assert swapped is not source
            resumed = await background.resume("c", source)
            assert resumed is not source
            assert (await store.load("c")).version == 1
            left = watch.left()
    finally:
        for subscription in subscriptions:
            subscription.close()
    assert SECRET not in asked(fake)
    assert SECRET not in left
    if policy is SUMMARIZE:
        assert fake.requests
        assert "[hidden]" in asked(fake)
        assert "[hidden]" in left
        assert SECRET not in str(resumed.messages[1]), "the summary that comes from the store is the redacted one"
    assert [m for m in resumed.messages if m in source.messages] == [
        m for m in swapped.messages if m in source.messages
    ]


async def test_without_the_hook_it_would_be_found(watch: Watch) -> None:
    """The test above can fail."""
    fake = replying("## Findings\n- It failed.")
    with telemetry.listening(watch.told.append, text=True):
        async with SQLiteStore(watch.path) as store, BackgroundCompactor(SUMMARIZE, fake, store=store) as background:
            background.start("c", conversation())
            await background.wait("c")
            await background.swap("c", conversation())
            assert SECRET in asked(fake)
            assert SECRET in msgspec.json.encode(watch.told).decode()
            assert SECRET in watch.left()


async def test_a_chain_is_redacted_and_repair_puts_names_back(watch: Watch) -> None:
    fake = replying("## Findings\n- It failed, and nobody knows why.")
    result = await compact(conversation(), SUMMARIZE, Redacting(Fallback(fake, Rules()), hide))
    assert isinstance(result, CompactionResult)
    assert result.method == "scripted"
    assert SECRET not in asked(fake)
    assert f"/srv/{SECRET}/a0.py" in result.identifiers.kept, "in this process it is known"


async def test_a_hook_that_fails_asks_nobody(watch: Watch) -> None:
    fake = replying("## Findings\n- It failed.")

    def broken(text: str) -> str:
        raise KeyError(text)

    result = await compact(conversation(), SUMMARIZE, Redacting(fake, broken))
    assert isinstance(result, CompactionResult)
    assert (result.method, fake.requests) == ("rules", [])


@pytest.mark.parametrize("sdk", [OpenAICompatible, Anthropic])
async def test_a_key_is_in_no_event_log_span_or_store(watch: Watch, sdk: Any) -> None:
    echoing = Answer({"error": {"message": f"Incorrect key {KEY}, sent as Bearer {KEY}"}}, 401, {"x-seen": KEY})
    busy = Answer({"error": {"message": f"try later, {KEY}"}}, 503)
    async with serve(busy, busy, echoing) as server:
        base_url = f"{server.url}/v1" if sdk is OpenAICompatible else server.url
        model = sdk("m-1", api_key=KEY, base_url=base_url)
        subscriptions = [telemetry.subscribe(sink, text=True) for sink in watch.sinks]
        try:
            async with (
                SQLiteStore(watch.path) as store,
                BackgroundCompactor(SUMMARIZE, model, store=store) as background,
            ):
                for name in ("c", "d"):
                    background.start(name, conversation())
                    assert await background.wait(name) == "ready"
                    assert await background.swap(name, conversation()) is not None
                left = watch.left() + repr(background) + repr(store)
        finally:
            for subscription in subscriptions:
                subscription.close()
        assert any(KEY in str(received.headers) for received in server.received), "it was sent"
    assert "summarizer.finished" in left
    assert "rejected" in left
    assert KEY not in left
    assert KEY[:12] not in left


async def test_a_key_in_what_a_function_raises_is_told_to_nobody_unasked(watch: Watch) -> None:
    async def careless(_: object) -> str:
        raise RuntimeError(f"401 for {KEY}")

    subscriptions = [telemetry.subscribe(sink) for sink in watch.sinks]
    try:
        async with SQLiteStore(watch.path) as store:
            async with BackgroundCompactor(SUMMARIZE, Function(careless), store=store) as background:
                background.start("c", conversation())
                await background.wait("c")
                await background.swap("c", conversation())
                await anyio.lowlevel.checkpoint()
            left = watch.left()
    finally:
        for subscription in subscriptions:
            subscription.close()
    assert "summarizer.finished" in left
    assert KEY not in left


SAYS = "## Findings\n- It failed in a0.py, and nobody knows why; the log of the build was looked at."


def reply_of(sdk: type) -> Answer:
    if sdk is OpenAICompatible:
        return Answer({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": SAYS}}]})
    return Answer({"content": [{"type": "text", "text": SAYS}], "stop_reason": "end_turn"})


def request_body(sdk: type) -> Transcript:
    """A request for the summarizer's own model, so that one that appends would send it as it stands."""
    messages = conversation().messages
    if sdk is OpenAICompatible:
        body: dict[str, object] = {"model": "m-1", "messages": messages, "metadata": {"owner": SECRET}}
    else:
        talk = [{"role": m["role"], "content": m["content"]} for m in messages if m["role"] in {"user", "assistant"}]
        talk = [*(message for message in talk if message["content"]), {"role": "user", "content": "Go on."}]
        body = {"model": "m-1", "max_tokens": 99, "system": f"Never say {SECRET}.", "messages": talk}
    return Transcript.from_json(msgspec.json.encode(body))


@pytest.mark.parametrize("appends", [False, True], ids=["quotes", "appends"])
@pytest.mark.parametrize("around", ["backend", "chain"])
@pytest.mark.parametrize("sdk", [OpenAICompatible, Anthropic])
async def test_no_request_over_http_holds_it(watch: Watch, sdk: Any, around: str, appends: bool) -> None:
    """Retries, a second request, pieces and the call that puts them together, a live request: all that is sent."""
    empty = Answer({"choices": [{"message": {"content": ""}}], "content": []})
    busy = Answer({"error": {"message": "later"}}, 503)
    source = request_body(sdk)
    for window in (None, 1_500):
        async with serve(busy, empty, reply_of(sdk)) as server:
            base_url = f"{server.url}/v1" if sdk is OpenAICompatible else server.url
            own = hide if around == "backend" else None
            model = sdk("m-1", api_key=KEY, base_url=base_url, window_tokens=window, appends=appends, redact=own)
            both = Hedged(model, after_seconds=0)
            chain = Fallback(Limited(both, rate=RateLimit(requests_per_minute=10_000)), Rules())
            result = await compact(source, SUMMARIZE, chain if around == "backend" else Redacting(chain, hide))
        assert isinstance(result, CompactionResult)
        assert len(server.received) >= 2 if window is None else result.coverage.pieces > 1
        for received in server.received:
            assert SECRET.encode() not in received.body
            assert SECRET not in f"{received.path} {received.headers}"
            assert KEY.encode() not in received.body
        assert any(b"[hidden]" in received.body for received in server.received)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_compaction_by_the_provider_is_redacted_everywhere(kind: str) -> None:
    async with serve(Answer({"error": {"message": "no"}}, 400)) as server:
        transcript, request, client = asking_provider(kind, server.url)
        async with client:
            for redact in (hide, None):
                with pytest.raises(SummarizerError, match="no"):
                    await compact_at_provider(transcript, request, client, redact=redact)
    redacted, plain = (received.body for received in server.received)
    assert SECRET.encode() in plain, "the test can fail"
    assert SECRET.encode() not in redacted
    assert redacted.replace(b"[hidden]", SECRET.encode()) == plain, "all else is byte for byte the same"


async def test_a_provider_is_sent_nothing_where_the_hook_fails() -> None:
    def broken(text: str) -> str:
        raise KeyError(text)

    async with serve(Answer()) as server:
        transcript, request, client = asking_provider("openai", server.url)
        async with client:
            hooks: list[tuple[Any, str]] = [(broken, "raised KeyError"), (len, "gave int")]
            for redact, what in (*hooks, (lambda _: "x", "provider refuses")):
                caught = None
                try:
                    await compact_at_provider(transcript, request, client, redact=redact)
                except SummarizerError as error:
                    caught = error
                assert caught is not None
                assert what in str(caught)
                assert "nothing was sent" in str(caught)
                assert caught.__context__ is None, "what it raised may quote the text"
    assert server.received == []


def asking_provider(kind: str, url: str) -> tuple[Transcript, ProviderRequest, Any]:
    text = f"Step with /srv/{SECRET}/a.py. {PROSE * 20}"
    client: Any
    if kind == "openai":
        call = {"type": "function_call", "call_id": SECRET, "name": "run", "arguments": f'{{"{SECRET}": 1.0}}'}
        output = {"type": "function_call_output", "call_id": SECRET, "output": SECRET}
        items = [{"type": "message", "role": "user", "content": text}, call, output]
        body: dict[str, object] = {"model": "m", "input": items, "instructions": f"Hide {SECRET}, \u00e9."}
        client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1")
    else:
        use = {"type": "tool_use", "id": "c1", "name": "run", "input": {SECRET: {"deep": [SECRET, 1.50]}}}
        result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": SECRET}]}
        talk = [
            {"role": "user", "content": text},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]
        tools = [{"name": "run", "description": SECRET, "input_schema": {"type": "object"}}]
        body = {"model": "m", "max_tokens": 9, "system": SECRET, "tools": tools, "messages": talk}
        client = anthropic.AsyncAnthropic(api_key=KEY, base_url=url)
    transcript = Transcript.from_json(msgspec.json.encode(body))
    skip = turnfold.plan(transcript, turnfold.presets.provider_compaction(None, 100))
    assert isinstance(skip, Skip)
    assert skip.request is not None, skip
    return transcript, skip.request, client


async def test_a_hook_that_fails_at_the_store_costs_no_turn(watch: Watch) -> None:
    broken = False

    def hook(text: str) -> str:
        if broken:
            raise KeyError(text)
        return hide(text)

    source = conversation()
    with telemetry.listening(watch.told.append, text=True, redact=hide):
        async with (
            SQLiteStore(watch.path) as store,
            BackgroundCompactor(SUMMARIZE, replying(SAYS), store=store, redact=hook) as background,
        ):
            background.start("c", source)
            assert await background.wait("c") == "ready"
            broken = True
            assert await background.swap("c", source) is source
            assert (await store.load("c")).version == 0, "nothing was written"
            broken = False
            assert await background.swap("c", source) is not source
            left = watch.left()
    assert "background.failed" in left
    assert "The redaction hook raised KeyError" in left
    assert SECRET not in left


@pytest.mark.parametrize("sdk", [OpenAICompatible, Anthropic])
async def test_a_journal_holds_neither_a_key_nor_what_was_hidden(tmp_path: Path, sdk: Any) -> None:
    echoing = Answer({"error": {"message": f"Incorrect key {KEY}"}}, 401)
    async with serve(echoing, reply_of(sdk)) as server:
        base_url = f"{server.url}/v1" if sdk is OpenAICompatible else server.url
        model = sdk("m-1", api_key=KEY, base_url=base_url)
        with Journal(tmp_path / "journal.db", "a run") as journal:
            items, asked = [request_body(sdk)] * 3, Redacting(model, hide)
            async for item in compact_batch(items, SUMMARIZE, asked, replies=journal):
                assert isinstance(item.result, CompactionResult)
            assert len(server.received) == 2, "the reply was remembered"
            files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert SAYS[:20].encode() in files
    assert KEY.encode() not in files
    assert SECRET.encode() not in files
