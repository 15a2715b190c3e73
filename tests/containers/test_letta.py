"""Oddities of Letta's agent files: what is in context, several returns in one message, a document in a string."""

import json
from pathlib import Path

import pytest

from turnfold.checks import scan
from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read(name: str) -> Log:
    return read_log((SAMPLES / name).read_bytes())


def compacted(log: Log) -> CompactionResult:
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(3)),)))
    assert isinstance(result, CompactionResult)
    return result


def test_only_what_is_in_context_is_read():
    log = read("letta.af")
    assert [logged.id for logged in log.transcripts] == ["agent-0", "agent-1"]
    assert log.unread == {"message out of context": 1}
    assert log.transcripts[0].origins[:2] == ((0,), (2,))
    assert scan(log.transcripts[0].transcript).ok


def test_the_same_document_in_a_string_reads_the_same():
    plain, double = read("letta.af"), read("letta-double.af")
    assert plain.transcripts[0].transcript.to_json() == double.transcripts[0].transcript.to_json()


@pytest.mark.parametrize("name", ["letta.af", "letta-double.af"])
def test_the_summary_joins_the_context_and_the_rest_stays(name: str):
    log = read(name)
    result = compacted(log)
    before, after = json.loads(log.document.data), json.loads(log.write({"agent-0": result}))
    if name == "letta-double.af":
        before, after = json.loads(before), json.loads(after)
    old, new = before["agents"][0], after["agents"][0]
    assert new["messages"][:-1] == old["messages"]
    summary = new["messages"][-1]
    assert summary["id"] == "message-16"
    assert summary["content"] == [{"type": "text", "text": result.summary}]
    ids = new["in_context_message_ids"]
    assert ids[:2] == ["message-0", "message-16"]
    assert ids[2:] == old["in_context_message_ids"][-len(ids) + 2 :]
    assert after["agents"][1] == before["agents"][1]


def test_without_ids_in_context_the_message_takes_the_place_of_the_others():
    document = json.loads((SAMPLES / "letta.af").read_bytes())
    document["agents"][0]["in_context_message_ids"] = []
    log = read_log(json.dumps(document).encode())
    result = compacted(log)
    messages = json.loads(log.write({"agent-0": result}))["agents"][0]["messages"]
    assert messages[1]["content"][0]["text"] == result.summary
    assert len(messages) == len(result.transcript)
