"""The sink for OpenTelemetry, against the real SDK with its exporters in memory."""

import sys
from typing import Any

import anyio
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode

from turnfold import telemetry
from turnfold.compactor import compact, compact_sync
from turnfold.errors import MissingExtraError
from turnfold.model.events import BackgroundSwapped
from turnfold.model.policy import Policy, TokensOver
from turnfold.model.summary import SummaryReply, SummaryRequest, Usage
from turnfold.summarizers import Fallback, Function
from turnfold.telemetry import hub, names
from turnfold.testing.fakes import Step, scripted
from turnfold.transcript import Transcript

GOOD = "## Findings\n- The build failed in src/a0.py, and nobody knows why."


class Recorded:
    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.sink = telemetry.OpenTelemetrySink(self.provider, MeterProvider([self.reader]))

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        assert data is not None
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


async def model(_: SummaryRequest) -> SummaryReply:
    return SummaryReply(GOOD, Usage(900, 80, 512, 0, 11), "end", model="m-1", latency_seconds=0.5)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    assert span.attributes is not None
    return dict(span.attributes)


@pytest.mark.anyio
async def test_a_compaction_is_a_span_and_its_calls_are_within(
    recorded: Recorded, transcript: Transcript, policy: Policy
) -> None:
    failing = scripted([Step(way="raise", error=ValueError("src/a1.py"))])
    with recorded.provider.get_tracer("caller").start_as_current_span("turn"), telemetry.listening(recorded.sink):
        await compact(transcript, policy, Fallback(failing, Function(model)))
    (whole,), (failed, call), (turn,) = map(recorded.spans, (names.COMPACTION_SPAN, names.CALL_SPAN, "turn"))
    assert whole.parent is not None
    assert call.parent is not None
    assert turn.context is not None
    assert whole.context is not None
    assert (whole.parent.span_id, call.parent.span_id) == (turn.context.span_id, whole.context.span_id)
    assert call.kind is SpanKind.CLIENT
    assert (
        attributes(call).items()
        >= {
            gen_ai_attributes.GEN_AI_OPERATION_NAME: "chat",
            gen_ai_attributes.GEN_AI_RESPONSE_MODEL: "m-1",
            gen_ai_attributes.GEN_AI_USAGE_INPUT_TOKENS: 900,
            gen_ai_attributes.GEN_AI_USAGE_OUTPUT_TOKENS: 80,
            gen_ai_attributes.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 512,
            gen_ai_attributes.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: 11,
            gen_ai_attributes.GEN_AI_REQUEST_TEMPERATURE: 0.0,
            "turnfold.method": "function",
        }.items()
    )
    assert (failed.status.status_code, attributes(failed)["error.type"]) == (StatusCode.ERROR, "failed")
    assert attributes(whole)["turnfold.outcome"] == "completed"
    assert attributes(whole)["turnfold.new_messages"] == 4
    assert not any(name.startswith("gen_ai.usage") for name in attributes(whole)), "calls have it already"
    assert [event.name for event in whole.events] == ["turnfold.summarizer.fell_back"]
    assert "src/a" not in "".join(str(span.to_json()) for span in recorded.exporter.get_finished_spans())


def test_metrics_add_up(recorded: Recorded, transcript: Transcript, policy: Policy) -> None:
    with telemetry.subscribe(recorded.sink):
        for _ in range(3):
            compact_sync(transcript, policy, Function(model))
        compact_sync(transcript, Policy(TokensOver(10**6), policy.steps, name="never"))
    tokens = {point.attributes[names.TOKEN_TYPE]: point.sum for point in recorded.points(names.TOKEN_USAGE_METRIC)}
    assert tokens == {"input": 2_700, "output": 240}
    outcomes = {point.attributes[names.OUTCOME]: point.value for point in recorded.points(names.COMPACTION_METRIC)}
    assert outcomes == {"completed": 3, "under_trigger": 1}
    assert [point.count for point in recorded.points(names.COMPACTION_DURATION_METRIC)] == [3]
    assert all(span.end_time is not None for span in recorded.exporter.get_finished_spans())
    assert not recorded.sink._open


@pytest.mark.anyio
async def test_what_is_cancelled_ends_its_spans(
    recorded: Recorded, transcript: Transcript, policy: Policy, cancelling: Any
) -> None:
    with telemetry.listening(recorded.sink), anyio.CancelScope() as scope:
        await compact(transcript, policy, cancelling(scope), deadline_seconds=None)
    (whole,) = recorded.spans(names.COMPACTION_SPAN)
    assert attributes(whole)["turnfold.outcome"] == "cancelled"
    assert len(recorded.spans(names.CALL_SPAN)) == 1
    assert not recorded.sink._open


def test_what_belongs_to_no_compaction_goes_to_the_span_in_force(recorded: Recorded) -> None:
    with recorded.provider.get_tracer("caller").start_as_current_span("turn"), telemetry.listening(recorded.sink):
        hub.emit(BackgroundSwapped(conversation="c7", version=2, messages_before=30, messages_after=9, appended=4))
    (turn,) = recorded.spans("turn")
    (event,) = turn.events
    assert event.name == "turnfold.background.swapped"
    assert dict(event.attributes or {})[gen_ai_attributes.GEN_AI_CONVERSATION_ID] == "c7"


def test_names_are_those_of_the_conventions() -> None:
    published = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    ours = {value for value in vars(names).values() if isinstance(value, str) and value.startswith("gen_ai.")}
    assert ours - published == {names.TOKEN_USAGE_METRIC}


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtraError, match=r"turnfold\[otel\]"):
        telemetry.OpenTelemetrySink()
