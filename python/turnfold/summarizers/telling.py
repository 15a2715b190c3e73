"""Events of summarizer calls. With nobody subscribed each of these returns at once."""

from itertools import count
from typing import Final

from turnfold.model.events import (
    ReplyRejected,
    SummarizerFellBack,
    SummarizerFinished,
    SummarizerRetried,
    SummarizerStarted,
)
from turnfold.model.result import Attempt, AttemptOutcome
from turnfold.model.summary import SummaryRequest
from turnfold.prompts.judge import Verdict
from turnfold.telemetry import hub

_CALLS: Final = count(1)


def tell_started(method: str, request: SummaryRequest, try_number: int) -> str:
    """Tell of a call that begins, and return its number; "" where nobody is told."""
    if not hub.heard():
        return ""
    scope = hub.scope()
    call = f"{scope.compaction}:{next(_CALLS)}"
    hub.emit(
        SummarizerStarted(
            call=call,
            method=method,
            hole=scope.hole,
            try_number=try_number,
            source_tokens=request.source_tokens,
            max_tokens=request.max_tokens,
            schema=request.schema,
            temperature=request.temperature,
            piece=request.piece,
        )
    )
    return call


def tell_finished(call: str, attempt: Attempt) -> None:
    """Tell of a call that is over."""
    if not hub.heard():
        return
    hub.emit(
        SummarizerFinished(
            call=call,
            method=attempt.method,
            hole=hub.scope().hole,
            outcome=attempt.outcome,
            model=attempt.model,
            usage=attempt.usage,
            latency_seconds=attempt.latency_seconds,
            detail=attempt.detail or None,
        )
    )


def tell_rejected(call: str, method: str, verdict: Verdict) -> None:
    """Tell of a reply that cannot be used."""
    if verdict.fault is None or verdict.remedy is None or not hub.heard():
        return
    hub.emit(
        ReplyRejected(
            call=call,
            method=method,
            hole=hub.scope().hole,
            fault=verdict.fault,
            remedy=verdict.remedy,
            detail=verdict.detail or None,
        )
    )


def tell_retried(method: str, because: AttemptOutcome, wait_seconds: float | None) -> None:
    """Tell that the same summarizer is asked again."""
    if hub.heard():
        hub.emit(SummarizerRetried(method=method, hole=hub.scope().hole, because=because, wait_seconds=wait_seconds))


def tell_fell_back(method: str, next_method: str) -> None:
    """Tell that the next one is asked."""
    if hub.heard():
        hub.emit(SummarizerFellBack(method=method, hole=hub.scope().hole, next_method=next_method))
