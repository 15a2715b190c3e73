"""Gemini CLI: results inside calls, lines that replace lines, and a history that is said again."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.containers.log import says
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"
DOCUMENT = SAMPLES / "gemini_cli.json"
LINES = SAMPLES / "gemini_cli-lines.jsonl"
POLICY = Policy(OnRequest(), (Summarize(KeepMessages(3)),))


def compacted(path: Path, policy: Policy = POLICY) -> tuple[bytes, CompactionResult]:
    log = read_log(path.read_bytes())
    result = compact_sync(log.transcripts[0].transcript, policy)
    assert isinstance(result, CompactionResult)
    return log.write({log.transcripts[0].id: result}), result


def test_a_call_holds_its_result():
    log = read_log(DOCUMENT.read_bytes())
    transcript = log.transcripts[0].transcript
    assert transcript.roles == (
        *("user", "assistant", "tool", "tool", "assistant"),
        *("user", "assistant", "tool", "assistant", "user"),
    )
    assert log.transcripts[0].origins[1:4] == ((1,), (1,), (1,))
    assert log.unread == {"info": 1}
    assert [block.kind for block in transcript.blocks(5)] == ["text", "media"]
    assert transcript.blocks(3)[0].text == '{"error":"no crontab for verger"}'
    assert {block.kind for block in transcript.blocks(1)} == {"reasoning", "tool_call"}


def test_an_id_may_hold_half_of_a_surrogate_pair(tmp_path):
    path = tmp_path / "session.json"
    path.write_text(json.dumps(json.loads(DOCUMENT.read_bytes()) | {"sessionId": "\ud83d"}))
    written, result = compacted(path)
    (read,) = read_log(written).transcripts
    assert says(read.transcript) == says(result.transcript)


def test_lines_replace_rewind_and_set():
    log = read_log(LINES.read_bytes())
    transcript = log.transcripts[0].transcript
    said = "\n".join(block.text for index in range(len(transcript)) for block in transcript.blocks(index))
    assert said.startswith("<state_snapshot>")
    assert "Three it is." not in said
    # Call and result of a history that was said again stand in messages of their own.
    assert [block.call_id for index in (2, 3) for block in transcript.blocks(index)] == ["glob-9", "glob-9"]
    assert log.unread["superseded message"] == 7
    before = read_log(LINES.read_bytes().split(b'{"$set":{"messages"')[0]).transcripts[0].transcript
    assert before.roles == ("user", "assistant", "tool", "tool", "assistant", "user")


def test_a_document_gets_one_message_in_the_place_of_many():
    written, _ = compacted(DOCUMENT)
    before, after = json.loads(DOCUMENT.read_bytes()), json.loads(written)
    assert before | {"messages": None} == after | {"messages": None}
    # What was never sent stays.
    assert after["messages"][1:] == [before["messages"][2], *before["messages"][5:]]
    assert after["messages"][0]["timestamp"] == before["messages"][4]["timestamp"]


def test_lines_get_one_set_at_the_end_with_the_messages_own_bytes():
    written, result = compacted(LINES)
    data = LINES.read_bytes()
    assert written.startswith(data)
    messages = json.loads(written[len(data) :])["$set"]["messages"]
    assert len(messages) == len(result.transcript) - 1  # a call and its result are one message there
    assert written.endswith(b",".join(data.split(b"\n")[-3:-1]) + b"]}}\n")


def test_shortened_results_are_shortened_where_they_count():
    written, result = compacted(LINES, Policy(OnRequest(), (TruncateResults(20, 20),)))
    again = read_log(written).transcripts[0].transcript
    assert again.blocks(3)[0].text == result.transcript.blocks(3)[0].text
    assert written.count(b"\n") == LINES.read_bytes().count(b"\n")


def test_one_message_of_a_session_is_read():
    message = json.loads(DOCUMENT.read_bytes())["messages"][1]
    log = read_log(json.dumps(message, indent=1).encode())
    assert [len(logged.transcript) for logged in log.transcripts] == [3]


def test_a_session_of_notes_only_has_no_transcript():
    head = {"sessionId": "s", "projectHash": "p", "messages": [{"id": "i", "type": "info", "content": "Hello"}]}
    log = read_log(json.dumps(head).encode())
    assert (log.transcripts, log.unread) == ((), {"info": 1})
