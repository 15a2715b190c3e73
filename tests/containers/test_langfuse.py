"""Oddities of Langfuse traces: inputs as JSON in JSON, shapes of several frameworks, inputs that are no list."""

import json
from pathlib import Path

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.errors import NotWritableError
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read() -> Log:
    return read_log((SAMPLES / "langfuse.json").read_bytes())


def compacted(log: Log, number: int, keep: int) -> CompactionResult:
    result = compact_sync(log.transcripts[number].transcript, Policy(OnRequest(), (Summarize(KeepMessages(keep)),)))
    assert isinstance(result, CompactionResult)
    return result


def test_each_generation_is_a_transcript():
    log = read()
    assert [logged.id for logged in log.transcripts] == ["o-list", "o-twice", "o-parts", "o-gemini"]
    calls = [
        sum(block.kind == "tool_call" for k in range(len(logged.transcript)) for block in logged.transcript.blocks(k))
        for logged in log.transcripts
    ]
    assert calls == [5, 5, 5, 5]
    assert all(logged.transcript.roles[-2:] == ("user", "assistant") for logged in log.transcripts)


def test_json_in_json_is_read_as_json():
    first, second = read().transcripts[:2]
    assert first.transcript.messages == second.transcript.messages


def test_the_text_in_the_text_changes_and_nothing_else():
    log = read()
    result = compacted(log, 1, 2)
    before, after = (json.loads(data)["observations"] for data in (log.document.data, log.write({"o-twice": result})))
    assert [*after[:2], *after[3:]] == [*before[:2], *before[3:]]
    old, new = (json.loads(json.loads(side[2]["input"])) for side in (before, after))
    assert new["model"] == "m"
    assert new["messages"][1] == {"role": "user", "content": result.summary}
    assert new["messages"][0] == old["messages"][0]
    assert new["messages"][2:] == old["messages"][-len(new["messages"]) + 2 :]


def test_a_summary_has_the_shape_of_the_others():
    log = read()
    written = json.loads(log.write({"o-parts": compacted(log, 2, 2), "o-gemini": compacted(log, 3, 2)}))
    typed = written["observations"][3]["input"][0]["parts"]
    plain = json.loads(written["observations"][4]["input"])["contents"][0]["parts"]
    assert typed[0]["type"] == "text"
    assert list(plain[0]) == ["text"]


def test_an_input_that_is_no_list_is_read_and_not_written():
    observation = {"id": "o", "type": "GENERATION", "traceId": "t", "input": "Read the gauge. " * 60, "output": "412"}
    log = read_log(json.dumps({"trace": {}, "observations": [observation]}).encode())
    assert log.transcripts[0].transcript.roles == ("user", "assistant")
    with pytest.raises(NotWritableError, match="no list"):
        log.write({"o": compacted(log, 0, 0)})
