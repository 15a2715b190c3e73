"""Oddities of Inspect logs: attachments, errors as results, summaries of its own, samples by epoch."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult
from turnfold.transcript import Transcript

SAMPLES = Path(__file__).parent / "samples"


def read() -> Log:
    return read_log((SAMPLES / "inspect.json").read_bytes())


def results(transcript: Transcript) -> dict[str | None, str]:
    blocks = [block for k in range(len(transcript)) for block in transcript.blocks(k)]
    return {block.call_id: block.text for block in blocks if block.kind == "tool_result"}


def test_ids_say_sample_and_epoch():
    assert [logged.id for logged in read().transcripts] == ["gauge/1", "gauge/2", "3/1"]


def test_attachments_are_resolved_in_the_view_and_kept_in_the_log():
    log = read()
    body = log.transcripts[0].transcript.to_json()
    assert b"attachment://" not in body
    assert b"data:image/png" in body
    assert "4 failed, 2 passed" in results(log.transcripts[0].transcript)["call_i2"]
    assert b"cat gauge.py" in body
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (TruncateResults(20, 20),)))
    assert isinstance(result, CompactionResult)
    after = json.loads(log.write({"gauge/1": result}))["samples"][0]
    assert after["attachments"] == json.loads(log.document.data)["samples"][0]["attachments"]
    assert not after["messages"][7]["content"].startswith("attachment://")


def test_an_error_is_what_the_model_was_told():
    found = results(read().transcripts[0].transcript)
    assert found["call_i3"] == "The edit took too long; it was made."
    assert found["call_i4"].endswith("6 passed in 0.28s\n")


def test_reasoning_is_reasoning():
    transcript = read().transcripts[0].transcript
    assert [block.kind for block in transcript.blocks(2)] == ["reasoning", "text", "tool_call"]


def test_what_inspect_summarised_is_superseded():
    log = read()
    assert log.unread == {"superseded message": 6}
    assert log.transcripts[1].origins[:4] == ((0,), (1,), (8,), (9,))


def test_a_summary_is_marked_as_inspect_marks_its_own():
    log = read()
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    before, after = json.loads(log.document.data), json.loads(log.write({"gauge/1": result}))
    messages = after["samples"][0]["messages"]
    assert messages[1] == {"role": "user", "content": result.summary, "metadata": {"summary": True}}
    assert [messages[0], *messages[2:]] == [
        before["samples"][0]["messages"][0],
        *before["samples"][0]["messages"][-len(messages) + 2 :],
    ]
    assert after["samples"][0]["events"] == before["samples"][0]["events"]


def test_a_sample_alone_is_a_log():
    sample = json.loads((SAMPLES / "inspect.json").read_bytes())["samples"][0]
    log = read_log(json.dumps(sample).encode(), container="inspect")
    assert [logged.id for logged in log.transcripts] == ["gauge/1"]
