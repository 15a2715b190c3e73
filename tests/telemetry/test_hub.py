"""Events: what is told, to whom, and what it costs where nobody listens."""

import logging
from typing import Any

import anyio
import msgspec
import pytest
import stamina

from turnfold import telemetry
from turnfold.compactor import compact, compact_sync
from turnfold.model import events
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy, TokensOver
from turnfold.model.summary import Usage
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers import Fallback, Member
from turnfold.telemetry import hub
from turnfold.testing.fakes import Step, replying, scripted
from turnfold.testing.virtual_time import BACKENDS, run_virtual
from turnfold.transcript import Transcript

Told = list[events.AnyEvent]
GOOD = "## Findings\n- The build failed in src/a0.py, and nobody knows why."


def kinds(told: Told) -> list[str]:
    return [event.kind for event in told]


@pytest.mark.anyio
async def test_a_compaction_tells_its_story(transcript: Transcript, policy: Policy) -> None:
    told: Told = []
    with telemetry.listening(told.append, text=True):
        result = await compact(transcript, policy, replying(GOOD))
    assert isinstance(result, CompactionResult)
    assert kinds(told) == ["compaction.started", "summarizer.started", "summarizer.finished", "compaction.completed"]
    assert len({event.compaction for event in told}) == 1
    assert told[0].compaction != ""
    started, _, finished, completed = told
    assert isinstance(started, events.CompactionStarted)
    assert isinstance(finished, events.SummarizerFinished)
    assert isinstance(completed, events.CompactionCompleted)
    assert (started.original_messages, started.keep_messages, started.desired_split_index) == (11, 2, 9)
    assert (started.safe_split_index, started.old_messages, started.recent_messages) == (9, 8, 2)
    assert finished.outcome in {"used", "repaired"}
    assert (completed.new_messages, completed.old_messages, completed.recent_messages) == (4, 8, 2)
    assert completed.summary_text == result.summary
    assert completed.summary_characters == len(result.summary or "")
    assert (completed.before_tokens, completed.after_tokens) == (result.before.n, result.after.n)
    assert completed.total_tokens == completed.prompt_tokens + completed.completion_tokens
    assert completed.identifiers_referenced_later == len(result.identifiers.referenced_later)


def test_each_event_of_threshold_compactions_has_the_fields_that_are_asked_for() -> None:
    have = {name for kind in (events.CompactionStarted, events.CompactionCompleted, events.CompactionFailed)
            for name in kind.__struct_fields__} | set(Usage.__struct_fields__)  # fmt: skip
    assert have >= {
        "original_messages", "new_messages", "old_messages", "recent_messages", "keep_messages", "desired_split_index",
        "safe_split_index", "summary_characters", "summary_text", "prompt_tokens", "completion_tokens",
        "cache_read_tokens", "reasoning_tokens", "total_tokens", "error",
    }  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
def test_retries_refusals_and_fallbacks_are_told(transcript: Transcript, policy: Policy, backend: Any) -> None:
    told: Told = []
    stubborn = scripted([Step(way="return", value=3), Step(text="")])
    stubborn.name = "stubborn"

    async def main() -> None:
        with telemetry.listening(told.append):
            await compact(transcript, policy, Fallback(Member(stubborn, tries=2), replying(GOOD)))

    with stamina.set_testing(True, attempts=2):
        run_virtual(main, backend)
    assert kinds(told) == [
        "compaction.started",
        "summarizer.started",
        "summarizer.finished",
        "summarizer.retried",
        "summarizer.started",
        "summarizer.finished",
        "reply.rejected",
        "summarizer.fell_back",
        "summarizer.started",
        "summarizer.finished",
        "compaction.completed",
    ]
    retried = next(event for event in told if isinstance(event, events.SummarizerRetried))
    rejected = next(event for event in told if isinstance(event, events.ReplyRejected))
    fell = next(event for event in told if isinstance(event, events.SummarizerFellBack))
    assert (retried.because, rejected.fault, fell.next_method) == ("garbled", "empty", "scripted")
    tries = [event.try_number for event in told if isinstance(event, events.SummarizerStarted)]
    assert tries == [1, 2, 1]


@pytest.mark.anyio
async def test_what_is_skipped_cancelled_or_wrong_is_told(
    transcript: Transcript, policy: Policy, cancelling: Any
) -> None:
    told: Told = []
    with telemetry.listening(told.append):
        assert isinstance(await compact(transcript, msgspec.structs.replace(policy, trigger=TokensOver(10**6))), Skip)
        with anyio.CancelScope() as scope:
            await compact(transcript, policy, cancelling(scope), deadline_seconds=None)
        with pytest.raises(TypeError):
            compact_sync(transcript, "policy")  # type: ignore[arg-type]
    skipped, failed = told[0], [event for event in told if isinstance(event, events.CompactionFailed)]
    assert isinstance(skipped, events.CompactionSkipped)
    assert skipped.reason == "under_trigger"
    assert [event.cancelled for event in failed] == [True]


def test_blocking_compactions_are_told_once(transcript: Transcript, policy: Policy) -> None:
    told: Told = []
    with telemetry.subscribe(told.append):
        compact_sync(transcript, policy)
        compact_sync(transcript, policy, replying(GOOD))
    compact_sync(transcript, policy)
    assert kinds(told).count("compaction.started") == kinds(told).count("compaction.completed") == 2


def test_with_nobody_listening_no_event_is_made(
    transcript: Transcript, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object, **__: object) -> None:
        raise AssertionError("an event was made")

    monkeypatch.setattr(hub, "emit", made)
    assert isinstance(compact_sync(transcript, policy, replying(GOOD)), CompactionResult)
    with telemetry.listening(print), pytest.raises(AssertionError, match="an event was made"):
        compact_sync(transcript, policy)


def test_no_text_is_told_unless_asked_for(transcript: Transcript, policy: Policy) -> None:
    quiet: Told = []
    shown: Told = []

    def fails(_: object) -> object:
        raise ValueError("src/a1.py is secret")

    failing = scripted([Step(way="raise", error=ValueError("src/a1.py is secret"))])
    with telemetry.subscribe(quiet.append), telemetry.subscribe(shown.append, text=True):
        compact_sync(transcript, policy, Fallback(failing, replying(GOOD)))
    assert "src/a" not in msgspec.json.encode(quiet).decode()
    assert "src/a1.py is secret" in msgspec.json.encode(shown).decode()
    assert kinds(quiet) == kinds(shown)


def test_text_is_redacted_before_a_sink_sees_it(transcript: Transcript, policy: Policy) -> None:
    shown: Told = []
    with telemetry.subscribe(shown.append, text=True, redact=lambda text: text.replace("src/", "[path]")):
        compact_sync(transcript, policy)
    written = msgspec.json.encode(shown).decode()
    assert "src/" not in written
    assert "[path]" in written


def test_a_sink_that_raises_breaks_nothing_and_is_named_once(
    transcript: Transcript, policy: Policy, caplog: pytest.LogCaptureFixture
) -> None:
    told: Told = []

    def broken(event: events.AnyEvent) -> None:
        raise RuntimeError(f"cannot write {event}")

    with telemetry.subscribe(broken, text=True), telemetry.subscribe(told.append):
        assert isinstance(compact_sync(transcript, policy), CompactionResult)
    assert kinds(told) == ["compaction.started", "compaction.completed"]
    (record,) = caplog.records
    assert "RuntimeError" in record.getMessage()
    assert "cannot write" not in record.getMessage()


def test_what_is_no_sink_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be called"):
        telemetry.subscribe("stdout")  # type: ignore[arg-type]


def test_every_event_survives_json(transcript: Transcript, policy: Policy) -> None:
    told: Told = []
    with telemetry.listening(told.append, text=True):
        compact_sync(transcript, policy, replying(GOOD))
    lines = [msgspec.json.encode(event) for event in told]
    assert [msgspec.json.decode(line, type=events.AnyEvent) for line in lines] == told


def test_logs_say_what_happened(transcript: Transcript, policy: Policy, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "turnfold")
    with telemetry.subscribe(telemetry.LogSink()):
        compact_sync(transcript, policy, replying(GOOD))
    assert [(record.levelname, record.getMessage().split()[0]) for record in caplog.records] == [
        ("DEBUG", "compaction.started"),
        ("DEBUG", "summarizer.started"),
        ("DEBUG", "summarizer.finished"),
        ("INFO", "compaction.completed"),
    ]
    assert "src/a" not in caplog.text
