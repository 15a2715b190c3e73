"""Events as OpenTelemetry spans and metrics (the extra `otel`)."""

import threading
from typing import TYPE_CHECKING, Final

import msgspec

from turnfold.errors import MissingExtraError
from turnfold.model.events import (
    AnyEvent,
    CompactionCompleted,
    CompactionFailed,
    CompactionSkipped,
    CompactionStarted,
    SummarizerFinished,
    SummarizerStarted,
)
from turnfold.model.summary import Usage
from turnfold.telemetry import names

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

Attribute = str | bool | int | float

MOST_OPEN: Final = 10_000
"""Spans that are open at once: beyond it the oldest is ended, so that one whose end never comes holds no memory."""

_ELSEWHERE: Final = frozenset({"type", "compaction", "conversation", "unix_seconds", "call", "usage"})
_USED: Final = frozenset({"used", "cut_to_cap", "repaired"})


class OpenTelemetrySink:
    """Makes a span of each compaction, within the caller's, and of each summarizer call within that; the rest are
    events of the compaction's span. Adds up tokens, compactions, their duration and what they saved as metrics.

    Without providers it takes the process's own, as they are set when the sink is made. It needs the package
    opentelemetry-api; without an SDK that does nothing.
    """

    def __init__(
        self, tracer_provider: "TracerProvider | None" = None, meter_provider: "MeterProvider | None" = None
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise MissingExtraError(
                "OpenTelemetrySink needs opentelemetry-api: pip install 'turnfold[otel]'"
            ) from error

        self._tracer = trace.get_tracer("turnfold", tracer_provider=tracer_provider)
        meter = metrics.get_meter("turnfold", meter_provider=meter_provider)
        self._tokens = meter.create_histogram(names.TOKEN_USAGE_METRIC, "{token}", "Tokens of summarizer calls.")
        self._compactions = meter.create_counter(names.COMPACTION_METRIC, "{compaction}", "Compactions by outcome.")
        self._duration = meter.create_histogram(names.COMPACTION_DURATION_METRIC, "s", "How long compactions took.")
        self._saved = meter.create_histogram(names.SAVED_TOKENS_METRIC, "{token}", "Tokens less than before.")
        self._open: dict[str, Span] = {}
        self._lock = threading.Lock()

    def __call__(self, event: AnyEvent) -> None:
        """Take one event."""
        match event:
            case CompactionStarted():
                self._begin(names.COMPACTION_SPAN, event.compaction, event, None, event.plan_seconds)
            case SummarizerStarted():
                self._begin(names.CALL_SPAN, event.call, event, self._open.get(event.compaction), 0.0)
            case SummarizerFinished():
                self._finish_call(event)
            case CompactionCompleted():
                self._finish_compaction(event, "completed")
                self._duration.record(event.plan_seconds + event.summarize_seconds + event.apply_seconds)
                self._saved.record(event.before_tokens - event.after_tokens)
            case CompactionSkipped():
                self._finish_compaction(event, event.reason)
            case CompactionFailed():
                self._finish_compaction(event, "cancelled" if event.cancelled else "failed")
            case _:
                self._note(event)

    def _begin(self, name: str, key: str, event: AnyEvent, parent: "Span | None", seconds_ago: float) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        span = self._tracer.start_span(
            name,
            context=None if parent is None else set_span_in_context(parent),
            kind=SpanKind.CLIENT if isinstance(event, SummarizerStarted) else SpanKind.INTERNAL,
            attributes=_attributes(event),
            start_time=int((event.unix_seconds - seconds_ago) * 1e9),
        )
        with self._lock:
            self._open[key] = span
            oldest = self._open.pop(next(iter(self._open))) if len(self._open) > MOST_OPEN else None
        if oldest is not None:
            oldest.end()

    def _take(self, key: str) -> "Span | None":
        with self._lock:
            return self._open.pop(key, None)

    def _finish_call(self, event: SummarizerFinished) -> None:
        span = self._take(event.call)
        if span is not None:
            span.set_attributes(_attributes(event))
            if event.model is not None:
                span.set_attribute(names.OPERATION, names.CHAT)
            if event.outcome not in _USED:
                _fail(span, event.outcome)
            span.end(int(event.unix_seconds * 1e9))
        model: dict[str, Attribute] = {} if event.model is None else {names.RESPONSE_MODEL: event.model}
        counted = {"input": event.usage.prompt_tokens, "output": event.usage.completion_tokens}
        for kind, tokens in counted.items():
            if tokens:
                self._tokens.record(tokens, {names.OPERATION: names.CHAT, names.TOKEN_TYPE: kind, **model})

    def _finish_compaction(
        self, event: CompactionCompleted | CompactionSkipped | CompactionFailed, outcome: str
    ) -> None:
        self._compactions.add(1, {names.OUTCOME: outcome})
        span = self._take(event.compaction)
        if span is None:
            # What is skipped by its plan never started: the span of an instant says so.
            span = self._tracer.start_span(names.COMPACTION_SPAN, start_time=int(event.unix_seconds * 1e9))
        span.set_attributes(_attributes(event))
        span.set_attribute(names.OUTCOME, outcome)
        if isinstance(event, CompactionFailed):
            _fail(span, event.error)
        span.end(int(event.unix_seconds * 1e9))

    def _note(self, event: AnyEvent) -> None:
        from opentelemetry import trace

        span = self._open.get(event.compaction) or trace.get_current_span()
        span.add_event(names.own(event.kind), _attributes(event), int(event.unix_seconds * 1e9))


def _fail(span: "Span", error: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute(names.ERROR_TYPE, error)
    span.set_status(Status(StatusCode.ERROR))


def _attributes(event: AnyEvent) -> dict[str, Attribute]:
    """Return an event's fields as attributes. What has no value has no attribute."""
    attributes: dict[str, Attribute] = {}
    for name, value in msgspec.to_builtins(event).items():
        if name not in _ELSEWHERE and isinstance(value, str | bool | int | float):
            attributes[_NAMES.get((event.kind, name), names.own(name))] = value
    if event.conversation is not None:
        attributes[names.CONVERSATION_ID] = event.conversation
    # Only calls have usage by its conventional names: who adds up spans must not count a compaction's sum again.
    if isinstance(event, SummarizerFinished):
        attributes |= {name: tokens for name, tokens in _usage(event.usage).items() if tokens}
    if isinstance(event, CompactionCompleted):
        sums = msgspec.to_builtins(event.usage)
        attributes |= {names.own(name): tokens for name, tokens in sums.items() if tokens}
    return attributes


_NAMES: Final = {
    ("summarizer.started", "max_tokens"): names.REQUEST_MAX_TOKENS,
    ("summarizer.started", "temperature"): names.REQUEST_TEMPERATURE,
    ("summarizer.finished", "model"): names.RESPONSE_MODEL,
    ("compaction.started", "model"): names.REQUEST_MODEL,
    ("compaction.completed", "model"): names.REQUEST_MODEL,
}


def _usage(usage: Usage) -> dict[str, int]:
    return {
        names.INPUT_TOKENS: usage.prompt_tokens,
        names.OUTPUT_TOKENS: usage.completion_tokens,
        names.CACHE_READ_TOKENS: usage.cache_read_tokens,
        names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        names.REASONING_TOKENS: usage.reasoning_tokens,
    }
