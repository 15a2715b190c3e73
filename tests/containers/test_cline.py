"""Cline: messages in Anthropic's form, with the tool's own record of a compaction."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLE = Path(__file__).parent / "samples" / "cline.messages.json"


def test_the_view_is_made_of_the_messages_own_bytes():
    log = read_log(SAMPLE.read_bytes())
    transcript = log.transcripts[0].transcript
    assert log.transcripts[0].id == "1772355600000_quay"
    assert transcript.model == "anthropic/claude-sonnet-4.5"
    assert all(transcript.message_json(k) in SAMPLE.read_bytes() for k in range(len(transcript)))
    assert b"the quay's coding agent" in transcript.to_json()


def test_a_compaction_is_marked_as_the_tool_marks_it():
    log = read_log(SAMPLE.read_bytes())
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    before, after = (json.loads(data)["messages"] for data in (log.write(), log.write({log.transcripts[0].id: result})))
    assert after[1:] == before[-len(after) + 1 :]
    assert after[0]["metadata"] == {
        "kind": "compaction_summary",
        "summary": result.summary,
        "tokensBefore": result.before.n,
    }
    assert after[0]["ts"] == before[-len(after)]["ts"]


def test_the_record_of_a_session_holds_no_transcript():
    record = {"version": 1, "session_id": "s", "pid": 7, "interactive": True, "workspace_root": "/w"}
    log = read_log(json.dumps(record, indent=1).encode())
    assert (log.container, log.transcripts, log.unread) == ("cline", (), {"document without messages": 1})
