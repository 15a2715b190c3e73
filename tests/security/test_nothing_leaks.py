"""What must not leave: text that a redaction hook hides, and API keys. Looked for in everything that leaves."""

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
import stamina
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from turnfold import telemetry
from turnfold.background import BackgroundCompactor
from turnfold.compactor import compact
from turnfold.model.events import AnyEvent
from turnfold.model.policy import DedupeResults, MaskResults, OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.selection import KeepToolGroups
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult
from turnfold.stores import SQLiteStore
from turnfold.summarizers import Anthropic, Fallback, Function, OpenAICompatible, Redacting, Rules
from turnfold.testing.fakes import Scripted, Step, replying, scripted
from turnfold.testing.http_server import Answer, serve
from turnfold.transcript import Message, Transcript

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
